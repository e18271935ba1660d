"""Facts that are recorded of a run beside its metrics: parameters, tags, and the fingerprints of
its data.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import math
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structopt.core.data.config_keys import Purpose, dotted, relevant
from structopt.core.data.file_sets import DataPath, FileSet, digest
from structopt.core.data.splits import SplitPath
from structopt.core.entry_points import core_version, plugins, version_of
from structopt.core.tracker import Run
from structopt.tracker.stores import RUN_FOLDER
from structopt.tracker.sweep_run import PARENT

PARENT_VARIABLE = "STRUCTOPT_PARENT_RUN"
_LONGEST_VALUE = 500
_CONTEXTS = {"train": "training", "dev": "validation", "test": "test"}
"""What MLflow calls the splits."""


def _text(value: Any) -> str:
    """Write a value as it is typed (``inf``, ``null``, ``true``), cut where it is very long."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    text = f"[{','.join(map(_text, value))}]" if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def allowed_name(key: str) -> str:
    """Replace what MLflow refuses in a name."""
    return "".join(letter if letter.isalnum() or letter in "_-. /:" else "_" for letter in key)[
        :250
    ]


def finite(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics that are finite numbers: sqlite stores turn infinity into 1.8e308."""
    numbers = {key: value for key, value in metrics.items() if value is not None}
    return {key: float(value) for key, value in numbers.items() if math.isfinite(value)}


def params(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the configuration as params, without keys that are null or do not matter to what was
    learnt.
    """
    values = {
        key: _text(value) for key, value in dotted(relevant(config, Purpose.TRACKING)).items()
    }
    return {allowed_name(key): value for key, value in values.items() if value != "null"}


def run_tags(run: Run) -> dict[str, str]:
    """Return versions (of plugins, too), user, folder and parent of a run as tags."""
    tags = common_tags() | {RUN_FOLDER: str(run.folder)}
    tags |= {f"version.{name}": version for name, version in plugins(run.config).items()}
    if parent := run.parent or os.environ.get(PARENT_VARIABLE):
        tags[PARENT] = parent
    if run.job is not None:
        tags |= {"job": str(run.job)}
    return tags


def common_tags() -> dict[str, str]:
    """Return versions and user as tags."""
    tags = {"mlflow.source.name": "structopt", "mlflow.source.type": "LOCAL"}
    tags |= {
        "version.structopt": core_version(),
        "version.python": platform.python_version(),
    }
    tags |= {
        f"version.{package}": number
        for package in ("numpy", "numba")
        if (number := version_of(package))
    }
    with contextlib.suppress(Exception):
        tags["mlflow.user"] = getpass.getuser()
    return tags


def git_tags() -> dict[str, str]:
    """Return the commit of the current folder's repository and whether files differ from it; no
    tags outside a repository.
    """
    commit = _git("rev-parse", "HEAD")
    if not commit:
        return {}
    changes = _git("status", "--porcelain", "--untracked-files=no")
    dirty = "unknown" if changes is None else json.dumps(bool(changes))
    return {"mlflow.source.git.commit": commit, "git.dirty": dirty}


def _git(*arguments: str) -> str | None:
    """Return the output of a git command, or None where it fails."""
    try:
        done = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, timeout=2.0, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def fingerprint(path: DataPath) -> dict[str, Any]:
    """Return name, size, SHA-256 digest and address of a split's file, or of its files together;
    empty where it has none.
    """
    file = path.source if isinstance(path, SplitPath) else path
    if file is None or not file.is_file():
        return {}
    size = (
        sum(len(data) for _, data in file.contents())
        if isinstance(file, FileSet)
        else file.stat().st_size
    )
    return {
        "name": path.name,
        "size": size,
        "sha256": digest(file),
        "uri": Path(file).resolve().as_uri(),
    }


def fingerprints(files: Mapping[str, DataPath]) -> dict[str, dict[str, Any]]:
    """Return the fingerprint of every split that has files."""
    known = {split: fingerprint(path) for split, path in files.items()}
    return {split: facts for split, facts in known.items() if facts}


def dataset_input(split: str, facts: Mapping[str, Any]) -> Any:
    """Describe a data file as an MLflow input; MLflow keeps 36 characters of a digest, the profile
    holds all of it.
    """
    from mlflow.entities import Dataset, DatasetInput, InputTag

    profile = json.dumps({"size": facts["size"], "sha256": facts["sha256"]})
    source = json.dumps({"uri": facts["uri"]})
    dataset = Dataset(facts["name"], facts["sha256"][:32], "local", source, profile=profile)
    return DatasetInput(
        dataset, tags=[InputTag("mlflow.data.context", _CONTEXTS.get(split, split))]
    )
