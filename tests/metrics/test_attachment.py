"""Scores against trees counted by hand, and against definitions written out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from structopt.errors import DataError
from structopt.formats.trees.dependency_trees import Arc, Trees
from structopt.metrics import attachment
from structopt.task.dependency import Dependency

# the: dog <- ; dog: barked; barked: root; loudly: barked; .: barked | Go: root; !: Go
GOLD = [[2, 3, 0, 3, 3], [0, 1]]
RELATIONS = ["det", "nsubj", "root", "advmod", "punct", "root", "punct"]
FORMS = ["the", "dog", "barked", "loudly", ".", "Go", "!?"]
TAGS = ["DET", "NOUN", "VERB", "ADV", "PUNCT", "VERB", "PUNCT"]


def corpus(heads: list[list[int]] = GOLD, **cells: list[str]) -> Trees:
    words = sum(map(len, heads))
    columns = {"form": FORMS[:words], "deprel": RELATIONS[:words]} | cells
    offsets = np.cumsum([0, *map(len, heads)])
    return Trees(
        "a.conllu", offsets, np.arange(1, words + 1), columns, np.array(sum(heads, []), np.int32)
    )


def scores(
    outputs: list[list[Arc]], rule: attachment.Punctuation = "auto", **cells: list[str]
) -> dict[str, float]:
    return attachment.metrics(attachment.compare(corpus(**cells), outputs, rule))


PREDICTED = [
    [Arc(2, "det"), Arc(3, "obj"), Arc(0, "root"), Arc(2, "advmod"), Arc(3, "punct")],
    [Arc(0, "root"), Arc(1, "dep")],
]


def test_attachment_counted_by_hand() -> None:
    expected = {
        "uas": 6 / 7,
        "las": 4 / 7,
        "uas_nopunct": 4 / 5,
        "las_nopunct": 3 / 5,
        "exact": 1 / 2,
    }
    expected |= {"las_universal": 4 / 7, "las_universal_nopunct": 3 / 5}
    assert scores(PREDICTED) == pytest.approx(expected)
    assert scores(PREDICTED, upos=TAGS) == pytest.approx(expected)


def test_no_relations_no_las() -> None:
    outputs = [[Arc(arc.head) for arc in output] for output in PREDICTED]
    assert scores(outputs) == pytest.approx({"uas": 6 / 7, "uas_nopunct": 4 / 5, "exact": 1 / 2})


def test_a_right_relation_on_a_wrong_head_does_not_count() -> None:
    outputs = [[Arc(5, relation) for relation in RELATIONS[:5]], [Arc(2, "root"), Arc(0, "punct")]]
    assert scores(outputs)["las"] == 0.0


def test_universal_relations_are_compared_without_their_subtypes() -> None:
    """Right: det, obj of obj:pass, the root, and punct:x of punct; on a wrong head nothing is;
    nsubj is no nsub.
    """
    gold = ["det", "obj:pass", "root", "advmod:emph", "punct", "root", "nsubj:outer:x"]
    found = [
        [Arc(2, "det"), Arc(3, "obj"), Arc(0, "root:x"), Arc(2, "advmod:emph"), Arc(3, "punct:x")],
        [Arc(0, "root"), Arc(1, "nsub")],
    ]
    wanted = {
        "las": 2 / 7,
        "las_universal": 5 / 7,
        "las_nopunct": 2 / 5,
        "las_universal_nopunct": 4 / 5,
    }
    assert scores(found, deprel=gold).items() >= wanted.items()
    nested = [found[0], [Arc(0, "root"), Arc(1, "nsubj:pass")]]
    assert (scores(nested, deprel=gold)["las"], scores(nested, deprel=gold)["las_universal"]) == (
        2 / 7,
        6 / 7,
    )
    lines = attachment.table(attachment.compare(corpus(deprel=gold), nested)).splitlines()
    assert ["without", "subtypes", "85.71", "80.00"] in [line.split() for line in lines]


def test_what_the_conll_2018_evaluation_counts_of_a_file(tmp_path: Path) -> None:
    """Words count, also those within a token of several words; that token's own line and an empty
    node do not.
    """
    rows = ["1-2\tZum\t_\t_\t_\t_\t_\t_\t_\t_"]
    for number, head, relation in (
        (1, 3, "case"),
        (2, 3, "det:art"),
        (3, 0, "root"),
        (4, 3, "obl:arg"),
    ):
        rows.append(f"{number}\tw{number}\t_\tX\t_\t_\t{head}\t{relation}\t_\t_")
    rows.insert(4, "3.1\te\t_\t_\t_\t_\t_\t_\t3:dep\t_")
    (tmp_path / "gold.conllu").write_text("\n".join(rows) + "\n\n")
    task = Dependency()
    found = [[Arc(3, "case"), Arc(3, "det"), Arc(0, "root"), Arc(2, "obl:arg")]]
    scores = task.evaluate(task.read(tmp_path / "gold.conllu"), found)
    assert (scores["uas"], scores["las"], scores["las_universal"]) == (3 / 4, 2 / 4, 3 / 4)


@pytest.mark.parametrize(
    ("rule", "tags", "left_out"),
    [
        ("none", TAGS, ""),
        ("unicode", ["PUNCT"] * 7, ". !?"),
        ("upos", ["PUNCT", *TAGS[1:]], "the . !?"),
        ("auto", ["PUNCT", *TAGS[1:]], "the . !?"),
        ("auto", ["X"] * 7, ". !?"),
        ("auto", None, ". !?"),
        ("upos", None, ""),
    ],
)
def test_punctuation(rule: attachment.Punctuation, tags: list[str] | None, left_out: str) -> None:
    found = attachment.punctuation_of(corpus(**({} if tags is None else {"upos": tags})), rule)
    assert [form for form, out in zip(FORMS, found, strict=True) if out] == left_out.split()


def test_unicode_punctuation_is_that_of_conll_x() -> None:
    """All characters of categories P*: symbols such as the dollar and the backtick of Penn's quotes
    are words.
    """
    forms = ["...", "«", "''", "%", "#", "-LRB-", "``", "$", "+", "a."]
    alone = corpus([[0, *[1] * 9]], deprel=["x"] * 10, form=forms)
    found = attachment.punctuation_of(alone, "unicode")
    assert [form for form, out in zip(forms, found, strict=True) if out] == [
        "...",
        "«",
        "''",
        "%",
        "#",
    ]


def descends(heads: list[int], word: int, ancestor: int) -> bool:
    while word and word != ancestor:
        word = heads[word - 1]
    return word == ancestor


def crossing(heads: list[int]) -> list[bool]:
    """The definition: some word between head and modifier does not descend from the head."""
    return [
        any(not descends(heads, k, head) for k in range(min(head, m) + 1, max(head, m)))
        for m, head in enumerate(heads, 1)
    ]


def random_tree(generator: np.random.Generator, n: int) -> list[int]:
    order = generator.permutation(n) + 1
    heads = [0] * n
    for index, word in enumerate(order):
        heads[word - 1] = int(generator.choice([0, *order[:index]]))
    return heads


def test_nonprojective_arcs_by_hand() -> None:
    # 2 <- 4 over 3; and 6 <- 1 over 5, which hangs from the root
    heads = np.array([0, 4, 1, 1, 0, 1])
    assert attachment.nonprojective(heads, np.array([0, 6])).tolist() == [
        False,
        True,
        False,
        False,
        False,
        True,
    ]


def test_nonprojective_arcs_by_definition() -> None:
    generator = np.random.default_rng(0)
    trees = [random_tree(generator, int(n)) for n in generator.integers(1, 12, 200)]
    expected = [flag for heads in trees for flag in crossing(heads)]
    offsets = np.cumsum([0, *map(len, trees)])
    assert attachment.nonprojective(np.array(sum(trees, [])), offsets).tolist() == expected
    assert 100 < sum(expected) < len(expected) / 2


def test_nonprojective_recall() -> None:
    gold = corpus([[0, 4, 1, 1, 0, 1]], deprel=["x"] * 6, form=["x"] * 6)
    outputs = [[Arc(head) for head in (0, 4, 1, 1, 0, 5)]]
    found = attachment.metrics(attachment.compare(gold, outputs))
    assert (found["nonprojective_recall"], found["uas"]) == (0.5, 5 / 6)


def test_table() -> None:
    table = attachment.table(attachment.compare(corpus(), PREDICTED))
    lines = [line.split() for line in table.splitlines()]
    assert table.startswith("2 sentences, 7 words, 2 of them punctuation\n")
    assert ["right", "heads", "(UAS)", "85.71", "80.00"] in lines and [
        "and",
        "relations",
        "(LAS)",
        "57.14",
        "60.00",
    ] in lines
    assert ["whole", "trees", "50.00"] in lines
    assert lines[-5:] == [
        ["root", "2", "2", "100.00", "100.00"],
        ["1", "4", "3", "75.00", "100.00"],
        ["2", "1", "2", "100.00", "50.00"],
        ["3-6", "0", "0", "0.00", "0.00"],
        ["7-", "0", "0", "0.00", "0.00"],
    ]


def test_outputs_of_another_file_are_refused() -> None:
    with pytest.raises(DataError, match="a.conllu: the predicted trees are not of these sentences"):
        attachment.compare(corpus(), PREDICTED[:1])
    with pytest.raises(DataError, match="a.conllu: the predicted trees are not of these sentences"):
        attachment.compare(corpus(), PREDICTED[::-1])
