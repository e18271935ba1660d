"""The sum tree: frequencies, changes, and what is never drawn."""

import numpy as np
import pytest

from structopt.kernels.arrays.sampling import build, change, draw, drawn

WEIGHTS = np.array([3.0, 0.0, 1.0, 5.0, 0.0, 0.5, 2.0])


def tree_of(weights):
    tree = np.full(2 << max(0, len(weights) - 1).bit_length(), 7.0)
    build(tree, np.asarray(weights, float))
    return tree


def frequencies(tree, size, count=200_000):
    leaves = [draw(tree, uniform) for uniform in (np.arange(count) + 0.5) / count]
    return np.bincount(leaves, minlength=size) / count


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_draws_in_proportion_to_the_weights(size):
    weights = WEIGHTS[:size]
    np.testing.assert_allclose(
        frequencies(tree_of(weights), size), weights / weights.sum(), atol=2e-5
    )


def test_changes_are_heeded():
    tree, weights = tree_of(WEIGHTS), WEIGHTS.copy()
    for i, weight in [(0, 0.0), (4, 9.0), (6, 1e-9), (0, 2.5)]:
        change(tree, i, weight)
        weights[i] = weight
    assert tree[1] == weights.sum()
    np.testing.assert_allclose(frequencies(tree, len(weights)), weights / weights.sum(), atol=2e-5)


def test_what_was_taken_away_leaves_no_trace():
    tree = tree_of([1e17, 1.0])
    change(tree, 0, 0.0)
    assert tree[1] == 1.0
    assert draw(tree, 0.0) == draw(tree, 1 - 1e-16) == 1


@pytest.mark.parametrize("uniform", [0.0, 0.5, 1 - 1e-16])
def test_never_draws_a_weight_of_zero(uniform):
    for weights in (
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 4.0],
        [2.0, 0.0, 0.0],
        [0.1, 0.2, 0.0],
        [0.0, 0.3, 1e-300],
    ):
        assert weights[draw(tree_of(weights), uniform)] > 0


def test_a_visit_takes_what_the_order_names_or_draws():
    tree, order, uniforms = (
        tree_of([0.0, 0.0, 1.0]),
        np.array([1, -1, 0]),
        np.array([0.9, 0.9, 0.9]),
    )
    assert [drawn(order, uniforms, tree, t) for t in range(3)] == [1, 2, 0]
    assert drawn(order, uniforms, tree_of([0.0, 0.0, 0.0]), 1) == 2  # without gaps: uniformly
