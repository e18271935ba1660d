"""Chains against a listing of every labelling that shares no code with the kernels."""

from itertools import product
from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structopt.core.data.encoded import Encoded
from structopt.factor_graph.linear_chain import LinearChain
from structopt.kernels.chain import linear_chain
from structopt.kernels.chain.constraints import constrain
from structopt.kernels.chain.first_order import first_order
from structopt.kernels.chain.forward_backward import forward_backward
from structopt.kernels.chain.k_best import k_best
from structopt.kernels.chain.log_forward_backward import log_forward_backward
from structopt.kernels.chain.ngram_parts import fold_counts, sum_ngram_scores
from structopt.kernels.chain.record import CHAIN, SCRATCH
from structopt.testing.inference import best_listed
from structopt.testing.problems import random_encoded
from tests.covering import covering

TEMPERATURES = (0.0, 0.5, 1.0, 3.0)
NO_MEMORY = np.zeros(0)


def vertex(y, n, L, order, anchored):
    """Part indicators of a labelling, from the definition of the layout."""
    parts = [t * L + y[t] for t in range(n)]
    start = n * L
    for j in range(1, order + 1):
        for t in range(j, n):
            history = 0
            for d in range(1, j + 1):
                history += y[t - d] * L ** (d - 1)
            parts.append(start + (t - j) * anchored * L ** (j + 1) + history * L + y[t])
        start += L ** (j + 1) * (max(n - j, 0) if anchored else 1)
    z = np.zeros(start)
    np.add.at(z, parts, 1.0)
    return z


def permitted(encoded: Encoded, i, y):
    first = encoded.offsets[i]
    if y[0] in encoded.forbidden_starts or y[-1] in encoded.forbidden_ends:
        return False
    if any(pair in encoded.forbidden_transitions for pair in zip(y[:-1], y[1:], strict=True)):
        return False
    return encoded.allowed is None or all(encoded.allowed[first + t, y[t]] for t in range(len(y)))


def listing(encoded: Encoded, i, order):
    """Permitted labellings of instance i and their part vectors."""
    n, L = int(np.diff(encoded.offsets)[i]), len(encoded.labels)
    labellings = [y for y in product(range(L), repeat=n) if permitted(encoded, i, y)]
    return labellings, [vertex(y, n, L, order, "transition" in encoded.tables) for y in labellings]


def score(z, s):
    return sum(s[p] * z[p] for p in np.flatnonzero(z))


def by_listing(vertices, s, temperature):
    """Value, marginals and entropy, summed over the listing."""
    scores = [score(z, s) for z in vertices]
    top = max(scores, default=-inf)
    if top == -inf:
        return -inf, np.zeros(len(s)), 0.0
    if temperature == 0.0:
        return top, vertices[scores.index(top)], 0.0
    weights = [exp((v - top) / temperature) for v in scores]
    total = sum(weights)
    z = sum(w / total * vertex for w, vertex in zip(weights, vertices, strict=True))
    entropy = -sum(w / total * log(w / total) for w in weights if w > 0)
    return top + temperature * log(total), z, entropy


def solve(structure, i, s, temperature):
    found = []
    for kernel in (linear_chain.solve, structure.kind.exact().solve):
        z = np.full(len(s), 7.0)
        value = kernel(structure.record, i, s.copy(), temperature, z, NO_MEMORY, structure.work)
        found.append((value, z))
    np.testing.assert_array_equal(*(np.append(z, value) for value, z in found))
    return found[-1]


def check(encoded, order, seed=0, scale=1.0, temperatures=TEMPERATURES):
    structure = LinearChain(order).build(encoded)
    generator = np.random.default_rng(seed)
    for i in range(len(encoded)):
        s = scale * generator.normal(size=int(np.diff(structure.parts)[i]))
        _, vertices = listing(encoded, i, order)
        for temperature in temperatures:
            value, z = solve(structure, i, s, temperature)
            expected, marginals, entropy = by_listing(vertices, s, temperature)
            assert value == pytest.approx(expected, rel=1e-10, abs=1e-10)
            np.testing.assert_allclose(z, marginals, rtol=0, atol=1e-9 * max(1.0, scale))
            if temperature > 0 and expected > -inf:
                assert (value - score(z, s)) / temperature == pytest.approx(
                    entropy, abs=1e-9 * max(1.0, scale)
                )


@pytest.mark.parametrize(
    ("order", "labels", "constrained"), covering([1, 2, 3], [1, 2, 3, 4], [False, True])
)
def test_equals_listing(order, labels, constrained):
    lengths = (1, 2, 3, 4, 5) if labels < 4 else (1, 2, 4)
    check(random_encoded(order, lengths, labels, constrained=constrained), order)


@pytest.mark.parametrize(
    ("labels", "constrained", "partial"), covering([1, 2, 3], [False, True], [False, True])
)
def test_anchored_equals_listing(labels, constrained, partial):
    check(
        random_encoded(
            1, (1, 2, 3, 5), labels, anchored=True, constrained=constrained, partial=partial
        ),
        1,
    )


@pytest.mark.parametrize("order", [1, 2, 3])
def test_partially_labelled_equals_listing(order):
    for seed in range(4):
        check(
            random_encoded(seed, (1, 3, 5), 3, partial=True, constrained=seed % 2 == 1), order, seed
        )


@pytest.mark.parametrize(
    ("order", "anchored", "scale"), covering([1, 2, 3], [False, True], [150.0, 1e4])
)
def test_large_scores_equal_listing(order, anchored, scale):
    for constrained in (False, True):
        check(
            random_encoded(3, (1, 2, 4, 5), 3, anchored=anchored, constrained=constrained),
            order,
            5,
            scale,
        )


@pytest.mark.parametrize("order", [1, 2, 3])
def test_extreme_and_infinite_scores(order):
    encoded = random_encoded(2, (1, 3, 4), 3)
    structure = LinearChain(order).build(encoded)
    generator = np.random.default_rng(order)
    for i in range(3):
        for _ in range(5):
            size = int(np.diff(structure.parts)[i])
            s = generator.choice(
                [-1e4, 1e4, 0.0, -inf, 1.5, -2.5], size=size, p=[0.2] * 3 + [0.1] + [0.15] * 2
            )
            vertices = listing(encoded, i, order)[1]
            for temperature in TEMPERATURES:
                value, z = solve(structure, i, s, temperature)
                expected, marginals, _ = by_listing(vertices, s, temperature)
                assert value == pytest.approx(expected, rel=1e-12, abs=1e-9)
                if temperature > 0:
                    np.testing.assert_allclose(z, marginals, atol=1e-9)
                elif expected > -inf:
                    assert score(z, s) == pytest.approx(expected)
                else:
                    assert not z.any()


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("anchored", [False, True])
def test_scaled_and_log_space_agree(order, anchored):
    encoded = random_encoded(4, (1, 2, 6, 30), 3, anchored=anchored, constrained=True)
    structure = LinearChain(order).build(encoded)
    c, x = CHAIN.open(structure.record), SCRATCH.open(structure.work)
    generator = np.random.default_rng(0)
    for i, n in enumerate(np.diff(encoded.offsets)):
        for scale in (1.0, 20.0):
            s = scale * generator.normal(size=int(np.diff(structure.parts)[i]))
            constrain.py_func(c, i, int(n), s)
            scaled, logs = np.zeros(len(s)), np.zeros(len(s))
            if order > 1 and not anchored:
                sum_ngram_scores.py_func(c, int(n), s, x.table)
            by_scaling = first_order if order == 1 else forward_backward
            value, done = by_scaling.py_func(c, int(n), s, 1.0, x, scaled)
            assert done
            if not anchored:
                sum_ngram_scores.py_func(c, int(n), s, x.table)
            assert log_forward_backward.py_func(c, int(n), s, 1.0, x, logs) == pytest.approx(
                value, rel=1e-12
            )
            fold_counts.py_func(c, int(n), logs)
            np.testing.assert_allclose(scaled, logs, atol=1e-10)


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_mass_that_underflows_and_returns(temperature):
    """Two labels that never follow each other: the one that loses by 1,000 nats at first wins in
    the end.
    """
    n, L = 100, 2
    offsets = np.array([0, n])
    encoded = Encoded(offsets, {}, ("A", "B"), forbidden_transitions=((0, 1), (1, 0)))
    structure = LinearChain().build(encoded)
    s = np.zeros(n * L + L * L)
    s[1:n:2] = -20.0
    s[n : n * L : 2] = -25.0
    vertices = [vertex([y] * n, n, L, 1, False) for y in range(L)]
    value, z = solve(structure, 0, s, temperature)
    expected, marginals, _ = by_listing(vertices, s, temperature)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(z, marginals, atol=1e-9)


@pytest.mark.parametrize(
    ("order", "anchored", "temperature", "where"),
    covering([1, 2], [False, True], TEMPERATURES, ["starts", "token", "transitions"]),
)
def test_nothing_allowed(order, anchored, temperature, where):
    base = random_encoded(1, (3,), 2, anchored=anchored)
    allowed = np.ones((3, 2), bool)
    allowed[1] = where != "token"
    encoded = Encoded(
        base.offsets,
        base.tables,
        base.labels,
        None,
        allowed,
        forbidden_starts=(0, 1) if where == "starts" else (),
        forbidden_transitions=((0, 0), (0, 1), (1, 0), (1, 1)) if where == "transitions" else (),
    )
    structure = LinearChain(order).build(encoded)
    value, z = solve(
        structure, 0, np.random.default_rng(0).normal(size=int(structure.parts[1])), temperature
    )
    assert value == -inf
    assert not z.any()


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("anchored", [False, True])
def test_k_best_is_the_sorted_listing(order, anchored):
    encoded = random_encoded(
        order, (1, 2, 3, 5), 3, anchored=anchored, constrained=True, partial=True
    )
    structure = LinearChain(order).build(encoded)
    generator = np.random.default_rng(order)
    for i in range(len(encoded)):
        s = generator.normal(size=int(np.diff(structure.parts)[i]))
        vertices = listing(encoded, i, order)[1]
        expected = sorted(((score(z, s), k) for k, z in enumerate(vertices)), reverse=True)
        for count in (1, 4, 300):
            values, outputs = best_listed(k_best, structure, i, s, count)
            assert len(values) == min(count, len(expected))
            np.testing.assert_allclose(values, [value for value, _ in expected[:count]], atol=1e-10)
            np.testing.assert_array_equal(outputs, [vertices[k] for _, k in expected[:count]])


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("anchored", [False, True])
def test_the_kind_lists_what_is_permitted(order, anchored):
    encoded = random_encoded(
        order, (1, 2, 3, 5), 3, anchored=anchored, constrained=True, partial=True
    )
    structure = LinearChain(order).build(encoded)
    for i, size in enumerate(np.diff(structure.parts)):
        listed = structure.kind.vertices(structure.record, i, int(size), 3**5)
        np.testing.assert_array_equal(listed, listing(encoded, i, order)[1])


SCORES = st.one_of(st.floats(-5, 5), st.sampled_from([-1e4, 1e4, 0.0, -300.0, 300.0, -inf]))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.data(),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from(TEMPERATURES),
    st.booleans(),
    st.booleans(),
)
def test_any_shape_and_extreme(data, n, labels, order, temperature, constrained, partial):
    encoded = random_encoded(n, (n,), labels, constrained=constrained, partial=partial)
    structure = LinearChain(order).build(encoded)
    size = int(structure.parts[1])
    s = np.array(data.draw(st.lists(SCORES, min_size=size, max_size=size)))
    value, z = solve(structure, 0, s, temperature)
    vertices = listing(encoded, 0, order)[1]
    expected, marginals, _ = by_listing(vertices, s, temperature)
    assert value == pytest.approx(expected, rel=1e-10, abs=1e-8)
    if temperature > 0:
        np.testing.assert_allclose(z, marginals, atol=1e-8)
    elif expected > -inf:
        assert score(z, s) == pytest.approx(expected, rel=1e-10, abs=1e-8)
    else:
        assert not z.any()
