"""The training split in files: featurised once, kept under the digests of data and settings, opened by every run with these."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from structopt.core.data import file_sets
from structopt.core.data.encoded import Encoded
from structopt.core.scorer import SparseFeatures
from structopt.errors import ConfigError
from structopt.formats.array_folder import UnusableFolder
from structopt.objective.corpus_folder import open_corpus, write_corpus
from structopt.objective.fingerprint import digest_of
from structopt.progress import phases
from structopt.run.components import Components

log = logging.getLogger(__name__)

ROOT = Path("outputs") / "featurised"
VERSION = 1
"""Of what tasks make of the same data and settings: folders of another one are left alone."""
APART = ("train", "dev", "test", "default_C", "default_C_by")
"""Settings of tasks that featurising does not read; of the training data there is a digest."""


def in_files(config: Mapping[str, Any]) -> bool:
    """Whether a config asks for the training split in files; those of earlier versions do not."""
    return (config.get("storage") or {}).get("name") == "disk"


def featurised(config: Mapping[str, Any], components: Components) -> Encoded:
    """Map the training split, which is featurised where no folder has it yet; the task is then fitted.

    Raises
    ------
    ConfigError
        For what storage=disk cannot do, and where the disk is full.
    DataError
        Where the data are malformed.
    """
    _refuse(config, components)
    key = _key(config, components)
    folder = Path(config["storage"]["folder"] or ROOT) / digest_of([], key)[:24]
    try:
        return _open(folder, key, components)
    except UnusableFolder as reason:
        if folder.exists():
            log.warning("%s: %s; it is not used, and made anew.", folder, reason)
    _make(folder, key, config, components)
    return _open(folder, key, components)


def _open(folder: Path, key: Mapping[str, Any], components: Components) -> Encoded:
    encoded, state = open_corpus(folder, key)
    components.task.restore(*state)
    log.info("storage: %s has the training split, %d instances", folder, len(encoded))
    return encoded


def _make(folder: Path, key: Mapping[str, Any], config: Mapping[str, Any], components: Components) -> None:
    """Read the data, once or twice to learn of them and once to write them."""
    task = components.task
    path = task.files["train"]

    def blocks() -> Iterator[Any]:
        return task.blocks(path, task.limit)

    task.learn(blocks)
    with phases.phase("featurising", path.name):
        write_corpus(folder, key, map(task.encode, blocks()), task.state())


def _key(config: Mapping[str, Any], components: Components) -> dict[str, Any]:
    """What decides the files: data, settings of task and features, word lists."""
    path, lists = components.task.files["train"], (config["features"].get("lists") or {}).values()
    task = {name: value for name, value in config["task"].items() if name not in APART}
    features = {name: value for name, value in config["features"].items() if name != "support"}
    digests = [file_sets.digest(file_sets.data_path(one)) for one in (path, *lists)]
    return {"version": VERSION, "data": digests, "task": task, "features": features}


def _refuse(config: Mapping[str, Any], components: Components) -> None:
    """Refuse what needs the training split in memory, with the reason."""
    of, warm_start = components, config.get("warm_start") or {}
    if "://" in str(config["storage"]["folder"] or ""):
        raise ConfigError(
            f"storage.folder={config['storage']['folder']} is a URL, and files are mapped from a path. Name a folder of a "
            "file system that all machines see."
        )
    if not of.task.reads_blocks:
        raise ConfigError(
            f"storage=disk reads training data in blocks, and task={config['task']['name']} reads them as a whole. Type "
            "storage=memory. Tasks that read in blocks: those on columns of tokens (ner, chunking, tagging), and task=attributes."
        )
    reasons = {
        "these are in memory": bool(of.memory),
        "task.partial=true makes sets of labels": of.task.partial,
        f"features={config['features']['name']} reads other data": not isinstance(of.scorer, SparseFeatures),
        "factor_graph.pruner marks the candidates of every instance": of.graph.pruning is not None,
        "task.tagger gives the training data a column": of.task.annotates,
        "warm_start keeps the vocabulary of another model (warm_start.vocabulary=new does not)": bool(warm_start.get("model"))
        and warm_start.get("vocabulary") != "new",
    }
    for reason, applies in reasons.items():
        if applies:
            message = f"storage=disk keeps sparse attributes and known labels in files, and {reason}. Type storage=memory."
            raise ConfigError(message)
