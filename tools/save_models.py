"""Train the small models that ``tests/test_saved_models.py`` loads, and store their predictions.

::

    python tools/save_models.py 0.2              # all models, and the run folder
    python tools/save_models.py 0.2 ner grid     # these only

``tests/saved/VERSION/models.toml`` lists the models; ``inputs/`` has their data. If the folder of
the version has none, both are copied from the version before. The code of the installed package
trains the models, so run this in a checkout of the release. The folders of earlier versions never
change: they show that later code reads what earlier code wrote.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import structopt
from structopt.command.main import main as structopt_main
from structopt.formats.labelled_images import Image
from structopt.formats.trees.penn import Node

if TYPE_CHECKING:
    from structopt.model.model import Model

SAVED = Path(__file__).resolve().parents[1] / "tests" / "saved"
LIST, INPUTS, MODELS, PREDICTIONS, RUN = "models.toml", "inputs", "models", "predictions", "run"
UNTRACKED = ("tracker=none", "quiet=true")
K = 3
"""How many outputs `predict_k_best` lists."""
MIN_NAME = 3
"""Shorter names of machines occur in any text."""
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}")


@dataclass(frozen=True)
class SavedModel:
    """One entry of the list.

    Attributes
    ----------
    name : str
    folder : str
        The model's folder, relative to that of the version.
    train : sequence of str
        Overrides of the training run.
    inputs : str or list
        The file that is predicted, or instances in memory.
    outputs : sequence of str
        Methods besides `predict` and `predict_table`.
    written : sequence of str or None
        Options of the command ``predict``; None: the model writes no file.
    sources : mapping or None
        Files of features, for `structopt.load`.
    table : bool
        Whether the model predicts tables, such as the example that is saved with it.
    fault : str
        Why the code of this version cannot load the model; empty if it can. The predictions are
        those of the model in memory after training.
    resume : sequence of str
        Of a run folder: what is set when the run is resumed.
    """

    name: str
    folder: str
    train: Sequence[str]
    inputs: str | list[Any]
    outputs: Sequence[str]
    written: Sequence[str] | None = None
    sources: Mapping[str, Any] | None = None
    table: bool = True
    fault: str = ""
    resume: Sequence[str] = ()


def versions() -> list[Path]:
    """Return the folders of all versions, the oldest first."""
    folders = (path.parent for path in SAVED.glob(f"*/{LIST}"))
    return sorted(folders, key=lambda folder: [int(number) for number in folder.name.split(".")])


def listed(version: Path) -> list[SavedModel]:
    """Return the models of a version, and its run folder as the last entry."""
    content = tomllib.loads((version / LIST).read_text(encoding="utf8"))
    models = [_entry(node, f"{MODELS}/{node['name']}") for node in content["models"]]
    return [*models, _entry({"name": RUN, **content["run"]}, RUN)]


def _entry(node: Mapping[str, Any], folder: str) -> SavedModel:
    rest = {key: value for key, value in node.items() if key not in ("input", "instances")}
    return SavedModel(folder=folder, inputs=node.get("input") or node["instances"], **rest)


def predictions(model: SavedModel, target: Path, trained: Model | None = None) -> dict[str, Any]:
    """Compute what the list asks of a model, in the folder of its version.

    Parameters
    ----------
    model : SavedModel
    target : Path
        The file that the command ``predict`` writes, if it writes one.
    trained : Model or None
        The model in memory; None: the saved model is loaded.

    Returns
    -------
    dict
        From the name of a method to its result, as values of JSON.
    """
    loaded = trained or structopt.load(model.folder, model.sources)
    results = {"predict": loaded.predict(model.inputs)}
    if model.table:
        results["predict_table"] = loaded.predict_table(_example(model))
    for output in model.outputs:
        if output == "k_best":
            results[output] = loaded.predict_k_best(model.inputs, K)
        else:
            results[output] = getattr(loaded, output)(model.inputs)
    if model.written is not None:
        words = [f"model={model.folder}", f"input={model.inputs}", f"output={target}"]
        if structopt_main(["predict", *words, *model.written, "quiet=true"]) != 0:
            raise RuntimeError(f"{model.name}: the command predict failed.")
    return {name: plain(result) for name, result in results.items()}


def _example(model: SavedModel) -> Any:
    """The table of inputs that was saved with the model, as `predict_table` takes it."""
    folder = Path(model.folder)
    folder = folder / "model" if (folder / "model").is_dir() else folder
    return json.loads((folder / "schema.json").read_text(encoding="utf8"))["example"]


def plain(value: Any) -> Any:
    """Return a result as values of JSON: of an image its labels, of a tree its brackets."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, Image):
        return plain(value.labels)
    if isinstance(value, Node):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def written_name(model: SavedModel) -> str:
    """Return the name of the file that the command ``predict`` writes for a model."""
    return f"{model.name}{Path(str(model.inputs)).suffix}"


def resumed(run: SavedModel, folder: Path) -> dict[str, Any]:
    """Copy a run folder with its data to `folder`, resume the run there, and use its model.

    The current folder is that of the version.

    Returns
    -------
    dict
        The metrics of the longer run, without its times, and the predictions.
    """
    for name in (INPUTS, run.folder):
        shutil.copytree(name, folder / name)
    with chdir(folder):
        if structopt_main([f"resume={run.folder}", *run.resume, "quiet=true"]) != 0:
            raise RuntimeError(f"{run.name}: the run cannot be resumed.")
        metrics = json.loads((Path(run.folder) / "metrics.json").read_text(encoding="utf8"))
        training = {key: metrics["train"][key] for key in ("objective", "epochs", "instances")}
        predicted = predictions(run, folder / "unused")
    return {"train": training, "dev": metrics["dev"], **predicted}


def _train(model: SavedModel) -> Model:
    """Train a model, in the folder of its version, and return it."""
    shutil.rmtree(model.folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        trained = structopt.train([*model.train, *UNTRACKED], folder=Path(scratch) / "run")
        shutil.copytree(Path(scratch) / "run" / "model", model.folder)
    return trained


def _train_run(run: SavedModel) -> None:
    """Train the run folder by the command line, and replace paths and times in it."""
    shutil.rmtree(run.folder, ignore_errors=True)
    words = [*run.train, *UNTRACKED, f"hydra.run.dir={run.folder}"]
    subprocess.run([sys.executable, "-m", "structopt", *words], check=True)
    package = str(Path(structopt.__file__).resolve().parents[1])
    for path in Path(run.folder).rglob("*"):
        if path.suffix in (".yaml", ".log"):
            text = path.read_text(encoding="utf8").replace(os.getcwd(), ".").replace(package, ".")
            path.write_text(TIME.sub("2000-01-01 00:00:00,000", text), encoding="utf8")


def _store(model: SavedModel, trained: Model | None) -> None:
    """Write the predictions of a model, in the folder of its version."""
    folder = Path(PREDICTIONS)
    folder.mkdir(exist_ok=True)
    results = predictions(model, folder / written_name(model), trained)
    if model.resume:
        with tempfile.TemporaryDirectory() as scratch:
            results["resumed"] = resumed(model, Path(scratch))
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in results.items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (folder / f"{model.name}.json").write_text(text, encoding="utf8")


def _check_paths(version: Path) -> None:
    """Refuse a folder that names this machine or a path on it."""
    package = Path(structopt.__file__).resolve().parents[1]
    for path in filter(Path.is_file, version.rglob("*")):
        content = path.read_bytes()
        for name in (str(version), str(package), str(Path.home()) + "/", platform.node()):
            if len(name) > MIN_NAME and name.encode() in content:
                raise RuntimeError(f"{path}: names {name}.")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version", help="such as 0.2")
    parser.add_argument("names", nargs="*", help="models; none: all models, and the run folder")
    options = parser.parse_args()
    version = SAVED / options.version
    if not (version / LIST).is_file():
        shutil.copytree(versions()[-1] / INPUTS, version / INPUTS)
        shutil.copy(versions()[-1] / LIST, version / LIST)
    models = listed(version)
    if unknown := set(options.names) - {model.name for model in models}:
        parser.error(f"{version / LIST} has no model named {', '.join(sorted(unknown))}.")
    with chdir(version):
        for model in models:
            if options.names and model.name not in options.names:
                continue
            print(model.name, flush=True)
            trained = (_train_run if model.resume else _train)(model)
            _store(model, trained if model.fault else None)
    _check_paths(version)


if __name__ == "__main__":
    main()
