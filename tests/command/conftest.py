"""Stages of a run that train nothing, for tests of what commands do before and after training."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra.core.global_hydra import GlobalHydra

import structopt.run
from tests.command.commands import Stages


@pytest.fixture
def stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stages]:
    fake = Stages()
    monkeypatch.setitem(sys.modules, "structopt.run.stages", fake)
    monkeypatch.setattr(structopt.run, "stages", fake, raising=False)
    monkeypatch.chdir(tmp_path)
    yield fake
    GlobalHydra.instance().clear()
