"""Scores of a saved model on a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import structopt
from structopt import datasets
from structopt.command import main


def test_evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    structopt.train(["task=ner", "task.limit=60", "optimizer.epochs=2", "tracker=none"], tmp_path)
    capsys.readouterr()
    assert (
        main.main(["evaluate", f"model={tmp_path}", f"input={datasets.path('dev', 'conll')}"]) == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert json.loads(lines[-1]) == json.loads((tmp_path / "metrics.json").read_text())["dev"]
    assert len(lines) > 4
