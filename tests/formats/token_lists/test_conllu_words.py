"""CoNLL-U as sentences of tokens: labels of columns and of MISC, and files written again."""

from __future__ import annotations

from pathlib import Path

import pytest

from structopt.errors import DataError
from structopt.formats.token_lists.token_files import TokenFiles
from tests.messages import raises

NER = {"word": ["tokens", "words"], "pos": ["pos_tags", "upos"], "tag": ["ner_tags", "ner"]}
TAGGING = {"word": ["tokens"], "tag": ["pos_tags", "upos"]}
TEXT = """\
# sent_id = 1
1-2	Al	_	_	_	_	_	_	_	NER=B-X
1	A	a	ADP	IN	_	3	case	_	_
2	l	el	DET	DT	_	3	det	_	Typo=Yes
3	Rey	rey	NOUN	NN	_	0	root	_	SpaceAfter=No|NER=B-PER
3.1	va	ir	VERB	_	_	_	_	0:root	NER=B-X

1	#	#	SYM	SYM	_	0	root	_	NER=O
"""


def files(fields: dict[str, list[str]], **settings: object) -> TokenFiles:
    values = {"form": "auto", "names": None, "encoding": "utf8", "separator": None, **settings}
    return TokenFiles(fields=fields, **values)


def saved(folder: Path, text: str, name: str = "a.conllu") -> Path:
    (folder / name).write_bytes(text.encode())
    return folder / name


def test_labels_are_read_from_misc(tmp_path: Path) -> None:
    read = files(NER).read(saved(tmp_path, TEXT))
    assert read.fields == {"word": "FORM", "pos": "UPOS", "tag": "NER"}
    assert read.cells["word"] == ["A", "l", "Rey", "#"]
    assert read.cells["tag"] == ["O", "O", "B-PER", "O"]
    assert (read.offsets.tolist(), read.lines.tolist()) == ([0, 3, 4], [3, 4, 5, 8])


@pytest.mark.parametrize(
    ("field", "labels"),
    [
        ("upos", ["ADP", "DET", "NOUN", "SYM"]),
        ("XPOS", ["IN", "DT", "NN", "SYM"]),
        ("typo", ["O", "Yes", "O", "O"]),
    ],
)
def test_labels_of_any_column_or_key(tmp_path: Path, field: str, labels: list[str]) -> None:
    read = files({**TAGGING, "tag": [field]}).read(saved(tmp_path, TEXT))
    assert read.cells["tag"] == labels


def test_entities_of_stanza_are_read(tmp_path: Path) -> None:
    text = TEXT.replace("NER=B-PER", "ner=S-PERSON").replace("NER=", "ner=")
    assert files(NER).read(saved(tmp_path, text)).cells["tag"] == ["O", "O", "S-PERSON", "O"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_predictions_next_to_labels(tmp_path: Path, end: str) -> None:
    text = "\ufeff" + TEXT.replace("\n", end)
    tagger, path, target = files(TAGGING), saved(tmp_path, text), tmp_path / "b.conllu"
    cells = [[["X"], ["Y"], ["Z"]], [["X"]]]
    tagger.write(tagger.read(path), target, cells, False, 1)
    expected = text
    for before, after in (
        ("case\t_\t_", "case\t_\tpredicted_UPOS=X"),
        ("Typo=Yes", "Typo=Yes|predicted_UPOS=Y"),
        ("NER=B-PER", "NER=B-PER|predicted_UPOS=Z"),
        ("NER=O", "NER=O|predicted_UPOS=X"),
    ):
        expected = expected.replace(before, after)
    assert target.read_bytes() == expected.encode()
    tagger.write(tagger.read(target), target, [[["W"], ["Y"], ["Z"]], [["X"]]], False, 1)
    assert target.read_bytes() == expected.replace("UPOS=X", "UPOS=W", 1).encode()


def test_predictions_fill_what_is_missing(tmp_path: Path) -> None:
    text = "1\tAnn\t_\t_\tNNP\t_\t_\t_\t_\tSpaceAfter=No\n"
    path, target = saved(tmp_path, text), tmp_path / "b.conllu"
    for fields, label, expected in (
        (TAGGING, "PROPN", text.replace("_\tNNP", "PROPN\tNNP")),
        (NER, "B-PER", text.replace("=No", "=No|NER=B-PER")),
        ({**NER, "tag": ["name"]}, "B-PER", text.replace("=No", "=No|name=B-PER")),
    ):
        reader = files(fields)
        read = reader.read(path)
        assert "tag" not in read.cells
        reader.write(read, target, [[[label]]], False, 1)
        assert target.read_text() == expected
    cells = [[["PROPN", "PROPN:0.9000,X:0.1000", "PROPN", "X"]]]
    reader = files(TAGGING)
    reader.write(reader.read(path), target, cells, True, 2)
    assert target.read_text() == (
        "1\tAnn\t_\tPROPN\tNNP\t_\t_\t_\t_\tSpaceAfter=No|UPOS_probabilities=PROPN:0.9000,X:0.1000"
        "|UPOS_1=PROPN|UPOS_2=X\n"
    )


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (
            TEXT.replace("1\tA\t", "2\tA\t", 1),
            3,
            "the word is numbered '2' where 1 is due: number the words of a sentence 1, 2, 3, ..., "
            "and leave a blank line after each sentence.",
        ),
        (
            TEXT.replace("1-2", "2-2"),
            2,
            "the multi-word token 2-2 must stand just before its first word, and end within the 3 "
            "words.",
        ),
        (TEXT.replace("NER=B-PER", "NER=B-PER|NER=O"), 5, "MISC has NER= more than once"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, line: int, problem: str) -> None:
    path = saved(tmp_path, text)
    with raises(DataError, path=str(path), line=line, problem=problem):
        files(NER).read(path)


@pytest.mark.parametrize(
    ("label", "kind"), [("A|B", "items of MISC"), ("A\tB", "columns")], ids=["bar", "tab"]
)
def test_labels_that_misc_cannot_hold(tmp_path: Path, label: str, kind: str) -> None:
    reader, path = files(TAGGING), saved(tmp_path, TEXT)
    cells = [[["X"], [label], ["Z"]], [["X"]]]
    problem = f"the predicted label {label!r} has a character that separates {kind}"
    with raises(DataError, path=str(path), line=4, problem=problem):
        reader.write(reader.read(path), tmp_path / "b.conllu", cells, False, 1)
    assert not (tmp_path / "b.conllu").exists()


def test_columns_by_number_are_those_of_a_file_of_columns() -> None:
    assert files(TAGGING).format_of("a.conllu.gz") == "conllu"
    assert files(TAGGING, numbered=True).format_of("a.conllu") == "columns"
    assert files(TAGGING, numbered=True, form="conllu").format_of("a.txt") == "conllu"
