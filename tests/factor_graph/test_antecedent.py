"""Antecedents: reach, gold sets, costs and views, against loops over the mentions."""

from dataclasses import replace

import numpy as np
import pytest

from structopt.config import registry
from structopt.core.data.encoded_checks import check_encoded
from structopt.errors import ArgumentError, ConfigError
from structopt.factor_graph.antecedent import Antecedent
from structopt.kernels.independent.record import INDEPENDENT
from structopt.testing.factor_graph import FactorGraphSuite, dense
from structopt.testing.problems import random_encoded
from tests.messages import raises
from tests.random_documents import random_documents

GRAPHS = {"all": (None, None), "two mentions": (2, None), "one sentence": (None, 1), "both": (3, 0)}


def reached(encoded, i, distance, sentences):
    """Of every mention of document i the antecedents in reach, within the document."""
    own = encoded.sentences[encoded.offsets[i] : encoded.offsets[i + 1]]
    return [
        [
            a
            for a in range(m)
            if (distance is None or m - a <= distance)
            and (sentences is None or own[m] - own[a] <= sentences)
        ]
        for m in range(len(own))
    ]


def flat(vectors, structure):
    """Sparse vectors of all instances as one dense vector."""
    sizes = enumerate(np.diff(structure.parts).tolist())
    return np.concatenate([np.zeros(0), *(dense(vectors, i, size) for i, size in sizes)])


class TestAntecedent(FactorGraphSuite):
    @pytest.fixture(params=GRAPHS.values(), ids=GRAPHS)
    def graph(self, request):
        return Antecedent(*request.param)

    @pytest.fixture
    def encoded(self):
        return random_documents()

    def test_gold_that_is_known_in_part(self, graph, encoded, structure):
        """Any antecedent of the entity in reach is allowed, else the start of an entity; a missed
        variable costs its weight.
        """
        targets, weights = (
            graph.targets(encoded, structure),
            np.random.default_rng(0).uniform(1, 2, int(encoded.offsets[-1])),
        )
        cost, gold = graph.cost(encoded, structure, weights), graph.gold(encoded, structure)
        assert targets.sets.all()
        for i in range(len(encoded)):
            size = int(structure.parts[i + 1] - structure.parts[i])
            own, entity = (
                slice(*encoded.offsets[i : i + 2]),
                encoded.gold[slice(*encoded.offsets[i : i + 2])],
            )
            allowed, variables, at = (
                targets.allowed,
                range(*targets.allowed.variables[i : i + 2]),
                0,
            )
            p, g = dense(cost, i, size), dense(gold, i, size)
            for v, (m, reach) in zip(
                variables,
                enumerate(reached(encoded, i, graph.distance, graph.sentences)),
                strict=True,
            ):
                right = [at + 1 + k for k, a in enumerate(reach) if entity[a] == entity[m]] or [at]
                assert (allowed.starts[v], allowed.ends[v]) == (at, at + 1 + len(reach))
                assert allowed.parts[allowed.offsets[v] : allowed.offsets[v + 1]].tolist() == right
                expected = np.zeros(1 + len(reach))
                expected[np.array(right) - at] = -weights[own][m]
                np.testing.assert_array_equal(p[at : at + 1 + len(reach)], expected)
                assert np.flatnonzero(g[at : at + 1 + len(reach)]).tolist() == [right[-1] - at]
                at += 1 + len(reach)
            assert at == size


@pytest.mark.parametrize("limits", GRAPHS.values(), ids=GRAPHS)
def test_prices(limits):
    """False anaphors, false news and wrong links have their prices, up to a constant that allowed
    outputs have.
    """
    encoded, graph = random_documents(3, (6, 2, 5)), Antecedent(*limits)
    structure, prices = (
        graph.build(encoded),
        {"false_anaphor": 0.5, "false_new": 2.0, "wrong_link": 0.7},
    )
    cost = registry.create("cost", {"name": "coreference"})
    p = graph.cost(
        encoded, structure, cost.of_variables(*graph.counted("link", encoded), prices), "link"
    )
    gold = graph.gold(encoded, structure)
    for i in range(len(encoded)):
        size, at = int(structure.parts[i + 1] - structure.parts[i]), 0
        entity = encoded.gold[slice(*encoded.offsets[i : i + 2])]
        own, right = dense(p, i, size), np.flatnonzero(dense(gold, i, size))
        for m, reach in enumerate(reached(encoded, i, *limits)):
            anaphor = any(entity[a] == entity[m] for a in reach)
            expected = [prices["false_new"] if anaphor else 0.0]
            expected += [
                0.0
                if entity[a] == entity[m]
                else prices["wrong_link"]
                if anaphor
                else prices["false_anaphor"]
                for a in reach
            ]
            np.testing.assert_allclose(
                own[at : at + len(expected)] - own[right[m]], expected, atol=1e-12
            )
            at += len(expected)


def test_views_probabilities_and_choices():
    encoded, graph = random_documents(1, (4, 0, 3)), Antecedent(2)
    structure = graph.build(encoded)
    view = graph.view("antecedents", encoded, structure, graph.gold(encoded, structure))
    entity = encoded.gold
    for m, a in enumerate(view.tolist()):
        first = 0 if m < 4 else 4
        earlier = [k for k in range(max(first, m - 2), m) if entity[k] == entity[m]]
        assert a == (earlier[-1] - first if earlier else -1)
    marginals = [np.random.default_rng(0).random(int(n)) for n in np.diff(structure.parts)]
    tables = graph.probabilities("antecedents", encoded, structure, marginals)
    choices = graph.choices("antecedents", encoded, structure, marginals)
    assert [table.shape for table in tables] == [(4, 5), (0, 1), (3, 4)]
    assert choices[0]["mention"].tolist() == [1, 2, 2, 3, 3, 3, 4, 4, 4]
    assert choices[0]["antecedent"].tolist() == [0, 0, 1, 0, 1, 2, 0, 2, 3]
    assert tables[0][3].tolist() == [marginals[0][6], 0.0, *marginals[0][7:9], 0.0]


def test_mentions_out_of_reach_are_counted():
    entities, sentences = np.array([[0, 1, 2, 0], [0, 0, 1, 3]], np.int32)
    encoded = replace(random_documents(0, (4,)), gold=entities, sentences=sentences)
    assert Antecedent().admit(encoded) == (encoded, "")
    _, note = Antecedent(2).admit(encoded)
    assert note.startswith(
        "1 of 4 mentions have all earlier mentions of their entity out of reach "
        "by Antecedent(distance=2, "
    )
    note = Antecedent(None, 2).admit(encoded)[1]
    assert note.endswith("Antecedent(distance=None, sentences=2): they count as new")


@pytest.mark.parametrize("limits", GRAPHS.values(), ids=GRAPHS)
def test_mentions_as_instances(limits):
    """The parts, gold sets, costs, views and probabilities of documents, mention by mention; also
    of some of the mentions.
    """
    whole, graph = random_documents(2, (4, 0, 6, 3)), Antecedent(*limits)
    apart = Antecedent(*limits, "mentions")
    encoded, note = apart.admit(whole)
    assert note == graph.admit(whole)[1] and len(encoded) == 13
    structure, weights = graph.build(whole), np.random.default_rng(0).uniform(1, 2, 13)
    parts = INDEPENDENT.open(structure.record).parts
    targets, gold = graph.targets(whole, structure), graph.gold(whole, structure)
    cost, view = (
        graph.cost(whole, structure, weights),
        graph.view("antecedents", whole, structure, gold),
    )
    marginals = np.random.default_rng(0).random(int(parts[-1]))
    of_documents = np.split(marginals, structure.parts[1:-1])
    choices = graph.choices("antecedents", whole, structure, of_documents)
    for first, last in ((0, 13), (2, 9), (7, 13), (5, 5)):
        some = encoded.subset(first, last)
        check_encoded(some, training=True)
        of, own = apart.build(some), slice(int(parts[first]), int(parts[last]))
        assert of.parts.tolist() == (parts[first : last + 1] - parts[first]).tolist()
        answer, gold_of = apart.targets(some, of), apart.gold(some, of)
        vectors = (
            (gold_of, gold),
            (apart.cost(some, of, weights[first:last]), cost),
            (answer.possible(of.parts), targets.possible(structure.parts)),
        )
        for one, other in vectors:
            np.testing.assert_array_equal(flat(one, of), flat(other, structure)[own])
        np.testing.assert_array_equal(
            apart.view("antecedents", some, of, gold_of), view[first:last]
        )
        listed = apart.choices("antecedents", some, of, np.split(marginals[own], of.parts[1:-1]))
        for number, one in enumerate(listed[: last - first], first):
            document = int(np.searchsorted(whole.offsets, number, side="right")) - 1
            rows = choices[document]["mention"] == number - whole.offsets[document] + 1
            for name, values in one.items():
                np.testing.assert_array_equal(values, choices[document][name][rows])


@pytest.mark.parametrize(("name", "value"), [("distance", 0), ("sentences", -1)])
def test_refusals(name, value):
    with raises(ArgumentError, parameter=name, value=value):
        Antecedent(**{name: value})


def test_other_data():
    with pytest.raises(
        ConfigError,
        match="factor_graph=Antecedent is a graph of mentions and their antecedents, which this",
    ):
        Antecedent().build(random_encoded())
