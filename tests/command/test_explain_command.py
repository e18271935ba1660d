"""``structopt explain`` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from structopt import datasets
from structopt.command import main
from tests.command.commands import failed
from tests.trained import TrainedRuns


@pytest.fixture(scope="module")
def runs(trained: TrainedRuns) -> dict[str, Path]:
    """A run with attributes that have names, and one with hashed features."""
    return {name: trained(name) for name in ("ner", "dependency")}


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main.main(["explain", *words]) == 0
    return capsys.readouterr().out


def test_weights(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, f"model={runs['ner']}", "top=2")
    assert text.startswith("The 2 highest and lowest weights\n\nlabel B-LOC (")
    assert "transition (" in text and "[B-ORG → I-ORG]" in text


def test_one_prediction(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = [f"model={runs['ner']}", f"input={datasets.path('dev', 'conll')}", "sentence=3"]
    text = printed(capsys, *words, "top=5")
    assert text.startswith("sentence 3\n\nword ") and "where the second best output differs" in text
    data = json.loads(printed(capsys, *words, "format=json"))
    assert sum(share["share"] for share in data["shares"]) == pytest.approx(
        data["scores"][0] - data["scores"][1], abs=1e-9
    )
    page = tmp_path / "page.html"
    assert printed(capsys, *words, "format=html", f"output={page}") == ""
    assert "<h1>sentence 3</h1>" in page.read_text(encoding="utf8")


@pytest.mark.nightly("rest")
def test_hashed_weights_are_named_by_the_training_file(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = runs["dependency"]
    assert "are named by the features of train.conllu" in printed(capsys, f"model={run}", "top=3")
    assert "features of dev.conllu" in printed(
        capsys, f"model={run}", f"names={datasets.path('dev', 'conllu')}"
    )
    assert "give a file whose features are to name them" in printed(
        capsys, f"model={run / 'model'}"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sentence=0"], "sentence=0 must be at least 1."),
        (["top=0"], "top=0 must be at least 1."),
        (["format=pdf"], "format=pdf"),
        (["against=worst"], "against=worst"),
        (["sentense=2"], "explain has no option 'sentense'. Did you mean 'sentence'?"),
        (["input=missing.txt"], "missing.txt"),
    ],
)
def test_refuses(
    words: list[str], message: str, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in failed(capsys, "explain", f"model={runs['ner']}", *words)


def test_a_word_of_other_programs_is_understood(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Did you mean 'explain'?" in failed(capsys, "shap", "model=run")
