"""Compiled functions on flat arrays, nothing else; a folder a family."""

from __future__ import annotations

from structopt.kernels.waist.disk_cache import refresh_core

refresh_core()
