"""Graphs drawn from random pairwise models: local maxima, and the same on every machine."""

import hashlib

import numpy as np
import pytest

from structopt.datasets.random_graphs import RandomModel

SMALL = RandomModel(seed=0, variables=5, states=3, coupling=1.0, noise=0.0)


def score(model, x, y):
    nodes, edges = model.weights()
    pairs = zip(*np.triu_indices(model.variables, 1), strict=True)
    return sum(nodes[i, y[i]] * x[i] for i in range(len(y))) + sum(
        edges[e, y[i], y[j]] for e, (i, j) in enumerate(pairs)
    )


def test_no_variable_alone_can_do_better():
    inputs, outputs = SMALL.samples("train", 12)
    assert inputs.shape == outputs.shape == (12, 5)
    for x, y in zip(inputs, outputs, strict=True):
        for i in range(5):
            for state in range(3):
                assert score(SMALL, x, np.where(np.arange(5) == i, state, y)) <= score(SMALL, x, y)


def test_without_coupling_each_variable_is_best_by_itself():
    model = RandomModel(seed=0, variables=5, states=3, coupling=0.0, noise=0.0)
    (x, y), (nodes, edges) = model.samples("test", 6), model.weights()
    assert not edges.any()
    np.testing.assert_array_equal(y, (x[:, :, None] * nodes).argmax(axis=2))


def test_same_bytes_everywhere():
    """Draws are integers from a generator whose stream is specified, and sums of them are exact."""
    x, y = RandomModel(seed=0, variables=20, states=4, coupling=1.0, noise=0.0).samples(
        "train", 100
    )
    assert (x.shape, int(y.max())) == ((100, 20), 3)
    assert (np.abs(x) < 1).all()
    assert np.array_equal(x * 1024, np.rint(x * 1024))
    digest = hashlib.sha256(
        (x * 1024).astype("<i4").tobytes() + y.astype("<i4").tobytes()
    ).hexdigest()
    assert digest[:16] == "90e990fc33e391ab"


def test_noise():
    (x, clean), (again, noisy) = (
        RandomModel(0, 20, 4, 1.0, noise).samples("train", 200) for noise in (0.0, 0.4)
    )
    np.testing.assert_array_equal(x, again)
    assert (clean != noisy).mean() == pytest.approx(0.4 * 3 / 4, abs=0.03)
