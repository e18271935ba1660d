"""The training split in files: featurised once, kept under the digests of data and settings, opened
by every run with these.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from structopt.core.data import file_sets
from structopt.core.data.encoded import Encoded
from structopt.core.scorer import SparseFeatures
from structopt.core.task import Task
from structopt.errors import ConfigError, ModelError
from structopt.formats.array_folder import UnusableFolder
from structopt.model.warm_start import WarmStart
from structopt.objective.fingerprint import digest_of
from structopt.objective.on_disk.corpus_folder import open_corpus, write_corpus
from structopt.objective.on_disk.stretches import Blocks, Stretches
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


def featurised(
    config: Mapping[str, Any], components: Components, warm_start: WarmStart | None = None
) -> Encoded:
    """Map the training split, which is featurised where no folder has it yet; the task is then
    fitted.

    Parameters
    ----------
    config : mapping
    components : Components
    warm_start : WarmStart or None
        An earlier model, whose vocabulary may be kept.

    Raises
    ------
    ConfigError
        For what storage=disk cannot do, and where the disk is full.
    DataError
        Where the data are malformed.
    """
    _refuse(config, components)
    earlier = None if warm_start is None else warm_start.kept_task(components.task)
    key = _key(config, components, earlier)
    folder = Path(config["storage"]["folder"] or ROOT) / digest_of([], key)[:24]
    try:
        return _open(folder, key, components)
    except UnusableFolder as reason:
        if folder.exists():
            log.warning("%s: %s; it is not used, and made anew.", folder, reason)
    _make(folder, key, components, earlier)
    return _open(folder, key, components)


def _open(folder: Path, key: Mapping[str, Any], components: Components) -> Encoded:
    encoded, state = open_corpus(folder, key)
    try:
        components.task.restore(*state)
    except ModelError as error:
        raise UnusableFolder(f"the state of the task is inconsistent ({error})") from error
    log.info("storage: %s has the training split, %d instances", folder, len(encoded))
    return encoded


def _make(
    folder: Path, key: Mapping[str, Any], components: Components, earlier: Task | None
) -> None:
    """Read the data, once or twice to learn of them and once to write them: here, or in stretches
    where workers are elsewhere.
    """
    task, executor = components.task, components.executor
    path = task.files["train"]

    def blocks() -> Iterator[Any]:
        return task.blocks(path, task.limit)

    parts = task.stretches(path) if executor.remote and task.limit is None else []
    data = Stretches(executor, parts, folder) if len(parts) > 1 else Blocks(blocks)
    with phases.phase("reading", path.name):
        learner = task.learner(next(blocks()), earlier)
        for number in range(learner.rounds):
            learner.take(number, data.gathered(learner, number))
    with phases.phase("featurising", path.name):
        write_corpus(folder, key, data.encoded(task), task.state())


def _key(config: Mapping[str, Any], components: Components, earlier: Task | None) -> dict[str, Any]:
    """What decides the files: data, settings of task and features, word lists, and an earlier
    vocabulary that is kept.
    """
    path, lists = components.task.files["train"], (config["features"].get("lists") or {}).values()
    task = {name: value for name, value in config["task"].items() if name not in APART}
    features = {name: value for name, value in config["features"].items() if name != "support"}
    digests = [file_sets.digest(file_sets.data_path(one)) for one in (path, *lists)]
    key = {"version": VERSION, "data": digests, "task": task, "features": features}
    if earlier is None:
        return key
    values, arrays = earlier.state()
    return key | {
        "vocabulary": digest_of(list(arrays.values()), {"values": values, "arrays": list(arrays)})
    }


def _refuse(config: Mapping[str, Any], components: Components) -> None:
    """Refuse what needs the training split in memory, with the reason."""
    of = components
    if "://" in str(config["storage"]["folder"] or ""):
        raise ConfigError(
            "is a URL, and files are mapped from a path.",
            parameter="storage.folder",
            value=config["storage"]["folder"],
            remedy="Name a folder of a file system that all machines see.",
        )
    if not of.task.reads_blocks:
        raise ConfigError(
            f"reads training data in blocks, and task={config['task']['name']} reads them "
            "as a whole.",
            parameter="storage",
            value="disk",
            remedy="Set storage=memory. Tasks that read in blocks: those on columns of "
            "tokens (ner, chunking, tagging), and task=attributes.",
        )
    reasons = {
        "these are in memory": bool(of.memory),
        "tail takes a part of them apart": of.tail is not None,
        "task.partial=true makes sets of labels": of.task.partial,
        f"features={config['features']['name']} reads other data": not isinstance(
            of.scorer, SparseFeatures
        ),
        "factor_graph.pruner marks the candidates of every instance": of.graph.pruning is not None,
        "task.tagger gives the training data a column": of.task.annotates,
    }
    for reason, applies in reasons.items():
        if applies:
            raise ConfigError(
                f"keeps sparse attributes and known labels in files, and {reason}.",
                parameter="storage",
                value="disk",
                remedy="Set storage=memory.",
            )
