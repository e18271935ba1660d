"""Layout, gold indicators and costs of chains."""

import numpy as np
import pytest

from structopt.core.data.encoded import Encoded
from structopt.errors import ArgumentError, ConfigError
from structopt.factor_graph.linear_chain import LinearChain
from structopt.testing.problems import random_encoded
from tests.messages import raises


def dense(vectors, structure, i):
    z = np.zeros(int(np.diff(structure.parts)[i]))
    inside = slice(*vectors.offsets[i : i + 2])
    np.add.at(z, vectors.parts[inside], vectors.values[inside])
    return z


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("anchored", [False, True])
def test_gold_indicators(order, anchored):
    encoded, graph = random_encoded(3, (1, 2, 5, 4), anchored=anchored), LinearChain(order)
    structure = graph.build(encoded)
    gold, L = graph.gold(encoded, structure), 3
    for i, (first, last) in enumerate(zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True)):
        y, n = encoded.gold[first:last].tolist(), int(last - first)
        expected = np.zeros(int(np.diff(structure.parts)[i]))
        for t in range(n):
            expected[t * L + y[t]] += 1
            start = n * L
            for j in range(1, order + 1):
                if t >= j:
                    anchor = (t - j) * L ** (j + 1) if anchored else 0
                    history = sum(y[t - d] * L ** (d - 1) for d in range(1, j + 1))
                    expected[start + anchor + history * L + y[t]] += 1
                start += L ** (j + 1) * (max(n - j, 0) if anchored else 1)
        np.testing.assert_array_equal(dense(gold, structure, i), expected)


def test_groups_and_their_names():
    encoded = random_encoded(0, (1, 4))
    names = [(g.name, g.width, g.tied) for g in LinearChain(3).build(encoded).groups]
    assert names == [
        ("label", 3, False),
        ("transition", 9, True),
        ("3-gram", 27, True),
        ("4-gram", 81, True),
    ]
    anchored = LinearChain().build(random_encoded(0, (1, 4), anchored=True))
    assert [(g.name, g.width, g.tied) for g in anchored.groups] == [
        ("label", 3, False),
        ("transition", 9, False),
    ]
    assert np.diff(anchored.parts).tolist() == [3, 12 + 27]
    trigrams = LinearChain(2).build(random_encoded(0, (1, 2, 4)), positional=True)
    assert [(g.name, g.width, g.tied) for g in trigrams.groups] == [
        ("label", 3, False),
        ("transition", 9, False),
        ("3-gram", 27, False),
    ]
    assert np.diff(trigrams.parts).tolist() == [3, 6 + 9, 12 + 27 + 54]


def test_place_of_a_run_of_labels():
    encoded, graph = random_encoded(0, (4,)), LinearChain(3)
    structure = graph.build(encoded, positional=True)
    places = [graph.place(encoded, structure, group, 0) for group in structure.groups]
    assert places[1:] == ["1 → 2", "1 → 2 → 3", "1 → 2 → 3 → 4"]


def test_costs_are_at_the_gold_label_parts():
    encoded, graph = random_encoded(0, (1, 3)), LinearChain()
    structure = graph.build(encoded)
    cost = graph.cost(encoded, structure, np.array([1.0, 2.0, 3.0, 4.0]))
    assert cost.values.tolist() == [-1.0, -2.0, -3.0, -4.0]
    assert cost.parts.tolist() == [
        encoded.gold[0],
        *(3 * t + encoded.gold[1 + t] for t in range(3)),
    ]
    assert cost.offsets.tolist() == [0, 1, 4]


def test_empty_corpus():
    encoded = Encoded(np.zeros(1, np.int64), {}, ("A", "B"), np.zeros(0, np.int32))
    structure = LinearChain(2).build(encoded)
    assert len(structure) == 0
    assert len(LinearChain(2).gold(encoded, structure).parts) == 0


def test_refuses():
    with raises(ArgumentError, parameter="order", value=0):
        LinearChain(0)
    with pytest.raises(ConfigError, match=r"order=5 has 3200000 states with 20 labels"):
        LinearChain(5).build(random_encoded(labels=20))
