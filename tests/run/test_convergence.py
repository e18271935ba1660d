"""Runs that change no weight name the cause; runs that end before they converge say so."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning as ScikitWarning

import structopt

LBFGS = ["task=ner", "task.limit=20", "loss=crf", "optimizer=lbfgs"]
ONE_CLASS = ["task=multiclass", "task.train=one.txt", "loss.gamma=1", "optimizer.epochs=2"]
ZEROS = {
    "one output": (ONE_CLASS, "each instance has one possible output: '1'"),
    "the minimum": (
        [*LBFGS, "optimizer.penalty=elastic", "optimizer.C=1e-6"],
        "that is the minimum of the objective",
    ),
    "no feature": (
        [*ONE_CLASS, "features.min_count=9", "features.bias=false"],
        "no feature that occurs as often as features.min_count says",
    ),
    "no loss": (
        ["task=ner", "task.limit=5", "loss=svm", "loss.gamma=0", "optimizer=sgd"],
        "has no loss there to step by",
    ),
}
NO_FILES = ["task.dev=null", "task.test=null", "tracker=none", "quiet=true"]


@pytest.mark.parametrize("name", ZEROS)
def test_zero_weights_have_a_cause(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.txt").write_text("1 1:1\n1 2:1\n")
    caplog.set_level(logging.WARNING, "structopt")
    words, cause = ZEROS[name]
    assert not structopt.train([*words, *NO_FILES], tmp_path / "run").weights.any()
    (warning,) = [text for text in caplog.messages if text.startswith("Every weight is zero")]
    assert cause in warning


def test_the_first_step_suits_numbers_that_are_not_scaled() -> None:
    rng = np.random.default_rng(0)
    X = [[{"length": float(rng.uniform(1e4, 1e7)), "upper": float(j)} for j in (0, 1)]] * 20
    with pytest.warns(structopt.ConvergenceWarning, match="epochs did not suffice"):
        tagger = structopt.SequenceTagger(optimizer="lbfgs", epochs=3).fit(X, [["a", "b"]] * 20)
    assert tagger.model_.weights.any()
    assert tagger.metrics_["train"]["objective"] < 2 * np.log(2)


def test_the_warning_names_the_line_of_the_caller() -> None:
    with pytest.warns(ScikitWarning, match="1 epochs did not suffice") as caught:
        structopt.SequenceTagger(optimizer="lbfgs", epochs=1).fit([[["a"], ["b"]]], [["A", "B"]])
    assert [Path(one.filename) for one in caught] == [Path(__file__)]


def test_runs_that_converge_or_have_no_criterion_do_not_warn() -> None:
    X, y = [[["a"], ["b"]]] * 3, [["A", "B"]] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("error", structopt.ConvergenceWarning)
        structopt.SequenceTagger(optimizer="lbfgs").fit(X, y)
        structopt.SequenceTagger(optimizer="sdca", epochs=1).fit(X, y)
        structopt.SequenceTagger(optimizer="dca", epochs=1).fit(X, y)
    with pytest.warns(structopt.ConvergenceWarning, match="a gap of 1e-09"):
        structopt.SequenceTagger(
            optimizer="sdca", epochs=1, overrides=["optimizer.tolerance=1e-9"]
        ).fit(X, y)
