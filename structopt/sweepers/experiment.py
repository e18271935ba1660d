"""Sweeps of published experiments: rows of a table times a grid."""

from __future__ import annotations

from structopt.sweepers.base import MODULE, JobSweeper


class ExperimentSweeper(JobSweeper):
    """Runs an experiment."""

    __module__ = MODULE
