"""Files in pieces: the same sentences as of the file as a whole, with the lines of the file in
errors.
"""

import gzip
import tarfile

import numpy as np
import pytest

from structopt.core.data.file_sets import data_path
from structopt.errors import DataError
from structopt.formats import conll_reader, crfsuite, text_pieces

TEXT = "".join(
    f"-DOCSTART- O\n\nword{i} B-X\r\nnext{i} O\n" + "\n" * (1 + i % 3) for i in range(40)
)


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
    assert [
        sentence for block in blocks for sentence in block.sentences("word")
    ] == whole.sentences("word")
    if form in ("plain", "gzip"):
        np.testing.assert_array_equal(
            np.concatenate([block.lines for block in blocks]), whole.lines
        )


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
        (
            TEXT + "one O more\n",
            TEXT.count("\n") + 1,
            "this line has 3 columns, but the first token line",
        ),
        ("\n \n", None, "the file is empty"),
        ("-DOCSTART- O\n\n", None, "the file has no sentences"),
    ],
)
def test_errors_have_the_line_of_the_file(tmp_path, text, line, message):
    path = tmp_path / "a.txt"
    path.write_text(text, newline="")
    with pytest.raises(DataError, match=message) as error:
        list(conll_reader.read_blocks(path, {"word": 0, "tag": 1}))
    assert error.value.line == line


def test_other_encodings(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("é O\n\n".encode("latin-1") * 30)
    assert (
        list(conll_reader.read_blocks(path, {"word": 0, "tag": 1}, encoding="latin-1"))[-1].cells[
            "word"
        ][0]
        == "é"
    )
    with pytest.raises(DataError, match="the file is not utf8.*set task.encoding"):
        list(conll_reader.read_blocks(path, {"word": 0, "tag": 1}))


@pytest.mark.parametrize("form", ["plain", "gzip", "folder", "archive"])
@pytest.mark.parametrize("size", [1, 90, 10_000])
def test_stretches_have_the_sentences_and_lines_of_the_whole(tmp_path, monkeypatch, form, size):
    monkeypatch.setattr(text_pieces, "STRETCH", size)
    path = written(tmp_path, form)
    whole = list(conll_reader.read_blocks(path, {"word": 0, "tag": -1}))
    parts = text_pieces.stretches(path)
    read = [one for part in parts for one in conll_reader.read_blocks(part, {"word": 0, "tag": -1})]
    for name in ("word", "tag"):
        assert [cell for one in read for cell in one.cells[name]] == [
            cell for one in whole for cell in one.cells[name]
        ]
    assert [int(line) for one in read for line in one.lines] == [
        int(line) for one in whole for line in one.lines
    ]
    assert len(parts) > 10 if size == 1 and form in ("plain", "folder") else len(parts) >= 1
    assert {one.path for one in read} == {one.path for one in whole}


def test_files_that_cannot_be_cut_before_they_are_decoded_are_one_stretch(tmp_path, monkeypatch):
    monkeypatch.setattr(text_pieces, "STRETCH", 10)
    path = tmp_path / "a.txt"
    path.write_bytes(TEXT.encode("utf-16"))
    assert text_pieces.stretches(path, "utf-16") == [text_pieces.Stretch(str(path))]
    with pytest.raises(DataError, match="there is no such file"):
        list(text_pieces.read_pieces(text_pieces.stretches(tmp_path / "none.txt")[0]))


def test_a_stretch_may_be_without_sentences(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a O\n\n" + b"\n" * 20)
    rest = text_pieces.Stretch(str(path), 5, 25, 3)
    assert (
        list(conll_reader.read_blocks(rest, {"word": 0, "tag": -1}))
        == list(crfsuite.read_blocks(rest))
        == []
    )
