"""Batches of graphs whose variables have states of their own, compared with graphs in which scores of
-inf forbid the other labels, and with the listing of all outputs.
"""

import pickle

import numpy as np
import pytest

import structopt as so
from tests.messages import raises

EDGES = [np.array([[0, 1], [2, 1], [0, 2]]), np.zeros((0, 2), int), np.array([[1, 0]])]
SIZES = [3, 0, 2]
STATES = [
    np.array([[1, 1, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]], bool),
    np.zeros((0, 4), bool),
    np.array([[0, 0, 1, 1], [1, 0, 0, 1]], bool),
]


def batch(states=STATES):
    return so.Pairwise().batch(SIZES, EDGES, labels=4, states=states)


def tables(seed=0):
    rng = np.random.default_rng(seed)
    labels = [rng.normal(size=(n, 4)) for n in SIZES]
    return labels, [rng.normal(size=(len(e), 4, 4)) for e in EDGES]


def both(seed=0):
    """Scores with states, and those of all labels in which others are forbidden."""
    labels, edges = tables(seed)
    every = batch(None)
    return (
        batch().scores(label=labels, edge=edges),
        every.scores(label=labels, edge=edges).restricted(label=np.concatenate(STATES)),
    )


def test_layout():
    s, _ = both()
    labels, edges = tables()
    assert np.diff(s.batch.offsets).tolist() == [9 + 3 * 2 + 4 * 2 + 3 * 4, 0, 4 + 4]
    np.testing.assert_array_equal(s[0]["label"], np.where(STATES[0], labels[0], -np.inf))
    allowed = STATES[0][2][:, None] & STATES[0][1]  # the edge (2, 1): rows are those of variable 2
    np.testing.assert_array_equal(s[0]["edge"][1], np.where(allowed, edges[0][1], -np.inf))
    assert s.padded("label").shape == (3, 3, 4)
    assert s.batch.positions("edge")[6:14].tolist() == [[2, 1]] * 8
    copied = pickle.loads(pickle.dumps(s.batch))
    assert copied.structure.parts.tolist() == s.batch.structure.parts.tolist()


@pytest.mark.parametrize("inference", [so.Exact(), so.Enumeration(), so.ILP(), so.AD3(exact=True)])
def test_best_outputs(inference):
    for seed in range(3):
        own, forbidden = both(seed)
        best, expected = so.argmax(own, inference), so.argmax(forbidden, so.Enumeration())
        np.testing.assert_allclose(best.score, expected.score, atol=1e-6)
        assert best["labels"].tolist() == expected["labels"].tolist()


@pytest.mark.parametrize("inference", [so.MPLP(), so.LP(), so.AD3()])
def test_bounds(inference):
    own, forbidden = both()
    best, expected = so.argmax(own, inference), so.argmax(forbidden, so.Enumeration())
    assert (best.score <= expected.score + 1e-6).all()
    assert (best.upper >= expected.score - 1e-4).all()
    assert np.concatenate(STATES)[np.arange(5), best["labels"]].all()


@pytest.mark.parametrize("inference", [so.Exact(), so.Enumeration()])
def test_marginals(inference):
    own, forbidden = both()
    ours, theirs = so.marginals(own, inference), so.marginals(forbidden, so.Enumeration())
    for group in ("label", "edge"):
        np.testing.assert_allclose(ours.padded(group), theirs.padded(group), atol=1e-9)
    np.testing.assert_allclose(so.entropy(own), so.entropy(forbidden, so.Enumeration()), atol=1e-9)
    assert so.k_best(own, 3).score == pytest.approx(so.k_best(forbidden, 3).score)
    assert np.concatenate(STATES)[np.arange(5), so.sample(own, 4, seed=0)["labels"]].all()


@pytest.mark.parametrize("inference", [so.TRWBP(), so.LoopyBP()])
def test_approximate_marginals_are_of_states(inference):
    z = so.marginals(both()[0], inference)
    sums = z.padded("label").sum(axis=2)
    np.testing.assert_allclose(sums, [[1, 1, 1], [0, 0, 0], [1, 1, 0]], atol=1e-6)


@pytest.mark.parametrize(
    "loss", [so.SVM(), so.CRF(), so.SVM(so.CostMatrix(np.arange(16).reshape(4, 4) % 5))]
)
@pytest.mark.parametrize("labels", [[2, 1, 3, 3, 0], [2, -1, 3, 3, -1]])
def test_losses(loss, labels):
    if isinstance(loss.cost, so.CostMatrix):
        loss = so.SVM(so.CostMatrix(loss.cost.matrix * (1 - np.eye(4))))
    own, forbidden = both()
    value, gradient = so.value_and_gradient(loss, own, own.batch.gold(labels))
    keep = np.concatenate(STATES)
    right = np.eye(4, dtype=bool)[labels]
    right[np.array(labels) < 0] = keep[np.array(labels) < 0]
    gold = forbidden.batch.gold(allowed=right) if -1 in labels else forbidden.batch.gold(labels)
    expected, slope = so.value_and_gradient(loss, forbidden, gold, so.Enumeration())
    np.testing.assert_allclose(value, expected, atol=1e-9)
    np.testing.assert_allclose(gradient.padded("label"), slope.padded("label"), atol=1e-9)


def test_gold():
    own = batch()
    best = own.gold([[2, 1, 3], [], [3, 0]])
    assert own.scores(label=tables()[0]) @ best.parts == pytest.approx(
        [sum(tables()[0][0][[0, 1, 2], [2, 1, 3]]), 0, sum(tables()[0][2][[0, 1], [3, 0]])]
    )
    sets = own.gold(allowed=[np.ones((n, 4), bool) for n in SIZES])
    assert sets.open.tolist() == [True, False, True]
    with raises(
        so.ArgumentError, match="not a state", parameter="labels", where="instance 0, position 0"
    ):
        own.gold([3, 1, 0, 3, 0])
    with raises(so.ArgumentError, match="no label", parameter="allowed"):
        own.gold(allowed=[np.eye(4, dtype=bool)[[3, 1, 0]], np.zeros((0, 4), bool), STATES[2]])


@pytest.mark.parametrize(
    ("states", "match", "where"),
    [
        (STATES[:2], "has the length 2, but sizes has the length 3", None),
        ([STATES[0][:2], *STATES[1:]], r"shape \(3, 4\)", "instance 0"),
        ([STATES[0].astype(int), *STATES[1:]], "int64", "instance 0"),
        ([*STATES[:2], np.eye(4, dtype=bool)[:2]], "at least two", "instance 2, position 0"),
    ],
)
def test_malformed_states(states, match, where):
    with raises(so.ArgumentError, match=match, parameter="states") as raised:
        batch(states)
    assert raised.value.where == where


def test_some_instances():
    encoded = batch().encoded
    assert encoded.subset(1, 2).states.tolist() == STATES[2].tolist()


def test_graphs_without_edges():
    own = so.Pairwise(edges="none").batch(SIZES, labels=4, states=STATES)
    labels = tables()[0]
    expected = [np.where(k, t, -np.inf).argmax(axis=1) for k, t in zip(STATES, labels, strict=True)]
    assert (
        so.argmax(own.scores(label=labels))["labels"].tolist() == np.concatenate(expected).tolist()
    )
