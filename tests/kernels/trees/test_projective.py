"""Eisner's algorithm and inside-outside against all projective trees, from the definition."""

from itertools import product
from math import inf, log

import numpy as np
import pytest

from structopt.kernels.trees.projective import best_tree, floats_needed, ints_needed, partition


def above(heads, k):
    """Tokens above k, k itself first; None where the way up never ends."""
    way = [k]
    while heads[k] != k:
        k = heads[k]
        if k in way:
            return None
        way.append(k)
    return way


def is_projective(heads):
    """Whether the head of every arc is above all tokens between its ends."""
    return all(
        heads[m] in above(heads, k)
        for m in range(len(heads))
        for k in range(*sorted((m, heads[m])))
    )


def projective_trees(n, single_root):
    trees = [
        heads for heads in product(range(n), repeat=n) if all(above(heads, k) for k in range(n))
    ]
    roots = [sum(head == m for m, head in enumerate(heads)) for heads in trees]
    return np.array(
        [
            t
            for t, r in zip(trees, roots, strict=True)
            if is_projective(t) and (r == 1 or not single_root)
        ]
    )


def run(W, single_root):
    """Value and heads of the best tree, log Z and marginals; scratch full of rubbish, scores that
    must not change.
    """
    n = round(len(W) ** 0.5)
    floats, ints = np.full(floats_needed(n), np.nan), np.full(ints_needed(n), -7, np.int32)
    heads, M, before = np.full(n, -7, np.int32), np.full(n * n, np.nan), W.copy()
    value = best_tree(W, n, single_root, heads, floats, ints)
    total = partition(W, n, single_root, M, floats, ints)
    np.testing.assert_array_equal(W, before)
    return value, heads, total, M


CASES = list(product(range(1, 7), (True, False)))


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize(("n", "single_root"), CASES)
def test_against_all_trees(n, single_root, pruned, scale):
    generator = np.random.default_rng([n, pruned])
    trees = projective_trees(n, single_root)
    arcs = np.arange(n) * n + trees
    for _ in range(5):
        W = scale * generator.uniform(-1, 1, n * n)
        if pruned:
            W[generator.random(n * n) < 0.4] = -inf
        scores = W[arcs].sum(axis=1)
        top = scores.max()
        value, heads, total, M = run(W, single_root)
        if top == -inf:
            assert value == total == -inf
            assert not M.any()
            continue
        weights = np.exp(scores - top)
        marginals = np.bincount(arcs.ravel(), np.repeat(weights / weights.sum(), n), n * n)
        assert value == pytest.approx(top, rel=1e-12, abs=1e-12)
        assert heads.tolist() in trees.tolist()
        assert W[np.arange(n) * n + heads].sum() == pytest.approx(top, rel=1e-12, abs=1e-12)
        assert total == pytest.approx(top + log(weights.sum()), rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(M, marginals, atol=1e-11)


def test_number_of_trees():
    """Zero scores count the projective trees, of which there are C(3n, n) / (2n + 1) with several
    roots.
    """
    assert [len(projective_trees(n, False)) for n in range(1, 7)] == [1, 3, 12, 55, 273, 1428]
    n, count = 12, 1.0
    for k in range(n):
        count *= (3 * n - k) / (k + 1)
    assert run(np.zeros(n * n), single_root=False)[2] == pytest.approx(log(count / (2 * n + 1)))


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("n", [40, 310])
def test_long_sentences(n, single_root):
    """Where every token has one head that it likes much better, in a chain, the tree is certain;
    both semirings agree.
    """
    W = np.random.default_rng(n).normal(size=n * n)
    for m in range(n):
        W[m * n + max(m - 1, 0)] += 40.0
    value, heads, total, M = run(W, single_root)
    assert heads.tolist() == [0, *range(n - 1)]
    assert total == pytest.approx(value, abs=1e-6)
    np.testing.assert_allclose(M[np.arange(n) * n + heads], 1.0, atol=1e-6)


@pytest.mark.parametrize("single_root", [True, False])
def test_logarithms_continue_scaled_weights(single_root):
    """Six pairs of tokens want to be each other's heads, and one of a pair can be: with 200 nats
    the weights underflow.
    """
    n, pairs = 12, 6
    W = np.random.default_rng(1).normal(size=n * n)
    wish = np.zeros(n * n)
    wish[[m * n + (m ^ 1) for m in range(n)]] = 1.0
    (_, heads, scaled, M), (_, same, total, N) = (
        run(W + step * wish, single_root) for step in (60.0, 200.0)
    )
    assert heads.tolist() == same.tolist()
    assert total - scaled == pytest.approx(140.0 * pairs, abs=1e-9)
    np.testing.assert_allclose(M, N, atol=1e-11)
    np.testing.assert_allclose(N.reshape(n, n).sum(axis=1), 1.0, atol=1e-11)
