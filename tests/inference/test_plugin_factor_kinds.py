"""Kinds of factors that a plugin brings: every inference agrees on them with a listing, or refuses
them by name.
"""

import subprocess
import sys
from itertools import product
from math import inf, log
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from structopt.config import registry
from structopt.core.factor_kind import FactorKind
from structopt.core.factor_kind_table import kind_of, number_of
from structopt.errors import CompatibilityError, ConfigError
from structopt.factor_graph import kinds
from structopt.factor_graph.factor_rows import FactorRows
from structopt.inference.ad3 import AD3
from structopt.inference.cut import Cut
from structopt.inference.enumeration import Enumeration
from structopt.inference.ilp import ILP
from structopt.inference.loopy_bp import LoopyBP
from structopt.inference.lp import LP
from structopt.inference.trw_bp import TRWBP
from structopt.kernels.loopy import open_kinds
from structopt.kernels.loopy.factors import (
    BUDGET,
    EXACTLY_ONE,
    FACTORS,
    FIRST_OPEN,
    NUMBERS,
    PAIRS,
    TABLE,
)
from tests.config.test_registry import write_distribution
from tests.inference.factor_problems import binary_rows, factor_structure, random_scores, table_rows

ROOT = Path(__file__).resolve().parents[2]
POINTS = {
    "at_least_one": "AtLeastOne",
    "exactly_k": "ExactlyK",
    "any_on": "AnyOn",
    "same_state": "SameState",
    "undescribed": "Undescribed",
}


@pytest.fixture(scope="module", autouse=True)
def plugin(tmp_path_factory):
    """A distribution structopt-own that has the kinds of `own_kinds`."""
    site = tmp_path_factory.mktemp("own") / "site"
    points = {
        "factor_kind": {name: f"tests.inference.own_kinds:{cls}" for name, cls in POINTS.items()}
    }
    write_distribution(site, "structopt-own", points, {})
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        yield site


def graph(name):
    """Graphs with the kinds of the core beside the plugin's."""
    if name == "some":
        rows = binary_rows(
            6, budgets=[(3, [0, 1, 2, 3, 4])], pairs=[(0, 1), (1, 2), (3, 5), (4, 5)]
        )
        rows.add("at_least_one", [0, 1, 2])
        rows.add("at_least_one", [5, 3, 2, 4])
    elif name == "exactly":
        rows = binary_rows(6, pairs=[(0, 1), (1, 2), (3, 5), (4, 5)])
        rows.add("exactly_k", [0, 1, 2, 3], extra=[2])
        rows.add("exactly_k", [3, 5, 4], extra=[1])
    elif name == "any":
        rows = binary_rows(6, budgets=[(2, [0, 1, 2])], ones=[[3, 4]], pairs=[(0, 3), (4, 5)])
        rows.add("any_on", [0, 1, 5], 1)
        rows.add("any_on", [2, 3, 4], 1)
        rows.add("at_least_one", [1, 2, 5])
    else:
        rows = table_rows([3, 2, 3, 2, 3], [(0, 1), (1, 2), (2, 3)])
        rows.add("same_state", [0, 2, 4], 3, [3])
        rows.add("same_state", [1, 3], 2, [2])
    return rows


GRAPHS = ["some", "exactly", "any", "same"]
COMPILED = ["some", "any", "same"]


def brute(rows, s):
    """All outputs of a graph and their scores, listed without the package."""
    starts, found = np.cumsum([0, *rows.widths]), []
    numbers = {number_of(name): name for name in POINTS}
    for states in product(*(range(max(2, width)) for width in rows.widths)):
        shared = np.zeros(starts[-1])
        for v, y in enumerate(states):
            shared[starts[v] + (y if rows.widths[v] > 1 else 0)] = 1.0 if rows.widths[v] > 1 else y
        parts, allowed = [shared], True
        for kind, linked, privates, extra in zip(
            rows.kinds, rows.links, rows.privates, rows.extras, strict=True
        ):
            y, name = np.array(states)[linked], numbers.get(kind)
            allowed &= not (
                (kind == BUDGET and y.sum() > extra[0])
                or (kind == EXACTLY_ONE and y.sum() != 1)
                or (name == "at_least_one" and y.sum() == 0)
                or (name == "exactly_k" and y.sum() != extra[0])
                or (name == "same_state" and len(set(y.tolist())) > 1)
            )
            own = np.zeros(privates)
            if kind == PAIRS:
                own[:] = y[::2] * y[1::2]
            elif kind == TABLE:
                own[y[0] * rows.widths[linked[1]] + y[1]] = 1.0
            elif name == "any_on":
                own[0] = y.max()
            elif name == "same_state":
                own[y[0]] = 1.0
            parts.append(own)
        if allowed:
            found.append(np.concatenate(parts))
    vertices = np.array(found)
    return vertices, vertices @ np.where(s == -inf, 0.0, s) + np.where(
        (vertices[:, s == -inf] > 0).any(axis=1), -inf, 0.0
    )


def solved(inference, rows, s, temperature=0.0):
    structure = inference.prepare(factor_structure([rows]))
    z, memory = np.full(len(s), 7.0), np.zeros(int(structure.memory[-1]))
    value = inference.kernels(kinds.LOOPY).solve(
        structure.record, 0, s.copy(), temperature, z, memory, structure.work
    )
    return value, z


def scored(name, count=12):
    """A graph with scores of several scales; in some a part is forbidden."""
    rows = graph(name)
    for seed in range(count):
        s = random_scores(rows, seed, scale=(1.0, 0.3, 5.0)[seed % 3]) - (0.7 if seed % 2 else 0.0)
        if seed % 4 == 3:
            s[seed % len(rows.widths)] = -inf
        yield rows, s


@pytest.mark.parametrize("name", GRAPHS)
def test_enumeration_lists_the_outputs(name):
    for rows, s in scored(name):
        vertices, scores = brute(rows, s)
        value, z = solved(Enumeration(), rows, s)
        assert value == pytest.approx(scores.max())
        np.testing.assert_array_equal(z, vertices[scores.argmax()])
        weights = np.exp(scores - scores.max())
        value, z = solved(Enumeration(), rows, s, 1.0)
        assert value == pytest.approx(scores.max() + log(weights.sum()))
        np.testing.assert_allclose(z, weights @ vertices / weights.sum(), atol=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
def test_programs(name):
    """The relaxation is an upper bound, the integer program exact."""
    for rows, s in scored(name):
        vertices, scores = brute(rows, s)
        bound, _ = solved(LP(), rows, s)
        value, z = solved(ILP(), rows, s)
        assert value == pytest.approx(scores.max(), abs=1e-6)
        assert bound >= scores.max() - 1e-6
        np.testing.assert_allclose(z, vertices[scores.argmax()], atol=1e-6)


@pytest.mark.parametrize("name", COMPILED)
def test_dual_decomposition(name):
    """It comes to the relaxation, whose rows are convex hulls here, and by branching to the best
    output.
    """
    for rows, s in scored(name):
        vertices, scores = brute(rows, s)
        relaxed, _ = solved(LP(), rows, s)
        value, z = solved(AD3(passes=20_000, tolerance=1e-6), rows, s)
        assert value == pytest.approx(relaxed, abs=1e-3 * max(1.0, abs(relaxed)))
        assert value >= relaxed - 1e-9
        assert ((z >= 0.0) & (z <= 1.0)).all()
        value, z = solved(AD3(exact=True), rows, s)
        assert value == pytest.approx(scores.max(), abs=1e-9)
        np.testing.assert_array_equal(z, vertices[scores.argmax()])


def test_fractional_private_parts_follow_the_configurations():
    """Where u is between two configurations, so are the private parts."""
    rows = graph("same")
    s = np.zeros(int(np.sum(rows.widths)) + sum(rows.privates))
    s[:3] = [0.0, 0.0, -9.0]
    _, z = solved(AD3(), rows, s)
    np.testing.assert_allclose(z[-5:-2], z[:3], atol=1e-3)


def acyclic():
    rows = binary_rows(5, pairs=[(0, 3), (1, 4)])
    rows.add("at_least_one", [0, 1, 2])
    return rows


def test_belief_propagation_is_exact_without_cycles():
    for seed in range(6):
        rows = acyclic()
        s = random_scores(rows, seed) - 1.0
        for temperature in (1.0, 0.5):
            value, z = solved(LoopyBP(passes=50, tolerance=1e-10), rows, s, temperature)
            expected, marginals = solved(Enumeration(), rows, s, temperature)
            assert value == pytest.approx(expected, rel=1e-6)
            np.testing.assert_allclose(z, marginals, atol=1e-6)
        value, z = solved(LoopyBP(passes=50, tolerance=1e-10), rows, s, 0.0)
        expected, best = solved(Enumeration(), rows, s, 0.0)
        assert value == pytest.approx(expected)
        np.testing.assert_array_equal(z, best)


def test_belief_propagation_lets_hard_factors_choose():
    """Where all variables would rather be off."""
    rows = binary_rows(3)
    rows.add("at_least_one", [0, 1, 2])
    value, z = solved(LoopyBP(), rows, np.array([-2.0, -1.0, -3.0]))
    assert (value, z.tolist()) == (-1.0, [0.0, 1.0, 0.0])


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_reweighted_bound(temperature):
    for rows, s in [(acyclic(), random_scores(acyclic(), seed)) for seed in range(4)] + list(
        scored("some", 3)
    ):
        value, z = solved(TRWBP(), rows, s, temperature)
        assert value >= solved(Enumeration(), rows, s, temperature)[0] - 1e-9
        assert ((z >= -1e-12) & (z <= 1.0 + 1e-12)).all()


REFUSED = [
    (AD3(), "exactly", "ad3", "a compiled maximum", "exactly_k", "enumeration, ilp, lp"),
    (LoopyBP(), "exactly", "loopy_bp", "a compiled maximum", "exactly_k", "enumeration, ilp, lp"),
    (
        TRWBP(),
        "any",
        "trw_bp",
        "compiled marginals",
        "any_on",
        "ad3, enumeration, ilp, lp",
    ),
    (LoopyBP(), "any", "loopy_bp", "compiled marginals", "any_on", "ad3, enumeration, ilp, lp"),
]


@pytest.mark.parametrize(("inference", "name", "who", "what", "kind", "others"), REFUSED)
def test_what_is_missing_is_refused_by_name(inference, name, who, what, kind, others):
    with pytest.raises(CompatibilityError) as caught:
        inference.prepare(factor_structure([graph(name)]))
    assert str(caught.value) == (
        f"inference={who} needs {what} of every kind of factor, and factor_kind={kind} "
        "(structopt-own) has none. "
        f"Inferences that can take it: {others}."
    )


def lonely():
    rows = FactorRows(np.ones(2, np.int64))
    rows.add("undescribed", [0, 1])
    return factor_structure([rows])


@pytest.mark.parametrize("inference", [LP(), ILP()])
def test_a_kind_without_rows(inference):
    with pytest.raises(
        CompatibilityError,
        match=r"needs a linear description .*=undescribed .* take it: ad3, enumeration\.",
    ):
        inference.prepare(lonely())
    with pytest.raises(
        ConfigError, match=r"Undescribed has no linear description, which LP\(\) and ILP\(\) need"
    ):
        inference.kernels(kinds.LOOPY).solve(
            lonely().record, 0, np.zeros(2), 0.0, np.zeros(2), np.zeros(0), lonely().work
        )


def test_a_kernel_of_another_signature():
    said = "lonely_max, a kernel of a factor_kind, is not compiled for the signature FACTOR_EXTEND"
    with pytest.raises(ConfigError, match=said):
        AD3().prepare(lonely())


def test_pairs_alone():
    with pytest.raises(
        CompatibilityError, match="has factors of other kinds: PAIRS, BUDGET, AT_LEAST_ONE"
    ):
        Cut().prepare(factor_structure([graph("some")]))


def test_numbers_follow_from_names():
    assert {name: number_of(name) for name in NUMBERS} == NUMBERS
    assert number_of("at_least_one") == FIRST_OPEN + crc32(b"at_least_one") % (2**31 - FIRST_OPEN)
    record = factor_structure([graph("some")]).record
    assert FACTORS.open(record).kinds.tolist()[-2:] == [number_of("at_least_one")] * 2
    assert type(kind_of(number_of("at_least_one"))).__name__ == "AtLeastOne"


def test_unknown_kinds():
    with pytest.raises(
        ConfigError, match="factor_kind 'at_least_on' is not installed. Did you mean 'at_least_one'"
    ):
        number_of("at_least_on")
    with pytest.raises(
        ConfigError, match="has factors of kind 70000, and no installed factor_kind has that number"
    ):
        kind_of(70_000)


def test_the_core_keeps_the_contract_that_plugins_have():
    for name in registry.installed("factor_kind"):
        assert issubclass(registry.load("factor_kind", name), FactorKind)


@pytest.mark.nightly("rest")
def test_the_algorithms_are_compiled_once_for_all_kinds(plugin):
    """Another process takes them from the disk, finds the plugin's functions, and gets the same
    answer.
    """
    rows = graph("any")
    expected, _ = solved(AD3(), rows, random_scores(rows))
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from structopt.kernels.ad3.solve import solve\n"
        "from tests.inference.test_plugin_factor_kinds import AD3, graph, random_scores, solved\n"
        "rows = graph('any')\n"
        "print(solved(AD3(), rows, random_scores(rows))[0], sum(solve.stats.cache_misses.values()))"
    )
    words = [sys.executable, "-c", code, str(plugin), str(ROOT)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(expected), "0"]


def test_kernels_that_are_not_in_the_table_say_nan():
    extra, nothing = np.zeros(0, np.int32), np.zeros(0)
    assert np.isnan(
        open_kinds.open_max(FIRST_OPEN, extra, nothing, nothing, nothing, nothing, nothing, extra)
    )
    assert not open_kinds.extend(FIRST_OPEN, extra, nothing, nothing)
    assert not open_kinds.is_hard(FIRST_OPEN)
