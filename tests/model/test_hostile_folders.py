"""Model folders that are damaged, or put together from several: one error that names the folder;
never a traceback or a crash.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

import structopt
from structopt import datasets
from structopt.command import main
from structopt.config import registry
from structopt.errors import ConfigError, ModelError
from structopt.task.multiclass import Multiclass
from tests.model.folder_mutations import sign

pytestmark = pytest.mark.nightly("fuzzing")

ROOT = Path(__file__).parents[2]
HASHED = ["features.hash_bits=10", "features.label_bits=4"]
MODELS = {
    "ner": ["task=ner", "task.limit=20"],
    "order2": [
        "task=ner",
        "task.limit=10",
        "factor_graph.order=2",
        "task.valid_tags=true",
        "features.support=all",
    ],
    "attributes": ["task=attributes", "task.limit=20"],
    "tree": ["task=dependency", "task.limit=10", *HASHED],
    "second": [
        "task=dependency",
        "task.limit=10",
        "factor_graph=second_order",
        "factor_graph.pruner_epochs=1",
        *HASHED,
    ],
    "multilabel": ["task=multilabel", "task.limit=20"],
    "grid": ["task=grid", "task.limit=2"],
    "multiclass": ["task=multiclass", "task.limit=20", "features.support=all"],
}
INPUTS = {
    "ner": "conll",
    "order2": "conll",
    "attributes": "crfsuite",
    "tree": "conllu",
    "second": "conllu",
}
LINES = {"multilabel": "multilabel", "multiclass": "libsvm"}
FEW, MANY = 60, 320


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each model, with ``model/`` and a small file to predict."""
    folder = tmp_path_factory.mktemp("models")
    for name, words in MODELS.items():
        model = structopt.train(
            [*words, "optimizer.epochs=1", "tracker=none", "task.dev=null", "task.test=null"],
            folder / name,
        )
        if name in INPUTS:
            text = datasets.path("dev", INPUTS[name]).read_text(encoding="utf8")
            (folder / name / "input").write_text("\n\n".join(text.split("\n\n")[:2]) + "\n\n")
        elif name in LINES:
            lines = datasets.path("dev", LINES[name]).read_text(encoding="utf8").splitlines()[:4]
            (folder / name / "input").write_text("\n".join(lines) + "\n")
        else:
            image = model.task.read(model.task.files["train"], 1)
            np.savez(
                folder / name / "input.npz", shapes_x=np.array([[2, 3]]), pixels=image.pixels[:6]
            )
    return folder


def test_few_mutations(models: Path) -> None:
    check_mutations(models, "first", FEW)


def test_many_mutations(models: Path, pytestconfig: pytest.Config) -> None:
    check_mutations(models, str(pytestconfig.getoption("fuzzing_seed")), MANY)


def check_mutations(models: Path, seed: str, mutations: int) -> None:
    """Loading and predicting answers, or is refused with one message that names the folder if the
    fault is in the folder.
    """
    command = [
        sys.executable,
        "-m",
        "tests.model.hostile_folders",
        str(models),
        seed,
        "0",
        str(mutations),
    ]
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.returncode == 0, (
        f"crashed ({ended.returncode}) at {lines[-1:]}: {ended.stderr[-2000:]}"
    )
    trials = [before | after for before, after in zip(lines[::2], lines[1::2], strict=True)]
    assert [trial for trial in trials if trial["outcome"] not in ("answered", "refused")] == []
    counts = Counter(trial["outcome"] for trial in trials)
    assert counts["answered"] > mutations / 10 and counts["refused"] > mutations / 2
    unnamed = [
        trial
        for trial in trials
        if trial["outcome"] == "refused" and "MODEL" not in trial["message"]
    ]
    assert [trial for trial in unnamed if "task.encoding" not in trial["message"]] == []


def altered(models: Path, name: str, tmp_path: Path, **changes: Any) -> Path:
    """A copy of a model with other arrays, or entries of vocabulary.json, and with the digests of
    these.
    """
    folder = Path(shutil.copytree(models / name / "model", tmp_path / "model"))
    arrays = load((folder / "weights.safetensors").read_bytes())
    values = json.loads((folder / "vocabulary.json").read_text())
    for key, change in changes.items():
        at = key.replace("__", ".")
        if at in arrays:
            arrays[at] = np.ascontiguousarray(change(arrays[at]))
        else:
            first, last = at.split(".")
            values[first][last] = change(values[first][last])
    (folder / "weights.safetensors").write_bytes(save(arrays))
    (folder / "vocabulary.json").write_text(json.dumps(values))
    sign(folder)
    return folder


def refused(folder: Path) -> str:
    with pytest.raises(ModelError) as caught:
        structopt.load(folder)
    return str(caught.value)


REMEDY = (
    "The files were altered, or are not of one model. Take the folder from a backup, or train "
    "again."
)


@pytest.mark.parametrize(
    ("name", "changes", "text"),
    [
        (
            "order2",
            {"weights": lambda a: a[:-5]},
            "the features cannot be restored: weights.safetensors: the array weights must "
            "be of type float64 and shape ",
        ),
        (
            "multiclass",
            {"task__index_offsets": lambda a: a - 1},
            "task=multiclass cannot be restored: weights.safetensors: the "
            "array index_offsets must be offsets that begin at 0, never fall, and end at ",
        ),
        (
            "ner",
            {"task__label.keys": lambda a: a[::-1]},
            "task=ner cannot be restored: weights.safetensors: the array label.keys "
            "must be numbers from 0 that ascend and stay below ",
        ),
        (
            "ner",
            {"task__labels": lambda labels: labels[1:]},
            "the model cannot be restored: features: there are weights for label (",
        ),
        (
            "multilabel",
            {"task__names": lambda names: [names[0], *names]},
            "task=multilabel cannot be restored: vocabulary.json: "
            "names must be a list of distinct strings, and is [",
        ),
        (
            "grid",
            {"task__scale": lambda a: a * np.nan},
            "task=grid cannot be restored: weights.safetensors: the array scale must "
            "be finite: 3 of its numbers are not",
        ),
        (
            "second",
            {"pruner__temperature": lambda t: -t},
            "the pruner cannot be restored: vocabulary.json: temperature must be a "
            "finite number above 0, and is -1.0.",
        ),
        (
            "tree",
            {"features__hash_bits": lambda bits: 60},
            "the features cannot be restored: features.hash_bits=60 must be an "
            "integer from 10 to 28.",
        ),
    ],
)
def test_altered_entries(
    models: Path, tmp_path: Path, name: str, changes: dict[str, Any], text: str
) -> None:
    folder = altered(models, name, tmp_path, **changes)
    message = refused(folder)
    assert message.startswith(f"{folder}: {text}"), message
    assert message.endswith(REMEDY)


def test_files_of_another_model(models: Path, tmp_path: Path) -> None:
    """Files swapped between tasks, with digests that are right."""
    folder = Path(shutil.copytree(models / "ner" / "model", tmp_path / "model"))
    shutil.copy(models / "multiclass" / "model" / "vocabulary.json", folder)
    sign(folder)
    assert (
        refused(folder)
        == f"{folder}: task=ner cannot be restored: vocabulary.json: scheme is missing. {REMEDY}"
    )
    shutil.copy(models / "multiclass" / "model" / "config.json", folder)
    sign(folder)
    text = (
        "task=multiclass cannot be restored: weights.safetensors: the array index_bytes must be "
        "of type uint8 and shape any, "
    )
    assert refused(folder) == f"{folder}: {text}and is missing. {REMEDY}"
    config = json.loads((models / "ner" / "model" / "config.json").read_text())
    for name in ("vocabulary.json", "weights.safetensors"):
        shutil.copy(models / "ner" / "model" / name, folder)
    (folder / "config.json").write_text(json.dumps(config | {"inference": {"name": "ad3"}}))
    sign(folder)
    assert (
        "the model cannot be restored: inference=ad3 cannot solve structures of kind chain."
        in refused(folder)
    )
    (folder / "config.json").write_text(
        json.dumps(config | {"inference": {"name": "exact", "passes": 3}})
    )
    sign(folder)
    with pytest.raises(ConfigError, match="inference=exact has no parameter 'passes'") as caught:
        structopt.load(folder)
    assert str(caught.value).startswith(f"{folder / 'config.json'}: ")


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "manifest.json"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"x": "\xff"}', "'utf-8' codec can't decode"),
        (b"9" * 5000, "Exceeds the limit"),
    ],
)
def test_json(models: Path, tmp_path: Path, name: str, text: bytes, reason: str) -> None:
    folder = Path(shutil.copytree(models / "grid" / "model", tmp_path / "model"))
    (folder / name).write_bytes(text)
    if name != "manifest.json":
        sign(folder)
    message = refused(folder)
    assert message.startswith(f"{folder / name}: truncated or altered.") and reason in message


def test_manifests(models: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(models / "grid" / "model", tmp_path / "model")) / "manifest.json"
    for text in (
        '{"format": 1e999, "sha256": {}}',
        '{"format": 1, "sha256": []}',
        '{"format": 1, "sha256": {"../x": "y"}}',
    ):
        path.write_text(text)
        assert refused(path.parent).startswith(f"{path}: truncated or altered.")
    path.write_text(" " * (1 << 20) + "{}")
    assert refused(path.parent).startswith(
        f"{path}: 1048578 bytes, where at most 1048576 are read."
    )


def test_a_component_that_checks_nothing(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of a plugin may: what it raises is the cause of the error."""

    class Careless(Multiclass):
        def restore(self, values: Any, arrays: Any) -> None:
            self.labels = values["classes"]

    folder = Path(shutil.copytree(models / "multiclass" / "model", tmp_path / "model"))
    loaded = registry.load
    monkeypatch.setattr(
        registry, "load", lambda kind, name: Careless if kind == "task" else loaded(kind, name)
    )
    with pytest.raises(ModelError) as caught:
        structopt.load(folder)
    assert (
        str(caught.value)
        == f"{folder}: task=multiclass cannot be restored (KeyError: 'classes'). {REMEDY}"
    )
    assert isinstance(caught.value.__cause__, KeyError)


def test_commands(models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever loads a model says the same, in one message, with exit code 2."""
    folder = altered(models, "ner", tmp_path, weights=lambda a: a[1:])
    data, run = models / "ner" / "input", f"hydra.run.dir={tmp_path / 'run'}"
    for words in (
        ["predict", f"model={folder}", f"input={data}", f"output={tmp_path / 'out'}"],
        ["evaluate", f"model={folder}", f"input={data}"],
        ["task=ner", "task.limit=20", "tracker=none", f"warm_start={folder}", run],
    ):
        assert main.main(words) == 2
        (line,) = (
            line for line in capsys.readouterr().err.splitlines() if line.startswith("structopt: ")
        )
        assert (
            f"{folder}: the features cannot be restored: weights.safetensors: the array weights "
            "must be" in line
        )
    tree = altered(models, "tree", tmp_path / "other", weights=lambda a: a[1:])
    words = [
        "task=dependency",
        "task.limit=10",
        "factor_graph=second_order",
        f"factor_graph.pruner={tree}",
        "tracker=none",
        run,
    ]
    assert main.main(words) == 2
    assert f"{tree}: the features cannot be restored" in capsys.readouterr().err
