"""LIBSVM's text: reading, writing, and the text of every error."""

import gzip
import re

import numpy as np
import pytest

from structopt.errors import ConfigError, DataError
from structopt.formats.vectors.libsvm import read, write
from tests.messages import raises

FILE = "data.svm"


def rows(vectors):
    bounds, values = vectors.offsets.tolist(), vectors.values.tolist()
    pairs = [(vectors.indices[j], value) for j, value in zip(vectors.ids, values, strict=True)]
    return [dict(pairs[a:b]) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]


@pytest.mark.parametrize("name", ["data.svm", "data.gz"])
def test_reads(make, name):
    path = make(
        "# a comment\n1 3:0.5 7:-2e1\n\n+1 0:1\t3:4  # 5:6\r\n   \nspam\n-1 7:.5 3:1.", name
    )
    vectors = read(path)
    assert (vectors.path, len(vectors), vectors.labels) == (str(path), 4, ["1", "1", "spam", "-1"])
    assert rows(vectors) == [{"3": 0.5, "7": -20.0}, {"0": 1.0, "3": 4.0}, {}, {"7": 0.5, "3": 1.0}]
    assert vectors.indices == ["3", "7", "0"]
    assert (vectors.offsets.dtype, vectors.ids.dtype, vectors.values.dtype) == (
        np.int64,
        np.int32,
        np.float64,
    )


def test_whole_numbers_are_one_label_however_they_are_written(make):
    vectors = read(make("1\n+1\n1.0\n1.\n01\n-0\n0\n0.5\n1e0\n1_0\n12345678901234567890.0\n"))
    assert vectors.labels == ["1"] * 5 + ["0", "0", "0.5", "1e0", "1_0", "12345678901234567890"]


def test_values_are_those_of_float(make):
    numbers = np.random.default_rng(0).normal(size=200) * 10.0 ** np.arange(-100, 100)
    vectors = read(make("a " + " ".join(f"{j}:{x!r}" for j, x in enumerate(numbers.tolist()))))
    np.testing.assert_array_equal(vectors.values, numbers)


def test_limit(make):
    path = make("a 1:1\n\nb 2:1\nc 3:nan\n")
    assert read(path, 2).labels == ["a", "b"]
    with raises(ConfigError, parameter="limit", value=0):
        read(path, 0)


def test_labels_may_be_missing_where_they_are_not_asked_for(make):
    path = make("1:2 3:4\nb 1:1\n")
    vectors = read(path, labelled=False)
    assert (vectors.labels, rows(vectors)) == (["", "b"], [{"1": 2.0, "3": 4.0}, {"1": 1.0}])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1:2 3:4", "the line begins with '1:2', so it has no label: write label index:value"),
        ("qid:3 1:1", "the line begins with 'qid:3', so it has no label"),
        ("a 1:2 3", "'3' is not a pair: write index:value, such as 3:0.5, and no space"),
        ("two words 1:2", "'words' is not a pair"),
        ("a 1: 2", "'1:' is not a pair"),
        ("a :2", "':2' is not a pair"),
        ("a 1:2:3", "'1:2:3' is not a pair"),
        ("a 1:2:3 4", "'1:2:3' is not a pair"),
        (
            "a word:2",
            "the index 'word' is not an integer from 0 on in plain digits: number the attributes",
        ),
        ("a -1:2", "the index '-1' is not an integer"),
        ("a 01:2", "the index '01' is not an integer"),
        ("a 1.0:2", "the index '1.0' is not an integer"),
        ("a 1_0:2", "the index '1_0' is not an integer"),
        ("a \u0661:2", "the index '\u0661' is not an integer"),
        (
            "a 1:x",
            "the value 'x' of index 1 is not a finite number: write a number, or leave the pair "
            "out",
        ),
        ("a 1:2,", "the value '2,' of index 1 is not a finite number"),
        ("a 1:1_0", "the value '1_0' of index 1 is not a finite number"),
        ("a 1:nan", "the value 'nan' of index 1 is not a finite number"),
        ("a 2:1 1:-inf", "the value '-inf' of index 1 is not a finite number"),
        ("a 1:1e400", "the value '1e400' of index 1 is not a finite number"),
        ("a 1:2 3:4 1:2", "the index 1 stands twice in this line: keep one of them, or their sum"),
        (
            "a qid:3 1:1",
            "'qid:3' is for ranking, which is not done here: remove the qid: of every line",
        ),
    ],
)
def test_malformed_lines(make, line, message):
    path = make(f"a_b 1:1 # 1:nan\n\n{line}\nb 1:1\n")
    with pytest.raises(DataError, match=f"^{re.escape(f'{path}:3: {message}')}"):
        read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": the file is empty: check the path"),
        (b" \n\n", ": the file is empty: check the path"),
        (
            b"# nothing\n\n#\n",
            ": the file has no instances: check the path, or make the file again",
        ),
        (
            b"a 1:1\n\xe9t\xe9 1:1\n",
            ":2: the bytes e9 are not utf8 (invalid continuation byte): set task.encoding",
        ),
    ],
)
def test_malformed_files(make, content, message):
    path = make(content)
    with pytest.raises(DataError, match=f"^{re.escape(f'{path}{message}')}"):
        read(path)


def test_missing_file(tmp_path):
    with pytest.raises(DataError, match="there is no such file: check the path"):
        read(tmp_path / "none.svm")


def test_other_encodings(make):
    assert read(make("\xe9t\xe9 1:1\n".encode("latin-1")), encoding="latin-1").labels == [
        "\xe9t\xe9"
    ]


def test_agrees_with_scikit_learn(make):
    datasets = pytest.importorskip("sklearn.datasets")
    generator = np.random.default_rng(3)
    x, y = (
        np.where(generator.random((30, 8)) < 0.4, generator.normal(size=(30, 8)), 0.0),
        generator.integers(-1, 3, 30),
    )
    path = make("")
    datasets.dump_svmlight_file(x, y, str(path), comment="made for a test", zero_based=False)
    vectors = read(path)
    dense = np.array([[row.get(str(j), 0.0) for j in range(1, 9)] for row in rows(vectors)])
    np.testing.assert_allclose(dense, x, rtol=1e-15)
    assert vectors.labels == [str(label) for label in y.tolist()]


@pytest.mark.parametrize("name", ["out.txt", "out.gz"])
def test_write(tmp_path, name):
    write(tmp_path / name, [["a", "1"], ["b"]])
    data = (tmp_path / name).read_bytes()
    assert (gzip.decompress(data) if name.endswith(".gz") else data) == b"a 1\nb\n"
