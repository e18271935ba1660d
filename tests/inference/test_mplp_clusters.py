"""Clusters of MPLP: functions whose sum stays, the decreases that searches promise, bounds between
the relaxation and the best score, and frustrated cycles that become integral.
"""

from itertools import combinations, product
from math import inf

import numpy as np
import pytest

from structopt.config.compatibility import check
from structopt.core.ability import Ability
from structopt.errors import ArgumentError, CompatibilityError, ConfigError
from structopt.factor_graph.kinds import LOOPY
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.lp import LP
from structopt.inference.mplp import MPLP
from structopt.kernels.loopy.factors import FACTORS
from structopt.kernels.loopy.tightening import clusters, search
from structopt.loss.family import LossFamily
from structopt.optimizer.dlpw import DLPW
from structopt.testing.inference import InferenceSuite, run
from tests.inference.small_graphs import complete, outputs, structure_of, tree
from tests.inference.test_mplp import GRID, graph
from tests.messages import raises


def cycle(n, K=2):
    return graph([K] * n, [(v, (v + 1) % n) for v in range(n)])


ROWS = [
    complete([2] * 6),
    complete([3, 2, 4, 3], loose=1),
    cycle(3),
    cycle(5),
    cycle(5, 3),
    graph([2] * 9, GRID),
    graph([3] * 7, [*((v, (v + 1) % 7) for v in range(7)), (0, 3)]),
]
PLAIN = structure_of(ROWS)
SOLVE_LP = LP().kernels(LOOPY).solve
TIGHT = {"tolerance": 1e-9, "clusters": 60}
each = pytest.mark.parametrize("i", range(len(ROWS)))


def value_of(i, s, **options):
    """Value and z."""
    inference = MPLP(**TIGHT | options)
    return run(inference.kernels(LOOPY).solve, inference.prepare(PLAIN), i, s, 0.0)


def draws(i, count=6, forbid=0):
    """Scores; those of edges are large, so that relaxations are fractional."""
    generator, shared = np.random.default_rng([i, count, forbid]), int(ROWS[i].widths.sum())
    for _ in range(count):
        s = generator.normal(size=int(np.diff(PLAIN.parts)[i]))
        s[shared:] *= 3.0
        s[generator.choice(len(s), forbid, replace=False)] = -inf
        yield s


def repulsive(n, noise=0.01):
    """Scores of a cycle whose neighbours should differ."""
    s = np.concatenate([np.zeros(2 * n), np.tile([0.0, 1.0, 1.0, 0.0], n)])
    s[: 2 * n] = noise * np.random.default_rng(n).normal(size=2 * n)
    return s


def functions(i, s, limit=40):
    """The functions of an instance at random messages."""
    row, generator = ROWS[i], np.random.default_rng(i)
    widths = [row.widths[v] for pair in row.links for v in pair]
    starts = np.cumsum([0, *widths]).astype(np.int64)
    messages = generator.normal(size=starts[-1])
    return clusters.open_clusters(
        FACTORS.open(PLAIN.record), i, s, -inf, messages, starts[:-1], limit
    )


def sum_of(g, states):
    """The functions' sum at an output."""
    total = sum(g.variables[g.first[v] + y] for v, y in enumerate(states))
    for e in range(g.count[0]):
        a, b = g.ends[2 * e : 2 * e + 2]
        total += g.pairs[g.begins[e] + states[a] * g.widths[b] + states[b]]
    for c in range(g.count[1]):
        one, two, three = g.corners[3 * c : 3 * c + 3]
        at = (states[one] * g.widths[two] + states[two]) * g.widths[three] + states[three]
        total += g.joint[g.joint_begins[c] + at]
    return total


def all_sums(g):
    return np.array([sum_of(g, states) for states in product(*map(range, g.widths))])


class TestMPLP(InferenceSuite):
    @pytest.fixture(params=["stars", "trees"])
    def inference(self, request):
        return MPLP(passes=50, clusters=20, blocks=request.param)

    @pytest.fixture
    def structure(self, inference):
        return inference.prepare(structure_of([ROWS[0], ROWS[1], ROWS[3]]))


@each
def test_updates_keep_the_sum_and_lower_the_bound(i):
    """Whatever the clusters are, and however many there are of them."""
    s, room = next(draws(i, 1)), np.empty(100)
    g = functions(i, s)
    expected = outputs(ROWS[i]) @ s
    np.testing.assert_allclose(all_sums(g), expected, atol=1e-9)
    bound = clusters.cluster_bound(g)
    for corners in list(combinations(range(len(g.widths)), 3))[::4]:
        assert search.add_cluster(g, *corners) == 1
        assert search.add_cluster(g, *corners[::-1]) == 0
        for backwards in (False, True):
            clusters.cluster_pass(g, backwards, room)
            before, bound = bound, clusters.cluster_bound(g)
            assert expected.max() - 1e-9 <= bound <= before + 1e-9
    np.testing.assert_allclose(all_sums(g), expected, atol=1e-9)


def test_an_update_of_a_cluster_by_hand():
    g = functions(2, next(draws(2)))
    pairs = g.pairs.reshape(-1, 2, 2)[:3].copy()  # of 0 1, 1 2 and 2 0
    m = pairs[0][:, :, None] + pairs[1][None] + pairs[2].T[:, None]
    assert search.add_cluster(g, 0, 1, 2) == 1
    clusters.update_cluster(g, 0)
    shares = [m.max(axis=2) / 3, m.max(axis=0) / 3, m.max(axis=1).T / 3]
    np.testing.assert_allclose(g.pairs[:12].reshape(3, 2, 2), shares)
    rest = m - shares[0][:, :, None] - shares[1][None] - shares[2].T[:, None]
    np.testing.assert_allclose(g.joint[:8].reshape(2, 2, 2), rest)


@pytest.mark.parametrize("i", [0, 1])
def test_triplets_decrease_the_bound_as_promised(i):
    """The best of all triplets first; after its update the bound is lower by its decrease."""
    found = 0
    for s in draws(i):
        g = functions(i, s)
        for _ in range(30):  # to where the relaxation is nearly solved
            clusters.cluster_pass(g, False, np.empty(100))
        gains = {}
        for a, b, c in combinations(range(len(ROWS[i].widths)), 3):
            sides = [search.find_pair(g, *pair) for pair in ((a, b), (b, c), (a, c))]
            if min(sides) >= 0:
                gains[a, b, c] = search.decrease(g, a, b, c, *sides, np.empty(100))
        before, best = clusters.cluster_bound(g), max(gains, key=gains.get)
        added = search.add_triplets(g, 1e-6, 2)
        assert added == min(2, sum(gain > 1e-6 for gain in gains.values()))
        if added:
            assert tuple(g.corners[:3]) == best
            clusters.update_cluster(g, 0)
            assert before - clusters.cluster_bound(g) == pytest.approx(gains[best], abs=1e-9)
            found += 1
    assert found


@pytest.mark.parametrize("K", [2, 3])
def test_weights_of_the_projection_graph(K):
    row = cycle(3, K)
    structure, generator = structure_of([row]), np.random.default_rng(K)
    s = generator.normal(size=int(structure.parts[-1]))
    zeros = np.zeros(6 * K)
    starts = np.arange(6, dtype=np.int64) * K
    g = clusters.open_clusters(FACTORS.open(structure.record), 0, s, -inf, zeros, starts, 1)
    owner, ends, weights = search.projection_graph(g)
    states = [0] if K == 2 else range(K)
    assert owner.tolist() == [v for v in range(3) for _ in states]
    expected = []
    for e in range(3):
        table = g.pairs[g.begins[e] : g.begins[e + 1]].reshape(K, K)
        for y, u in product(states, states):
            agree = (np.arange(K) == y)[:, None] == (np.arange(K) == u)
            expected.append(table[agree].max() - table[~agree].max())
    np.testing.assert_allclose(weights, expected)
    assert len(ends) == len(weights)


@pytest.mark.parametrize("n", [4, 5, 8, 11])
def test_frustrated_cycles(n):
    """Chords divide a cycle into triangles, if an odd number of neighbours should differ, and the
    bound falls by at least the least weight.
    """
    structure, s = structure_of([cycle(n)]), repulsive(n)
    f, zeros = FACTORS.open(structure.record), np.zeros(4 * n)
    g = clusters.open_clusters(f, 0, s, -inf, zeros, np.arange(2 * n) * 2, 2 * n)
    for _ in range(200):
        clusters.cluster_pass(g, False, np.empty(9))
    before = clusters.cluster_bound(g)
    least = np.abs(search.projection_graph(g)[2]).min()
    assert search.add_triplets(g, 1e-6, 5) == 0
    assert search.add_cycles(g, 1e-6, 5, n - 3) == 0  # they would be more than the limit
    added = search.add_cycles(g, 1e-6, 5, 2 * n)
    assert added == (n - 2 if n % 2 else 0)
    assert g.count.tolist() == [n + (n - 3) * (n % 2), added]
    for _ in range(300):
        clusters.cluster_pass(g, False, np.empty(9))
    assert before - clusters.cluster_bound(g) >= (n % 2) * least - 1e-6


@pytest.mark.parametrize("n", [3, 5, 7, 21])
@pytest.mark.parametrize("blocks", ["stars", "trees"])
def test_frustrated_cycles_become_integral(n, blocks):
    """The relaxation has every state half, the bound with clusters is the best score."""
    plain, s = structure_of([cycle(n)]), repulsive(n)
    relaxed, z = run(SOLVE_LP, plain, 0, s, 0.0)
    assert np.allclose(z[: 2 * n], 0.5)
    inference = MPLP(tolerance=1e-9, clusters=20, blocks=blocks)
    value, z = run(inference.kernels(LOOPY).solve, inference.prepare(plain), 0, s, 0.0)
    assert set(z) == {0.0, 1.0}
    assert value == pytest.approx(s @ z, abs=1e-8)
    assert relaxed - value > 0.9
    if n < 10:
        assert value == pytest.approx((outputs(cycle(n)) @ s).max(), abs=1e-8)


@each
@pytest.mark.parametrize("forbid", [0, 3])
def test_bounds_lie_between_the_relaxation_and_the_best_score(i, forbid):
    """And most are the best score."""
    vertices, tight = outputs(ROWS[i]), 0
    for s in draws(i, forbid=forbid):
        allowed = vertices[~(vertices[:, s == -inf] > 0).any(axis=1)]
        value, z = value_of(i, s)
        if not len(allowed):
            continue
        best = (allowed @ np.where(s == -inf, 0.0, s)).max()
        assert best - 1e-8 <= value <= value_of(i, s, clusters=0)[0] + 1e-9
        assert not z[s == -inf].any()
        proved = value - np.where(z > 0, s, 0.0).sum() <= 1e-9
        tight += bool(proved)
        if proved:
            assert value == pytest.approx(best, abs=1e-8)
            assert (allowed == z).all(axis=1).any()
    assert tight >= 4


def test_clusters_help():
    """On complete graphs of two states: no relaxation is integral, and all bounds are."""
    for s in draws(0):
        best = (outputs(ROWS[0]) @ s).max()
        value, z = value_of(0, s)
        assert value == pytest.approx(best, abs=1e-8)
    gaps = [value_of(0, s, clusters=0)[0] - value_of(0, s)[0] for s in draws(0)]
    assert max(gaps) > 0.1


@each
def test_z_is_a_subgradient_of_the_best_score(i):
    """z^T s' is never above the bound at s by more than the scores differ in it: if the bound is
    the score of z, at any other scores z is an output.
    """
    vertices = outputs(ROWS[i])
    for s in draws(i):
        value, z = value_of(i, s)
        if value - s @ z <= 1e-9:
            other = s + np.random.default_rng(i).normal(size=len(s))
            assert (vertices @ other).max() >= value + z @ (other - s) - 1e-8


def test_limits():
    """No more clusters than allowed: one leaves a bound between none and many."""
    for s in draws(0):
        values = [value_of(0, s, clusters=count)[0] for count in (0, 1, 60)]
        assert values[0] >= values[1] >= values[2] - 1e-9
    assert values[0] > values[1] + 0.1
    assert values[1] > values[2] + 0.1
    assert value_of(0, s, passes=0)[0] == pytest.approx(value_of(0, s, passes=0, clusters=0)[0])


def test_where_nothing_is_allowed():
    s = np.zeros(int(np.diff(PLAIN.parts)[2]))
    s[6:10] = -inf
    value, z = value_of(2, s)
    assert value == -inf
    assert not z.any()


@pytest.mark.parametrize(
    "row", [graph([3], []), graph([2, 2], []), graph([2, 3], [(0, 1), (1, 0)])]
)
def test_small_graphs(row):
    structure = MPLP(clusters=5, tolerance=1e-10).prepare(structure_of([row]))
    s = np.random.default_rng(0).normal(size=int(structure.parts[-1]))
    value, z = run(MPLP().kernels(LOOPY).solve, structure, 0, s, 0.0)
    assert value == pytest.approx((outputs(row) @ s).max(), abs=1e-8)
    assert value == pytest.approx(s @ z, abs=1e-8)


def test_what_it_comes_to():
    """P and predictions are computed with clusters; certificates are refused."""
    inference = MPLP(clusters=7, max_table=99, blocks="trees")
    for structure in (None, PLAIN):
        later = inference.converged(structure)
        assert (later.clusters, later.max_table) == (7, 99)
        assert (later.blocks, later.warm_start) == ("trees", False)
    assert inference.untightened().clusters == 0
    assert MPLP().untightened() is LP().untightened() is None
    assert Ability.CONVEX in MPLP().reports(Pairwise())
    assert Ability.CONVEX not in inference.reports(Pairwise())


def test_refusals():
    with raises(ArgumentError, match="at least 0", parameter="clusters", value=-1):
        MPLP(clusters=-1)
    with raises(ArgumentError, parameter="max_table", value=0):
        MPLP(max_table=0)
    with raises(ArgumentError, match="cannot be kept", parameter="clusters", value=5):
        MPLP(clusters=5, warm_start=True)
    with raises(ArgumentError, parameter="smoothing", value=1.0):
        MPLP(clusters=5, smoothing=1.0)
    with raises(CompatibilityError, match="has other factors", parameter="clusters", value=5):
        MPLP(clusters=5).prepare(structure_of([tree(3)]))
    with raises(CompatibilityError, match="have 36 joint states", parameter="max_table", value=35):
        MPLP(clusters=5, max_table=35).prepare(PLAIN)
    assert MPLP(clusters=5, max_table=36).prepare(PLAIN) is not None
    with raises(ConfigError, match="10,000,000,000 clusters need"):
        MPLP(clusters=10**10).prepare(PLAIN)
    with raises(CompatibilityError, match="goes on with the messages"):
        check(Pairwise(), MPLP(clusters=5), LossFamily(inf, 1.0), DLPW())
