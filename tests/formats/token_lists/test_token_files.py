"""Files whose fields have names: all formats say the same, and what is added to them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from structopt.errors import ConfigError, DataError
from structopt.formats.conll_reader import Columns
from structopt.formats.token_lists.token_files import TokenFiles

FIELDS = {
    "word": ["tokens", "word", "sentence"],
    "pos": ["pos_tags", "pos"],
    "tag": ["ner_tags", "tag"],
    "sentence": ["sentence #", "sentence"],
}
TOKENS = [["Ann", "Falk"], ["slept"]]
POS = [["NNP", "NNP"], ["VBD"]]
TAGS = [["B-PER", "E-PER"], ["O"]]
ROWS = [
    {"tokens": t, "pos_tags": p, "ner_tags": g} for t, p, g in zip(TOKENS, POS, TAGS, strict=True)
]
JSONL = "".join(f"{json.dumps(row)}\n" for row in ROWS)
TOKEN_CSV = (
    "Sentence #,Word,POS,Tag\nSentence: 1,Ann,NNP,B-PER\n,Falk,NNP,E-PER\nSentence: 2,slept,VBD,O\n"
)
LIST_CSV = (
    'tokens,ner_tags,pos_tags\n"[""Ann"", ""Falk""]","[\'B-PER\', \'E-PER\']",NNP NNP\n'
    "slept,O,VBD\n"
)
SPACY = json.dumps(
    [
        {
            "id": 7,
            "paragraphs": [
                {
                    "raw": None,
                    "sentences": [
                        {
                            "tokens": [
                                {"orth": "Ann", "tag": "NNP", "ner": "B-PER"},
                                {"orth": "Falk", "tag": "NNP", "ner": "L-PER"},
                            ]
                        },
                        {"tokens": []},
                        {"tokens": [{"orth": "slept", "tag": "VBD", "ner": "O", "head": 0}]},
                    ],
                }
            ],
        }
    ]
)
CELLS = [[["B-LOC"], ["E-LOC"]], [["O"]]]


def files(**settings: Any) -> TokenFiles:
    return TokenFiles(
        **{"form": "auto", "fields": FIELDS, "names": None, "encoding": "utf8", "separator": None}
        | settings
    )


def made(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf8", newline="")
    return folder / name


def parquet(
    folder: Path,
    name: str = "t.parquet",
    rows: list[dict[str, Any]] | None = None,
    info: Any = None,
) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    table = pyarrow.Table.from_pylist(ROWS if rows is None else rows)
    write_table(
        table.replace_schema_metadata(
            {"huggingface": json.dumps({"info": info})} if info else None
        ),
        folder / name,
    )
    return folder / name


def rows_of(path: Path) -> list[dict[str, Any]]:
    from pyarrow.parquet import read_table

    rows: list[dict[str, Any]] = read_table(path).to_pylist()
    return rows


def check(corpus: Columns) -> None:
    assert {name: corpus.sentences(name) for name in corpus.cells} == {
        "word": TOKENS,
        "pos": POS,
        "tag": TAGS,
    }


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("t.jsonl", JSONL, [1, 1, 2]),
        ("t.json", f"\n{JSONL}", [2, 2, 3]),
        ("t.json", SPACY.replace('[{"tokens"', '\n[{"tokens"'), [1, 1, 1]),
        ("t.csv", TOKEN_CSV, [2, 3, 4]),
        ("t.csv", TOKEN_CSV.replace(",", ";").replace("\n;Falk", "\nSentence: 1;Falk"), [2, 3, 4]),
        (
            "t.tsv",
            TOKEN_CSV.replace(",", "\t").replace("Sentence: ", "").replace("\n", "\r\n"),
            [2, 3, 4],
        ),
        ("t.csv", LIST_CSV, [2, 2, 3]),
    ],
)
def test_every_text_format_is_read(tmp_path: Path, name: str, text: str, lines: list[int]) -> None:
    corpus = files().read(made(tmp_path, name, text))
    check(corpus)
    assert corpus.lines.tolist() == lines
    assert files().read(tmp_path / name, 1).sentences("word") == TOKENS[:1]
    assert (
        files(form=files().format_of(tmp_path / name)).read(made(tmp_path, "plain", text)).cells
        == corpus.cells
    )


def test_parquet_is_read(tmp_path: Path) -> None:
    path = parquet(
        tmp_path, rows=[ROWS[0], {**ROWS[0], "tokens": [], "pos_tags": [], "ner_tags": []}, ROWS[1]]
    )
    corpus = files().read(path)
    check(corpus)
    assert corpus.lines.tolist() == [1, 1, 3]
    assert files().read(path, 1).sentences("word") == TOKENS[:1]
    parquet(tmp_path, "u.parquet")
    assert len(files().read(tmp_path / "[tu].parquet").offsets) == 5


def test_json_lines_keep_their_bytes(tmp_path: Path) -> None:
    text = (
        '{"tokens": ["Ann","Falk"] , "x": 1.50}\r\n\n  {"y":"\\u00e9","tokens":["é"]  }  \n'
        '{"tokens": []}'
    )
    path = made(tmp_path, "t.jsonl", text)
    files().write(files().read(path), tmp_path / "o", CELLS, False, 1)
    assert (tmp_path / "o").read_bytes().decode() == (
        '{"tokens": ["Ann","Falk"] , "x": 1.50, "ner_tags": ["B-LOC", "E-LOC"]}\r\n\n'
        '  {"y":"\\u00e9","tokens":["é"], "ner_tags": ["O"]}  \n{"tokens": [], "ner_tags": []}'
    )


def test_labels_that_are_there_stay(tmp_path: Path) -> None:
    """Predictions stand beside the labels of a file, and in the place of earlier predictions."""
    path = made(tmp_path, "t.jsonl", JSONL)
    cells = [
        [["B-LOC", "B-LOC:0.9", "O", "-"], ["E-LOC", "E-LOC:1.0", "O", "-"]],
        [["O", "O:1.0", "O", "-"]],
    ]
    for _ in range(2):
        files().write(files().read(path), path, cells, True, 2)
    first, second = map(json.loads, path.read_text().splitlines())
    assert list(first)[:3] == list(ROWS[0]) and {key: first[key] for key in ROWS[0]} == ROWS[0]
    assert {key: value for key, value in first.items() if key not in ROWS[0]} == {
        "predicted_ner_tags": ["B-LOC", "E-LOC"],
        "predicted_ner_tags_probabilities": ["B-LOC:0.9", "E-LOC:1.0"],
        "predicted_ner_tags_1": ["O", "O"],
        "predicted_ner_tags_2": ["-", "-"],
    }
    assert second["predicted_ner_tags"] == ["O"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (TOKEN_CSV.replace("Falk", '"Fa""lk"'), [",predicted_Tag", ",B-LOC", ",E-LOC", ",O"]),
        (LIST_CSV, [",predicted_ner_tags", ',"[""B-LOC"", ""E-LOC""]"', ",O"]),
        (
            TOKEN_CSV.replace("Sentence: 2", "\nSentence: 2"),
            [",predicted_Tag", ",B-LOC", ",E-LOC", "", ",O"],
        ),
    ],
)
def test_csv_is_written(tmp_path: Path, text: str, written: list[str]) -> None:
    path = made(tmp_path, "t.csv", text.replace("\n", "\r\n"))
    files().write(files().read(path), tmp_path / "o.csv", CELLS, False, 1)
    expected = [line + added for line, added in zip(text.splitlines(), written, strict=True)]
    assert (tmp_path / "o.csv").read_bytes().decode().split("\r\n") == [*expected, ""]
    again = files(fields=FIELDS | {"tag": [written[0][1:]]}).read(tmp_path / "o.csv")
    assert again.sentences("tag") == [["B-LOC", "E-LOC"], ["O"]]


def test_spacy_is_written_as_biluo(tmp_path: Path) -> None:
    path = made(tmp_path, "t.json", SPACY)
    files().write(
        files().read(path), tmp_path / "o.json", [[["B-PER"], ["B-LOC"]], [["O"]]], False, 1
    )
    (document,) = json.loads((tmp_path / "o.json").read_text())
    first, _, last = (sentence["tokens"] for sentence in document["paragraphs"][0]["sentences"])
    assert [(token["ner"], token["predicted_ner"]) for token in first] == [
        ("B-PER", "U-PER"),
        ("L-PER", "U-LOC"),
    ]
    assert last == [{"orth": "slept", "tag": "VBD", "ner": "O", "head": 0, "predicted_ner": "O"}]
    bare = made(tmp_path, "b.json", re.sub(', "ner": "[^"]+"', "", SPACY))
    files().write(files().read(bare), tmp_path / "o.json", CELLS, False, 1)
    read = files().read(tmp_path / "o.json")
    assert read.sentences("tag") == [["B-LOC", "E-LOC"], ["O"]]


def test_parquet_is_written(tmp_path: Path) -> None:
    info = {
        "features": {
            "ner_tags": {
                "feature": {"names": ["O", "B-PER", "E-PER"], "_type": "ClassLabel"},
                "_type": "List",
            }
        }
    }
    rows = [
        {**row, "ner_tags": tags, "id": 1} for row, tags in zip(ROWS, ([1, 2], [0]), strict=True)
    ]
    path = parquet(tmp_path, rows=rows, info=info)
    corpus = files().read(path)
    check(corpus)
    for source in (corpus, files().read(path)):
        files().write(source, tmp_path / "o.parquet", CELLS, False, 1)
    rows = rows_of(tmp_path / "o.parquet")
    assert [row["predicted_ner_tags"] for row in rows] == [["B-LOC", "E-LOC"], ["O"]]
    assert [row["ner_tags"] for row in rows] == [[1, 2], [0]] and rows[0]["id"] == 1
    from pyarrow.parquet import read_schema

    features = json.loads(read_schema(tmp_path / "o.parquet").metadata[b"huggingface"])["info"][
        "features"
    ]
    assert features["predicted_ner_tags"] == {
        "feature": {"dtype": "string", "_type": "Value"},
        "_type": "List",
    }


def test_texts_with_entities(tmp_path: Path) -> None:
    first = '{"text": "Dr. Ann Falk slept.", "spans": [{"start": 4, "end": 12, "label": "PER"}]}'
    text = f'{first}\n{{"text": "so", "spans": [], "a": 1}}\n'
    path = made(tmp_path, "t.jsonl", text)
    corpus = files().read(path)
    assert corpus.sentences("word") == [["Dr", ".", "Ann", "Falk", "slept", "."], ["so"]]
    assert corpus.sentences("tag") == [["O", "O", "B-PER", "I-PER", "O", "O"], ["O"]]
    files().write(
        corpus,
        tmp_path / "o",
        [[["B-X"], ["I-X"], ["O"], ["O"], ["O"], ["B-Y"]], [["O"]]],
        False,
        1,
    )
    spans = [{"start": 0, "end": 3, "label": "X"}, {"start": 18, "end": 19, "label": "Y"}]
    added = [f'"predicted_spans": {json.dumps(spans)}}}', '"predicted_spans": []}']
    assert [
        line.partition(', "predicted')[0] for line in (tmp_path / "o").read_text().splitlines()
    ] == [line.removesuffix("}") for line in text.splitlines()]
    assert all(
        line.endswith(end)
        for line, end in zip((tmp_path / "o").read_text().splitlines(), added, strict=True)
    )


DOCCANO = {
    "label": [[4, 12, "PER"]],
    "labels": [[4, 12, "PER"]],
    "entities": [{"id": 7, "label": "PER", "start_offset": 4, "end_offset": 12}],
}


@pytest.mark.parametrize("key", DOCCANO)
def test_exports_of_doccano(tmp_path: Path, key: str) -> None:
    rows = [
        {"id": 1, "text": "so", key: [], "Comments": []},
        {"id": 2, "text": "Dr. Ann Falk slept.", key: DOCCANO[key]},
    ]
    path = made(tmp_path, "t.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    corpus = files().read(path)
    assert corpus.fields == {"word": "text", "tag": key}
    tags = [["O"], ["O", "O", "B-PER", "I-PER", "O", "O"]]
    assert corpus.sentences("tag") == tags
    files().write(
        corpus, tmp_path / "o", [[[tag] for tag in sentence] for sentence in tags], False, 1
    )
    row = json.loads((tmp_path / "o").read_text().splitlines()[1])
    predicted = row.pop(f"predicted_{key}")
    assert row == rows[1]
    assert predicted == [
        {name: value for name, value in one.items() if name != "id"}
        if isinstance(one, dict)
        else one
        for one in DOCCANO[key]
    ]


@pytest.mark.parametrize("label", ['"sport"', '["sport"]'])
def test_classes_of_texts_are_not_entities(tmp_path: Path, label: str) -> None:
    text = f'{{"text": "Ann slept", "label": {label}}}\n'
    assert files().read(made(tmp_path, "t.jsonl", text)).fields == {"word": "text"}


INTEGERS = '{"tokens": ["Ann"], "ner_tags": [1]}\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("typed.txt", "O\nB-PER\n"),
        ("typed.json", '{"ner_tags": ["O", "B-PER"]}'),
        (
            "dataset_info.json",
            '{"features": {"ner_tags": {"feature": {"names": ["O", "B-PER"]}}, "id": {}}}',
        ),
        (
            "dataset_infos.json",
            '{"en": {"features": {"ner_tags": {"feature": {"names": ["O", "B-PER"]}}}}}',
        ),
    ],
)
def test_names_of_integers(tmp_path: Path, name: str, text: str) -> None:
    path, names = made(tmp_path, "t.jsonl", INTEGERS), made(tmp_path, name, text)
    assert files(names=str(names)).read(path).cells["tag"] == ["B-PER"]
    if name.startswith("dataset"):
        assert files().read(path).cells["tag"] == ["B-PER"]
    else:
        with pytest.raises(DataError, match="has the integer 1, and integers have no names here"):
            files().read(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "t.jsonl",
            '{"a": []}',
            ":1: there is no field of words (tokens, word, sentence); the fields are a: name it, "
            "such as",
        ),
        ("t.jsonl", JSONL + "[]", ":3: this line is a list: write an object, {"),
        (
            "t.jsonl",
            JSONL + '{"tokens": ["a"]}',
            ':3: this object has no "pos_tags", as the first one has: give a',
        ),
        (
            "t.jsonl",
            JSONL + '{"tokens":["a"],"pos_tags":["a"],"ner_tags":[]}',
            ':3: "ner_tags" has 0 entries for 1 of "tokens":',
        ),
        (
            "t.jsonl",
            '{"tokens": [["a"]]}',
            ":1: \"tokens\" has ['a'] in it, which is no string: give a list of strings",
        ),
        ("t.jsonl", '{"tokens": ["a", 1.5]}', ':1: "tokens" has 1.5 in it, which is no string'),
        ("t.jsonl", '{"tokens": ["a", null]}', ':1: "tokens" has None in it, which is no string'),
        ("t.jsonl", '{"tokens": ["a", true]}', ':1: "tokens" has True in it, which is no string'),
        ("t.jsonl", '\n{"tokens": ["a", NaN]}', ':2: "tokens" has nan in it, which is no string'),
        ("t.jsonl", '{"tokens": []}', ": the file has no sentences"),
        (
            "t.jsonl",
            '{"text": "Ann", "entities": [[0, 2, "PER"]]}',
            ":1: the entity 'An', from character 0 to 2, label PER, d",
        ),
        (
            "t.jsonl",
            '{"text": "a b", "entities": [[0, 3, "X"], [2, 3, "X"]]}',
            ":1: two entities overlap at character 2: keep",
        ),
        (
            "t.jsonl",
            '{"text": "a b", "entities": [[0, "X"]]}',
            ':1: "entities" has an entry that is no entity: write [start',
        ),
        (
            "t.jsonl",
            '{"text": "a", "labels": []}\n{"text": "a", "labels": [{"start_offset": 0}]}',
            ':2: "labels" has an entry that is no entity: write [start',
        ),
        (
            "t.jsonl",
            '{"text": "Annie", "label": [[0, 3, "PER"]]}',
            ":1: the entity 'Ann', from character 0 to 3, label PER, d",
        ),
        (
            "t.jsonl",
            '{"text": "a", "entities": []}\n{"text": "b"}',
            ':2: this object has no "entities", as the first one has: ',
        ),
        (
            "t.csv",
            "word,tag\na,O,x\n",
            ":2: this row has 3 cells, but the header has 2: give every row as many, and quote "
            "cells",
        ),
        (
            "t.csv",
            'word,tag\n"a,O\n',
            ":2: this is no CSV with ',' between cells (unexpected end of data): check its quotes",
        ),
        (
            "t.csv",
            "word,word\na,O\n",
            ":1: two fields have the name 'word': give each a name of its own.",
        ),
        (
            "t.csv",
            "word,tag\na b,O\n",
            ':2: "tag" has 1 entries for 2 of "word": give one a token.',
        ),
        (
            "t.csv",
            "word,tag\n[a,O\n[b c],O\n[a],O\n",
            ":3: the list '[b c]' is neither JSON nor Python's: write",
        ),
        ("t.json", "[", ":1: this is no JSON (Expecting value): write ["),
        ("t.json", "[{}]", ':1: the document that begins here has no list "paragraphs": write ['),
        (
            "t.json",
            '[\n{"paragraphs": []},\n1]',
            ":3: the document that begins here has a number where an object with",
        ),
        ("t.json", SPACY[:-1], ":1: this is no list of documents, or one that is cut off: write ["),
        (
            "t.json",
            SPACY.replace('"tag": "VBD", ', ""),
            ':1: a token of the document that begins here has no "tag", as the',
        ),
        ("t.parquet", "PAR1PAR1", ": this is no Parquet, or damaged ("),
    ],
)
def test_what_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    if name == "t.parquet":
        pytest.importorskip("pyarrow")
    path = made(tmp_path, name, text)
    with pytest.raises(DataError) as refused:
        files().read(path)
    assert str(refused.value).startswith(f"{path}{message}")


def test_parquet_that_is_refused(tmp_path: Path) -> None:
    path = parquet(tmp_path, rows=[ROWS[0], {**ROWS[1], "ner_tags": ["O", "O"]}])
    with pytest.raises(
        DataError,
        match=r't.parquet:2: "ner_tags" has 2 entries for 1 of "tokens": give one a token.',
    ):
        files().read(path)
    path = parquet(tmp_path, rows=[{"tokens": "a b"}])
    with pytest.raises(
        DataError,
        match='the column "tokens" is of the type string: give a list of strings, one a token.',
    ):
        files().read(path)


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = (
        r"Parquet is read with pyarrow, which is not installed: pip install "
        r"'structopt-trainer\[parquet\]', or give JSON"
    )
    with pytest.raises(ConfigError, match=message):
        files().read(made(tmp_path, "t.parquet", "PAR1"))


def test_files_that_changed(tmp_path: Path) -> None:
    for name, text in (("t.jsonl", JSONL), ("t.csv", TOKEN_CSV), ("t.json", SPACY)):
        corpus = files().read(made(tmp_path, name, text))
        with pytest.raises(
            DataError,
            match="the file has other sentences than were predicted: it has changed since it was "
            "read",
        ):
            files().write(corpus, tmp_path / "o", CELLS[:1], False, 1)


def test_the_end_of_the_name_says_the_format() -> None:
    assert [
        files().format_of(name)
        for name in ("a.conll", "a.JSONL.gz", "a.tsv", "x-{1..2}.parquet", "a")
    ] == [
        "columns",
        "jsonl",
        "csv",
        "parquet",
        "columns",
    ]
    assert files(separator=",").format_of("a.csv") == "columns"
    assert files(separator=",", form="csv").format_of("a.csv") == "csv"


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"word": ["a"]}, "the columns word"), ({"word": [], "tag": ["t"]}, "'word' without")],
)
def test_fields_that_are_refused(fields: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ConfigError, match=f"task.fields has {message}"):
        files(fields=fields)
