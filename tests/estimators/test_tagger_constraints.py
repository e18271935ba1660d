"""Constraints of sequence taggers: their predictions are those of a list of all labellings."""

from __future__ import annotations

import pickle
from itertools import pairwise, product
from math import log
from typing import Any

import numpy as np
import pytest

import structopt
from structopt import InfeasibleError, SequenceTagger
from structopt.errors import ArgumentError, ConfigError
from structopt.model import sentence_plan
from tests.messages import raises

WORDS = "abcde"
PAIRS = [("X", "Y"), ("Z", "Z"), (None, "Z"), ("X", None)]
SENTENCES = [[{"w": word} for word in words] for words in ("abc", "d", "eab", "cc")]


def data(pairs: list[Any], labels: Any = ("X", "Y", "Z")) -> tuple[list[Any], list[list[Any]]]:
    """Random sentences whose labels keep the constraints."""
    generator, X, y = np.random.default_rng(0), list[Any](), list[list[Any]]()
    while len(X) < 40:
        n = int(generator.integers(1, 5))
        labelling = generator.choice(labels, n).tolist()
        if keeps(labelling, pairs):
            X.append([{"w": word} for word in generator.choice(list(WORDS), n)])
            y.append(labelling)
    return X, y


def keeps(labelling: Any, pairs: list[Any]) -> bool:
    return not set(pairwise([None, *labelling, None])) & set(pairs)


def fitted(**options: Any) -> SequenceTagger:
    X, y = data(PAIRS)
    return SequenceTagger(constraints=PAIRS, **options).fit(X, y)


def listing(tagger: SequenceTagger, x: Any) -> list[tuple[float, list[str]]]:
    """All labellings that keep the constraints with their scores, the best first."""
    own, pairs = tagger.state_features_, tagger.transition_features_
    listed = [
        (
            sum(own.get((f"w:{token['w']}", label), 0.0) for token, label in zip(x, y, strict=True))
            + sum(pairs.get(pair, 0.0) for pair in pairwise(y)),
            list(y),
        )
        for y in product("XYZ", repeat=len(x))
        if keeps(y, PAIRS)
    ]
    return sorted(listed, reverse=True)


@pytest.mark.parametrize("optimizer", ["lbfgs", "sdca", "dca"])
def test_predictions_are_those_of_the_list_of_labellings(optimizer: str) -> None:
    tagger = fitted(optimizer=optimizer, loss="crf")
    for x in SENTENCES:
        listed = listing(tagger, x)
        scores = np.array([score for score, _ in listed])
        partition = np.logaddexp.reduce(scores)
        assert tagger.predict([x])[0] == listed[0][1]
        [found] = tagger.predict_k_best([x], 100)
        assert [list(one.output) for one in found] == [y for _, y in listed]
        np.testing.assert_allclose([one.score for one in found], scores)
        np.testing.assert_allclose([log(one.probability) for one in found], scores - partition)
        [marginals] = tagger.predict_marginals([x])
        for position, probabilities in enumerate(marginals):
            for label, probability in probabilities.items():
                right = [score for score, y in listed if y[position] == label]
                expected = np.exp(np.logaddexp.reduce([*right, -np.inf]) - partition)
                assert probability == pytest.approx(expected, abs=1e-12)


def test_the_gradient_sees_the_constraints() -> None:
    """At the optimum of a CRF the expected features differ from the observed ones by lambda theta,
    where the expectation is over labellings that keep the constraints.
    """
    X, y = data(PAIRS)
    tagger = SequenceTagger(
        constraints=PAIRS,
        c2=0.5,
        epochs=1000,
        overrides={"optimizer.gradient_tolerance": 1e-9},
    ).fit(X, y)
    counts: dict[Any, float] = {}
    for x, gold in zip(X, y, strict=True):
        listed = listing(tagger, x)
        scores = np.array([score for score, _ in listed])
        weights = np.exp(scores - np.logaddexp.reduce(scores))
        for weight, labels in [
            (1.0, gold),
            *zip(-weights, [one for _, one in listed], strict=True),
        ]:
            for pair in pairwise(labels):
                counts[pair] = counts.get(pair, 0.0) + float(weight)
    found = tagger.transition_features_
    for pair, count in counts.items():
        assert found.get(pair, 0.0) == pytest.approx(count, abs=1e-6)
    assert ("X", "Y") not in found


@pytest.mark.parametrize("optimizer", ["lbfgs", "mira"])
def test_saved_models_and_plans_keep_the_constraints(optimizer: str, tmp_path: Any) -> None:
    tagger = fitted(optimizer=optimizer)
    model = tagger.model_
    model.save(tmp_path / "model")
    loaded = structopt.load(tmp_path / "model")
    for other in (loaded, pickle.loads(pickle.dumps(tagger)).model_):
        for x in SENTENCES:
            assert other.predict([x]) == model.predict([x])
            assert np.array_equal(other.marginals([x])[0], model.marginals([x])[0])
            assert other.predict_k_best([x], 5) == model.predict_k_best([x], 5)
            assert all(keeps(one.output, PAIRS) for one in other.predict_k_best([x], 50)[0])
    assert model._plans.plan is not None
    planned = [model.predict([x]) for x in SENTENCES]
    marginals = [model.marginals([x])[0] for x in SENTENCES]
    lists = [model.predict_k_best([x], 9) for x in SENTENCES]
    model._plans = sentence_plan.Plans()
    model._plans.made = True  # the general path
    assert [model.predict([x]) for x in SENTENCES] == planned
    assert [model.predict_k_best([x], 9) for x in SENTENCES] == lists
    for x, expected in zip(SENTENCES, marginals, strict=True):
        assert np.array_equal(model.marginals([x])[0], expected)


def test_constraints_and_allowed_labels_together() -> None:
    tagger = fitted(optimizer="lbfgs")
    allowed = [["X", {"Y", "Z"}, None]]
    listed = [
        one for one in listing(tagger, SENTENCES[0]) if one[1][0] == "X" and one[1][1] in ("Y", "Z")
    ]
    assert tagger.predict(SENTENCES[:1], allowed=allowed)[0] == listed[0][1]
    found = tagger.predict_k_best(SENTENCES[:1], 50, allowed=allowed)[0]
    assert [list(one.output) for one in found] == [y for _, y in listed]
    marginals = tagger.predict_marginals(SENTENCES[:1], allowed=allowed)[0]
    assert marginals[1]["X"] == marginals[1]["Y"] == 0.0
    for method in (tagger.predict, tagger.predict_marginals, tagger.predict_k_best):
        with pytest.raises(InfeasibleError) as raised:
            method(SENTENCES[:2], allowed=[["X", "Y", "Z"], None])
        assert raised.value.instances == (0,)


def test_labels_may_be_integers_and_words_of_templates() -> None:
    X, y = data([(0, 1), (1, 1)], (0, 1, 2))
    tagger = SequenceTagger(constraints=[(0, 1), (np.int64(1), 1)], optimizer="mira").fit(X, y)
    assert all(keeps(one, [(0, 1), (1, 1)]) for one in tagger.predict(X))
    words = [[token["w"] for token in x] for x in X]
    text = [["PER" if one else "O" for one in labels] for labels in y]
    tagger = SequenceTagger(templates=["word"], constraints={("O", "PER")}, optimizer="mira")
    with pytest.raises(InfeasibleError, match="constraints forbid"):
        tagger.fit(words, text)
    order = SequenceTagger(order=2, constraints=[("X", "Y")], optimizer="lbfgs", epochs=20)
    order.fit(*data([("X", "Y")]))
    assert all(keeps(y, [("X", "Y")]) for y in order.predict(SENTENCES))


def test_gold_that_breaks_constraints_names_all_instances() -> None:
    X, y = SENTENCES, [["X", "Y", "Z"], ["X"], ["Y", "X", "Y"], ["Z", "Z"]]
    with pytest.raises(InfeasibleError) as raised:
        SequenceTagger(constraints=[("X", "Y")]).fit(X, y)
    assert raised.value.instances == (0, 2)
    open_gold = [[{"X"}, {"Y"}, None], ["X"], ["Y", "X", "X"], ["Z", "Z"]]
    with pytest.raises(InfeasibleError) as raised:
        SequenceTagger(constraints=[("X", "Y")], optimizer="lbfgs").fit(X, open_gold)
    assert raised.value.instances == (0,)


@pytest.mark.parametrize(
    ("constraints", "where"),
    [
        ("XY", None),
        (5, None),
        (iter([("X", "Y")]), None),
        ({"X": "Y"}, None),
        (("X", "Y"), "index 0"),
        ([("X", "Y"), ("X",)], "index 1"),
        ([(None, None)], "index 0"),
        ([("X", 2.5)], "index 0"),
        ([({"X"}, "Y")], "index 0"),
    ],
)
def test_malformed_constraints(constraints: Any, where: str | None) -> None:
    with pytest.raises(ArgumentError, match="pairs? of labels, such as") as raised:
        SequenceTagger(constraints=constraints).fit(SENTENCES[:1], [["X", "Y", "Z"]])
    assert (raised.value.parameter, raised.value.where) == ("constraints", where)


def test_unknown_labels_and_overrides() -> None:
    X, y = data([])
    with pytest.warns(UserWarning, match="do not have: x. Did you mean 'X'"):
        SequenceTagger(constraints=[("x", "Y")], epochs=1).fit(X, y)
    with raises(ConfigError, parameter="task.forbidden", match="^index 0: .*a pair of labels"):
        SequenceTagger(overrides={"task.forbidden": [["X"]]}).fit(X, y)
    with raises(ArgumentError, parameter="constraints", match="so does overrides"):
        SequenceTagger(constraints=[], overrides={"task.forbidden": [["X", "Y"]]}).fit(X, y)


@pytest.mark.parametrize("label", ["A|B", "_", "?"])
def test_labels_that_read_as_open_are_refused_next_to_sets(label: str) -> None:
    for y in ([["A", label], [{"A", "B"}]], [["A", "B"], [{"A", label}]]):
        with pytest.raises(ArgumentError, match="would be read as an open label") as caught:
            SequenceTagger(epochs=1).fit([[["a"], ["b"]], [["c"]]], y)
        assert caught.value.parameter == "y"


def test_sets_of_labels_are_open() -> None:
    """Substates: a model of labels X.1 and X.2 learns from X."""
    X, y = data([])
    parts = [[{f"{label}.1", f"{label}.2"} for label in labels] for labels in y]
    tagger = SequenceTagger(optimizer="lbfgs", epochs=50).fit(X, parts)
    assert set(tagger.classes_) == {f"{label}.{i}" for label in "XYZ" for i in (1, 2)}
    integers = [[{"XYZ".index(label), 7} for label in labels] for labels in y]
    tagger.fit(X, integers)
    assert tagger.classes_.tolist() == [0, 1, 2, 7]
    with raises(ArgumentError, parameter="y", match="single labels"):
        tagger.score(X, integers)
    later = SequenceTagger(optimizer="mira", epochs=1).fit(X, y)
    with raises(ArgumentError, parameter="y", match="of the first call were single ones"):
        later.partial_fit(X, parts)
    with raises(ArgumentError, parameter="y", match="empty set"):
        tagger.fit(X[:1], [[set()] * len(X[0])])


@pytest.mark.parametrize("cell", [[], set(), {None, "X"}, [2.5], ["X", ["Y"]]])
def test_collections_of_allowed_labels_have_labels(cell: Any) -> None:
    tagger = fitted(optimizer="lbfgs", epochs=2)
    for method in (tagger.predict, tagger.predict_marginals, tagger.predict_k_best):
        with raises(ArgumentError, parameter="allowed", match="at least one. Give None"):
            method(SENTENCES[:1], allowed=[[None, cell, None]])


@pytest.mark.parametrize("label", ["A|B", "?", "_"])
def test_allowed_labels_are_not_read_as_open_ones(label: str) -> None:
    X, y = data([], ("X", "Y", label))
    tagger = SequenceTagger(optimizer="lbfgs", epochs=2).fit(X, y)
    for cell in (label, ["X", label]):
        with raises(ArgumentError, parameter="allowed", match="Rename the label"):
            tagger.predict(SENTENCES[1:2], allowed=[[cell]])
    assert tagger.predict(SENTENCES[1:2], allowed=[["X"]]) == [["X"]]
