"""A run goes on from its checkpoint on the same data only, to the same bits; on other data it is
refused.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import structopt
from structopt import datasets
from structopt.command import main
from structopt.formats import durable_files
from tests.parts import gate_cases

METHODS = {
    "dca": ["optimizer=dca"],
    "sdca": ["optimizer=sdca", "loss=crf"],
    "eg": ["optimizer=eg", "loss=crf"],
    "smo": ["optimizer=smo"],
    "mixed": ["optimizer=dca", "executor=threads", "executor.mixing=3"],
}
SENTENCES = 12


def sentences() -> list[str]:
    blocks = datasets.path("train", "conll").read_text(encoding="utf8").split("\n\n")
    return [block for block in blocks if not block.startswith("-DOCSTART-")][: SENTENCES + 1]


def changed(how: str, text: list[str]) -> str:
    """The data, changed; `same` leaves them."""
    kept = text[:SENTENCES]
    first = kept[0].split("\n")
    if how == "reversed":
        kept = kept[::-1]
    elif how == "extended":
        kept = text[: SENTENCES + 1]
    elif how == "label":
        place = next(i for i, line in enumerate(first) if line.endswith(" O"))
        first[place] = first[place][:-1] + "B-PER"
        kept = ["\n".join(first), *kept[1:]]
    elif how == "word":
        first[0] = "Unheardofword " + first[0].partition(" ")[2]
        kept = ["\n".join(first), *kept[1:]]
    return "\n\n".join(kept) + "\n"


def weights(folder: Path) -> bytes:
    return (folder / "model/weights.safetensors").read_bytes()


@pytest.fixture(scope="module", params=gate_cases(METHODS, "runs", ("dca",)))
def stopped(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, bytes]:
    """A run of two passes, its training file, and the weights of a run of four."""
    place = tmp_path_factory.mktemp(request.param)
    data = place / "train.txt"
    data.write_text(changed("same", sentences()), encoding="utf8")
    words = ["task=ner", f"task.train={data}", "tracker=none", *METHODS[request.param]]
    structopt.train([*words, "optimizer.epochs=4"], place / "whole")
    assert main.main([*words, "optimizer.epochs=2", f"hydra.run.dir={place / 'run'}"]) == 0
    return place / "run", data, weights(place / "whole")


def resumed(run: Path, folder: Path, epochs: int = 4) -> int:
    shutil.copytree(run, folder)
    return main.main([f"resume={folder}", f"optimizer.epochs={epochs}"])


def test_the_same_data(stopped: tuple[Path, Path, bytes], tmp_path: Path) -> None:
    run, _, expected = stopped
    assert resumed(run, tmp_path / "run") == 0
    assert weights(tmp_path / "run") == expected


@pytest.mark.parametrize("how", ["reversed", "extended", "label", "word"])
def test_other_data(
    stopped: tuple[Path, Path, bytes], tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run, data, _ = stopped
    before = data.read_bytes()
    data.write_text(changed(how, sentences()), encoding="utf8")
    try:
        assert resumed(run, tmp_path / "run") == 2
    finally:
        data.write_bytes(before)
    error = capsys.readouterr().err
    path = tmp_path / "run/checkpoint/state.safetensors"
    assert (
        f"{path}: not a checkpoint of this run: the training data, or how they are encoded, "
        "changed since (" in error
    )
    assert ("instances: 12 then, 13 now" in error) == (how == "extended")
    assert (
        "Undo that; or train again, in a new folder or after deleting this file." in error
        and "Traceback" not in error
    )
    assert (tmp_path / "run/model/weights.safetensors").read_bytes() == weights(run)


@pytest.mark.nightly("runs")
def test_messages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What mplp keeps for each instance belongs to that instance."""
    data = tmp_path / "x"
    lines = ["a,b 1:1 2:1", "b 2:1", "a 1:1", "c 3:1 1:1", "a,c 1:1 3:2"]
    data.write_text("\n".join(lines) + "\n")
    words = [
        "task=multilabel",
        f"task.train={data}",
        "tracker=none",
        "optimizer=dlpw",
        f"hydra.run.dir={tmp_path / 'run'}",
    ]
    assert main.main([*words, "optimizer.epochs=2"]) == 0
    assert (
        "inference.messages"
        in durable_files.read_arrays(tmp_path / "run/checkpoint/state.safetensors")[0]
    )
    assert resumed(tmp_path / "run", tmp_path / "same") == 0
    data.write_text("\n".join(reversed(lines)) + "\n")
    assert resumed(tmp_path / "run", tmp_path / "other") == 2
    assert "not a checkpoint of this run: the training data" in capsys.readouterr().err


def test_a_checkpoint_of_an_earlier_version(
    stopped: tuple[Path, Path, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "before"
    shutil.copytree(stopped[0], run)
    path = run / "checkpoint/state.safetensors"
    arrays, notes = durable_files.read_arrays(path)
    durable_files.write_arrays(
        path, arrays, {key: notes[key] for key in ("progress", "scalars", "weights")}
    )
    assert resumed(run, tmp_path / "run") == 2
    assert (
        "it does not say of which data it is, as those of earlier versions do not. Undo that; or "
        "train" in capsys.readouterr().err
    )
