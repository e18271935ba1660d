"""What a prediction of one instance must not do, because it takes longer than the inference."""

from __future__ import annotations

import sys
import typing
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.config import registry
from structopt.kernels.waist import interruptible

EVENTS: list[str] = []
LISTENING: list[bool] = []
INSTANCES = {
    "ner": ["John", "Smith", "works", "in", "Paris"],
    "attributes": [["word=John", "upper"], ["word=slept"]],
    "multiclass": {"1": 1.0, "3": 0.5},
    "dependency": [("Ann", "Ann", "PROPN", "NNP", "_"), ("slept", "sleep", "VERB", "VBD", "_")],
    "constituency": [("Ann", "NNP"), ("slept", "VBD")],
}


@pytest.fixture(scope="module", autouse=True)
def _hook() -> None:
    # a hook of the interpreter stays until the process ends
    sys.addaudithook(lambda event, _: EVENTS.append(event) if LISTENING else None)


@pytest.fixture
def listening() -> Iterator[list[str]]:
    """The events of the interpreter during the test."""
    EVENTS.clear()
    yield EVENTS
    LISTENING.clear()


@pytest.mark.parametrize("task", INSTANCES)
def test_a_prediction_opens_no_file_and_waits_for_no_thread(
    task: str, trained: Any, listening: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = structopt.load(trained(task) / "model")
    first = model.predict([INSTANCES[task]])

    def unexpected(*_: Any, **__: Any) -> Any:
        raise AssertionError("A prediction of one instance called this function.")

    monkeypatch.setattr(interruptible, "_beside", unexpected)
    monkeypatch.setattr(typing, "get_type_hints", unexpected)
    monkeypatch.setattr(registry, "load", unexpected)
    LISTENING.append(True)
    again = model.predict([INSTANCES[task]])
    LISTENING.clear()
    assert again == first
    assert not {"open", "_thread.start_new_thread", "os.listdir", "import"} & set(listening)


@pytest.mark.parametrize(("task", "ending"), [("dependency", "conllu"), ("constituency", "ptb")])
def test_sentences_alone_and_together_have_the_same_trees(
    task: str, ending: str, trained: Any
) -> None:
    model = structopt.load(trained(task) / "model")
    corpus = model.task.read(datasets.path("dev", ending), limit=12)
    together = model.examples(corpus)
    best = model.best_outputs(together)
    marginals = model.view_marginals(together)
    for i in range(len(corpus)):
        alone = model.examples(model.task.subset(corpus, i, i + 1))
        assert model.best_outputs(alone) == best[i : i + 1]
        assert np.array_equal(model.view_marginals(alone)[0], marginals[i])
