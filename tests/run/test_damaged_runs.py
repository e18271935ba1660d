"""Files of run folders that are damaged: resume and compare say which, in one message, with exit
code 2.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import structopt
from structopt.command import main
from structopt.config import saved_config
from structopt.errors import ConfigError, DataError
from structopt.formats import durable_files
from structopt.run import history
from structopt.run.records import read_run


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    words = [
        "task=multiclass",
        "task.limit=20",
        "task.dev=null",
        "task.test=null",
        "features.support=all",
        "tracker=none",
    ]
    structopt.train([*words, "optimizer=dca", "optimizer.epochs=1"], folder)
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main.main(list(words)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("structopt: ")


ALIASES = b"a0: &a0 [1]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 12)
)
"""Eleven lines that expand to 9^11 values."""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{", "truncated or altered (while parsing"),
        (b"\xff\xfe\xff", "truncated or altered ('utf-8' codec"),
        (b"[" * 3000, "truncated or altered (maximum recursion depth"),
        (b"- 1", "truncated or altered (the key seed is missing)"),
        (b"", "truncated or altered (the key seed is missing)"),
        (ALIASES, "truncated or altered (its aliases expand to more than 1,000,000 values)"),
        (b"a: &a [*a]", "truncated or altered (its aliases expand to more than 1,000,000 values)"),
        (b"#" * (1 << 24) + b"#", "truncated or altered (it has more than 16 MB)"),
        (b"a: ${a}\n", "a: Recursive interpolation detected"),
    ],
)
def test_configs_that_are_none(
    run: Path, capsys: pytest.CaptureFixture[str], text: bytes, reason: str
) -> None:
    path = run / ".hydra" / "config.yaml"
    path.write_bytes(text)
    assert failed(capsys, f"resume={run}").startswith(f"{path}: {reason}")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("seed: 0", "seed: x", "seed=x is not an int."),
        ("seed: 0", "seed: -1", "seed=-1 must be at least 0."),
        (
            "threads: 1\n",
            "",
            "truncated or altered (the key threads is missing). Take it from a backup, or train "
            "again.",
        ),
        (
            "  name: multiclass",
            "  name: [1]",
            "task needs the name of a component: set task=NAME. Installed: ",
        ),
        ("sweep:\n  resume: false", "sweep: 3", "sweep=3 is a number, and sweep takes a mapping"),
    ],
)
def test_configs_with_other_values(
    run: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, reason: str
) -> None:
    path = run / ".hydra" / "config.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    assert failed(capsys, f"resume={run}").startswith(f"{path}: {reason}")


def test_checkpoints(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A flipped bit, arrays of other lengths, and progress of another type."""
    path = run / "checkpoint" / "state.safetensors"
    whole = path.read_bytes()

    def said() -> str:
        message = failed(capsys, f"resume={run}", "optimizer.epochs=2")
        assert message.startswith(f"{path}: not a checkpoint of this run: ")
        return message

    path.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    assert "its arrays are not those that were written" in said()
    path.write_bytes(whole)
    arrays, notes = durable_files.read_arrays(path)
    durable_files.write_arrays(
        path, arrays, {**notes, "scalars": {**notes["scalars"], "visits": 7.0}}
    )
    assert "its notes are not those that were written" in said()
    # as of an earlier version
    forged = {key: notes[key] for key in notes.keys() - {"checksum", "checksums"}}
    short = {**arrays, "theta": arrays["theta"][1:]}
    layout = {name: [array.dtype.str, *array.shape] for name, array in short.items()}
    durable_files.write_arrays(path, short, {**forged, "arrays": layout})
    assert "its weights are not as many as the model's" in said()
    for key, value in (("epoch", "x"), ("passes", 3), ("best_epoch", 9), ("unknown", 1)):
        durable_files.write_arrays(
            path, arrays, {**forged, "progress": {**notes["progress"], key: value}}
        )
        assert "it is of another version" in said()
    path.write_bytes(whole)
    assert main.main([f"resume={run}", "optimizer.epochs=2"]) == 0


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("epoch,loss\n1,0.5\nx,1\n", 3),
        ("epoch\n1e5\n", 2),
        ("a,b\n1,2\n", 2),
        ("epoch\n1,2,3\n", 2),
        ("epoch,loss\n,1\n", 2),
    ],
)
def test_histories(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "history.csv"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        history.read(path)
    assert str(caught.value).startswith(
        f"{path}:{line}: this is not a row of a history, which has the epoch and a number or"
    )
    path.write_bytes(b"epoch\n\xff\n")
    with pytest.raises(DataError, match="this is not a row of a history"):
        history.read(path)


def test_records_of_runs(
    run: Path, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said() -> str:
        return failed(capsys, "compare", str(run), str(finished), f"output={tmp_path / 'table'}")

    metrics = run / "metrics.json"
    for text, reason in (
        ("{", "this is not JSON"),
        ("[" * 100_000, "this is not JSON"),
        ("[]", "this is not a JSON object."),
        ('{"dev": 3}', "the entry dev is not of the type"),
        ('{"dev": {"f1": "x"}}', "the entry dev is not of the type"),
    ):
        metrics.write_text(text)
        assert said().startswith(f"{metrics}: {reason}")
    shutil.copy(finished / "metrics.json", metrics)
    job, facts = (
        run / "job.json",
        {"number": 0, "overrides": [], "status": "FINISHED", "config": {"seed": 0}, "files": {}},
    )
    for change, reason in (
        ({"overrides": "x"}, "the entry overrides is not of the type"),
        ({"config": []}, "the entry config is not of the type"),
        ({"error": {}}, "the entry error is not of the type"),
    ):
        job.write_text(json.dumps(facts | change))
        assert said().startswith(f"{job}: {reason}")
    job.write_text(json.dumps({key: facts[key] for key in facts.keys() - {"number"}}))
    assert said() == f"{job}: the entry number is missing. Restore the file, or delete it."


def test_aliases_in_a_compared_run(finished: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    (run / ".hydra/config.yaml").write_bytes(ALIASES)
    with pytest.raises(ConfigError, match=r"config.yaml: this is not YAML \(its aliases expand to"):
        read_run(run)


def test_a_few_aliases_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: &a {x: 1}\nb: *a\n")
    assert saved_config.load(path) == {"a": {"x": 1}, "b": {"x": 1}}
