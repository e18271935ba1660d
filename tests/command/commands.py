"""Commands as a user types them, in this process or in one of their own, and stages of a run that
train nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from structopt.command import main


class Stages(types.ModuleType):
    """Stands in for structopt.run.stages: records the calls, and raises the error that a test
    sets.
    """

    def __init__(self) -> None:
        super().__init__("structopt.run.stages")
        self.calls: list[tuple[Any, ...]] = []
        self.error: BaseException | None = None

    def _called(self, *call: Any) -> dict[str, Any]:
        self.calls.append(call)
        if self.error:
            raise self.error
        return {"train": {}}

    @staticmethod
    def JobOfSweep(*_: Any) -> None:
        """Stands in for the class."""

    model = types.SimpleNamespace(task=types.SimpleNamespace(main_metric="f1"))

    def train(self, config: dict[str, Any], folder: Path, *_: Any, **__: Any) -> Any:
        self._called("train", config, folder)
        return self.model

    def resume(self, folder: Path, overrides: list[str]) -> dict[str, Any]:
        return self._called("resume", folder, overrides)


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command that the user must mend; return its one message."""
    assert main.main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("structopt: ")
    assert error.count("\n") == 1
    return error.removeprefix("structopt: ").strip()


def run(*words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "structopt", *words]
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
