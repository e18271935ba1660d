"""The components of a run, created from its config and compared with each other before any data is
read.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from structopt.config import compatibility, feature_keys, registry
from structopt.config.fit_settings import FitSettings
from structopt.core.data.encoded import Encoded
from structopt.core.data.file_sets import DataPath, check_exists
from structopt.core.data.in_memory import NAME, InMemory
from structopt.core.data.splits import divided, with_tail
from structopt.core.executor import Executor
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.optimizer import Optimizer
from structopt.core.scorer import Scorer
from structopt.core.task import Task
from structopt.core.tracker import Tracker
from structopt.errors import ConfigError
from structopt.run.kernels_beside import Composed

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Components:
    """One component of every kind."""

    task: Task
    scorer: Scorer
    graph: FactorGraph
    inference: Inference
    loss: Loss
    optimizer: Optimizer
    fit: FitSettings
    tracker: Tracker
    executor: Executor
    memory: Mapping[str, InMemory] = field(default_factory=dict)
    """The splits in memory, which stand in the place of the task's files."""
    tail: float | None = None
    """The share of the training data that is the dev split
    (`structopt.core.data.splits.with_tail`).
    """

    @property
    def composed(self) -> Composed:
        """Those that have kernels."""
        return Composed(
            self.graph, self.inference, self.loss, self.optimizer, self.scorer, self.fit.regulariser
        )

    @property
    def files(self) -> Mapping[str, DataPath]:
        """The data by split: the task's files; where there are splits in memory, those alone, under
        a name for messages.
        """
        return (
            dict.fromkeys(self.memory, NAME)
            if self.memory
            else with_tail(self.task.files, self.tail)
        )

    def read(self, split: str) -> Any:
        """The corpus of a split; of training files as many instances as the task's limit says,
        those of the tail left out.
        """
        if self.memory:
            return self.task.labelled(self.memory[split].instances, self.memory[split].outputs)
        if self.tail is not None and split != "test":
            return self._of_training_file(split, self.tail)
        path = self.files[split]
        return self.task.read(path, self.task.limit) if split == "train" else self.task.read(path)

    def _of_training_file(self, split: str, tail: float) -> Any:
        """The training split before the tail, which is read alone, so that nothing of the tail is
        learnt; or the tail.
        """
        task, path = self.task, self.task.files["train"]
        whole = task.read(path)
        first = divided(len(whole), tail)
        if split == "dev":
            return task.subset(whole, first, len(whole))
        return task.read(path, first if task.limit is None else min(first, task.limit))

    def weighted(self, encoded: Encoded) -> Encoded:
        """The training split with the weights of its instances, where they have any."""
        weights = self.memory["train"].weights if self.memory else None
        if weights is None:
            return encoded
        if len(weights) != len(encoded):
            raise ConfigError(
                f"There are {len(weights)} weights of instances, of which the task keeps "
                f"{len(encoded)}.",
                remedy="Leave out the setting of the task by which it leaves some out, or "
                "the weights.",
            )
        return replace(encoded, instance_weights=weights)


def make_components(
    config: Mapping[str, Any], memory: Mapping[str, InMemory] | None = None
) -> Components:
    """Create every component of a config.

    Parameters
    ----------
    config : mapping
    memory : mapping of split to InMemory, or None
        What stands in the place of the task's files.

    Raises
    ------
    StructoptError
        For an unknown or ill-typed parameter, components that do not fit together, or a data file
        that does not exist.
    """
    common = {key: config[key] for key in ("seed", "threads") if key in config}
    graph, inference, loss, optimizer = (
        registry.create(kind, config[kind], **common)
        for kind in ("factor_graph", "inference", "loss", "optimizer")
    )
    fit = FitSettings.of(config["optimizer"], optimizer)
    task, scorer = feature_keys.task_of(config), feature_keys.scorer_of(config)
    compatibility.check_task(task, graph, config["task"]["name"])
    splits = dict(memory or {})
    weighted = any(split.weights is not None for split in splits.values())
    compatibility.check(graph, inference, loss, optimizer, task.open_gold, weighted, fit.goal)
    compatibility.check_rounding(task, inference.decoder(), graph)
    compatibility.check_features(scorer, optimizer, loss, graph, fit.goal)
    loss.check_variant(optimizer.plan.variant)
    executor = _executor(config)
    compatibility.check_executor(executor, optimizer)
    for path in () if splits else task.files.values():
        check_exists(path)
    tail = config.get("tail")
    if tail is not None and splits:
        raise ConfigError(
            f"tail={tail:g} divides training files, and the data are in memory.",
            remedy="Give dev data, and leave out tail.",
        )
    tracker = registry.create("tracker", config["tracker"])
    components = Components(
        task, scorer, graph, inference, loss, optimizer, fit, tracker, executor, splits, tail
    )
    if "test" in components.files and tail is not None and {"dev", "test"} <= set(task.files):
        log.warning(
            "tail=%g: %s is not used, since there is a test split.", tail, task.files["dev"]
        )
    return components


def _executor(config: Mapping[str, Any]) -> Executor:
    """The executor; ``threads=N`` makes threads of one that would work in one."""
    executor: Executor = registry.create("executor", config["executor"])
    if executor.workers == 1 and not executor.remote and config["threads"] > 1:
        executor = registry.create(
            "executor", config["executor"] | {"name": "threads", "workers": config["threads"]}
        )
    return executor
