"""Tasks on tokens with files whose fields have names: the same weights as from columns, and
predictions in the same format.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import structopt
from structopt import datasets
from structopt.command import main
from structopt.errors import ConfigError
from structopt.task.sequence_labelling import SequenceLabelling
from tests.messages import raises

QUICK = ["task=ner", "task.limit=40", "optimizer.epochs=2", "tracker=none"]


def sentences(split: str) -> list[list[list[str]]]:
    """The first sentences of the shipped corpus, each a list of rows of cells."""
    text = datasets.path(split, "conll").read_text(encoding="utf8")
    blocks = [[line.split() for line in block.splitlines()] for block in text.strip().split("\n\n")]
    return [block for block in blocks if block and not block[0][0].startswith("-DOCSTART-")][:40]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sentences as columns, and as JSON lines with integers for labels and their names
    beside.
    """
    root = tmp_path_factory.mktemp("fields")
    labels = sorted(
        {row[3] for split in ("train", "dev") for block in sentences(split) for row in block}
    )
    for split in ("train", "dev"):
        blocks = sentences(split)
        (root / f"{split}.conll").write_text(
            "\n".join("".join(f"{' '.join(row)}\n" for row in block) for block in blocks)
        )
        with (root / f"{split}.jsonl").open("w") as stream:
            for block in blocks:
                words, pos, chunks, tags = map(list, zip(*block, strict=True))
                row = {
                    "tokens": words,
                    "pos_tags": pos,
                    "chunk_tags": chunks,
                    "ner_tags": [labels.index(tag) for tag in tags],
                }
                stream.write(json.dumps(row) + "\n")
    names = {"ner_tags": {"feature": {"names": labels, "_type": "ClassLabel"}, "_type": "Sequence"}}
    (root / "dataset_info.json").write_text(json.dumps({"features": names}))
    for form in ("conll", "jsonl"):
        structopt.train(
            [*QUICK, f"task.train={root / 'train'}.{form}", f"task.dev={root / 'dev'}.{form}"],
            root / form,
        )
    return root


def test_weights_and_scores_are_those_of_columns(folder: Path) -> None:
    one, other = structopt.load(folder / "conll"), structopt.load(folder / "jsonl")
    assert (one.weights == other.weights).all() and one.labels == other.labels
    scores = [
        json.loads((folder / form / "metrics.json").read_text())["dev"]
        for form in ("conll", "jsonl")
    ]
    assert scores[0] == scores[1]
    assert one.evaluate(folder / "dev.jsonl") == other.evaluate(folder / "dev.conll")


@pytest.mark.nightly("runs")
def test_a_model_keeps_the_names_of_integers(folder: Path, tmp_path: Path) -> None:
    """Files to evaluate need no names where the training file had them."""
    model = structopt.load(folder / "jsonl")
    expected = model.evaluate(folder / "dev.conll")
    copy = tmp_path / "dev.jsonl"
    copy.write_bytes((folder / "dev.jsonl").read_bytes())
    assert structopt.load(folder / "jsonl").evaluate(copy) == expected


def test_predictions_are_of_the_format(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["predict", f"model={folder / 'jsonl'}"]
    assert main.main([*words, f"input={folder / 'dev.jsonl'}", "output=o.jsonl"]) == 0
    assert main.main([*words, f"input={folder / 'dev.conll'}", "output=o.conll"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert [row.pop("predicted_ner_tags") for row in rows] == structopt.load(
        folder / "conll"
    ).predict(folder / "dev.conll")
    assert rows == [json.loads(line) for line in (folder / "dev.jsonl").read_text().splitlines()]
    Path("given").write_text(
        '{"tokens": ["Ann", "slept"], "pos_tags": ["NNP", "VBD"], "ner_tags": [null, '
        '"B-LOC|B-ORG"]}\n'
    )
    assert main.main([*words, "input=given", "output=o", "task.format=jsonl", "partial=true"]) == 0
    assert json.loads(Path("o").read_text())["predicted_ner_tags"][1] in ("B-LOC", "B-ORG")


def test_a_model_of_columns_reads_and_writes_conllu(
    trained: Callable[[str], Path], tmp_path: Path
) -> None:
    blocks = sentences("dev")[:3]
    empty = "\t_" * 8
    rows = [
        "".join(f"{i}\t{row[0]}{empty}\n" for i, row in enumerate(block, 1)) for block in blocks
    ]
    (tmp_path / "a.conllu").write_text("# newdoc\n" + "\n".join(rows))
    folder = trained("tagging")
    model = structopt.load(folder)
    outputs = model.predict([[row[0] for row in block] for block in blocks])
    assert model.predict(tmp_path / "a.conllu") == outputs
    words = ["predict", f"model={folder}", f"input={tmp_path / 'a.conllu'}"]
    assert main.main([*words, f"output={tmp_path / 'b.conllu'}"]) == 0
    assert model.evaluate(tmp_path / "b.conllu")["accuracy"] == 1.0


def test_comments_in_columns(trained: Callable[[str], Path], tmp_path: Path) -> None:
    folder, path, target = trained("tagging"), tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("# text = Ann\nAnn X\n")
    words = ["predict", f"model={folder}", f"input={path}", f"output={target}"]
    assert main.main(words) == 2
    assert main.main([*words, 'task.comment="# "']) == 0
    assert target.read_text().startswith("# text = Ann\nAnn X ")
    with raises(ConfigError, parameter="task.comment", value=" "):
        SequenceLabelling(comment=" ")


@pytest.mark.nightly("runs")
def test_what_the_command_line_says(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = tmp_path / "plain.jsonl"
    plain.write_text('{"tokens": ["Ann", "slept"]}\n')
    assert main.main([*QUICK, f"task.train={plain}"]) == 2
    message = (
        "there is no field for 'tag' (ner_tags, tags, labels, ner, tag) beside tokens: name it "
        "in task.fields, or give"
    )
    assert f"{plain}:1: {message}" in capsys.readouterr().err
    words = [*QUICK, f"task.train={folder / 'train.jsonl'}", f"hydra.run.dir={tmp_path / 'run'}"]
    assert (
        main.main([*words, "features.columns=all", "task.fields={word: [pos_tags], chunk: [none]}"])
        == 0
    )
    said = capsys.readouterr().err
    assert f"{folder / 'train.jsonl'}: read as {{word: pos_tags, tag: ner_tags}}.\n" in said
    assert "there is no column pos or chunk, so these templates are left out" in said
    assert structopt.load(tmp_path / "run").columns == ("word",)
