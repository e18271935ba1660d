"""ARFF: dense and sparse rows, quoting, comments, and the text of every error."""

import re
import time

import numpy as np
import pytest

from structopt.errors import ConfigError, DataError
from structopt.formats.vectors.arff_header import header, quoted, split, unquoted, without_comment
from structopt.formats.vectors.arff_reader import read
from tests.messages import raises

HEAD = (
    "@relation r\n@attribute a numeric\n@attribute b {0,1}\n"
    "@attribute c {red, 'dark blue', \"it's\"}\n@data\n"
)


FILE = "data.arff"


def dense(table):
    rows = np.zeros((len(table.lines), len(table.attributes)))
    rows[np.repeat(np.arange(len(rows)), np.diff(table.offsets)), table.columns] = table.values
    return rows.tolist()


@pytest.mark.parametrize("name", ["data.arff", "data.arff.gz"])
def test_reads_both_kinds_of_rows(make, name):
    path = make(
        HEAD
        + "0.5,1,red\n% no row\n\n -2e1 , 0 , 'dark blue' \r\n{0 3, 2 \"it's\"}\n{ }\n{1 1,0 0}\n",
        name,
    )
    table = read(path)
    assert (table.path, table.lines.tolist()) == (str(path), [6, 9, 10, 11, 12])
    assert dense(table) == [[0.5, 1, 0], [-20, 0, 1], [3, 0, 2], [0, 0, 0], [0, 1, 0]]
    assert table.attributes[2] == ("c", ("red", "dark blue", "it's"), 4)
    assert (table.values != 0).all()
    assert (table.offsets.dtype, table.columns.dtype, table.values.dtype) == (
        np.int64,
        np.int32,
        np.float64,
    )


def test_keywords_names_and_comments(make):
    text = (
        "% first\n@RELATION 'a % b'\n\n@Attribute 'two words' REAL % why not\n"
        "@attribute\t{\tInteger\n"
        '@ATTRIBUTE "q\\"q" {0,1}\n'
        "@attribute don't {0,1}\n@attribute 'it\\'s' numeric\n@attribute 's {0,1}\n@DATA\n"
        "1,2,1,0,3,1 % a comment\n"
    )
    table = read(make(text))
    assert [one.name for one in table.attributes] == [
        "two words",
        "{",
        'q"q',
        "don't",
        "it's",
        "'s",
    ]
    assert dense(table) == [[1, 2, 1, 0, 3, 1]]


def test_plain_and_quoted_numbers_are_read_alike(make):
    numbers = np.random.default_rng(0).normal(size=40) * 10.0 ** np.arange(-20, 20)
    head = "".join(f"@attribute a{j} numeric\n" for j in range(41)) + "@data\n"
    texts = [repr(x) for x in numbers.tolist()]
    table = read(make(head + ",".join(["0", *texts]) + "\n" + ",".join(["?", *texts]) + "\n"))
    rows = np.array(dense(table))
    np.testing.assert_array_equal(rows[0, 1:], numbers)
    np.testing.assert_array_equal(rows[1, 1:], numbers)
    assert np.isnan(rows[1, 0])


def test_sparse_rows_agree_with_dense_ones(make):
    generator = np.random.default_rng(1)
    x = np.where(generator.random((30, 7)) < 0.4, generator.normal(size=(30, 7)), 0.0)
    head = "".join(f"@attribute a{j} numeric\n" for j in range(7)) + "@data\n"
    rows = [",".join(f"{j} {v!r}" for j, v in enumerate(row) if v) for row in x.tolist()]
    one = read(make(head + "\n".join(",".join(map(repr, row)) for row in x.tolist())))
    two = read(make(head + "\n".join("{" + row + "}" for row in rows)))
    three = read(make(head + "\n".join("{" + row.replace(" ", "\t ") + " }" for row in rows)))
    assert dense(one) == dense(two) == dense(three) == x.tolist()


def test_agrees_with_scipy(make):
    arff = pytest.importorskip("scipy.io.arff")
    generator = np.random.default_rng(2)
    text = "@relation r\n@attribute a numeric\n@attribute c {x,y,z}\n@data\n"
    text += "".join(
        f"{v!r},{'xyz'[k]}\n"
        for v, k in zip(generator.normal(size=20).tolist(), [0, 1, 2, 1] * 5, strict=True)
    )
    path = make(text)
    rows, _ = arff.loadarff(path)
    assert dense(read(path)) == [[float(a), "xyz".index(c.decode())] for a, c in rows]


def test_limit(make):
    path = make(HEAD + "1,1,red\n\n2,0,red\n3,0,green\n")
    assert read(path, 2).lines.tolist() == [6, 8]
    with raises(ConfigError, parameter="limit", value=0):
        read(path, 0)


MALFORMED = [
    ("1,1", "the row has 2 cells for 3 attributes: write one for each."),
    ("1,1,red,", "the row has 4 cells for 3 attributes"),
    ("1 1 red", "the row has 1 cells for 3 attributes"),
    ("1,1,'a,b", "the row has 4 cells for 3 attributes"),
    ("1,1,green", "'green' is not a value of 'c': line 4 declares red, dark blue, it's."),
    ("1,2,red", "'2' is not a value of 'b': line 3 declares 0, 1."),
    ("x,1,red", "'x' is not a finite number, which 'a' needs: write a number."),
    (",1,red", "'' is not a finite number, which 'a' needs"),
    ("nan,1,red", "'nan' is not a finite number"),
    ("-inf,1,red", "'-inf' is not a finite number"),
    ("1e400,1,red", "'1e400' is not a finite number"),
    ("1_0,1,red", "'1_0' is not a finite number"),
    ("{0 1,2 green}", "'green' is not a value of 'c'"),
    (
        "{0 1, 1 1",
        "the row begins with { and does not end with }: write {column value, column value, ...}.",
    ),
    ("{0 1} 2", "the row begins with { and does not end with }"),
    ("{0 1, 1}", "'1' is not a column and its value: write {column value, column value, ...}."),
    ("{0 1,}", "'' is not a column and its value"),
    ("{0 1 1}", "'0 1 1' is not a column and its value"),
    ("{3 1}", "there is no column '3': columns are counted from 0, and the last one is 2."),
    ("{-1 1}", "there is no column '-1'"),
    ("{0.0 1}", "there is no column '0.0'"),
    ("{0 1, 1 1, 0 1}", "the column 0 stands twice in this row: keep one of them."),
    ("{0 1, 00 1}", "the column 0 stands twice"),
    ("{0 1, 0 0}", "the column 0 stands twice"),
    ("{0 ?, 1 2}", "'2' is not a value of 'b'"),
    ("{0 1e400}", "'1e400' is not a finite number"),
]


@pytest.mark.parametrize(("row", "message"), MALFORMED)
def test_malformed_rows(make, row, message):
    path = make(HEAD + f"1,1,red\n\n{row}\n1,1,red,1\n")
    with pytest.raises(DataError, match=f"^{re.escape(f'{path}:8: {message}')}"):
        read(path)


@pytest.mark.parametrize(
    ("row", "message"), [pair for pair in MALFORMED if not re.search("red|green|'", pair[0])]
)
def test_malformed_rows_of_numbers(make, row, message):
    """Files without words are read in another way; where a row is odd, they say the same."""
    path = make(
        f"@relation r\n@attribute a numeric\n@attribute b {{0,1}}\n@attribute c numeric\n@data\n"
        f"1,1,1\n{row}\n1\n"
    )
    with pytest.raises(DataError, match=f"^{re.escape(f'{path}:7: {message}')}"):
        read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": the file is empty: check the path"),
        (
            b"@relation r\n@attribute a numeric\n",
            ": there is no line @data: the file is truncated, or is not ARFF.",
        ),
        (
            b"@relation r\n@data\n1\n",
            ":2: no @attribute stands before @data: declare every column.",
        ),
        (
            b"@attribute a numeric\n@data\n% nothing\n\n",
            ": there are no rows after @data: check the path",
        ),
        (
            b"1,2 3:4\n",
            ":1: '1,2 3:4' is neither @relation, @attribute, @data nor a comment: is this ARFF, "
            "and is @data there?",
        ),
        (
            b"@attribute a numeric\n1\n",
            ":2: '1' is neither @relation, @attribute, @data nor a comment",
        ),
        (
            b"@attribute a\n@data\n1\n",
            ":1: '@attribute a' cannot be read: write @attribute NAME numeric, or",
        ),
        (b"@attribute a {0,1\n@data\n1\n", ":1: '@attribute a {0,1' cannot be read"),
        (b"@attribute a b numeric\n@data\n1\n", ":1: '@attribute a b numeric' cannot be read"),
        (
            b"@attribute a {0,,1}\n@data\n1\n",
            ":1: the values of 'a' are not all different words: write {a,b,c}.",
        ),
        (
            b"@attribute a {0,1,'0'}\n@data\n1\n",
            ":1: the values of 'a' are not all different words",
        ),
        (
            b"@attribute a STRING\n@data\n1\n",
            ":1: the attribute 'a' is of type STRING, neither numeric nor nominal: remove it",
        ),
        (
            b"@attribute a numeric\n\n@attribute 'a' real\n@data\n1\n",
            ":3: the attribute 'a' is declared in line 1 too: rename",
        ),
        (b"@attribute \xe9 numeric\n@data\n1\n", ":1: the bytes e9 are not utf8"),
    ],
)
def test_malformed_files(make, content, message):
    path = make(content)
    with pytest.raises(DataError, match=f"^{re.escape(f'{path}{message}')}"):
        read(path)


def test_missing_file(tmp_path):
    with pytest.raises(DataError, match="there is no such file: check the path"):
        read(tmp_path / "none.arff")


def test_other_encodings(make):
    table = read(
        make("@attribute \xe9t\xe9 numeric\n@data\n1\n".encode("latin-1")), encoding="latin-1"
    )
    assert table.attributes[0].name == "\xe9t\xe9"


@pytest.mark.parametrize(
    "name",
    [
        "plain",
        "two words",
        "it's",
        'say "x"',
        "a,b",
        "50%",
        "{x}",
        "back\\slash",
        "?",
        "Class-0_70",
    ],
)
def test_quoting_can_be_undone(name):
    assert unquoted(quoted(name)) == name
    table = header("x", [f"@attribute {quoted(name)} numeric", "@data"])
    assert table.attributes[0].name == name
    assert split(f"1, {quoted(name)} ,2") == ["1", quoted(name), "2"]


def test_comments_in_quotes_are_none():
    assert without_comment("1,'50%',2 % three") == "1,'50%',2"
    assert without_comment(" 1,'50%' ") == "1,'50%'"
    assert without_comment("1,it's % 2") == "1,it's"


@pytest.mark.parametrize(
    "text",
    [
        "'\\" * 200_000,
        "'{" * 200_000,
        "{" * 400_000,
        "x " * 200_000,
        "'" * 400_000,
        "a" + " " * 400_000 + "b c",
        "a {" + "},",
    ],
    ids=[
        "backslashes",
        "braces in quotes",
        "braces",
        "words",
        "quotes",
        "blanks",
        "closing braces",
    ],
)
def test_declarations_take_no_longer_than_they_are_long(make, text):
    started = time.perf_counter()
    with pytest.raises(DataError):
        read(make(f"@attribute {text}\n@attribute b numeric\n@data\n0,1,2,3\n{text},%\n"))
    assert time.perf_counter() - started < 5.0
