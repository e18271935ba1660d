"""A session that trains nothing, for tests of what commands do before and after training."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra.core.global_hydra import GlobalHydra

import structopt
from tests.command.commands import Session


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    fake = Session()
    monkeypatch.setitem(sys.modules, "structopt.run.session", fake)
    monkeypatch.setattr(structopt, "session", fake, raising=False)
    monkeypatch.chdir(tmp_path)
    yield fake
    GlobalHydra.instance().clear()
