"""Explanations: shares that add up to the difference of two scores, names of weights, the outputs
compared, and their forms.
"""

import json
from functools import cache
from itertools import chain

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.config import registry
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.weights.coordinates import Occurring
from structopt.errors import ConfigError
from structopt.model.explanation.differences import Difference
from structopt.model.explanation.naming import ModelNames
from structopt.model.explanation.rivals import difference
from structopt.model.explanation.top_weights import TopWeights
from structopt.objective.examples import Examples
from tests.parts import gate_cases

SHARED = ["tracker=none", "quiet=true", "objective_every=0", "optimizer.epochs=1"]
RUNS = {
    "attributes": ["task=attributes", "task.limit=40"],
    "ner": ["task=ner", "task.limit=40", "features.transitions=[word]"],
    "multiclass": ["task=multiclass", "task.limit=60"],
    "dependency": [
        "task=dependency",
        "task.limit=15",
        "features.hash_bits=14",
        "factor_graph.labeled=true",
    ],
    "coreference": ["task=coreference", "task.limit=3", "features.hash_bits=14"],
    "multilabel": [
        "task=multilabel",
        "task.limit=30",
        "optimizer=sgd",
        "optimizer.eta=0.1",
        "loss=crf",
        "inference=loopy_bp",
    ],
    "grid": ["task=grid", "task.limit=4", "optimizer=perceptron", "inference=ad3"],
    "span": ["task=constituency", "factor_graph=span", "task.limit=20", "features.hash_bits=16"],
    "constituency": ["task=constituency", "task.limit=200"],
    "summarization": ["task=summarization", "task.limit=4", "optimizer=perceptron"],
}
INPUTS = {
    "attributes": "crfsuite",
    "ner": "conll",
    "multiclass": "libsvm",
    "dependency": "conllu",
    "coreference": "coref",
    "multilabel": "multilabel",
    "constituency": "ptb",
    "span": "ptb",
    "summarization": "jsonl",
}


def inputs(name):
    return datasets.path("dev", INPUTS[name])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return cache(
        lambda name: structopt.train([*RUNS[name], *SHARED], folder=tmp_path_factory.mktemp(name))
    )


@pytest.mark.parametrize("name", gate_cases(INPUTS, "runs", ("ner", "multilabel")))
def test_shares_add_up_to_the_difference_of_the_scores(name, model):
    trained = model(name)
    for number in (3, 4):
        one = trained.explain(inputs(name), sentence=number)
        assert isinstance(one, Difference) and one.shares
        assert one.total == pytest.approx(one.difference, abs=1e-9)
        for sums in (one.by_attribute, one.by_place, one.by_configuration):
            assert sum(amount for _, amount in sums) == pytest.approx(one.difference, abs=1e-9)
        amounts = [abs(share.amount) for share in one.shares]
        assert amounts == sorted(amounts, reverse=True)


@pytest.mark.parametrize("name", gate_cases(["ner", "dependency", "coreference"], "runs", ("ner",)))
def test_scores_are_those_of_the_two_best_outputs(name, model):
    trained = model(name)
    one, ((best, runner_up), *_) = (
        trained.explain(inputs(name)),
        trained.predict_k_best(inputs(name), 2),
    )
    assert (one.which, one.chosen, one.other) == ("runner_up", best.output, runner_up.output)
    np.testing.assert_allclose(one.scores, [best.score, runner_up.score], atol=1e-9)


def test_every_share_is_a_weight_times_how_often_its_feature_occurs_more(model):
    trained = model("attributes")
    one, names = trained.explain(inputs("attributes")), trained.task.attribute_names()
    tables, labels = trained.scorer.tables_of(trained.weights), list(trained.task.labels)
    words = inputs("attributes").read_text().split("\n\n")[0].splitlines()
    for share in one.shares:
        if share.feature.group == "label":
            row, column = names.index(share.feature.attribute), labels.index(share.configuration)
            position = int(share.place.partition(" ")[2]) - 1
            assert share.weight == tables["label"][row, column]
            assert share.feature.attribute in words[position].split("\t")
            chosen = trained.task.labels.index(one.chosen[position])
            assert share.times == (1.0 if chosen == column else -1.0)
        else:
            before, after = (labels.index(label) for label in share.configuration.split(" → "))
            assert share.weight == tables["transition"][0, before * len(labels) + after]


def test_compares_with_what_is_asked_for(model):
    trained, path = model("ner"), inputs("ner")
    by = {which: trained.explain(path, against=which) for which in ("runner_up", "change")}
    assert [one.which for one in by.values()] == list(by)
    changed = [a != b for a, b in zip(by["change"].chosen, by["change"].other, strict=True)]
    assert sum(changed) == 1
    assert by["change"].scores[1] <= by["runner_up"].scores[1] + 1e-9
    number = next(k for k in range(1, 60) if _differs(trained, path, k))
    one = trained.explain(path, sentence=number, against="gold")
    assert one.other != one.chosen and one.total == pytest.approx(one.difference, abs=1e-9)
    assert one.other == path.read_text().split("\n\n")[number - 1] or len(one.other) == len(
        one.words
    )


def _differs(trained, path, number):
    try:
        return trained.explain(path, sentence=number, against="gold")
    except ConfigError as error:
        assert "against=gold: there is no such output to hold the prediction against" in str(error)
        return None


def test_where_no_list_is_made_gold_or_a_change_is_compared(model):
    trained = model("multilabel")
    assert trained.explain(inputs("multilabel"), sentence=1, against="change").which == "change"
    assert trained.explain(inputs("multilabel")).which in ("gold", "change")
    assert trained.explain([{1: 1.0, 2: 1.0}]).which == "change"


HASHED = pytest.mark.parametrize(
    "name", gate_cases(["dependency", "coreference", "span"], "runs", ("dependency",))
)


@HASHED
def test_hashed_weights_have_the_names_of_the_features_that_have_them(name, model):
    """Of every part of the first instance: all weights that it reads have names; together as many
    as it has features.
    """
    trained = model(name)
    whole = trained.examples(trained.task.read(inputs(name)))
    examples = Examples.build(
        whole.encoded.subset(0, 1), trained.graph, trained.scorer, trained.inference
    )
    names, read = ModelNames(trained.task, trained.graph), 0
    parts = int(examples.structure.parts[-1])
    for part in range(0, parts, max(1, parts // 60)):
        residual = np.zeros(parts)
        residual[part] = 1.0
        trained.scorer.kernels.accumulate(
            examples.features, 0, residual, dense := np.zeros(trained.scorer.dimension)
        )
        only = SparseVectors(np.array([0, 1]), np.array([part], np.int32), np.ones(1))
        indices = np.flatnonzero(dense)
        found = trained.scorer.named(
            indices, names, Occurring(examples.encoded, examples.structure, only)
        )
        assert all(found[index] for index in indices.tolist())
        assert sum(map(len, found.values())) == dense.sum()
        read += len(indices)
    assert read > 100


@HASHED
@pytest.mark.nightly("runs")
def test_names_of_hashed_weights_come_from_a_corpus(name, model):
    trained = model(name)
    nameless, named = (
        trained.explain(top=5),
        trained.explain(top=5, names=datasets.path("train", INPUTS[name])),
    )
    assert "give a file whose features are to name them" in nameless.remarks[0]
    assert [table.title for table in nameless.tables] == ["weights without a name"]
    assert "Hashed weights are named by the features of train." in named.remarks[0]
    assert (
        {"arc", "label"} <= {table.title for table in named.tables}
        if name == "dependency"
        else named.tables
    )
    shown = {row.weight for table in named.tables for row in (*table.positive, *table.negative)}
    assert max(trained.weights) in shown and min(trained.weights) in shown


@pytest.mark.nightly("runs")
def test_collisions_are_told(model):
    """On 2^14 weights many features share theirs: a weight has the names of all that occur."""
    named = model("dependency").explain(top=50, names=datasets.path("train", "conllu"))
    assert "are shared by several features" in named.remarks[1]
    assert any(row.others for table in named.tables for row in table.positive)


def test_top_weights_are_the_highest_and_the_lowest(model):
    trained = model("ner")
    tables = {table.title: table for table in trained.explain(top=3).tables}
    values = trained.scorer.tables_of(trained.weights)
    for column, label in enumerate(trained.task.labels):
        own, table = values["label"][:, column], tables[f"label {label}"]
        np.testing.assert_array_equal(
            [row.weight for row in table.positive], np.sort(own[own > 0])[::-1][:3]
        )
        np.testing.assert_array_equal(
            [row.weight for row in table.negative], np.sort(own[own < 0])[:3]
        )
        assert table.count == np.count_nonzero(own)
        for row in table.positive:
            assert own[trained.task.attribute_names().index(row.feature.attribute)] == row.weight
    pairs = [table for title, table in tables.items() if title.startswith("transition")]
    assert sum(table.count for table in pairs) == np.count_nonzero(values["transition"])
    assert " → " in pairs[0].title


@pytest.mark.parametrize("name", gate_cases(RUNS, "runs", ("ner", "multilabel")))
def test_every_task_has_top_weights_in_all_forms(name, model):
    one = model(name).explain(top=2)
    assert isinstance(one, TopWeights) and one.tables
    data = json.loads(one.written("json"))
    rows = list(chain(*(table["positive"] + table["negative"] for table in data["tables"])))
    assert rows and all(row["weight"] for row in rows)
    page = one.written("html")
    assert page.startswith("<!DOCTYPE html>") and page.count("<h2>") == len(
        [t for t in one.tables if t.positive or t.negative]
    )
    assert "http" not in page and str(one).startswith("The 2 highest and lowest weights")
    assert one._repr_html_().startswith("<iframe srcdoc=")


def test_a_difference_in_all_forms(model):
    one = model("ner").explain(inputs("ner"), sentence=2, top=3)
    data = json.loads(one.written("json"))
    assert data["difference"] == pytest.approx(
        sum(share["share"] for share in data["shares"]), abs=1e-9
    )
    assert data["prediction"] == one.chosen and len(data["words"]) == len(one.chosen)
    text, page = one.written("text"), one.written("html")
    for table in ("attribute", "place", "configuration"):
        assert f"share  {table}" in text and f"<h2>By {table}</h2>" in page
    assert f"the other {len(one.shares) - 3}" in text
    assert all(word in text for word in data["words"])


@pytest.mark.nightly("runs")
def test_dense_numbers_have_names(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text(
        "".join(f"{word} 0.5 -1.5 2.0\n" for word in ("the", "of", "a", "bank", "minister"))
    )
    words = [*RUNS["ner"], *SHARED, f"features.vectors={path}", "optimizer.epochs=3"]
    one = structopt.train(words, folder=tmp_path / "run").explain(top=1000)
    assert any(
        "vector" in row.feature.attribute
        for table in one.tables
        for row in (*table.positive, *table.negative)
    )


def test_scorers_that_are_not_linear_are_refused(model, monkeypatch):
    trained = model("attributes")
    monkeypatch.setattr(trained, "scorer", _NotLinear())
    monkeypatch.setattr(registry, "name_of", lambda kind, component: "network")
    with pytest.raises(
        ConfigError,
        match="explain: scores of features=network are no sums of weights of attributes",
    ):
        trained.explain()


class _NotLinear:
    """Stands for a scorer of which nothing is known but scores."""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "top=0 must be at least 1"),
        ({"against": "best"}, "against=best is none of: auto, runner_up, gold, change"),
        (
            {"sentence": 9999},
            r"sentence=9999 does not exist: .*dev\.conll: it has \d+ sentences, counted from 1",
        ),
    ],
)
def test_refuses(options, message, model):
    with pytest.raises(ConfigError, match=message):
        model("ner").explain(inputs("ner"), **options)


def test_differences_of_outputs():
    def output(parts, values):
        return SparseVectors(
            np.array([0, len(parts)]), np.array(parts, np.int32), np.array(values, float)
        )

    parts, counts = difference(output([1, 4, 7], [1, 2, 1]), output([4, 7, 9], [1, 1, 1]))
    np.testing.assert_array_equal(parts, [1, 4, 9])
    np.testing.assert_array_equal(counts, [1, 1, -1])
