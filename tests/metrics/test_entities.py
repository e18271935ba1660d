"""Entity scores against conlleval's definition, by hand and against seqeval."""

import os
import random
import warnings
from pathlib import Path

import pytest

from structopt.formats import conll_reader
from structopt.formats.tag_schemes import spans
from structopt.metrics.entities import label_outcomes, report, score, token_outcomes
from structopt.metrics.tag_numbers import TagNumbers


def random_tags(generator, prefixes, regular=False):
    tags = []
    for _ in range(generator.randint(0, 12)):
        tag = generator.choice(["O", *(f"{p}-{t}" for p in prefixes for t in ("PER", "LOC"))])
        if regular and tag[0] == "I" and (tags[-1:] or ["O"])[-1][1:] != tag[1:]:
            tag = "B" + tag[1:]
        tags.append(tag)
    return tags


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("", set()),
        ("O O", set()),
        ("I-A I-A", {(0, 2, "A")}),
        ("I-A B-A", {(0, 1, "A"), (1, 2, "A")}),
        ("I-A I-B", {(0, 1, "A"), (1, 2, "B")}),
        ("B-A I-B I-B", {(0, 1, "A"), (1, 3, "B")}),
        ("I-A O I-A", {(0, 1, "A"), (2, 3, "A")}),
        ("O I-A I-A B-A I-A O", {(1, 3, "A"), (3, 5, "A")}),
        ("B-A B-A I-A", {(0, 1, "A"), (1, 3, "A")}),
        ("I-A E-A I-A E-A", {(0, 2, "A"), (2, 4, "A")}),
        ("E-A E-A", {(0, 1, "A"), (1, 2, "A")}),
        ("S-A B-A I-A E-A S-B", {(0, 1, "A"), (1, 4, "A"), (4, 5, "B")}),
        ("S-A I-A", {(0, 1, "A"), (1, 2, "A")}),
        ("B-A E-A B-A", {(0, 2, "A"), (2, 3, "A")}),
        ("[-A ]-A O", {(0, 1, "A"), (1, 2, "A")}),
        ("[-A I-A", {(0, 1, "A")}),
        ("B I O I", {(0, 2, ""), (3, 4, "")}),
        ("NN VB O", set()),
        ("B-x-y I-x-y", {(0, 2, "x-y")}),
    ],
)
def test_entities_by_hand(tags, expected):
    assert set(spans(tags.split())) == expected


@pytest.mark.parametrize("prefixes", ["BI", "BIES", ["B", "I", "O", "[", "]", ".", "NN"]])
def test_entities_of_a_corpus_are_those_of_its_sentences(prefixes):
    generator, numbers = random.Random(3), TagNumbers()
    corpus = [
        [*random_tags(generator, prefixes), *["I"] * (i % 2), *["."] * (i % 3)] for i in range(300)
    ]
    found, expected, begin = numbers.entities(numbers.of(corpus)), [], 0
    for tags in corpus:
        expected += [(begin + start, begin + end, kind) for start, end, kind in spans(tags)]
        begin += len(tags) + 1
    assert [
        (a, b, numbers.kinds[kind]) for a, b, kind in zip(*map(list, found), strict=True)
    ] == expected
    assert len(expected) > 100


def test_no_sentences_have_no_entities():
    assert [len(array) for array in TagNumbers().entities(TagNumbers().of([]))] == [0, 0, 0]


def test_sentences_are_boundaries():
    assert score([["I-A"], ["I-A"]], [["B-A"], ["B-A"]])["f1"] == 1
    assert score([["I-A"], ["I-A"]], [["I-A"], ["O"]])["recall"] == 0.5


def test_scores_by_hand():
    gold = [["B-PER", "I-PER", "O", "B-LOC", "B-LOC"], ["O", "B-ORG"]]
    predicted = [["B-PER", "O", "O", "B-LOC", "B-LOC"], ["B-MISC", "O"]]
    scores = score(gold, predicted)
    assert scores["precision"] == pytest.approx(2 / 4)
    assert scores["recall"] == pytest.approx(2 / 4)
    assert scores["f1"] == pytest.approx(2 / 4)
    assert scores["accuracy"] == pytest.approx(4 / 7)
    assert (scores["f1_LOC"], scores["f1_PER"], scores["f1_ORG"], scores["f1_MISC"]) == (1, 0, 0, 0)
    assert (
        scores["precision_LOC"],
        scores["recall_LOC"],
        scores["precision_ORG"],
        scores["recall_MISC"],
    ) == (1, 1, 0, 0)


def test_a_plain_label_is_an_entity_of_one_token():
    gold, predicted = [["NAME", "NAME", "O", "B-X", "I-X"]], [["NAME", "O", "AGE", "B-X", "I-X"]]
    scores = label_outcomes(gold, predicted).scores()
    assert (scores["precision"], scores["recall"]) == (2 / 3, 2 / 3)
    tags = [["NN", "VB", "NN"]], [["NN", "NN", "NN"]]
    assert label_outcomes(*tags).scores()["f1"] == pytest.approx(
        token_outcomes(*tags).scores()["accuracy"]
    )


def test_nothing_over_nothing_is_zero():
    assert score([], []) == {"precision": 0, "recall": 0, "f1": 0, "accuracy": 0}
    assert score([["O"]], [["O"]]) == {"precision": 0, "recall": 0, "f1": 0, "accuracy": 1}


@pytest.mark.parametrize(("prefixes", "regular"), [("BI", True), ("BI", False), ("BIES", False)])
def test_agrees_with_seqeval(prefixes, regular):
    """seqeval's default mode equals conlleval on B, I, E and S, stray I- included: it starts an
    entity in both.
    """
    seqeval = pytest.importorskip("seqeval.metrics")
    generator = random.Random(7)
    gold = [random_tags(generator, prefixes, regular) for _ in range(300)]
    predicted = [
        [random.Random(i).choice([t, t, "O", "I-PER"]) for i, t in enumerate(tags)] for tags in gold
    ]
    scores = score(gold, predicted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = seqeval.classification_report(gold, predicted, output_dict=True)
    for name in ("precision", "recall"):
        assert scores[name] == pytest.approx(expected["micro avg"][name], abs=1e-12)
    assert scores["f1"] == pytest.approx(expected["micro avg"]["f1-score"], abs=1e-12)
    assert scores["f1_PER"] == pytest.approx(expected["PER"]["f1-score"], abs=1e-12)
    assert scores["accuracy"] == pytest.approx(seqeval.accuracy_score(gold, predicted), abs=1e-12)
    for tags in gold:
        assert set(spans(tags)) == {
            (start, end + 1, kind)
            for kind, start, end in seqeval.sequence_labeling.get_entities(tags)
        }


def test_differs_from_seqeval_where_tags_have_no_known_prefix():
    """seqeval splits the first character off any tag: PER and RER become one type ER; conlleval
    sees no entity.
    """
    labelling = pytest.importorskip("seqeval.metrics.sequence_labeling")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert labelling.get_entities(["PER", "RER"]) == [("ER", 0, 1)]
    assert spans(["PER", "RER"]) == []


def test_report_is_conlleval_s_table():
    gold, predicted = [["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]]
    assert report(gold, predicted).splitlines() == [
        "processed 3 tokens with 2 phrases; found: 1 phrases; correct: 1.",
        "accuracy:  66.67%; precision: 100.00%; recall:  50.00%; FB1:  66.67",
        "     LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  0 found, 1 gold",
        "     PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1 found, 1 gold",
    ]


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="1 gold sentences, but 2 predicted ones"):
        score([["O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="sentence 1 has 1 gold tags, but 2 predicted ones"):
        score([["O"], ["O"]], [["O"], ["O", "O"]])


@pytest.mark.nightly("data")
@pytest.mark.skipif("STRUCTOPT_DATA" not in os.environ, reason="STRUCTOPT_DATA is not set")
@pytest.mark.parametrize(("name", "count"), [("eng.train.gz", 23499), ("eng.testa.gz", 5942)])
def test_entities_of_conll2003(name, count):
    read = conll_reader.read(Path(os.environ["STRUCTOPT_DATA"]) / "conll2003" / name, {"ner": 3})
    assert sum(len(spans(tags)) for tags in read.sentences("ner")) == count
