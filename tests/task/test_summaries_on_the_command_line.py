"""Summaries as a user makes them: a run on the shipped corpus, its model, files of many kinds, and
what is refused.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import structopt
from structopt import datasets
from structopt.command.main import main

pytestmark = pytest.mark.nightly("runs")

SHORT = ["task=summarization", "tracker=none", "quiet=true"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("summaries") / "run"
    words = [
        "optimizer=perceptron",
        "optimizer.epochs=5",
        "inference=lp",
        "task.limit=20",
        f"hydra.run.dir={folder}",
    ]
    assert main([*SHORT, *words]) == 0
    return folder


def test_the_shipped_corpus_is_learnt(model: Path) -> None:
    scores = json.loads((model / "metrics.json").read_text())["dev"]
    assert 0.5 < scores["rouge2_recall"] < scores["oracle_rouge2_recall"] < 1


def test_predictions_keep_the_budget(model: Path, tmp_path: Path) -> None:
    """As JSON with sentence numbers and what they take; as text; from text with a sentence a
    line.
    """
    assert (
        main(
            [
                "predict",
                f"model={model}",
                f"input={datasets.path('dev', 'jsonl')}",
                f"output={tmp_path / 'out.jsonl'}",
            ]
        )
        == 0
    )
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    documents = [
        json.loads(line) for line in datasets.path("dev", "jsonl").read_text().splitlines()
    ]
    for row, document in zip(rows, documents, strict=True):
        assert row["name"] == document["name"] and 0 < row["words"] <= row["budget"] == 25
        assert row["summary"] == [document["sentences"][number - 1] for number in row["extract"]]
    text = tmp_path / "rooms.txt"
    text.write_text(
        "The rooms are clean .\nWe came by train .\nThe rooms are clean and the beds are soft .\n"
    )
    assert (
        main(["predict", f"model={model}", f"input={text}", f"output={tmp_path / 'out.txt'}"]) == 0
    )
    assert set((tmp_path / "out.txt").read_text().splitlines()) <= set(
        text.read_text().splitlines()
    )
    again = structopt.load(str(model))
    assert again.predict([document["sentences"] for document in documents]) == [
        row["extract"] for row in rows
    ]


def test_evaluation_tells_the_ceiling(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", f"model={model}", f"input={datasets.path('test', 'jsonl')}"]) == 0
    shown = capsys.readouterr().out
    assert "ROUGE-2 R" in shown and "best extracts" in shown


def test_a_model_keeps_other_budgets(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What may be typed anew, and what may not; references of their own, which the model does not
    keep.
    """
    words = [
        "predict",
        f"model={model}",
        f"input={datasets.path('dev', 'jsonl')}",
        f"output={tmp_path / 'out.jsonl'}",
    ]
    for typed, budget in (("task.budget=12", 12), ("task.budget=120 task.lengths=characters", 120)):
        assert main([*words, *typed.split()]) == 0
        rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        assert all(row["budget"] == budget for row in rows)
    assert all(row["characters"] <= 120 for row in rows) and any(
        row["characters"] > 25 for row in rows
    )
    documents = [
        json.loads(line) for line in datasets.path("dev", "jsonl").read_text().splitlines()
    ]
    (tmp_path / "texts").mkdir()
    for document in documents:
        (tmp_path / f"texts/{document['name']}.txt").write_text("\n".join(document["sentences"]))
    evaluated = ["evaluate", f"model={model}", f"input={tmp_path}/texts/*.txt"]
    assert main(evaluated) == 2
    assert "it has no reference summary: set task.references" in capsys.readouterr().err
    assert main([*evaluated, f"task.references={datasets.path('dev', 'jsonl')}"]) == 0
    assert "best extracts" in capsys.readouterr().out
    for typed, message in (
        (
            "task.train=x",
            "task.train cannot change when a model of task=summarization is applied. Those that "
            "may: references, ",
        ),
        ("task.bugdet=9", "Did you mean 'budget'?"),
        ("task.budget=many", "task.budget"),
        ("task.budget=", "'task.budget=' gives task.budget no value; set task.budget=VALUE."),
    ):
        assert main([*words, typed]) == 2
        assert message in capsys.readouterr().err


def test_learning_begins_at_counts(tmp_path: Path) -> None:
    """The model that learns nothing scores what its start says, by either word; without the
    attribute it is refused.
    """
    for number, word in enumerate(("optimizer.initial=counts", "warm_start=counts")):
        words = [
            word,
            "optimizer=perceptron",
            "optimizer.epochs=0",
            f"hydra.run.dir={tmp_path / str(number)}",
        ]
        assert main([*SHORT, *words]) == 0
    scores = [json.loads((tmp_path / name / "metrics.json").read_text())["dev"] for name in "01"]
    assert scores[0] == scores[1] and scores[0]["rouge2_recall"] > 0.5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["features.bigrams=[count]", "warm_start=counts"],
            "weighs the attribute 'frequency' of each bigram, and these",
        ),
        (
            ["features.bigrams=[cuont]"],
            "features.bigrams: 'cuont' has no column 'cuont'. Did you mean 'count'?",
        ),
        (
            ["task.budget=0"],
            "task.budget=0 leaves room for no sentence. Give a number of words from 1 on.",
        ),
        (["task.budget=3"], "its shortest sentence has 7 words, and task.budget=3: give more."),
        (
            ["task=multilabel", "inference=greedy"],
            "inference=greedy chooses sentences within a budget, and this factor graph is",
        ),
        (["loss=crf"], "inference=ilp only maximises"),
        (
            ["loss.cost=brackets"],
            "parts of the role bracket, which factor_graph=coverage does not have. Set",
        ),
    ],
)
def test_refusals(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SHORT, *words, "optimizer.epochs=1", f"hydra.run.dir={tmp_path}"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.jsonl",
            b'{"sentences": ["Rooms ."]}\n',
            "a.jsonl:1: document 1: it has no reference summary",
        ),
        (
            "a.jsonl",
            b'{"sentences": ["Rooms ."], "references": []}\n',
            "a.jsonl:1: there is no reference summary",
        ),
        (
            "a.jsonl",
            b'{"sentences": [], "references": [["Rooms ."]]}\n',
            "a.jsonl:1: document 1: it has no sentence",
        ),
        ("a.jsonl", b'{"sentences": ["Rooms ."}\n', "a.jsonl:1: "),
        ("a.txt", b"\n\n", "a.txt:1: document a: it has no sentence"),
        ("a.conllu", b"1\tRooms\n", "a.conllu:1: this row has 2 columns, and CoNLL-U has 10"),
    ],
)
def test_malformed_files(
    name: str, content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    assert main([*SHORT, f"task.train={tmp_path / name}", f"hydra.run.dir={tmp_path / 'run'}"]) == 2
    assert message in capsys.readouterr().err


def test_texts_of_old_encodings_and_their_references(tmp_path: Path) -> None:
    """A folder of texts, one of them in cp1252, one packed; references in folders of the texts'
    names.
    """
    topics, references = tmp_path / "topics", tmp_path / "references"
    for place in (topics, references / "one", references / "two"):
        place.mkdir(parents=True)
    (topics / "one.txt").write_bytes(
        "The caf\u00e9 is \u201cgood\u201d .\nThe caf\u00e9 is open .\n".encode("cp1252")
    )
    (topics / "two.txt.gz").write_bytes(
        gzip.compress(b"The beds are soft .\nThe beds are wide .\n")
    )
    (references / "one/one.1.gold").write_text("The caf\u00e9 is good .\n", encoding="utf8")
    (references / "two/two.1.gold").write_text("The beds are soft .\n", encoding="utf8")
    words = [
        f"task.train={topics}/*",
        f"task.references={references}/**",
        "optimizer.epochs=1",
        "task.budget=4",
    ]
    assert main([*SHORT, *words, f"hydra.run.dir={tmp_path / 'run'}"]) == 0
