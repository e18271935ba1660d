"""Documents in memory: what is read, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from structopt.errors import DataError
from structopt.formats.coreference.documents_in_memory import in_memory

FIRST = {
    "sentences": [["Ann", "slept"], ["She", "woke", "up"]],
    "mentions": [[2, 3], [0, 1], [2, 5]],
}


def test_documents() -> None:
    second = {"sentences": (("Bob",),), "mentions": np.array([[0, 1]])}
    read = in_memory([FIRST, {"sentences": []}, second])
    assert (read.path, read.names, len(read)) == ("<memory>", ["1", "2", "3"], 3)
    assert (read.documents.tolist(), read.sentences.tolist()) == ([0, 5, 5, 6], [0, 2, 5, 6])
    assert (read.lines.tolist(), read.offsets.tolist()) == ([1, 1, 1, 1, 1, 3], [0, 3, 3, 4])
    assert read.mentions.tolist() == [[0, 1], [2, 5], [2, 3], [5, 6]]
    assert read.cells == {"form": ["Ann", "slept", "She", "woke", "up", "Bob"]}
    assert (read.heads, read.clusters, read.crossing) == (None, None, ())
    types = [
        getattr(read, name).dtype
        for name in ("documents", "sentences", "lines", "offsets", "mentions")
    ]
    assert types == [np.int64] * 4 + [np.int32]
    assert len(in_memory([])) == 0


def test_columns() -> None:
    more = {
        "xpos": [["NNP", "VBD"], ["PRP", "VBD", "RP"]],
        "heads": [[2, 0], [2, 0, 2]],
        "lemma": [["a", "b"], ["c", "d", "e"]],
    }
    read = in_memory([FIRST | more])
    assert read.heads is not None and (read.heads.tolist(), read.heads.dtype) == (
        [2, 0, 2, 0, 2],
        np.int32,
    )
    assert read.cells["xpos"] == ["NNP", "VBD", "PRP", "VBD", "RP"] and read.cells["lemma"] == list(
        "abcde"
    )
    read = in_memory([FIRST | more, FIRST])  # columns of some documents are left out
    assert read.cells.keys() == {"form"} and read.heads is None


def test_crossing_mentions_are_listed() -> None:
    crossing = {"sentences": [["a", "b", "c"]], "mentions": [[1, 3], [0, 2]]}
    assert in_memory([FIRST, crossing]).crossing == ((2, 2),)


@pytest.mark.parametrize(
    ("documents", "line", "message"),
    [
        (
            "Ann",
            None,
            "the instances are one string, 'Ann'. Give a list of documents: [{'sentences': "
            "[['Ann', 'slept'], [",
        ),
        (FIRST, None, "the instances are one mapping, of 'sentences', 'mentions'. Give"),
        ([[["Ann"]]], 1, "the document is [['Ann']], which is no mapping. Give"),
        ([FIRST, {"mentions": []}], 2, "the document has no sentences (key 'sentences'). Give"),
        (
            [FIRST | {"mention": []}],
            1,
            "there is no key 'mention'; the keys are sentences, mentions, lemma, upos, xpos, heads",
        ),
        (
            [FIRST | {"clusters": []}],
            1,
            "there is no key 'clusters'; the keys are sentences, mentions, lemma, upos, xpos, "
            "heads",
        ),
        ([{"sentences": ["Ann"]}], 1, "a sentence of 'sentences' is one string, 'Ann'. Give"),
        ([{"sentences": "Ann"}], 1, "a column 'sentences' is one string, 'Ann'. Give"),
        ([{"sentences": [["Ann"], []]}], 1, "the sentence 2 has no words. Give"),
        ([{"sentences": [["Ann", 1]]}], 1, "1 in 'sentences' is not a string. Give"),
        (
            [FIRST | {"upos": [["X", "Y"]]}],
            1,
            "the column 'upos' has 1 sentences where there are 2. Give",
        ),
        (
            [FIRST | {"upos": [["X"], ["X"] * 3]}],
            1,
            "the column 'upos' has 1 cells for the 2 words of sentence 1. Give",
        ),
        ([FIRST | {"upos": [["X", None], ["X"] * 3]}], 1, "None in 'upos' is not a string. Give"),
        (
            [FIRST | {"heads": [[0, 3], [0] * 3]}],
            1,
            "the head 3 in sentence 1 is no word of it: there are 1 to 2, and 0. Give",
        ),
        (
            [FIRST | {"heads": [[0, "1"], [0] * 3]}],
            1,
            "the head '1' in sentence 1 is no word of it",
        ),
        (
            [FIRST | {"mentions": [[0, 1, 2]]}],
            1,
            "the mention [0, 1, 2] is not two whole numbers, of its first word and the one",
        ),
        ([FIRST | {"mentions": [[0, 1.5]]}], 1, "the mention [0, 1.5] is not two whole numbers"),
        ([FIRST | {"mentions": [3]}], 1, "a mention is 3, which is no list. Give"),
        ([FIRST, FIRST | {"mentions": [[1, 1]]}], 2, "the mention [1, 1] has no words. Give"),
        (
            [FIRST | {"mentions": [[4, 6]]}],
            1,
            "the mention [4, 6] is not within the 5 words of the document. Give",
        ),
        (
            [FIRST | {"mentions": [[-1, 1]]}],
            1,
            "the mention [-1, 1] is not within the 5 words of the document. Give",
        ),
        (
            [FIRST | {"mentions": [[2, 3], [0, 1], [2, 3]]}],
            1,
            "the mention [2, 3] is given twice. Give",
        ),
        (
            [FIRST | {"mentions": [[1, 3]]}],
            1,
            "the mention [1, 3] reaches beyond its sentence. Give",
        ),
    ],
)
def test_what_is_refused(documents: object, line: int | None, message: str) -> None:
    with pytest.raises(DataError) as error:
        in_memory(documents)  # type: ignore[arg-type]
    assert str(error.value).startswith(
        f"<memory>:{line}: {message}" if line else f"<memory>: {message}"
    )
    assert error.value.line == line
