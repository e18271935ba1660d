"""Columns of CoNLL-2012: what is read, what is refused, and files written again."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace

import numpy as np
import pytest

from structopt import datasets
from structopt.core.data.file_sets import FileSet
from structopt.errors import ConfigError, DataError
from structopt.formats.coreference import coreference_files
from tests.messages import raises

FILE = "a.coref"
TEXT = """\
#begin document (nw/a); part 000
nw/a 0 0 The DT (3|(12
nw/a 0 1 king NN 12)
nw/a 0 2 of IN -
nw/a 0 3 France NNP (7)|3)

nw/a 0 0 He PRP (3)
nw/a 0 1 slept VBD -
#end document
#begin document (nw/a); part 001
nw/a 1 0 France NNP (3)

#end document
"""
ONTONOTES = """\
#begin document (bn/x); part 000
bn/x   0    0     John   NNP  (TOP(S(NP*)        -     -   -   Mary_Lee   (PERSON)   (ARG0*)        *     (0)
bn/x   0    1    wants   VBZ        (VP*      want    01   1   Mary_Lee       *        (V*)        *       -
bn/x   0    2       to    TO      (S(VP*         -     -   -   Mary_Lee       *     (ARG1*         *       -
bn/x   0    3    sleep    VB   *))))             sleep 01   1   Mary_Lee       *         *)       (V*)      -

bn/x   0    0       So    RB    (TOP(X*))        -     -   -   Bob            *      -
#end document
"""


def rows(*cells: str, name: str = "d") -> str:
    """A document of one sentence."""
    words = "".join(f"{name} 0 {number} w{number} {cell}\n" for number, cell in enumerate(cells))
    return f"#begin document ({name}); part 0\n{words}#end document\n"


def spans(path, **options) -> list[list[int]]:
    return coreference_files.read(path, **options).mentions.tolist()


def test_documents_sentences_and_mentions(make) -> None:
    read = coreference_files.read(make(TEXT))
    assert (read.format, len(read), read.names) == (
        "conll",
        2,
        ["nw/a; part 000", "nw/a; part 001"],
    )
    assert (read.documents.tolist(), read.sentences.tolist()) == ([0, 6, 7], [0, 4, 6, 7])
    assert read.lines.tolist() == [2, 3, 4, 5, 7, 8, 11]
    assert read.cells == {
        "form": ["The", "king", "of", "France", "He", "slept", "France"],
        "xpos": ["DT", "NN", "IN", "NNP", "PRP", "VBD", "NNP"],
    }
    assert read.cells["form"][3] is read.cells["form"][6]
    assert read.mentions.tolist() == [[0, 4], [0, 2], [3, 4], [4, 5], [6, 7]]
    assert (read.offsets.tolist(), read.gold_clusters().tolist()) == ([0, 4, 5], [0, 1, 2, 0, 0])
    assert (read.mentions.dtype, read.gold_clusters().dtype) == (np.int32, np.int32)
    assert {
        getattr(read, name).dtype for name in ("documents", "sentences", "lines", "offsets")
    } == {np.dtype(np.int64)}
    assert read.entities(0) == [[(0, 4), (4, 5)], [(0, 2)], [(3, 4)]] and read.entities(1) == [
        [(0, 1)]
    ]
    assert (read.heads, read.crossing, read.text) == (None, (), TEXT)


def test_all_columns_of_conll_2012(make) -> None:
    read = coreference_files.read(make(ONTONOTES))
    assert read.cells == {
        "form": ["John", "wants", "to", "sleep", "So"],
        "xpos": ["NNP", "VBZ", "TO", "VB", "RB"],
        "parse": ["(TOP(S(NP*)", "(VP*", "(S(VP*", "*))))", "(TOP(X*))"],
        "lemma": ["-", "want", "-", "sleep", "-"],
        "speaker": ["Mary_Lee"] * 4 + ["Bob"],
    }
    assert (read.sentences.tolist(), read.mentions.tolist()) == ([0, 4, 5], [[0, 1]])


@pytest.mark.parametrize("cell", ["-", "_"])
def test_columns_without_values_are_missing(make, cell: str) -> None:
    text = (
        f"#begin document (a); part 0\na\t0\t0\tNew York{9 * f'{chr(9)}{cell}'}\t(0)\n"
        f"a\t0\t1\tx{9 * f'{chr(9)}{cell}'}\t\n"
    )
    read = coreference_files.read(make(text))
    # and columns that tabs separate may hold spaces
    assert read.cells == {"form": ["New York", "x"]}


def test_only_ascii_white_space_parts_cells(make) -> None:
    assert coreference_files.read(make("a 0 0 10\xa0000 (0)\na 0 1 \u3000 -\n")).cells["form"] == [
        "10\xa0000",
        "\u3000",
    ]


def test_nested_mentions_of_one_entity(make) -> None:
    read = coreference_files.read(make(rows("(5|(5", "(5)|5)", "5)", "(5|(6)", "5)")))
    assert read.mentions.tolist() == [[0, 3], [0, 2], [1, 2], [3, 5], [3, 4]]
    assert read.gold_clusters().tolist() == [0, 0, 0, 0, 1]


def test_crossing_mentions_are_listed(make) -> None:
    read = coreference_files.read(make(rows("(1", "(2|(3", "1)", "2)|(4", "3)|4)")))
    assert read.mentions.tolist() == [[0, 3], [1, 5], [1, 4], [3, 5]]
    assert read.crossing == ((2, 3), (2, 3), (3, 5))


def test_without_headings_a_file_is_one_document(make) -> None:
    read = coreference_files.read(make("a 0 0 x (0)\n\nb 0 0 y (0)\n"))
    assert (read.names, read.documents.tolist(), read.entities(0)) == (
        [FILE],
        [0, 2],
        [[(0, 1), (1, 2)]],
    )


def test_several_files(make, tmp_path) -> None:
    headed = TEXT.removesuffix("#end document\n")  # the end of a file may end a document
    for name, text in [
        ("1.coref", headed),
        ("2.coref", "b 0 0 y NN (0)\n\nb 0 0 y NN (0)\n"),
        ("3.coref", TEXT),
    ]:
        make(text, name)
    read = coreference_files.read(FileSet(f"{tmp_path}/*.coref"))
    parts = ["nw/a; part 000", "nw/a; part 001"]
    assert (read.names, read.documents.tolist()) == (
        [*parts, "2.coref", *parts],
        [0, 6, 7, 9, 15, 16],
    )
    make("b 0 0 y NN (0\n", "2.coref")
    with pytest.raises(
        DataError,
        match=re.escape("2.coref:1: the mention of the entity 0 that begins here is not closed"),
    ):
        coreference_files.read(f"{tmp_path}/*.coref")


@pytest.mark.parametrize(
    "heading", ["#begin document (a b)", "#begin document (a b);", "#begin document (a b); part 1"]
)
def test_names_of_documents(make, heading: str) -> None:
    read = coreference_files.read(make(f"{heading}\na 0 0 x (0)\n#end document (a b)\n"))
    assert read.names == ["a b; part 1" if "part" in heading else "a b"]


def test_limit_takes_the_first_documents_and_looks_no_further(make, tmp_path) -> None:
    path = make(TEXT + "#begin document (b)\nb 0\n#end")
    read = coreference_files.read(path, limit=2)
    assert (len(read), read.documents.tolist(), len(read.mentions)) == (2, [0, 6, 7], 5)
    first = coreference_files.read(path, limit=1)
    coreference_files.write(first, tmp_path / "out", first.gold_clusters() + 5)
    assert (tmp_path / "out").read_text().endswith(path.read_text()[TEXT.index("#begin", 9) :])
    make("#begin document (a)\n#end document\n", "1.coref")
    make("b 0 0 y NN (0)\n", "2.coref")
    make(TEXT, "3.coref")
    assert coreference_files.read(f"{tmp_path}/[123].coref", limit=2).names == ["a", "2.coref"]
    with pytest.raises(
        DataError,
        match=r"\[123\].coref: the documents read have no sentences: check the path, or make the "
        r"file",
    ):
        coreference_files.read(f"{tmp_path}/[123].coref", limit=1)
    with raises(ConfigError, parameter="limit", value=0):
        coreference_files.read(path, limit=0)


def test_unlabelled_documents(make) -> None:
    read = coreference_files.read(make(TEXT), labelled=False)
    assert (read.clusters, len(read.mentions)) == (None, 5)
    with pytest.raises(
        DataError,
        match="a.coref: has no entities to compare with. Give a file with the entity of every",
    ):
        read.entities(0)
    read = coreference_files.read(make(rows("-", "-")), labelled=False)
    assert (read.mentions.shape, read.offsets.tolist()) == ((0, 2), [0, 0])


def test_documents_without_words_or_mentions(make) -> None:
    read = coreference_files.read(
        make("#begin document (empty)\n#end document\n" + rows("-") + rows("(4)"))
    )
    assert (read.documents.tolist(), read.offsets.tolist()) == ([0, 0, 1, 2], [0, 0, 0, 1])
    assert [read.entities(i) for i in range(3)] == [[], [], [[(0, 1)]]]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "the file is empty: check the path"),
        ("#begin document (a)\n#end document\n", None, "the file has no sentences: check the path"),
        (
            rows("-", "-"),
            None,
            "the document read has no mention: the last column has no brackets. Give documents",
        ),
        (
            rows("-") * 2,
            None,
            "the 2 documents read have no mention: the last column has no brackets.",
        ),
        (
            rows("(1", "2)"),
            3,
            "2) closes a mention of the entity 2, of which none is open in this document: add "
            "the opening",
        ),
        (
            rows("(1)", "1)"),
            3,
            "1) closes a mention of the entity 1, of which none is open in this document",
        ),
        (
            rows("(1") + rows("1)"),
            2,
            "the mention of the entity 1 that begins here is not closed by the end of its document",
        ),
        (
            rows("-", "(1", "(2", "(1|1)", "2)"),
            3,
            "the mention of the entity 1 that begins here is not closed",
        ),
        (
            rows("(1", "-\n\nd 0 0 x 1)"),
            2,
            "the mention of the entity 1 that begins here ends in another sentence, in line 5:",
        ),
        (
            rows("(1", "1)", "(2|(2", "2)|2)"),
            4,
            "the words of lines 4 to 5 are a mention twice, of the entity 2: remove one of",
        ),
        (
            rows("-", "(12)|(3)"),
            3,
            "the word of line 3 is a mention twice, of the entities 12 and 3: remove one of the "
            "two.",
        ),
        (
            rows("(a"),
            2,
            "'(a' in the last column does not read as coreference: write brackets with the "
            "numbers of entities",
        ),
        (rows("12"), 2, "'12' in the last column does not read as coreference"),
        (
            rows("((3)"),
            2,
            "'((3)' in the last column does not read as coreference: .* such as (3|(12) or 3), "
            "or - for none",
        ),
        (rows("(3)(4)"), 2, "'(3)(4)' in the last column does not read"),
        (rows("(3)||(4)"), 2, "'(3)||(4)' in the last column does not read"),
        (
            rows("(1)", "x -"),
            3,
            "this row has 6 columns, but the first row (line 2) has 5: give all rows the same "
            "columns",
        ),
        (
            "a 0 0 -\n",
            1,
            "this row has 4 columns, but documents have at least 5: document, part, number, "
            "word, ..., corefer",
        ),
        (
            ONTONOTES.replace("(V*)      -", "-"),
            5,
            "this row has 13 columns, but the first row (line 2) has 14",
        ),
        (
            ONTONOTES.replace("(0)", "*    (0)"),
            3,
            "this row has 14 columns, but the first row (line 2) has 15",
        ),
        (
            ONTONOTES.replace(" Bob ", " "),
            7,
            "this row has 11 columns, but the first row (line 2) has 14",
        ),
        (
            ONTONOTES.replace("#end", ONTONOTES.split("\n")[6] + " -\n#end"),
            8,
            "this row has 13 columns, but the first row of its sentence (line 7) has 12: give "
            "all rows of a sentence the same",
        ),
        (
            "#begin document (a)\na 0 0 x (0)\n" + rows("-"),
            3,
            "a document begins here, but the one that begins in line 1 has no end: write #end "
            "document before this line.",
        ),
        (
            rows("(1)") + "#end document\n",
            4,
            "a document ends here that was not begun: write #begin document (NAME); part 000",
        ),
        (
            "a 0 0 x (0)\n" + rows("(1)"),
            1,
            "this row stands outside of the file's documents: write #begin document (NAME)",
        ),
        (rows("(1)") + "\na 0 0 x (0)\n", 5, "this row stands outside of the file's documents"),
        (
            rows("(1)") + "a 0 0 x (0)\n" + rows("(1)"),
            4,
            "this row stands outside of the file's documents",
        ),
        (
            "# begin document a\n",
            1,
            "'# begin document a' does not read as the beginning of a document: write #begin "
            "document",
        ),
        (
            "#begin document a; part 0\n",
            1,
            "'#begin document a; part 0' does not read as the beginning of a document",
        ),
        (
            "#begin document (a); 1\n",
            1,
            "'#begin document (a); 1' does not read as the beginning of a document",
        ),
        (
            rows("(1)").replace("#end document", "#end"),
            3,
            "'#end' does not read as the end of a document: write #end document.",
        ),
    ],
)
def test_what_is_refused(make, text: str, line: int | None, message: str) -> None:
    path = make(text)
    pattern = re.escape(message).replace(r"\.\*", ".*")
    with pytest.raises(DataError, match=pattern) as error:
        coreference_files.read(path)
    assert error.value.line == line
    assert str(error.value).startswith(f"{path}:{line}: " if line else f"{path}: ")


def test_written_brackets(make, tmp_path) -> None:
    read = coreference_files.read(make(TEXT))
    coreference_files.write(read, tmp_path / "out", np.array([4, 0, 15, 0, 2]))
    brackets = {
        "(3|(12": "(4|(0",
        "12)": "0)",
        "(7)|3)": "(15)|4)",
        "PRP (3)": "PRP (0)",
        "NNP (3)": "NNP (2)",
    }
    expected = TEXT
    for old, new in brackets.items():
        expected = expected.replace(old, new)
    assert (tmp_path / "out").read_text() == expected


@pytest.mark.parametrize("nothing", ["-", "_", ""])
def test_words_without_brackets_are_written_as_in_the_file(make, tmp_path, nothing: str) -> None:
    cells = ["(1)", nothing, "(2", "2)"]
    read = coreference_files.read(
        make("".join(f"d\t0\t{number}\tx\t{cell}\n" for number, cell in enumerate(cells)))
    )
    fewer = replace(read, mentions=read.mentions[:1], offsets=np.array([0, 1]))
    coreference_files.write(fewer, tmp_path / "out", np.array([0]))
    assert [line.split("\t")[-1] for line in (tmp_path / "out").read_text().split("\n")[:4]] == [
        "(0)",
        *[nothing] * 3,
    ]
    assert spans(tmp_path / "out") == [[0, 1]]


def test_a_file_of_brackets_alone_gets_dashes(make, tmp_path) -> None:
    read = coreference_files.read(make(rows("(1)", "(2)")))
    coreference_files.write(
        replace(read, mentions=read.mentions[1:], offsets=np.array([0, 1])),
        tmp_path / "out",
        np.array([3]),
    )
    assert (tmp_path / "out").read_text() == rows("-", "(3)")


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.rstrip("\n"),
        "\n\n" + TEXT + "\n\n",
        "\ufeff" + TEXT,
        TEXT.replace("\n", "\r\n"),
        ONTONOTES,
        ONTONOTES.replace("\n", " \n"),
    ],
    ids=["one end", "no end", "more blanks", "mark", "crlf", "aligned", "spaces at ends"],
)
def test_all_else_is_copied(make, tmp_path, text: str) -> None:
    # numbered by first mentions
    text = text.replace("12", "1").replace("(3", "(0").replace("3)", "0)").replace("(7)", "(2)")
    read = coreference_files.read(make(text))
    coreference_files.write(read, tmp_path / "out.gz", read.gold_clusters())
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode() == text


def test_encoding(make, tmp_path) -> None:
    path = make("a 0 0 café (0)\n".encode("latin-1"))
    with pytest.raises(
        DataError, match="a.coref:1: the bytes e9 are not utf8 .*: set task.encoding"
    ):
        coreference_files.read(path)
    read = coreference_files.read(path, encoding="latin-1")
    assert read.cells["form"] == ["café"]
    coreference_files.write(read, tmp_path / "out", read.gold_clusters(), encoding="latin-1")
    assert (tmp_path / "out").read_bytes() == path.read_bytes()


def test_mentions_of_one_entity_that_cross_are_separated(make, tmp_path) -> None:
    text = rows("(1", "(2", "1)", "2)", "(3)") + rows("(1)")
    read, target = coreference_files.read(make(text)), tmp_path / "out"
    assert coreference_files.write(read, target, np.array([0, 1, 0, 0])) == []
    (message,) = coreference_files.write(read, target, np.array([0, 0, 0, 0]))
    assert message.startswith(
        f"{read.path}:2: the mentions that begin here and in line 3 cross, and were predicted to "
        "be of one entity, which brackets cannot say: the second is written as an entity of its "
        "own (1 such pairs here)"
    )
    again = coreference_files.read(target)
    assert again.mentions.tolist() == read.mentions.tolist()
    assert again.entities(0) == [[(0, 3), (4, 5)], [(1, 4)]] and again.entities(1) == [[(0, 1)]]


def test_what_cannot_be_written(make, tmp_path) -> None:
    read = coreference_files.read(make(rows("(1", "(2", "1)", "2)")))
    target = tmp_path / "out"
    with pytest.raises(
        DataError, match="a.coref: 1 predicted entity numbers for 2 mentions: predict this file."
    ):
        coreference_files.write(read, target, np.array([0]))


@pytest.mark.parametrize("split", datasets.SPLITS)
def test_the_shipped_corpus_survives_to_the_byte(tmp_path, split: str) -> None:
    read = coreference_files.read(datasets.path(split, "coref"))
    coreference_files.write(read, tmp_path / "out", read.gold_clusters())
    assert (tmp_path / "out").read_bytes() == datasets.path(split, "coref").read_bytes()
