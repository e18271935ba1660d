"""CoNLL column files written again with further cells, and the text of every error."""

import gzip

import pytest

from structopt.errors import DataError
from structopt.formats.conll_writer import write

TEXT = (
    "-DOCSTART- -X- O\n\nEU NNP I-ORG\nrejects VBZ O\n\n  \t\n-DOCSTART- -X- O\nPeter NNP I-PER\n"
)


@pytest.mark.parametrize("name", ["out.txt", "out.gz"])
def test_write_copies_and_appends(make, tmp_path, name):
    source = make("-DOCSTART- -X-\r\n\r\na  X \r\nb\tY\r\n\r\n\r\nc Z")
    write(source, tmp_path / name, [[["1", "2"], ["3", "4"]], [["5", "6"]]])
    data = (tmp_path / name).read_bytes()
    data = gzip.decompress(data) if name.endswith(".gz") else data
    assert data == b"-DOCSTART- -X-\r\n\r\na  X 1 2\r\nb\tY\t3\t4\r\n\r\n\r\nc Z 5 6"


def test_write_with_separator_keeps_empty_cells(make, tmp_path):
    write(make("a\t\n"), tmp_path / "out", [[["1"]]], separator="\t")
    assert (tmp_path / "out").read_text() == "a\t\t1\n"


def test_comments_are_copied(make, tmp_path):
    write(make("# a b\nc X\n"), tmp_path / "out", [[["1"]]], comment="#")
    assert (tmp_path / "out").read_text() == "# a b\nc X 1\n"


def test_write_to_the_source_itself(make):
    path = make("a X\n")
    write(path, path, [[["Y"]]])
    assert path.read_text() == "a X Y\n"


@pytest.mark.parametrize(
    ("added", "text"),
    [
        (
            [[["x"]]],
            r"data.txt: the file has 2 sentences, but the predictions 1: has the file changed",
        ),
        (
            [[["x"]], [["x"]]],
            r"data.txt:3: the sentence that begins here has 2 tokens, but its prediction 1: has "
            r"the file",
        ),
    ],
)
def test_write_checks_counts_and_leaves_nothing(make, tmp_path, added, text):
    with pytest.raises(DataError, match=text):
        write(make(TEXT), tmp_path / "out", added)
    assert [p.name for p in tmp_path.iterdir()] == ["data.txt"]


def test_write_failures(make, tmp_path, monkeypatch):
    source = make("a X\n")
    with pytest.raises(
        DataError,
        match=r"the file cannot be written \(No such file or directory\): choose a folder",
    ):
        write(source, tmp_path / "no" / "out", [[["x"]]])
    with pytest.raises(
        DataError, match=r"out:1: 'é' cannot be written as ascii: set task.encoding=utf8"
    ):
        write(source, tmp_path / "out", [[["é"]]], encoding="ascii")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DataError, match="No space left on device"):
        write(source, tmp_path / "out", [[["x"]]])
    assert [p.name for p in tmp_path.iterdir()] == ["data.txt"]
