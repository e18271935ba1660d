"""What a prediction of one instance must not do, because it takes longer than the inference."""

from __future__ import annotations

import sys
import typing
from collections.abc import Iterator
from typing import Any

import pytest

import structopt
from structopt.config import registry
from structopt.kernels.waist import interruptible

EVENTS: list[str] = []
LISTENING: list[bool] = []
INSTANCES = {
    "ner": ["John", "Smith", "works", "in", "Paris"],
    "attributes": [["word=John", "upper"], ["word=slept"]],
    "multiclass": {"1": 1.0, "3": 0.5},
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
