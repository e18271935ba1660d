"""Files in pieces: the same sentences as of the file as a whole, with the lines of the file in errors."""

import gzip
import tarfile

import numpy as np
import pytest

from structopt.core.data.file_sets import data_path
from structopt.errors import DataError
from structopt.formats import conll_reader, crfsuite, text_pieces

TEXT = "".join(f"-DOCSTART- O\n\nword{i} B-X\r\nnext{i} O\n" + "\n" * (1 + i % 3) for i in range(40))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(text_pieces.read_pieces, "__defaults__", ("utf8", 50))


def written(folder, form):
    """A corpus of one form; of several files, their sentences are those of the text."""
    plain = folder / "a.txt"
    plain.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    if form == "plain":
        return plain
    if form == "gzip":
        (folder / "a.gz").write_bytes(gzip.compress(TEXT.encode()))
        return folder / "a.gz"
    halves = TEXT[: len(TEXT) // 2].rindex("\n\n") + 2
    plain.unlink()
    (folder / "b").mkdir()
    (folder / "b/1.txt").write_text(TEXT[:halves].rstrip("\n") + "\n", newline="")
    (folder / "b/2.txt").write_text(TEXT[halves:], newline="")
    if form == "folder":
        return folder / "b"
    with tarfile.open(folder / "a.tar", "w") as archive:
        archive.add(folder / "b", "b")
    return folder / "a.tar"


@pytest.mark.parametrize("limit", [None, 1, 17])
@pytest.mark.parametrize("form", ["plain", "gzip", "folder", "tar"])
def test_blocks_have_the_sentences_of_the_whole(tmp_path, form, limit):
    path = data_path(written(tmp_path, form))
    whole = conll_reader.read(path, {"word": 0, "tag": 1}, limit)
    blocks = list(conll_reader.read_blocks(path, {"word": 0, "tag": 1}, limit))
    assert len(blocks) > 1 or limit == 1
    assert [sentence for block in blocks for sentence in block.sentences("word")] == whole.sentences("word")
    if form in ("plain", "gzip"):
        np.testing.assert_array_equal(np.concatenate([block.lines for block in blocks]), whole.lines)


def test_attribute_text_in_blocks(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"B-X\tw={i}\tbias:2\nO\tw={i}\n\n" for i in range(30)))
    whole, blocks = crfsuite.read(path, 20), list(crfsuite.read_blocks(path, 20))
    assert len(blocks) > 3 and [label for block in blocks for label in block.labels] == whole.labels
    names = [block.attributes[j] for block in blocks for j in block.ids]
    assert names == [whole.attributes[j] for j in whole.ids]
    np.testing.assert_array_equal(np.concatenate([block.lines for block in blocks]), whole.lines)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (TEXT + "one O more\n", TEXT.count("\n") + 1, "this line has 3 columns, but the first token line"),
        ("\n \n", None, "the file is empty"), ("-DOCSTART- O\n\n", None, "the file has no sentences"),
    ],
)  # fmt: skip
def test_errors_have_the_line_of_the_file(tmp_path, text, line, message):
    path = tmp_path / "a.txt"
    path.write_text(text, newline="")
    with pytest.raises(DataError, match=message) as error:
        list(conll_reader.read_blocks(path, {"word": 0, "tag": 1}))
    assert error.value.line == line


def test_other_encodings(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("é O\n\n".encode("latin-1") * 30)
    assert list(conll_reader.read_blocks(path, {"word": 0, "tag": 1}, encoding="latin-1"))[-1].cells["word"][0] == "é"
    with pytest.raises(DataError, match="the file is not utf8.*set task.encoding"):
        list(conll_reader.read_blocks(path, {"word": 0, "tag": 1}))
