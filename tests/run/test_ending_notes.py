"""What a tracker gets of runs that do not end: why, where the log is, and how to go on; the table at
the end of others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import structopt
from structopt.errors import DataError
from structopt.learning.training import Progress
from structopt.run.report import cause_of, closing_text, ending_note
from structopt.run.resumable import Resumable
from structopt.tracker.none import NoTracker

Ends = list[tuple[str, str]]


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Ends:
    """What trackers get at the end of runs: description and status."""
    seen: Ends = []
    texts: list[str] = []
    monkeypatch.setattr(NoTracker, "describe", lambda self, text: texts.append(text))
    monkeypatch.setattr(
        NoTracker, "finish", lambda self, status, metrics: seen.append((status, "".join(texts)))
    )
    return seen


def train(folder: Path, *words: str) -> Any:
    return structopt.train(
        ["task=ner", "task.limit=20", "optimizer.epochs=2", "tracker=none", *words], folder
    )


def test_of_bad_data(tmp_path: Path, ends: Ends) -> None:
    bad = tmp_path / "bad.conll"
    bad.write_text("a NN O\nb\n", encoding="utf8")
    with pytest.raises(DataError) as error:
        train(tmp_path / "run", f"task.train={bad}")
    ((status, text),) = ends
    assert (status, text.split("\n\n")[:2]) == ("FAILED", ["**Failed**", f"`` {error.value} ``"])
    assert "resume=" not in text  # there is nothing to go on with


def test_of_an_interrupted_run(tmp_path: Path, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Resumable) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Resumable, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "run")
    ((status, text),) = ends
    assert status == "KILLED"
    assert text.startswith("**Interrupted.**")
    assert f"`structopt resume={tmp_path / 'run'}`" in text


def test_a_run_that_ends_well_has_none(tmp_path: Path, ends: Ends) -> None:
    train(tmp_path / "run")
    assert ends == [("FINISHED", "")]


def test_of_a_bug_with_its_traceback_and_log(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "structopt.log").touch()
    try:
        _ = {}["missing"]  # type: ignore[var-annotated]
    except KeyError as error:
        text = ending_note(tmp_path, cause_of(error), of_sweep=True)
    assert "KeyError: 'missing'\n\n```" in text and "Traceback (most recent call last)" in text
    assert f"Log: `{tmp_path / 'structopt.log'}`" in text
    assert text.endswith(
        "To go on after the last finished pass: the command of the sweep, with `sweep.resume=true`"
    )


def test_the_main_metric_of_a_plugin_s_task_is_in_the_closing_table() -> None:
    train = {"instances": 3, "features": 2, "objective": None, "gap": None}
    metrics = {"train": train, "dev": {"own_score": 0.5, "f1": 0.25, "other": 1.0}}
    text = closing_text("run", "crf", metrics, Progress(), None, "", "own_score")
    assert [line.split() for line in text.splitlines()[-2:]] == [
        ["own_score", "50.00"],
        ["f1", "25.00"],
    ]
