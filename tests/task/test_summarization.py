"""Summaries of texts: attributes, encoding, best extracts, scores, files; learnt and predicted over
coverage graphs.
"""

import json

import numpy as np
import pytest

from structopt.errors import ConfigError, DataError
from structopt.executor.serial import Serial
from structopt.factor_graph.coverage import Coverage
from structopt.features.attribute_rows import AttributeRows
from structopt.formats.summaries.texts_in_memory import in_memory
from structopt.inference.ilp import ILP
from structopt.loss.family import LossFamily
from structopt.objective.decoding import best_outputs
from structopt.objective.problem import Problem, Settings
from structopt.optimizer.perceptron import Perceptron
from structopt.task.summarization.attributes import (
    NUMBERS_OF_BIGRAMS,
    NUMBERS_OF_SENTENCES,
    OF_BIGRAMS,
    OF_SENTENCES,
    Document,
    Templates,
    bin_of,
)
from structopt.task.summarization.bigrams import document_bigrams
from structopt.task.summarization.summarization import Summarization, summaries

FEATURES = {
    "bigrams": ["bias", "frequency", "count & stopwords", "first"],
    "sentences": ["position", "length"],
}
TOPIC = {
    "name": "rooms",
    "sentences": [
        "Clean rooms, big beds.",
        "We went by train.",
        "The clean rooms had big beds and a view.",
        "Clean rooms!",
    ],
    "references": ["Clean rooms with big beds.", ["Clean rooms.", "Big beds."]],
}
OTHER = {"sentences": ["The sun shone.", "Rain fell in the night."], "references": ["Rain fell."]}


@pytest.fixture
def topics(tmp_path):
    file = tmp_path / "topics.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in (TOPIC, OTHER)), encoding="utf8")
    return file


def task(**options):
    return Summarization(budget=5, features=FEATURES, **options)


def test_bins():
    assert [bin_of(value, (1, 2, 5, 9)) for value in (0, 1, 2, 4, 5, 8, 9, 50)] == [
        "<1",
        "1",
        "2-4",
        "2-4",
        "5-8",
        "5-8",
        "9+",
        "9+",
    ]


def test_attributes():
    document = Document(document_bigrams(["Clean rooms.", "The clean rooms."]), [2, 3])
    templates = Templates(
        "features.bigrams",
        ["bias", "frequency", "count & stopwords", "first"],
        OF_BIGRAMS,
        NUMBERS_OF_BIGRAMS,
    )
    of_first = [("bias", 1), ("frequency", 0.08), ("count=2 & stopwords=cc", 1), ("first=0", 1)]
    assert list(templates.entries(document, 0)) == of_first
    assert list(templates.entries(document, 1)) == [
        ("bias", 1),
        ("count=1 & stopwords=sc", 1),
        ("first=1", 1),
    ]
    names = templates.names([(document, 2)])
    assert names[:3] == ["frequency", "bias", "count=2 & stopwords=cc"]
    table = templates.table([(document, 2)], {"frequency": 0, "bias": 1})
    assert (table.offsets.tolist(), table.ids.tolist(), table.values.tolist()) == (
        [0, 2, 3],
        [1, 0, 1],
        [1.0, 0.08, 1.0],
    )
    of_sentences = Templates(
        "features.sentences", ["position & length"], OF_SENTENCES, NUMBERS_OF_SENTENCES
    )
    assert list(of_sentences.entries(document, 1)) == [("position=1 & length=3-5", 1.0)]


def test_numbers():
    """Values that are not bins, under their own names."""
    document = Document(document_bigrams(["Clean rooms.", "The clean rooms."]), [2, 4])
    bigrams = Templates("features.bigrams", ["share", "earliness"], OF_BIGRAMS, NUMBERS_OF_BIGRAMS)
    assert [list(bigrams.entries(document, b)) for b in range(2)] == [
        [("share", 1.0), ("earliness", 1.0)],
        [("share", 0.5), ("earliness", 0.5)],
    ]
    sentences = Templates(
        "features.sentences", ["size", "earliness"], OF_SENTENCES, NUMBERS_OF_SENTENCES
    )
    assert list(sentences.entries(document, 0)) == [("size", 0.5), ("earliness", 1.0)]
    assert sentences.names([(document, 2)]) == ["size", "earliness"]


def test_templates_that_are_refused():
    with pytest.raises(
        ConfigError, match="features.bigrams: 'cuont' has no column 'cuont'. Did you mean 'count'"
    ):
        Templates("features.bigrams", ["cuont"], OF_BIGRAMS, NUMBERS_OF_BIGRAMS)
    with pytest.raises(
        ConfigError,
        match="'bias & frequency' joins frequency, which is a number, to others: give it alone",
    ):
        Templates("features.bigrams", ["bias & frequency"], OF_BIGRAMS, NUMBERS_OF_BIGRAMS)
    with pytest.raises(
        ConfigError,
        match="'frequency' has no column 'frequency'. Columns: bias, position, length, "
        "earliness, size",
    ):
        Templates("features.sentences", ["frequency"], OF_SENTENCES, NUMBERS_OF_SENTENCES)


def test_best_extracts_are_gold(topics):
    of = task()
    corpus = of.read(topics)
    encoded = of.fit(corpus)
    assert of.decode(encoded, encoded.gold == 1) == [[1], [2]]
    assert encoded.lengths.tolist() == [4, 4, 9, 2, 3, 5] and encoded.budgets.tolist() == [5, 5]
    scores = of.evaluate(corpus, [[1], [2]])
    assert scores["rouge2_recall"] == pytest.approx((0.5 * (2 / 4 + 3 / 3) + 1.0) / 2)
    assert "best extracts" in of.report(corpus, [[1], []])
    best = Summarization(budget=5, over="best", features=FEATURES).evaluate(corpus, [[1], [2]])
    assert best["rouge2_recall"] == pytest.approx(1.0)


def test_learning_and_predicting(topics):
    of, graph, inference = task(), Coverage(), ILP()
    encoded = of.fit(of.read(topics))
    loss = LossFamily(beta=float("inf"), gamma=0.0)
    problem = Problem.of(encoded, graph, loss, inference, AttributeRows("all").fit, Settings(C=1.0))
    optimizer = Perceptron()
    state = optimizer.init(problem, np.zeros(problem.dimension))
    for _ in range(10):
        state, _ = optimizer.step(problem, state)
    outputs = best_outputs(problem.examples, problem.kernels, optimizer.weights(state), Serial())
    assert of.decode(encoded, graph.view("selection", encoded, problem.structure, outputs)) == [
        [1],
        [2],
    ]


def test_tasks_are_restored(topics):
    of, again = task(), task()
    corpus = of.read(topics)
    encoded = of.fit(corpus)
    again.restore(*of.state())
    for name, table in again.encode(corpus).tables.items():
        np.testing.assert_array_equal(table.ids, encoded.tables[name].ids)
    more = task()
    more.fit(corpus.__class__(**{**corpus.__dict__}), earlier=of)
    assert more.attribute_names("bigram")[
        : len(of.attribute_names("bigram"))
    ] == of.attribute_names("bigram")
    assert of.vocabulary()["sentences"] == of.attribute_names("sentence")


def test_files_of_summaries(topics, tmp_path):
    of = task()
    corpus = of.read(topics)
    of.write_outputs(corpus, tmp_path / "out.txt", [[1], [1, 2]])
    assert (
        tmp_path / "out.txt"
    ).read_text() == "Clean rooms, big beds.\n\nThe sun shone.\nRain fell in the night.\n"
    of.write_outputs(corpus, tmp_path / "out.jsonl", [[1], []])
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert first == {
        "name": "rooms",
        "extract": [1],
        "summary": ["Clean rooms, big beds."],
        "words": 4,
        "budget": 5,
    }
    assert (second["name"], second["extract"], second["words"]) == ("2", [], 0)
    with pytest.raises(
        ConfigError,
        match="A file of summaries has one summary a document. Leave k_best and probabilities out.",
    ):
        of.write_outputs(corpus, tmp_path / "out.txt", [[1], [2]], ranked=[[], []])


def test_in_memory():
    corpus = in_memory([["A  b.", " "], {"sentences": ["C."]}])
    assert corpus.documents() == [["A b."], ["C."]] and corpus.names == ["1", "2"]
    assert summaries(corpus, [[1], []]) == [["A b."], []]
    of = task()
    assert (
        of.corpus(of.instances(of.input_schema.checked(of.input_example()))).sentences
        == of.input_example()["sentences"][0]
    )
    assert of.output_table([[1], []]) == {"extract": [[1], []]}
    for documents, message in (
        ("text", "the instances are one string"),
        (["text"], "<memory>:1: a document is one string"),
        (
            [{"text": []}],
            "<memory>:1: a document has the keys .'text'., and its key is 'sentences'",
        ),
        ([["a"], [3]], "<memory>:2: 3 in 'sentences' is not a string"),
    ):
        with pytest.raises(DataError, match=message):
            in_memory(documents)


def test_what_is_refused(topics, tmp_path, caplog):
    with pytest.raises(
        ConfigError,
        match="task.budget=0 leaves room for no sentence. Give a number of words from 1 on",
    ):
        Summarization(budget=0)
    of = Summarization(budget=2, features=FEATURES)
    corpus = of.read(topics)
    assert (
        "document rooms: its references are all longer than task.budget=2 words (1 such documents)."
        in caplog.text
    )
    with pytest.raises(
        DataError,
        match=r"topics.jsonl:2: document 2: its shortest sentence has 3 words, and task.budget=2: "
        r"give more",
    ):
        of.fit(corpus)
    bare = tmp_path / "bare.txt"
    bare.write_text("A sentence.\n", encoding="utf8")
    with pytest.raises(
        DataError,
        match=r"bare.txt:1: document bare: it has no reference summary: set task.references",
    ):
        of.read(bare)
    assert Summarization(budget=20, lengths="characters").encode(
        of.read(bare, labelled=False)
    ).lengths.tolist() == [11]
