"""Mention templates against a slow listing of the features of every part; gradients, support,
states, refusals.
"""

from itertools import pairwise, product

import numpy as np
import pytest

from structopt.config import registry
from structopt.errors import ArgumentError, ConfigError
from structopt.factor_graph.antecedent import Antecedent
from structopt.features.mention_templates import MentionTemplates
from structopt.kernels.independent.record import INDEPENDENT
from structopt.kernels.waist.record import EMPTY
from structopt.loss.cost.coreference import Coreference
from structopt.loss.family import LossFamily
from structopt.testing.problems import make_problem, random_encoded, random_weights
from structopt.testing.scorer import ScorerContract
from tests.random_documents import random_documents

LISTS = {
    "new": ["bias", "m.a", "m.a & m.b"],
    "links": [
        "bias",
        "m.a",
        "a.a",
        "m.a & a.b",
        "distance",
        "sentences",
        "same.text",
        "same.a & distance",
        "a.a & m.b & sentences",
        "m.type & a.b",
        "a.a & a.b & distance & same.text",
    ],
    "joined": ["bias", "m.type", "m.type & a.type"],
}
BINS = {"distances": (1, 2), "sentence_distances": (0, 1)}


def fitted(encoded, graph, **options):
    structure = graph.build(encoded)
    features = MentionTemplates(**{"hash_bits": 18, **BINS, **LISTS, **options})
    gold = graph.targets(encoded, structure).possible(structure.parts)
    return features.fit(encoded, structure, gold), structure


def features_of(encoded, i, m, a, lists=LISTS):
    """Of a mention with an antecedent (None: it starts an entity) its features: frozen sets of
    atoms with their values.
    """
    first = int(encoded.offsets[i])

    def value(atom):
        role, _, column = atom.partition(".")
        if role == "distance":
            return int(np.searchsorted(BINS["distances"], m - a))
        if role == "sentences":
            return int(
                np.searchsorted(
                    BINS["sentence_distances"],
                    encoded.sentences[first + m] - encoded.sentences[first + a],
                )
            )
        if role == "same":
            own = encoded.compared[:, encoded.compared_columns.index(column)]
            return bool(own[first + m] >= 0 and own[first + m] == own[first + a])
        return int(encoded.codes[first + (m if role == "m" else a), encoded.columns.index(column)])

    found = set()
    for template, other in product(lists["new" if a is None else "links"], lists["joined"]):
        atoms = {*template.split(" & "), *other.split(" & ")} - {"bias"}
        if a is not None or not any(atom.startswith("a.") for atom in other.split(" & ")):
            found.add((a is None, frozenset((atom, value(atom)) for atom in atoms)))
    return found


@pytest.mark.parametrize(
    "mentions", [(3, 1, 5, 0, 4), pytest.param((24,), marks=pytest.mark.nightly("rest"))]
)
def test_scores_are_sums_over_distinct_features(mentions):
    """Each feature has one weight: scores are those of the listing, for weights found by one
    feature after the other.
    """
    encoded, graph = random_documents(2, mentions), Antecedent(7)
    features, structure = fitted(encoded, graph)
    record, theta = (
        features.record(encoded, structure),
        np.random.default_rng(0).normal(size=features.dimension),
    )
    weight = {}
    for i in range(len(encoded)):
        n, at = int(encoded.offsets[i + 1] - encoded.offsets[i]), 0
        size = int(structure.parts[i + 1] - structure.parts[i])
        s = np.empty(size)
        features.kernels.scores(record, theta, i, s, EMPTY)
        for m in range(n):
            for a in [None, *range(max(0, m - 7), m)]:
                r, counts = np.zeros(size), np.zeros(features.dimension)
                r[at] = 1.0
                features.kernels.accumulate(record, i, r, counts)
                own = features_of(encoded, i, m, a)
                assert counts.sum() == len(own)
                assert s[at] == pytest.approx(counts @ theta, abs=1e-10)
                for feature in own:
                    possible = {*np.flatnonzero(counts).tolist()}
                    weight[feature] = weight.get(feature, possible) & possible
                    assert weight[feature], feature
                at += 1


class TestMentionTemplates(ScorerContract):
    @pytest.fixture(params=["all", "seen"])
    def scorer(self, request):
        return MentionTemplates(request.param, hash_bits=11, **BINS, **LISTS)

    @pytest.fixture
    def graph(self):
        return Antecedent(4)

    @pytest.fixture(params=["documents", "mentions"])
    def encoded(self, request):
        documents = random_documents(1, (6, 1, 9, 2))
        return documents if request.param == "documents" else documents.of_mentions()


@pytest.mark.parametrize("beta", [0.5, 1.0, 4.0])
def test_loss_and_gradient_by_enumeration_of_antecedent_choices(beta):
    """The latent loss of up to six mentions against a sum over all choices, and finite differences
    of the weights.
    """
    encoded, graph = random_documents(4, (1, 3, 6, 5)), Antecedent(4)
    loss = LossFamily(beta, 1.0, Coreference())
    scorer = MentionTemplates(hash_bits=10, **BINS, **LISTS)
    problem = make_problem(
        encoded, graph, loss, registry.create("inference", {"name": "exact"}), scorer=scorer
    )
    theta = 0.5 * random_weights(problem)
    gradient = np.zeros(problem.dimension)
    total = 0.0
    for i in range(len(encoded)):
        size = int(problem.structure.parts[i + 1] - problem.structure.parts[i])
        vertices = problem.structure.kind.vertices(problem.structure.record, i, size, 10**5)
        s = problem.examples.scores(theta, np.array([i]))
        p = np.zeros(size)
        own = problem.cost.subset(i, i + 1)
        p[own.parts] = own.values
        excluded = problem.targets.allowed.excluded(problem.structure.parts, (i, i + 1))
        allowed = ~(vertices[:, excluded] > 0).any(axis=1)
        augmented = beta * (vertices @ (s + p))
        total += (np.logaddexp.reduce(augmented) - np.logaddexp.reduce(augmented[allowed])) / beta
        r = np.exp(augmented - np.logaddexp.reduce(augmented)) @ vertices
        r -= (
            np.exp(augmented[allowed] - np.logaddexp.reduce(augmented[allowed])) @ vertices[allowed]
        )
        problem.scorer.kernels.accumulate(problem.examples.prepared[0], i, r, gradient)
    losses, found = problem.gradient(theta)
    assert losses == pytest.approx(total, rel=1e-12, abs=1e-9)
    np.testing.assert_allclose(found, gradient, atol=1e-9)
    direction, step = np.random.default_rng(1).normal(size=len(theta)), 1e-5
    slope = (
        problem.losses(theta + step * direction) - problem.losses(theta - step * direction)
    ) / (2 * step)
    assert slope == pytest.approx(found @ direction, abs=1e-6)


def test_seen_features_are_those_of_allowed_outputs():
    encoded, graph = random_documents(2, (5, 4)), Antecedent()
    features, structure = fitted(encoded, graph, support="seen")
    names = set()
    allowed = graph.allowed(encoded, structure)
    for i in range(len(encoded)):
        for v in range(*allowed.variables[i : i + 2]):
            m = int(v - encoded.offsets[i])
            for part in allowed.parts[allowed.offsets[v] : allowed.offsets[v + 1]]:
                a = int(part - allowed.starts[v]) - 1
                names |= features_of(encoded, i, m, None if a < 0 else a)
    assert features.count == len(names)
    assert features.note.endswith("features of allowed outputs on 262,144 weights: 0% share theirs")
    assert fitted(encoded, graph, support="all")[0].count == 1 << 18


def test_runs_name_the_weights_that_scores_read():
    encoded, graph = random_documents(2, (5, 12)), Antecedent(6)
    features, structure = fitted(encoded, graph, hash_bits=14)
    record, scratch, theta = (
        features.record(encoded, structure),
        features.scratch(encoded, structure),
        np.zeros(1 << 14),
    )
    for i in range(len(encoded)):
        starts, widths = np.zeros(scratch.runs, np.int64), np.zeros(scratch.runs, np.int64)
        size = int(structure.parts[i + 1] - structure.parts[i])
        count = features.kernels.spans(record, i, starts, widths, scratch.gradient)
        for start, width in zip(starts[:count], widths[:count], strict=True):
            theta[start : start + width] = 1.0
        dense = np.zeros(1 << 14)
        features.kernels.accumulate(record, i, np.ones(size), dense)
        np.testing.assert_array_equal(theta > 0, dense > 0)
        theta[:] = 0.0
        assert features.kernels.spans(record, i, starts[:3], widths[:3], scratch.gradient) == 1
        assert (starts[0], widths[0]) == (0, 1 << 14)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"distances": [0]},
            r"distances=\[0\] must have fewer than 32 ascending integers from 1, "
            r"the upper",
        ),
        (
            {"sentence_distances": [2, 1]},
            r"sentence_distances=\[2, 1\] must have fewer than 32 ascending integers",
        ),
        (
            {"new": ["a.head"]},
            r"features\.new: the template 'a\.head' has the role 'a'\. Roles: m",
        ),
        (
            {"new": ["distance"]},
            r"features\.new: the template 'distance' has the atom 'distance', which is not of "
            r"the form",
        ),
        (
            {"links": ["m.a[1]"]},
            r"features\.links: the template 'm\.a\[1\]' has an offset, and mentions have no "
            r"neighbours\.",
        ),
        (
            {"links": ["m.a", "m.a"]},
            r"features\.links: the template 'm\.a' is listed twice; leave one of them out\.",
        ),
    ],
)
def test_refusals(options, text):
    with pytest.raises((ArgumentError, ConfigError), match=text):
        MentionTemplates(**options)


def test_columns_that_there_are_not():
    encoded, graph = random_documents(), Antecedent()
    with pytest.raises(
        ConfigError, match=r"features\.new: the template 'm\.c' looks at the column 'c'"
    ):
        fitted(encoded, graph, new=["m.c"])
    with pytest.raises(
        ConfigError, match=r"features\.links: the template 'same\.b' looks at the column 'b'"
    ):
        fitted(encoded, graph, links=["same.b"])
    with pytest.raises(
        ConfigError,
        match="features=MentionTemplates are features of mentions and their antecedents, which",
    ):
        MentionTemplates().fit(random_encoded(), None, None)


def scores_and_gradient(features, encoded, structure, theta, r):
    """Scores of all parts, and F^T r."""
    record, s, dense = features.record(encoded, structure), np.empty(len(r)), np.zeros(len(theta))
    for i, (a, b) in enumerate(pairwise(structure.parts.tolist())):
        features.kernels.scores(record, theta, i, s[a:b], EMPTY)
        features.kernels.accumulate(record, i, r[a:b], dense)
    return s, dense


@pytest.mark.parametrize("limits", [(5, None), (None, 1)])
def test_mentions_as_instances(limits):
    """Scores and gradients of single mentions, and of some of them, are those of documents."""
    whole, graph = random_documents(4, (9, 0, 14)), Antecedent(*limits, "mentions")
    features, structure = fitted(whole, graph)
    encoded, parts = graph.admit(whole)[0], INDEPENDENT.open(structure.record).parts
    theta = np.random.default_rng(0).normal(size=features.dimension)
    r = np.random.default_rng(1).normal(size=int(parts[-1]))
    for first, last in ((0, 23), (4, 17), (12, 23)):
        some = encoded.subset(first, last)
        own = slice(int(parts[first]), int(parts[last]))
        outside = r.copy()
        outside[own] = 0.0
        expected = scores_and_gradient(features, whole, structure, theta, r - outside)
        found = scores_and_gradient(features, some, graph.build(some), theta, r[own])
        np.testing.assert_allclose(found[0], expected[0][own], atol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], atol=1e-12)
