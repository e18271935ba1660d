"""Binary files that plugins convert to CoNLL-U and back."""

from __future__ import annotations

import gzip
import json

import pytest

from structopt.core import entry_points
from structopt.errors import DataError
from structopt.formats import text_files
from structopt.formats.file_format import KIND, FileFormat
from structopt.formats.token_lists.token_files import TokenFiles
from tests.messages import raises


class Words(FileFormat):
    """Documents as JSON: lists of words."""

    def to_conllu(self, data, path):
        rows = ["\t".join([str(i), word] + ["_"] * 8) for i, word in enumerate(json.loads(data), 1)]
        return "# newdoc\n" + "\n".join([*rows, "\n"])

    def annotated(self, data, conllu, path):
        rows = [line.split("\t") for line in conllu.splitlines() if line[:1].isdecimal()]
        words = json.loads(data)
        return json.dumps(dict(zip(words, (row[3] for row in rows), strict=True))).encode()


@pytest.fixture
def words(monkeypatch):
    entry_points.register(KIND, "words", Words)
    yield
    monkeypatch.setattr(entry_points, "_registered", {})


def test_reads_and_writes(words, tmp_path):
    source, target = tmp_path / "a.words.gz", tmp_path / "b.words"
    source.write_bytes(gzip.compress(b'["Ann", "slept"]'))
    text = text_files.read_text(source)
    assert text == "# newdoc\n1\tAnn" + "\t_" * 8 + "\n2\tslept" + "\t_" * 8 + "\n\n"
    assert text_files.read_utf8(source).decode() == text
    assert [one for _, one in text_files.read_each(source)] == [text]
    assert (
        TokenFiles("auto", {"word": "FORM", "tag": "UPOS"}, None, "utf8", None).format_of(source)
        == "conllu"
    )
    text_files.write_text(target, text.replace("Ann\t_\t_", "Ann\t_\tX"), source=source)
    assert json.loads(target.read_bytes()) == {"Ann": "X", "slept": "_"}


def test_errors_name_documents(words, tmp_path):
    path = tmp_path / "a.words"
    path.write_bytes(b'["Ann", "slept"]')
    text_files.read_text(path)
    assert str(DataError(path, 3, "is wrong")) == f"{path}, document 1:2: is wrong"


@pytest.mark.parametrize("source", [None, "a.txt", "{a.words,b.words}"])
def test_other_sources_are_refused(words, tmp_path, source):
    for name in ("a.words", "b.words"):
        (tmp_path / name).write_bytes(b"[]")
    source = source and source.replace("a.", f"{tmp_path}/a.").replace("b.", f"{tmp_path}/b.")
    with raises(DataError, match="only if the input is one file"):
        text_files.write_text(tmp_path / "c.words", "", source=source)


@pytest.mark.parametrize("name", ["a.spacy", "a.spacy.gz", "A.SPACY"])
def test_missing_plugins_are_named(monkeypatch, tmp_path, name):
    monkeypatch.setattr(entry_points, "installed", lambda kind: {})
    (tmp_path / name).write_bytes(gzip.compress(b"x") if name.endswith("gz") else b"x")
    with raises(DataError, match="pip install structopt-spacy"):
        text_files.read_text(tmp_path / name)
