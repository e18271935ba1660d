"""LIBSVM's multi-label text: sets of labels, the text of every error, and writing files again."""

import re

import numpy as np
import pytest

from structopt.errors import DataError
from structopt.formats.vectors.libsvm_multilabel import read, write

TEXT = "# a comment\n10,2 1:0.5 3:1\n\n3:2\nb,a,+2.0 1:1.50 # more\n2,10 \n2 7:1\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "data.svm").write_text(TEXT)
    return tmp_path / "data.svm"


def test_reads(path):
    vectors = read(path)
    assert (vectors.path, len(vectors), vectors.declared) == (str(path), 5, False)
    assert vectors.names == ("2", "10", "a", "b")
    assert vectors.labels == [("2", "10"), (), ("2", "a", "b"), ("2", "10"), ("2",)]
    assert (vectors.attributes, vectors.ids.tolist()) == (["1", "3", "7"], [0, 1, 1, 0, 2])
    assert vectors.values.tolist() == [0.5, 1, 2, 1.5, 1]
    assert vectors.offsets.tolist() == [0, 2, 3, 4, 4, 5]
    assert read(path, 2).labels == [("2", "10"), ()]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "1,,2 1:1",
            "'1,,2' has a comma with no label beside it: write label,label index:value ....",
        ),
        ("1, 1:1", "'1,' has a comma with no label beside it"),
        (",1 1:1", "',1' has a comma with no label beside it"),
        ("1,2,01 1:1", "the label '1' stands twice in this line: keep one of them."),
        (
            "1, 2 1:1",
            "'2' is not a pair: write index:value, such as 3:0.5, and no space within a pair or "
            "a label.",
        ),
        ("1 1:x", "the value 'x' of index 1 is not a finite number"),
        ("1 a:2", "the index 'a' is not an integer from 0 on"),
        ("1 2:2 2:3", "the index 2 stands twice in this line"),
    ],
)
def test_malformed_lines(path, line, message):
    path.write_text(f"# 1,,2\n\n1,2 1:1\n{line}\n1,,2 1:1\n")
    with pytest.raises(DataError, match=f"^{re.escape(f'{path}:4: {message}')}"):
        read(path)


def test_agrees_with_scikit_learn(path):
    datasets = pytest.importorskip("sklearn.datasets")
    generator = np.random.default_rng(3)
    x, y = (
        np.where(generator.random((30, 8)) < 0.4, generator.normal(size=(30, 8)), 0.0),
        generator.random((30, 4)) < 0.4,
    )
    x[:, 0] = 1.0
    datasets.dump_svmlight_file(x, y.astype(int), str(path), multilabel=True, zero_based=False)
    _, expected = datasets.load_svmlight_file(str(path), multilabel=True)
    assert [tuple(map(int, labels)) for labels in read(path).labels] == [
        tuple(map(int, labels)) for labels in expected
    ]


OUTPUTS = [["a"], ["2", "a"], [], ["10"], []]


def test_write(path, tmp_path):
    write(path, tmp_path / "out.svm", OUTPUTS, ["2", "10", "a"])
    expected = "a 1:0.5 3:1\n2,a 3:2\n1:1.50\n10 1:0\n7:1\n"
    assert (tmp_path / "out.svm").read_text() == expected
    assert [list(labels) for labels in read(tmp_path / "out.svm").labels] == OUTPUTS


def test_write_probabilities_and_ranks(path, tmp_path):
    tables = [np.stack([1 - p, p], axis=1) for p in np.linspace(0, 1, 10).reshape(5, 2)]
    ranked = [[(2.5, ["a"]), (1.25, ["2", "a"]), (0.5, [])], *[[(1.0, [])]] * 4]
    write(path, tmp_path / "out.svm.gz", OUTPUTS, ["2", "a"], tables, ranked)
    vectors = read(tmp_path / "out.svm.gz")
    assert [list(labels) for labels in vectors.labels] == OUTPUTS
    write(path, tmp_path / "out.svm", OUTPUTS, ["2", "a"], tables, ranked)
    assert (tmp_path / "out.svm").read_text().splitlines()[:5] == [
        "# labels 2 a",
        "a 1:0.5 3:1 # 0.0000 0.1111",
        "# 2 1.25 2,a",
        "# 3 0.5 ",
        "2,a 3:2 # 0.2222 0.3333",
    ]


@pytest.mark.parametrize("name", ["two words", "a,b", "a:b", "#1", ""])
def test_labels_that_cannot_be_written(path, tmp_path, name):
    with pytest.raises(
        DataError,
        match="out.svm: LIBSVM's text cannot hold the label .*: rename it, or predict on an ARFF "
        "file",
    ):
        write(path, tmp_path / "out.svm", OUTPUTS, ["2", name])
    assert not (tmp_path / "out.svm").exists()
