"""Span trees against listed trees and against charts of general grammars."""

from math import inf, log

import numpy as np
import pytest

import structopt as so
from structopt.core.parts.parts import Parts
from structopt.kernels.grammar import grammar as kernels
from structopt.testing.inference import run

PLAIN = {"tags": ["w"], "rules": [("X", "X", "X")], "steps": [("X", "w"), ("ROOT", "X")]}
LABELED = {
    "tags": ["w", "v"],
    "rules": [(label, "X", "X") for label in ("X", "NP", "VP")],
    "steps": [("X", "w"), ("X", "NP"), ("X", "A", "NP"), ("X", "VP"), ("VP", "v"), ("X", "NP", "v"),
              ("ROOT", "X"), ("ROOT", "NP"), ("ROOT", "A", "NP"), ("ROOT", "v")],
}  # fmt: skip


NODES_OF_WORD = 3  # of the plain grammar: w below the step, X and w above


def general(grammar):
    """Add a pair of symbols that no tree has: the trees of the grammar as those of any other."""
    return {**grammar, "rules": [*grammar["rules"], ("X", "X", "Y")]}


def structure_of(grammar, lengths):
    return so.Grammar().batch(lengths=lengths, **grammar).structure


def expected(structure, i, s, temperature):
    """Value and marginals by the list of all trees."""
    trees = structure.kind.vertices(structure.record, i, len(s), 10**5)
    scores = np.array([tree[tree > 0] @ s[tree > 0] for tree in trees]) / temperature
    top = scores.max(initial=-inf)
    if top == -inf:
        return -inf, np.zeros(len(s))
    p = np.exp(scores - top)
    return temperature * (top + log(p.sum())), p @ trees / p.sum()


@pytest.mark.parametrize("grammar", [PLAIN, LABELED])
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("temperature", [0.3, 1.0])
@pytest.mark.parametrize("forbidden", [0.0, 0.1, 0.4])
def test_marginals_of_all_parts(grammar, scale, temperature, forbidden):
    lengths = [1, 2, 3, 5] if grammar is PLAIN else [1, 2, 3]
    structure = structure_of(grammar, lengths)
    generator = np.random.default_rng(int(scale) + round(100 * forbidden))
    for i in range(len(lengths)):
        s = generator.normal(size=int(np.diff(structure.parts)[i])) * scale
        s[generator.random(len(s)) < forbidden] = -inf
        value, z = run(kernels.solve, structure, i, s, temperature)
        right, marginals = expected(structure, i, s, temperature)
        assert value == pytest.approx(right, rel=1e-13, abs=1e-13)
        np.testing.assert_allclose(
            z, marginals, rtol=1e-13, atol=1e-13 * max(scale / temperature, 1.0)
        )


@pytest.mark.parametrize("lengths", [[4], [7], [23, 9]])
def test_marginals_of_long_sentences(lengths):
    batches = [so.Grammar().batch(lengths=lengths, **one) for one in (PLAIN, general(PLAIN))]
    spans = np.random.default_rng(0).normal(size=(len(lengths), max(lengths), max(lengths) + 1))
    results = []
    for batch in batches:
        nodes = np.zeros(batch.layout("node").padded_shape)
        nodes[..., 0, batch.symbols.index("X")] = spans
        found = so.infer(batch.scores(node=nodes), temperature=1.0)
        marginals = found.marginals.padded("node")[..., batch.symbols.index("X")]
        results.append((found.value, marginals))
    (value, marginals), (right, expected) = results
    np.testing.assert_allclose(value, right, rtol=1e-13)
    np.testing.assert_allclose(marginals, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("grammar", [PLAIN, LABELED])
@pytest.mark.parametrize("forbidden", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("ties", [False, True])
def test_best_tree_is_the_best_of_all(grammar, forbidden, ties):
    lengths = [1, 2, 3, 5] if grammar is PLAIN else [1, 2, 3]
    structure = structure_of(grammar, lengths)
    generator = np.random.default_rng(round(100 * forbidden))
    for i in range(len(lengths)):
        s = generator.normal(size=int(np.diff(structure.parts)[i]))
        s = np.round(s) if ties else s
        s[generator.random(len(s)) < forbidden] = -inf
        value, z = run(kernels.solve, structure, i, s, 0.0)
        trees = structure.kind.vertices(structure.record, i, len(s), 10**5)
        scores = np.array([tree[tree > 0] @ s[tree > 0] for tree in trees])
        assert value == pytest.approx(scores.max(initial=-inf), rel=1e-14)
        if value == -inf:
            assert not z.any()
        else:
            assert z.tolist() in trees.tolist()
            assert z[z > 0] @ s[z > 0] == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("grammar", [PLAIN, LABELED])
@pytest.mark.parametrize("forbidden", [0.0, 0.05])
@pytest.mark.parametrize("ties", [False, True])
def test_best_trees_are_those_of_general_charts(grammar, forbidden, ties):
    """Values, trees and lists of trees are equal bit for bit, also among trees of equal scores."""
    generator, lengths, results = np.random.default_rng(0), [7, 2, 3, 12], []
    batch = so.Grammar().batch(lengths=lengths, **grammar)
    symbols, steps = batch.symbols, batch.steps
    further = so.Grammar().batch(lengths=lengths, **general(grammar | {"steps": steps}))
    shapes = [len(grammar["rules"]), len(steps), (4, 12, len(grammar["tags"]))]
    arrays = [generator.normal(size=shape) for shape in [*shapes, (4, 12, 13, 2, len(symbols))]]
    if ties:
        arrays = [np.round(array) for array in arrays]
    rule, step, label, spans = arrays
    begin, end = np.ogrid[:12, :13]
    inner = (end - begin > 1) & (end - begin < np.array(lengths)[:, None, None])
    spans[(generator.random(spans.shape) < forbidden) & inner[..., None, None]] = -inf
    for one in (batch, further):  # rules and steps of the second begin with those of the first
        node = np.zeros(one.layout("node").padded_shape)
        node[..., [one.symbols.index(symbol) for symbol in symbols]] = spans
        rules = np.append(rule, np.zeros(len(one.options["rules"]) - len(rule)))
        more = np.append(step, np.zeros(len(one.steps) - len(step)))
        s = one.scores(rule=rules, step=more, label=label, node=node)
        several = so.k_best(s, 4)
        values = so.infer(s, temperature=0.0).value, several.score
        results.append((*values, so.argmax(s)["derivations"], several["derivations"]))
    assert further.steps[: len(steps)] == steps
    for own, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(own, expected)


def test_scores_of_any_size():
    """Scores of any size: one of two trees has all of the probability."""
    structure = structure_of(PLAIN, [3])
    node = int(structure.spans("node")[0][0])
    for score in (-1e300, -1e12, 1e12, 1e300):
        s = np.zeros(int(structure.parts[1]))
        bottom = node + NODES_OF_WORD  # of the first two words
        s[bottom] = score
        value, z = run(kernels.solve, structure, 0, s, 1.0)
        assert value == pytest.approx(max(score, 0.0), rel=1e-12, abs=1e-12)
        assert z[bottom] == pytest.approx(1.0 if score > 0 else 0.0, abs=1e-15)
        assert np.isfinite(z).all()


def test_no_tree():
    structure = structure_of(PLAIN, [2, 6])
    for i in range(2):
        s = np.full(int(np.diff(structure.parts)[i]), -inf)
        value, z = run(kernels.solve, structure, i, s, 1.0)
        assert value == -inf
        assert not z.any()


@pytest.mark.parametrize("grammar", [PLAIN, LABELED])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_without_compilation(grammar, temperature):
    structure = structure_of(grammar, [6])
    s = np.random.default_rng(0).normal(size=int(structure.parts[-1]))
    value, z = run(kernels.solve, structure, 0, s, temperature)
    plain, marginals = run(kernels.solve.py_func, structure, 0, s, temperature)
    assert plain == pytest.approx(value, rel=1e-15)
    np.testing.assert_allclose(marginals, z, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_max_rule_decoding(scale):
    """It selects the tree that it selects in charts of general grammars."""
    generator, nodes = np.random.default_rng(0), {}
    scores = generator.normal(size=(6, 7, 2)) * scale  # of bottoms and tops
    for name, grammar in {"span": LABELED, "general": general(LABELED)}.items():
        batch = so.Grammar().batch(lengths=[6], **grammar)
        places = np.zeros(batch.layout("node").padded_shape)
        for label, shift in {"X": 0.0, "NP": 0.3, "VP": -0.2}.items():
            places[0, ..., batch.symbols.index(label)] = scores + shift * scale
        s = batch.scores(node=places).flat.copy()
        z, work = np.zeros(len(s)), batch.structure.work
        kernels.solve(batch.structure.record, 0, s, 1.0, z, z[:0], work)
        kernels.max_rule(batch.structure.record, 0, z, work)
        marked = Parts(batch, z).padded("node", 0.0)
        nodes[name] = marked[..., [batch.symbols.index(symbol) for symbol in ("X", "NP", "VP")]]
        assert set(np.unique(marked)) == {0.0, 1.0}
    np.testing.assert_array_equal(nodes["span"], nodes["general"])
