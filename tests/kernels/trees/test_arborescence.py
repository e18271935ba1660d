"""Chu-Liu-Edmonds and the matrix-tree theorem against listings of all trees, exact arithmetic, and
other people's code.
"""

from itertools import product
from math import exp, inf, log

import numpy as np
import pytest

from structopt.factor_graph.arc_factored import ArcFactored
from structopt.kernels.trees import arborescence
from structopt.kernels.trees.arborescence import best_tree, floats_needed, ints_needed, partition
from structopt.kernels.trees.arborescence_k_best import k_best
from structopt.kernels.trees.arcs import ARCS
from structopt.kernels.trees.log_matrix_tree import log_partition
from structopt.testing.inference import best_listed
from structopt.testing.problems import random_trees
from tests.covering import covering


def is_tree(heads):
    """Whether every token is below the root, by walking up."""
    for m in range(len(heads)):
        way = {m}
        while heads[m] != m:
            m = heads[m]
            if m in way:
                return False
            way.add(m)
    return True


def roots_of(heads):
    return sum(head == m for m, head in enumerate(heads))


def listing(n, single_root):
    trees = [heads for heads in product(range(n), repeat=n) if is_tree(heads)]
    return np.array([heads for heads in trees if roots_of(heads) == 1 or not single_root])


CASES = {(n, single): listing(n, single) for n in range(1, 6) for single in (True, False)}
CASES |= {(6, True): listing(6, True)}


def scratch(n):
    """Scratch full of rubbish."""
    return np.full(floats_needed(n), np.nan), np.full(ints_needed(n), -77, np.int32)


def maximize(W, single_root):
    n = round(len(W) ** 0.5)
    heads, before = np.full(n, -7, np.int32), W.copy()
    value = best_tree(W, n, single_root, heads, *scratch(n))
    np.testing.assert_array_equal(W, before)
    return value, heads


def marginals(W, single_root, function=partition):
    n = round(len(W) ** 0.5)
    M, before = np.full(n * n, np.nan), W.copy()
    value = function(W, n, single_root, M, *scratch(n))
    np.testing.assert_array_equal(W, before)
    return value, M


def by_listing(W, trees):
    """Best value, log Z and marginals."""
    n = trees.shape[1]
    arcs = np.arange(n) * n + trees
    scores = W[arcs].sum(axis=1)
    top = scores.max()
    if top == -inf:
        return -inf, -inf, np.zeros(n * n)
    weights = np.exp(scores - top)
    return (
        top,
        top + log(weights.sum()),
        np.bincount(arcs.ravel(), np.repeat(weights / weights.sum(), n), n * n),
    )


def score(W, heads):
    return W[np.arange(len(heads)) * len(heads) + heads].sum()


def random_scores(generator, n, scale, pruned):
    W = scale * generator.uniform(-1, 1, n * n)
    if pruned:
        W[generator.random(n * n) < generator.choice([0.3, 0.5, 0.7])] = -inf
    return W


def test_number_of_trees():
    """Nine trees of three tokens with one root, sixteen with several; in general n^(n-1) and
    (n+1)^(n-1).
    """
    assert (len(CASES[3, True]), len(CASES[3, False])) == (9, 16)
    for n in (1, 2, 3, 6, 30):
        assert marginals(np.zeros(n * n), single_root=True)[0] == pytest.approx((n - 1) * log(n))
        assert marginals(np.zeros(n * n), single_root=False)[0] == pytest.approx(
            (n - 1) * log(n + 1)
        )


@pytest.mark.parametrize(
    ("case", "pruned", "scale"), covering(CASES, [False, True], [1.0, 30.0, 1e3, 1e4])
)
def test_against_all_trees(case, pruned, scale):
    n, single_root = case
    generator = np.random.default_rng([n, pruned, single_root])
    trees = CASES[n, single_root]
    for _ in range(20):
        W = random_scores(generator, n, scale, pruned)
        top, total, expected = by_listing(W, trees)
        value, heads = maximize(W, single_root)
        assert value == pytest.approx(top, rel=1e-12, abs=1e-12)
        if top > -inf:
            assert score(W, heads) == value
            assert heads.tolist() in trees.tolist()
        for function in (partition, log_partition):
            log_z, M = marginals(W, single_root, function)
            assert log_z == pytest.approx(total, rel=1e-12, abs=1e-12)
            np.testing.assert_allclose(M, expected, rtol=0, atol=1e-10)
            if top > -inf:
                np.testing.assert_allclose(M.reshape(n, n).sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("pruned", [False, True])
def test_ties(single_root, pruned):
    """Scores of three values: some best tree, the same in every run, and its value exactly."""
    generator = np.random.default_rng(0)
    for _ in range(300):
        n = int(generator.integers(2, 6))
        W = generator.integers(-1, 2, n * n).astype(float)
        if pruned:
            W[generator.random(n * n) < 0.4] = -inf
        value, heads = maximize(W, single_root)
        assert value == by_listing(W, CASES[n, single_root])[0]
        np.testing.assert_array_equal(heads, maximize(W, single_root)[1])
        if value > -inf:
            assert is_tree(heads.tolist())
            assert roots_of(heads.tolist()) == 1 or not single_root


@pytest.mark.parametrize("offset", [-1e12, -800.0, 0.0, 800.0, 1e12])
def test_single_root_is_no_penalty(offset):
    """Whatever is added to all arcs from the root, the tree with a single one stays the same, to
    the last bit of the scores.
    """
    generator = np.random.default_rng(1)
    for _ in range(100):
        n = int(generator.integers(2, 7))
        # sums with the offsets are exact but for the last bits
        W = generator.integers(0, 2**20, n * n) * 2.0**-20
        moved = W.copy()
        moved[:: n + 1] = offset  # the root arcs do not decide
        W[:: n + 1] = 0.0
        value, heads = maximize(moved, single_root=True)
        assert value == pytest.approx(
            offset + by_listing(W, CASES[n, True])[0], rel=1e-15, abs=1e-12
        )
        assert score(W, heads) == by_listing(W, CASES[n, True])[0]


@pytest.mark.parametrize("single_root", [True, False])
def test_gradient_of_log_partition(single_root):
    n, step = 12, 1e-5
    W = 3 * np.random.default_rng(2).normal(size=n * n)
    W[[5, 17, 60]] = -inf
    M = marginals(W, single_root)[1]
    for arc in range(n * n):
        up, down = W.copy(), W.copy()
        up[arc], down[arc] = W[arc] + step, W[arc] - step
        slope = (marginals(up, single_root)[0] - marginals(down, single_root)[0]) / (2 * step)
        assert M[arc] == pytest.approx(slope, abs=1e-8)


def determinant(matrix):
    """Determinant of a matrix of integers, exactly (Bareiss 1968)."""
    matrix, sign, before = [row[:] for row in matrix], 1, 1
    for k in range(len(matrix)):
        pivot = next((i for i in range(k, len(matrix)) if matrix[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            matrix[k], matrix[pivot], sign = matrix[pivot], matrix[k], -sign
        for row in matrix[k + 1 :]:
            for j in range(k + 1, len(matrix)):
                row[j] = (row[j] * matrix[k][k] - row[k] * matrix[k][j]) // before
        before = matrix[k][k]
    return sign * before


def exact_total(weights, single_root):
    """Sum over all trees of the product of their weights: the determinants of Koo et al. (2007)."""
    matrix = [[-w for w in row] for row in weights]
    for m, row in enumerate(weights):
        matrix[m][m] = sum(w for h, w in enumerate(row) if h != m or not single_root)
        if single_root:
            matrix[m][0] = row[m]
    return determinant(matrix)


@pytest.mark.parametrize(
    ("kind", "bits", "single_root"),
    covering(["uniform", "cycles", "unlikely roots"], [4, 200, 1000, 3000], [True, False]),
)
def test_against_exact_arithmetic(kind, bits, single_root):
    """Weights that are powers of two, up to 2^3000 apart. Pairs that point at each other leave only
    very light trees.
    """
    n = 6
    generator = np.random.default_rng(bits)
    powers = (
        generator.integers(-bits, bits + 1, (n, n))
        if kind == "uniform"
        else generator.integers(-4, 5, (n, n))
    )
    if kind == "cycles":
        powers[np.arange(n), np.arange(n) ^ 1] += bits
    if kind == "unlikely roots":
        powers[np.diag_indices(n)] -= bits
    lowest = int(powers.min())
    weights = [[2 ** (int(k) - lowest) for k in row] for row in powers]
    total = exact_total(weights, single_root)
    log_z, M = marginals(powers.ravel() * log(2), single_root)
    assert log_z == pytest.approx(log(total) + n * lowest * log(2), rel=1e-13, abs=1e-11)
    for m, h in product(range(n), range(n)):
        others = [row[:] for row in weights]
        others[m][h] = 0
        expected = (total - exact_total(others, single_root)) / total
        assert M[m * n + h] == pytest.approx(expected, rel=1e-9, abs=1e-11)
    np.testing.assert_allclose(M.reshape(n, n).sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("single_root", [True, False])
def test_weights_that_underflow_where_the_others_nearly_do(single_root):
    """Two tokens point at each other; the arcs that enter their cycle weigh just less and just more
    than the least number.
    """
    W = np.full((3, 3), -inf)
    W[0, 0] = W[1, 2] = W[2, 1] = 0.0
    W[1, 0], W[2, 0] = -708.5, -707.0
    log_z, M = marginals(W.ravel(), single_root)
    first = 1 / (1 + exp(1.5))
    assert log_z == pytest.approx(-707 + log(1 + exp(-1.5)), rel=1e-14)
    np.testing.assert_allclose(
        M.reshape(3, 3), [[1, 0, 0], [first, 0, 1 - first], [1 - first, first, 0]], atol=1e-12
    )


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize(("n", "scale"), [(40, 1.0), (40, 20.0), (40, 1e3), (40, 1e4), (120, 5.0)])
def test_long_sentences(n, scale, single_root):
    """Log space and weights give the same, and no tree is better than the best."""
    W = scale * np.random.default_rng(n).normal(size=n * n)
    value, heads = maximize(W, single_root)
    (log_z, M), (other, N) = marginals(W, single_root), marginals(W, single_root, log_partition)
    assert is_tree(heads.tolist())
    assert log_z == pytest.approx(other, rel=1e-12)
    assert log_z >= value - 1e-9 * scale
    np.testing.assert_allclose(M, N, rtol=0, atol=1e-9)
    np.testing.assert_allclose(M.reshape(n, n).sum(axis=1), 1.0, rtol=0, atol=1e-9)
    assert M.min() >= 0.0
    assert M.max() <= 1.0
    assert np.trace(M.reshape(n, n)) == pytest.approx(1.0, abs=1e-9) or not single_root
    # an arc is as likely as any tree that has it
    assert M[np.arange(n) * n + heads].min() >= exp(value - log_z) - 1e-9


@pytest.mark.parametrize("single_root", [True, False])
def test_entropy_from_log_partition_and_marginals(single_root):
    """Log Z less the expected score is the entropy of the listed distribution."""
    n = 5
    W = 2 * np.random.default_rng(3).normal(size=n * n)
    log_z, M = marginals(W, single_root)
    scores = W[np.arange(n) * n + CASES[n, single_root]].sum(axis=1)
    p = np.exp(scores - log_z)
    assert log_z - W @ M == pytest.approx(-(p * np.log(p)).sum(), abs=1e-10)


@pytest.mark.parametrize(
    "arcs", [[], [(0, 1), (1, 0), (2, 2)], [(0, 0), (1, 1), (2, 2)], [(0, 0), (2, 1), (1, 2)]]
)
def test_disconnected(arcs):
    """A cycle that nothing enters, tokens without arcs; arcs from the root alone suffice only where
    several are allowed.
    """
    W = np.full(9, -inf)
    for m, h in arcs:
        W[3 * m + h] = 1.0
    for single_root in (True, False):
        exists = len(arcs) == 3 and all(m == h for m, h in arcs) and not single_root
        value, log_z, M = maximize(W, single_root)[0], *marginals(W, single_root)
        assert value == log_z == (3.0 if exists else -inf)
        np.testing.assert_array_equal(M, np.eye(3).ravel() if exists else np.zeros(9))


def graphs(count, lengths, seed=0):
    """Random scores, some of them with missing arcs."""
    generator = np.random.default_rng(seed)
    for number in range(count):
        yield random_scores(
            generator, int(generator.integers(*lengths)), 1.0, pruned=number % 2 == 1
        )


def test_against_ufal():
    ufal = pytest.importorskip("ufal.chu_liu_edmonds")
    compared = 0
    for W in graphs(1000, (2, 40)):
        n = round(len(W) ** 0.5)
        scores = np.full((n + 1, n + 1), -inf)
        scores[1:, 1:] = W.reshape(n, n)
        scores[1:, 0] = W[:: n + 1]
        scores[np.diag_indices(n + 1)] = -inf
        value, heads = maximize(W, single_root=False)
        if value == -inf:
            continue
        theirs, their_value = ufal.chu_liu_edmonds(scores)
        assert value == pytest.approx(their_value, abs=1e-9)
        assert np.where(heads == np.arange(n), 0, heads + 1).tolist() == theirs[1:]
        compared += 1
    assert compared > 700


@pytest.mark.parametrize("single_root", [True, False])
def test_against_networkx(single_root):
    networkx = pytest.importorskip("networkx")
    for W in graphs(100, (2, 9), seed=1):
        n = round(len(W) ** 0.5)
        graph = networkx.DiGraph()
        graph.add_nodes_from(range(n + 1))  # n is the root
        for m, h in product(range(n), range(n)):
            # a penalty larger than all scores makes one arc from the root the best
            if W[m * n + h] > -inf:
                graph.add_edge(
                    n if h == m else h, m, weight=W[m * n + h] - 100.0 * (h == m and single_root)
                )
        value, heads = maximize(W, single_root)
        try:
            best = networkx.maximum_spanning_arborescence(graph)
        except networkx.NetworkXException:
            assert value == -inf
            continue
        theirs = dict((m, h) for h, m in best.edges)
        if single_root and sum(h == n for h in theirs.values()) > 1:
            assert value == -inf
            continue
        assert [m if theirs[m] == n else theirs[m] for m in range(n)] == heads.tolist()


def parts_of(structure, i, tree, labels, L):
    """Part indicators of a labelled tree, from the definition of the layout; None where its arcs
    are no candidates.
    """
    tokens, arcs, heads = structure
    first, n = tokens[i], tokens[i + 1] - tokens[i]
    count = arcs[first + n] - arcs[first]
    z = np.zeros(count * (L + 1))
    for m in range(n):
        candidates = heads[arcs[first + m] : arcs[first + m + 1]].tolist()
        if tree[m] not in candidates:
            return None
        arc = arcs[first + m] - arcs[first] + candidates.index(tree[m])
        z[count * L + arc] = 1.0
        if L:
            z[arc * L + labels[m]] = 1.0
    return z


@pytest.mark.parametrize(
    ("candidates", "labels", "single_root"), covering([False, True], [0, 1, 2, 3], [True, False])
)
def test_solve_against_all_labelled_trees(candidates, labels, single_root):
    encoded = random_trees(
        4, (1, 4, 2, 3), max(labels, 1), candidates=candidates, single_root=single_root
    )
    structure = ArcFactored(labeled=labels > 0, single_root=single_root).build(encoded)
    arcs = ARCS.open(structure.record)
    layout = arcs.tokens, arcs.arcs, arcs.heads
    generator, memory = np.random.default_rng(labels), np.zeros(0)
    for sentence, length in enumerate((1, 4, 2, 3)):
        every = product(
            CASES[length, single_root].tolist(), product(range(max(labels, 1)), repeat=length)
        )
        indicators = (parts_of(layout, sentence, tree, names, labels) for tree, names in every)
        vertices = np.array([z for z in indicators if z is not None])
        s = generator.normal(size=vertices.shape[1])
        scores = vertices @ s
        for temperature in (0.0, 0.3, 1.0, 4.0):
            z, scratch_scores = np.full(len(s), np.nan), s.copy()
            value = arborescence.solve(
                structure.record, sentence, scratch_scores, temperature, z, memory, structure.work
            )
            if temperature == 0.0:
                assert value == pytest.approx(scores.max(), abs=1e-12)
                np.testing.assert_array_equal(z, vertices[scores.argmax()])
                continue
            weights = np.exp((scores - scores.max()) / temperature)
            assert value == pytest.approx(
                scores.max() + temperature * log(weights.sum()), abs=1e-11
            )
            np.testing.assert_allclose(z, weights @ vertices / weights.sum(), rtol=0, atol=1e-11)
        listed = structure.kind.vertices(structure.record, sentence, len(s), 20_000)
        np.testing.assert_array_equal(np.unique(listed, axis=0), np.unique(vertices, axis=0))
        assert len(listed) == len(vertices)
        count = min(50, len(vertices))
        values, best = best_listed(k_best, structure, sentence, s, count)
        order = np.argsort(-scores)[:count]
        np.testing.assert_allclose(values, scores[order], atol=1e-12)
        np.testing.assert_array_equal(best, vertices[order])


def test_solve_where_scores_leave_no_tree():
    structure = ArcFactored(labeled=True).build(random_trees(0, (3,)))
    assert structure.record.longs[0] == 0
    arcs = 9
    s = np.zeros(arcs * 3)
    s[arcs * 2 + np.array([0, 4, 8])] = -inf  # no arc from the root
    for temperature in (0.0, 1.0):
        z = np.full(len(s), np.nan)
        assert (
            arborescence.solve(structure.record, 0, s, temperature, z, np.zeros(0), structure.work)
            == -inf
        )
        assert not z.any()


def test_best_labels_at_a_large_range():
    """A cold distribution is the best tree: value and marginals of solve near temperature zero."""
    encoded = random_trees(1, (12,), 3)
    structure = ArcFactored(labeled=True).build(encoded)
    s = np.random.default_rng(0).normal(size=int(structure.parts[1]))
    answers = []
    for temperature in (0.0, 1e-4):
        z = np.zeros(len(s))
        answers.append(
            (
                arborescence.solve(
                    structure.record, 0, s, temperature, z, np.zeros(0), structure.work
                ),
                z,
            )
        )
    assert answers[1][0] == pytest.approx(answers[0][0], abs=1e-2)
    assert answers[1][0] >= answers[0][0] - 1e-9
    np.testing.assert_allclose(answers[1][1], answers[0][1], rtol=0, atol=1e-3 + exp(-20))
