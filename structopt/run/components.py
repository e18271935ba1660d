"""The components of a run, created from its config and compared with each other before any data is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from structopt.config import compatibility, feature_keys, registry
from structopt.core.data.file_sets import check_exists
from structopt.core.executor import Executor
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.optimizer import Optimizer
from structopt.core.scorer import Scorer
from structopt.core.task import Task
from structopt.core.tracker import Tracker


@dataclass(frozen=True)
class Components:
    """One component of every kind."""

    task: Task
    scorer: Scorer
    graph: FactorGraph
    inference: Inference
    loss: Loss
    optimizer: Optimizer
    tracker: Tracker
    executor: Executor


def make_components(config: Mapping[str, Any]) -> Components:
    """Create every component of a config.

    Raises
    ------
    StructoptError
        For an unknown or ill-typed parameter, components that do not fit together, or a data file that does not exist.
    """
    common = {key: config[key] for key in ("seed", "threads") if key in config}
    graph, inference, loss, optimizer = (
        registry.create(kind, config[kind], **common) for kind in ("factor_graph", "inference", "loss", "optimizer")
    )
    task, scorer = feature_keys.task_of(config), feature_keys.scorer_of(config)
    compatibility.check_task(task, graph, config["task"]["name"])
    compatibility.check(graph, inference, loss, optimizer, task.open_gold)
    compatibility.check_rounding(task, inference.decoder(), graph)
    compatibility.check_features(scorer, optimizer, loss, graph)
    loss.kernel(optimizer.plan.variant)
    executor = _executor(config)
    compatibility.check_executor(executor, optimizer)
    for path in task.files.values():
        check_exists(path)
    return Components(task, scorer, graph, inference, loss, optimizer, registry.create("tracker", config["tracker"]), executor)


def _executor(config: Mapping[str, Any]) -> Executor:
    """The executor; ``threads=N`` makes threads of one that would work in one."""
    executor: Executor = registry.create("executor", config["executor"])
    if executor.workers == 1 and not executor.remote and config["threads"] > 1:
        executor = registry.create("executor", config["executor"] | {"name": "threads", "workers": config["threads"]})
    return executor
