"""Saved models: what they answer, and which are refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.errors import ModelError
from tests.trained import TrainedRuns

WORDS = ["Jan", "von", "Purnman", "visited", "Oslo", "."]
POS = ["NNP", "NNP", "NNP", "VBD", "NNP", "."]
CHUNKS = ["B-NP", "I-NP", "I-NP", "B-VP", "B-NP", "O"]


@pytest.fixture(scope="module")
def run(trained: TrainedRuns) -> Path:
    return trained("ner")


@pytest.fixture(scope="module")
def model(run: Path) -> Any:
    return structopt.load(run)


def test_the_kinds_of_input(model: Any, run: Path) -> None:
    assert model.columns == ("word", "pos", "chunk")
    tuples = list(zip(WORDS, POS, CHUNKS, strict=True))
    mapping = {"word": WORDS, "pos": POS, "chunk": CHUNKS}
    expected = model.predict([tuples])
    assert model.predict([mapping]) == expected
    assert model.predict_columns({name: [cells] for name, cells in mapping.items()}) == expected
    assert structopt.load(run / "model").predict([tuples]) == expected
    words = model.predict([WORDS])
    assert model.predict_columns({"word": [WORDS]}) == words
    assert model.predict_columns({"word": [WORDS], "pos": [[""] * 6]}) == words
    assert [len(output) for output in model.predict([WORDS, WORDS[:1]])] == [6, 1]
    assert model.predict([]) == []


def test_marginals(model: Any) -> None:
    tables = model.marginals([WORDS, WORDS[:2]])
    assert [table.shape for table in tables] == [(6, len(model.labels)), (2, len(model.labels))]
    for table in tables:
        np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        assert table.min() >= 0


def test_evaluate(model: Any, run: Path) -> None:
    found = json.loads((run / "metrics.json").read_text())
    for part in ("dev", "test"):
        assert model.evaluate(datasets.path(part, "conll")) == found[part]


def test_saved_again(model: Any, run: Path, tmp_path: Path) -> None:
    model.save(tmp_path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {
        p.name: p.read_bytes() for p in (run / "model").iterdir()
    }


def refused(folder: Path) -> str:
    with pytest.raises(ModelError) as caught:
        structopt.load(folder)
    return str(caught.value)


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "weights.safetensors"])
def test_damage(run: Path, tmp_path: Path, name: str) -> None:
    path = shutil.copytree(run / "model", tmp_path / "model") / name
    data = path.read_bytes()
    text = (
        f"{path}: truncated or altered since it was saved. Take it from a backup, or train again."
    )
    path.write_bytes(data[:-10])
    assert refused(tmp_path) == text
    path.write_bytes(data.replace(b"e", b"f", 1))
    assert refused(tmp_path) == text
    path.unlink()
    assert (
        refused(tmp_path)
        == f"{path}: the file is missing; the model is not complete. Take it from a "
        "backup, or train again."
    )


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", "null", '{"sha256": {}}', '{"format": "x", "sha256": {}}']
)
def test_bad_manifest(run: Path, tmp_path: Path, text: str) -> None:
    path = shutil.copytree(run / "model", tmp_path / "model") / "manifest.json"
    path.write_text(text)
    assert refused(tmp_path).startswith(f"{path}: truncated or altered.")


def test_later_format(run: Path, tmp_path: Path) -> None:
    path = shutil.copytree(run / "model", tmp_path / "model") / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    assert "the model has format 99; this version reads 1. Update structopt." in refused(tmp_path)


def test_no_model(tmp_path: Path) -> None:
    assert refused(tmp_path).startswith(f"{tmp_path}: has no model in it. Give a run folder")
    assert refused(tmp_path / "no").startswith(f"{tmp_path / 'no'}: does not exist.")
