"""`spacy train` and `spacy evaluate`: the scores are those of structopt."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from spacy_corpora import sentences, write_columns, write_docbin, write_trees

import structopt

TRAIN, DEV = sentences(40, 0), sentences(60, 1)
SETTINGS = "optimizer = 'adagrad'\nepochs = 3\nC = 1.0\n".replace("'", '"')
CONFIG = f"""
[paths]
train = null
dev = null

[nlp]
lang = "en"
pipeline = ["tagger","parser","ner"]

[components]

[components.tagger]
factory = "structopt_tagger"
{SETTINGS}
[components.parser]
factory = "structopt_parser"
{SETTINGS}
[components.ner]
factory = "structopt_ner"
{SETTINGS}
[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = ${{paths.train}}
gold_preproc = true

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${{paths.dev}}
gold_preproc = true

[training]
max_steps = 1
"""


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "spacy", *words], capture_output=True, text=True, timeout=600
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spacy")
    for name, corpus in (("train", TRAIN), ("dev", DEV)):
        write_docbin(path / f"{name}.spacy", spacy.blank("en"), corpus)
        write_columns(path / f"{name}.ner", corpus, "entities")
        write_columns(path / f"{name}.tagging", corpus, "tags")
        write_trees(path / f"{name}.dependency", corpus)
    (path / "base.cfg").write_text(CONFIG, encoding="utf8")
    result = command("init", "fill-config", str(path / "base.cfg"), str(path / "config.cfg"))
    assert not result.returncode, result.stderr + result.stdout
    return path


def test_scores_are_those_of_structopt(folder: Path) -> None:
    files = ("--paths.train", str(folder / "train.spacy"), "--paths.dev", str(folder / "dev.spacy"))
    result = command("train", str(folder / "config.cfg"), "--output", str(folder / "out"), *files)
    assert not result.returncode, result.stderr + result.stdout
    scores = folder / "scores.json"
    result = command(
        "evaluate",
        str(folder / "out/model-best"),
        str(folder / "dev.spacy"),
        "--gold-preproc",
        "--output",
        str(scores),
    )
    assert not result.returncode, result.stderr + result.stdout
    theirs = json.loads(scores.read_text(encoding="utf8"))
    ours = {}
    for task in ("ner", "tagging", "dependency"):
        further = ["factor_graph.labeled=true"] if task == "dependency" else []
        model = structopt.train(
            [
                f"task={task}",
                f"task.train={folder}/train.{task}",
                "optimizer=adagrad",
                "optimizer.epochs=3",
                "optimizer.C=1",
                "tracker=none",
                "quiet=true",
                *further,
            ],
            folder=folder / "runs" / task,
        )
        ours[task] = model.evaluate(folder / f"dev.{task}")
    for key, task, metric in (
        ("ents_f", "ner", "f1"),
        ("tag_acc", "tagging", "accuracy"),
        ("dep_uas", "dependency", "uas"),
        ("dep_las", "dependency", "las"),
    ):
        assert 0.5 < theirs[key] < 1
        assert theirs[key] == pytest.approx(ours[task][metric], abs=1e-10)  # 10 digits are written


def test_a_streamed_corpus_is_refused(folder: Path) -> None:
    files = ("--paths.train", str(folder / "train.spacy"), "--paths.dev", str(folder / "dev.spacy"))
    result = command("train", str(folder / "config.cfg"), *files, "--training.max_epochs", "-1")
    assert result.returncode
    assert "training.max_epochs" in result.stdout + result.stderr
