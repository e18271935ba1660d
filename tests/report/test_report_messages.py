"""The texts of errors that `structopt.report` raises, in one table."""

from pathlib import Path

import pytest

from structopt.errors import StructoptError
from structopt.report import chosen_runs, compare
from structopt.report.chosen_runs import Candidate
from structopt.run.records import FINISHED, RunRecord


def run(task, status=FINISHED):
    """Return a run of a task."""
    config = {"task": {"name": task}}
    return Candidate(RunRecord(Path("a"), "a", (), config, {"test": {"f1": 0.5}}, status, ""))


CHOSEN = compare.Chosen([[run("ner")]], ["first"], "test.f1", "f1")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: chosen_runs._named("nowhere", None, Path("b")),
            "nowhere: there is no such folder. Name the folder of a run or of a sweep, or an "
            "MLflow run (runs:/ID).",
        ),
        (
            lambda: compare._finished([run("ner", "killed")]),
            "None of these runs has finished. Resume an interrupted run with: structopt "
            "resume=RUN_FOLDER",
        ),
        (
            lambda: compare._finished([run("ner"), run("tagging")]),
            "These runs are of different tasks (ner, tagging), whose scores cannot be "
            "compared. Name runs of one task.",
        ),
        (
            lambda: compare._metric([run("ner")], "f2", "f1"),
            "metric=f2 is not a metric of any run. Did you mean 'f1'? Metrics: test.f1.",
        ),
        (
            lambda: compare._baseline(CHOSEN, "frist"),
            "baseline=frist is not one of the compared runs. Did you mean 'first'? Runs: first.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised:
        call()
    assert str(raised.value) == text
