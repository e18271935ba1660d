"""The folder of a saved model: found, written, and read; every file is compared with its digest,
and none is run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from structopt.core.data import file_sets, ranges
from structopt.core.data.saved_state import ARRAYS, VALUES
from structopt.errors import ModelError
from structopt.formats import durable_files
from structopt.formats.crfsuite_models import is_model_file
from structopt.kernels.waist.record import Array

FORMAT = 1
MANIFEST = "manifest.json"
FILES = ("config.json", VALUES, ARRAYS)
TASK_MODEL, ARRAY_MODEL = "task", "arrays"
"""Kinds of models: with a task, and of arrays; each is a key of the config."""
ENTRIES: Mapping[str, Mapping[str, Sequence[str]]] = {
    TASK_MODEL: {
        "config.json": (TASK_MODEL, "factor_graph", "inference", "loss"),
        VALUES: ("task", "features"),
    },
    ARRAY_MODEL: {
        "config.json": (ARRAY_MODEL, "factor_graph", "inference"),
        VALUES: ("features",),
    },
}
"""The JSON files of each kind of model, and which of their keys hold mappings."""
LARGEST_MANIFEST = 1 << 20
"""Bytes of a manifest that are read at most."""
SCHEMA = "schema.json"
"""The columns of the model's inputs and outputs; models of version 0.1.0 lack it, and are read all
the same.
"""


class SavedModel(NamedTuple):
    """What a model folder holds.

    Attributes
    ----------
    config : mapping
        The nodes of the components.
    vocabulary : mapping
        What the components have learnt beside arrays, as JSON values.
    arrays : mapping of str to array
        ``weights``, and arrays of the components by names such as ``task.codes``.
    """

    config: Mapping[str, Any]
    vocabulary: Mapping[str, Any]
    arrays: Mapping[str, Array]

    def arrays_of(self, component: str) -> dict[str, Array]:
        """The arrays of a component, by the names that it knows itself."""
        prefix = f"{component}."
        return {
            name.removeprefix(prefix): array
            for name, array in self.arrays.items()
            if name.startswith(prefix)
        }


def write_folder(folder: Path, saved: SavedModel, schema: Mapping[str, Any]) -> None:
    """Write a model folder, with the `schema` of its inputs and outputs; equal models give equal
    bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    durable_files.write_json(folder / "config.json", saved.config)
    durable_files.write_json(folder / "vocabulary.json", saved.vocabulary)
    durable_files.write_json(folder / SCHEMA, schema)
    durable_files.write_arrays(folder / "weights.safetensors", dict(saved.arrays))
    manifest = {
        "format": FORMAT,
        "sha256": {name: file_sets.digest(folder / name) for name in (*FILES, SCHEMA)},
    }
    durable_files.write_json(folder / MANIFEST, manifest)


def kind_of_model(folder: Path) -> str:
    """Return the kind of model in a folder; that of damaged files is TASK_MODEL."""
    try:
        values = durable_files.read_json(folder / "config.json")
    except ModelError:
        return TASK_MODEL
    return ARRAY_MODEL if isinstance(values, dict) and ARRAY_MODEL in values else TASK_MODEL


def _names_a_task(folder: Path) -> bool:
    values = durable_files.read_json(folder / "config.json")
    return isinstance(values, dict) and isinstance(values.get("task"), dict)


def read_folder(folder: Path, kind: str = TASK_MODEL) -> SavedModel:
    """Read a model folder.

    Raises
    ------
    ModelError
        If a file is missing, truncated, altered, or of a later format; if the JSON files have not
        the entries of such a model; if weights are not finite.
    """
    _verify(folder)
    if kind == TASK_MODEL and kind_of_model(folder) == ARRAY_MODEL:
        raise ModelError(
            "is a model of arrays, which has no task.",
            where=str(folder),
            remedy="Apply it in Python: structopt.load(folder).predict(x=...).",
        )
    if kind == ARRAY_MODEL and _names_a_task(folder):
        raise ModelError(
            "is a model of a task, not of arrays.",
            where=str(folder),
            remedy="Load it by structopt.load(folder).",
        )
    config, vocabulary = (_mappings(folder / name, keys) for name, keys in ENTRIES[kind].items())
    arrays, _ = durable_files.read_arrays(folder / ARRAYS)
    _refuse_overflow(folder, arrays)
    return SavedModel(config, vocabulary, arrays)


def _mappings(path: Path, keys: Sequence[str]) -> dict[str, Any]:
    """Read a mapping in which these keys hold mappings."""
    values = durable_files.read_json(path)
    for key in keys:
        if not isinstance(values, dict) or not isinstance(values.get(key), dict):
            missing = f"it has no mapping '{key}'"
            raise ModelError(
                f"not the file of a model: {missing}. {durable_files.TAKE_ANOTHER}",
                where=str(path),
            )
    return dict(values)


def find_model(address: str) -> Path:
    """Return the model folder of a run folder, a model folder, or an MLflow address (``runs:/...``,
    ``models:/...``).

    Raises
    ------
    ModelError
        If there is no model there.
    """
    if address.startswith(("runs:/", "models:/")):
        return _download(address)
    folder = Path(address)
    for candidate in (folder, folder / "model", folder / "artifacts" / "model"):
        if os.path.isfile(candidate / MANIFEST):
            return candidate
    if is_model_file(folder):
        raise ModelError(
            f"{address}: is a model file of CRFsuite.",
            remedy=f"Import it first: structopt import model={address} output=FOLDER; in Python "
            "structopt.load reads it.",
        )
    what = "has no model in it" if os.path.isdir(folder) else "does not exist"
    raise ModelError(
        f"{address}: {what}.",
        remedy="Give a run folder, a model folder (with manifest.json), or an MLflow "
        "address such as runs:/ID/model.",
    )


def _download(address: str) -> Path:
    from structopt.tracker.logged_model import download_model

    for manifest in sorted(download_model(address).rglob(MANIFEST)):
        return manifest.parent
    raise ModelError(f"{address}: this MLflow model was not saved by structopt.")


def _verify(folder: Path) -> None:
    """Compare every file with the digest in the manifest."""
    if not (folder / MANIFEST).is_file():
        raise ModelError(
            "there is no model here (manifest.json is missing).",
            where=str(folder),
            remedy="Give a folder that a run or Model.save wrote.",
        )
    manifest = durable_files.read_json(folder / MANIFEST, LARGEST_MANIFEST)
    expected, version = (
        manifest.get(key) if isinstance(manifest, dict) else None for key in ("sha256", "format")
    )
    if (
        not isinstance(version, int)
        or not isinstance(expected, dict)
        or not all(map(_is_file_name, expected))
    ):
        raise ModelError(f"{folder / MANIFEST}: truncated or altered. {durable_files.TAKE_ANOTHER}")
    if version > FORMAT:
        raise ModelError(
            f"the model has format {version}; this version reads {FORMAT}.",
            where=str(folder),
            remedy="Update structopt.",
        )
    for name in dict.fromkeys((*FILES, *expected)):
        if not (folder / name).is_file():
            raise ModelError(
                f"{folder / name}: the file is missing; the model is not complete. "
                f"{durable_files.TAKE_ANOTHER}"
            )
        if file_sets.digest(folder / name) != expected.get(name):
            raise ModelError(
                f"{folder / name}: truncated or altered since it was saved. "
                f"{durable_files.TAKE_ANOTHER}"
            )


def _is_file_name(name: str) -> bool:
    """Whether a name is that of a file in the folder, and not of one elsewhere."""
    return Path(name).name == name and name.isprintable()


def _refuse_overflow(folder: Path, arrays: Mapping[str, Array]) -> None:
    """Refuse weights that are not finite, the model's own or its pruner's: they predict nothing."""
    for name in ("weights", "pruner.weights"):
        if name in arrays and arrays[name].dtype.kind == "f" and not ranges.finite(arrays[name]):
            count = int(np.count_nonzero(~np.isfinite(arrays[name])))
            raise ModelError(
                f"{folder / 'weights.safetensors'}: {count} of {arrays[name].size} {name} "
                "are not finite numbers: the training of this model overflowed.",
                remedy="Train again, with a smaller optimizer.C or optimizer.eta, or "
                "features scaled down.",
            )
