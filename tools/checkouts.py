"""Run structopt from checkouts of several revisions, in the environment of this Python.

`tools/equal.py` and `tools/faster.py` share this module: checkouts and their worker processes
(`tools/checkout_worker.py`), and the settings of `tools/comparison.yaml`.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
EXPORTS = ROOT / ".cache" / "compare"
SETTINGS = ROOT / "tools" / "comparison.yaml"
KINDS = ("loss", "inference", "optimizer", "factor_graph", "features", "task")
"""Kinds that every configuration chooses; settings of later kinds override those of earlier ones.
"""
PLAIN = re.compile(r"[\w./+-]+")
"""Strings that an override needs no quotes for."""


class Failed(Exception):
    """A revision cannot be exported, or a command failed in a checkout."""


@dataclass(frozen=True)
class Checkout:
    """The code of one revision.

    Attributes
    ----------
    name : str
        The revision or folder as it was named.
    folder : Path
    metadata : Path
        The folder with a ``dist-info`` of its entry points, before the environment's.
    components : mapping of kind to names
        What its entry points register.
    """

    name: str
    folder: Path
    metadata: Path
    components: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, revision: str, scratch: Path) -> Checkout:
        """Find or export a revision.

        Parameters
        ----------
        revision : str
            A git revision, the folder of a checkout, or the empty string for this working tree.
        scratch : Path
            An empty folder for the metadata.

        Raises
        ------
        Failed
            If it is neither a folder with structopt nor a revision.
        """
        if not revision or (Path(revision) / "structopt" / "__init__.py").is_file():
            folder = Path(revision or ROOT).resolve()
        else:
            folder = _export(revision)
        components = _write_metadata(folder, scratch)
        return cls(revision or "the working tree", folder, scratch, components)

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of its processes."""
        return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (self.folder, self.metadata)))}

    def lacks(self, settings: Mapping[str, Any]) -> list[str]:
        """List the components that settings choose and this revision does not have."""
        chosen = {kind: settings[kind].rpartition("/")[2] for kind in KINDS}
        chosen["cost"] = settings["loss.cost"]
        return [f"{k}={v}" for k, v in chosen.items() if v not in self.components.get(k, ())]


def _export(revision: str) -> Path:
    """Export a revision, unless an earlier run did: compiled kernels may lie in its folder."""
    commit = _git("rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()
    folder = EXPORTS / commit
    if not folder.is_dir():
        EXPORTS.mkdir(parents=True, exist_ok=True)
        temporary = tempfile.mkdtemp(dir=EXPORTS)
        with tarfile.open(fileobj=io.BytesIO(_git("archive", commit))) as archive:
            archive.extractall(temporary, filter="data")
        try:
            os.rename(temporary, folder)
        except OSError:  # another process exported it meanwhile
            shutil.rmtree(temporary)
    return folder


def _git(*words: str) -> bytes:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, check=False)
    if done.returncode:
        raise Failed(
            f"git {' '.join(words)}: {done.stderr.decode().strip()}. Name a revision of this "
            "repository, or the folder of a checkout."
        )
    return done.stdout


def _write_metadata(folder: Path, target: Path) -> dict[str, frozenset[str]]:
    """Write the ``dist-info`` of a checkout; return the names in its entry-point groups by kind."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf8"))["project"]
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    name, version = project["name"], project["version"]
    info = target / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in points.items())
            for group, points in groups.items()
        )
    )
    return {group.rpartition(".")[2]: frozenset(points) for group, points in groups.items()}


class Worker:
    """A process that imports structopt from a checkout once and runs one command after another.

    Parameters
    ----------
    checkout : Checkout
    folder : Path
        Its working directory.
    """

    def __init__(self, checkout: Checkout, folder: Path) -> None:
        self.checkout = checkout
        folder.mkdir(parents=True, exist_ok=True)
        program = ROOT / "tools" / "checkout_worker.py"
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(program), str(checkout.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=checkout.environment,
        )

    @property
    def alive(self) -> bool:
        """Whether it can answer another request."""
        return self._process.poll() is None

    def ask(self, function: str, *arguments: Any) -> Any:
        """Call a function of `tools/checkout_worker.py` in the process, and return its result.

        Raises
        ------
        Failed
            If the function raises an error or the process ends.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps([function, arguments]) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise Failed(f"the process ended with status {self._process.wait()}")
        result, error = json.loads(answer)
        if error:
            raise Failed(error)
        return result

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait()


@dataclass(frozen=True)
class Configuration:
    """A run that is compared, or timed.

    Attributes
    ----------
    name : str
    settings : mapping of key to value
        All that are set on the command line.
    predict : mapping of option to value
        Options of ``structopt predict``; empty if nothing is predicted.
    measure : str
        What a benchmark times.
    grow : int
        How often a benchmark repeats the shipped corpus.
    limit : float
        The greatest ratio of times that a benchmark allows.
    """

    name: str
    settings: Mapping[str, Any]
    predict: Mapping[str, Any] = field(default_factory=dict)
    measure: str = "epoch"
    grow: int = 1
    limit: float = 1.05

    @property
    def lacks_data(self) -> bool:
        """Whether it reads real data and STRUCTOPT_DATA does not name their folder."""
        return "$STRUCTOPT_DATA" in repr(self.settings) and "STRUCTOPT_DATA" not in os.environ

    def words(self, worker: Worker) -> list[str]:
        """Return its overrides, without the optional keys that the worker's checkout lacks."""
        optional = {key for key in _file()["optional"] if key in self.settings}
        if optional:
            required = {key: v for key, v in self.settings.items() if key not in optional}
            composed = worker.ask("composed", overrides(required))
            optional = {key for key in optional if not _has(composed, key)}
        return overrides({key: v for key, v in self.settings.items() if key not in optional})


def _has(config: Any, key: str) -> bool:
    """Whether a nested config has a dotted key."""
    for name in key.split("."):
        if not isinstance(config, Mapping) or name not in config:
            return False
        config = config[name]
    return True


@cache
def _file() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(SETTINGS.read_text(encoding="utf8"))
    return loaded


def configurations(section: str, pattern: str = "") -> list[Configuration]:
    """Read a section of `tools/comparison.yaml`: ``configurations`` or ``benchmarks``.

    Parameters
    ----------
    section : str
    pattern : str
        A regular expression; only configurations whose names contain it are returned.
    """
    return [
        Configuration(**{**one, "settings": settings_of(one["settings"])})
        for one in _file()[section]
        if re.search(pattern, one["name"])
    ]


def settings_of(own: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the settings of all configurations, of the chosen components, and of one."""
    shared = _file()["settings"]
    settings = dict(shared["all"])
    for kind in KINDS:
        settings |= shared.get(f"{kind}={own[kind]}", {})
    return settings | dict(own)


def overrides(settings: Mapping[str, Any]) -> list[str]:
    """Write settings as overrides of the command line."""
    return [f"{key}={_written(value)}" for key, value in settings.items()]


def _written(value: Any) -> str:
    """Write a value in Hydra's grammar."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_written(one)}" for key, one in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ",".join(map(_written, value)) + "]"
    if not isinstance(value, str):
        return "null" if value is None else str(value).lower()
    text = os.path.expandvars(value)
    return text if PLAIN.fullmatch(text) else "'" + text.replace("'", "\\'") + "'"
