"""Predictions of one sentence by a plan are those of the general path, bit by bit."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from http import HTTPMethod, HTTPStatus
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structopt
from structopt import SequenceTagger, datasets
from structopt.errors import StructoptError
from structopt.model import predictor, sentence_plan
from structopt.model.model import Model

WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "while",
    "Ann",
    "and",
    "Bob",
    "slept",
    "in",
    "Paris",
]
LABELS = ("B-PER", "I-PER", "O", "B-LOC", "I-LOC")


def sentences(valued: bool) -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(3)
    X, y = list[Any](), list[list[str]]()
    for _ in range(40):
        words = rng.choice(WORDS, rng.integers(1, 9)).tolist()
        X.append(
            [
                {
                    "word": word,
                    "length": len(word) / 4 if valued else 1.0,
                    "rare": rng.random() < 0.1,
                }
                | {f"id={rng.integers(400)}": True, f"é={word}": False}
                for word in words
            ]
        )
        y.append([LABELS[int(rng.integers(len(LABELS)))] for _ in words])
    return X, y


def fitted(
    valued: bool = True, support: str = "seen", optimizer: str = "mira"
) -> tuple[Model, list[Any]]:
    X, y = sentences(valued)
    overrides = {"task.scheme": "none", "features.support": support}
    return SequenceTagger(optimizer=optimizer, epochs=3, overrides=overrides).fit(X, y).model_, X


def general(model: Model, instances: list[Any], method: Any = Model.predict) -> Any:
    """Return the result of a copy of a model that makes no plan."""
    other = copy.copy(model)
    other._plans = sentence_plan.Plans()
    other._plans.made = True
    return method(other, instances)


def planned(model: Model) -> bool:
    return model._plans.plan is not None


@pytest.mark.parametrize("valued", [False, True])
@pytest.mark.parametrize("support", ["seen", "all"])
def test_labels_are_those_of_the_general_path(valued: bool, support: str) -> None:
    model, X = fitted(valued, optimizer="dca", support=support)
    assert [model.predict([x])[0] for x in X] == [general(model, [x])[0] for x in X]
    assert planned(model)
    found, expected = model.marginals(X), general(model, X, Model.marginals)
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    assert found.table == expected.table


@pytest.mark.parametrize("optimizer", ["dca", "mira"])
def test_k_best_outputs_are_those_of_the_general_path(optimizer: str) -> None:
    model, X = fitted(optimizer=optimizer)
    of = lambda one, instances: one.predict_k_best(instances, 7)  # noqa: E731
    assert of(model, X) == general(model, X, of)
    assert planned(model)
    assert model.gibbs == (optimizer == "dca")
    short = [X[0][:1]]
    assert len(of(model, short)[0]) == len(LABELS)  # as many as there are
    with pytest.raises(StructoptError, match="best outputs"):  # does not fit into memory
        model.predict_k_best(short, 10**12)


def test_sentences_without_room_are_predicted_among_others() -> None:
    model, X = fitted()
    long = [{"word": word} for word in WORDS] * 80
    instances = [[], X[0], long, X[1], X[2], [], long[:3]]
    assert model.predict(instances) == general(model, instances)
    assert [len(labels) for labels in model.predict(instances)] == list(map(len, instances))
    found, expected = model.marginals(instances), general(model, instances, Model.marginals)
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    of = lambda one, sentences: one.predict_k_best(sentences, 2)  # noqa: E731
    assert of(model, instances) == general(model, instances, of)


@pytest.mark.parametrize(
    "sentence",
    [
        [],
        [[]],
        [{}],
        [["word:cat", "word:cat", "new", "né"], []],
        [("word:cat",), {"word": "cat"}],
        ({"word": "cat"},),
        [{"word": {"cat": 2.0}}, {"a": {"b", "c"}}],
        [{"length": 3}, {"length": np.float64(2.5)}, {"rare": np.True_}],
        [{"length": np.array(3)}, {"length": np.array(300), "rare": np.True_}],
        [{"word": b"cat"}, {"word": ["cat", "mat"]}, {"word": np.str_("cat"), b"rare": True}],
        [OrderedDict(word="cat"), {"word": HTTPMethod.GET, "length": HTTPStatus.OK}],
        [{"word:cat": True, "": "", "word": "cat:mat", "id=3": 1.0}, {"id=3": 1, "id": "=3"}],
        [{"word": "日本", "é=cat": "", "length": 2**70 // 2**60}],
        [{"length": True}] * 1100,
        [{f"id={i}": True for i in range(400)}] * 60,
        np.ones((3, 2)),
    ],
    ids=lambda _: "sentence",
)
def test_other_forms_are_predicted_as_well(sentence: Any) -> None:
    model, X = fitted()
    model.predict([X[0]])
    assert model.predict([sentence]) == general(model, [sentence])
    expected = general(model, [sentence], Model.marginals)
    assert np.array_equal(model.marginals([sentence])[0], expected[0])


@pytest.mark.parametrize(
    "sentence",
    [
        [{"length": nan}],
        [{"length": -inf}],
        [{"new": 1e200}],
        [{"new\ud800": True}],
        [["new\udfff"]],
        [{1: True}],
        [[["word:cat"]]],
        [{"word": None}],
        [{"word": "\ud800"}],
        [{"length": Decimal(1)}],
        [{"length": 2**400}],
        "cat",
        [None],
        {"word": "cat"},
    ],
    ids=lambda _: "sentence",
)
def test_refusals_are_the_same(sentence: Any) -> None:
    model, X = fitted()
    model.predict([X[0]])
    with pytest.raises(StructoptError) as without:
        general(model, [sentence])
    with pytest.raises(type(without.value)) as found:
        model.predict([sentence])
    assert str(found.value) == str(without.value)


def test_constraints_hold_and_threads_and_copies_agree() -> None:
    X, y = sentences(False)
    tagger = SequenceTagger(epochs=2, overrides={"task.scheme": "iob2", "task.valid_tags": True})
    model = tagger.fit(X, [["O" if tag[0] == "I" else tag for tag in one] for one in y]).model_
    expected = [general(model, [x])[0] for x in X]
    for other in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(tagger)).model_):
        assert [other.predict([x])[0] for x in X] == expected
    with ThreadPoolExecutor(4) as pool:
        assert [one[0] for one in pool.map(model.predict, [[x] for x in X * 5])] == expected * 5


def test_blocks_of_sentences_of_several_forms() -> None:
    model, X = fitted()
    words = [[[f"word:{word}"] for word in WORDS]] * 3
    instances = X * 2 + words + [tuple(one) for one in X] + X + words
    expected = [general(model, [x])[0] for x in instances]
    assert model.predict(instances) == expected
    found = model.marginals(instances)
    singly = [general(model, [x], Model.marginals)[0] for x in instances]
    assert all(np.array_equal(one, other) for one, other in zip(found, singly, strict=True))
    assert planned(model)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
def test_a_forked_process_predicts_the_same() -> None:
    model, X = fitted()
    expected = model.predict(X)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send((model.predict(X), planned(model))))
    child.start()
    assert receiver.poll(60) and receiver.recv() == (expected, True)
    child.join()


SENTENCES = {
    "ner": ["Ann", "slept", "in", "Paris"],
    "attributes": [["word=Ann"], ["word=slept"]],
    "chunking": [("Ann", "NNP"), ("slept", "VBD")],
}


@pytest.mark.parametrize("task", SENTENCES)
def test_tasks_on_first_order_chains_have_a_plan(task: str, trained: Any) -> None:
    model, sentence = structopt.load(trained(task) / "model"), SENTENCES[task]
    assert model.predict([sentence]) == general(model, [sentence])  # reports missing columns
    assert model.predict([sentence, sentence]) == general(model, [sentence]) * 2
    assert planned(model)


@pytest.mark.parametrize(
    "settings", [{"factor_graph.order": 2}, {"inference": "enumeration"}], ids=str
)
def test_other_models_have_none(settings: dict[str, Any]) -> None:
    X = [[["a"], ["b"]], [["b"]]]
    model = SequenceTagger(epochs=1, overrides=settings).fit(X, [["A", "B"], ["B"]]).model_
    assert model.predict(X[:1]) == model.predict(X)[:1]
    assert not planned(model)


@pytest.mark.parametrize("task", ["ner", "attributes"])
def test_small_files_are_predicted_by_the_plan(
    task: str, trained: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, file = structopt.load(trained(task) / "model"), tmp_path / "few.txt"
    ending = {"ner": "conll", "attributes": "crfsuite"}[task]
    file.write_text(
        "\n\n".join(datasets.path("dev", ending).read_text("utf8").split("\n\n")[:3]), "utf8"
    )
    corpus = model.task.read(file, labelled=False)
    expected = model.best_outputs(model.examples(corpus))
    assert planned(model) is False
    assert model.small_outputs(corpus) == expected == model.predict(file)
    assert planned(model)
    monkeypatch.setattr(predictor, "POSITIONS", int(corpus.offsets[-1]) - 1)
    assert model.small_outputs(corpus) is None
