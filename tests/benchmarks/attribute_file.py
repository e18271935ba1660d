"""What the benchmarks share: one attribute file in CRFsuite's format, a problem on it, the peer on
it, and a clock.

STRUCTOPT_ATTRIBUTES names a folder with train.txt and dev.txt; without it the shipped corpus is
used.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from structopt import datasets
from structopt.config import registry
from structopt.config.composition import compose
from structopt.config.validation import validate
from structopt.core.optimizer import Optimizer, Plan
from structopt.features.attribute_rows import AttributeRows
from structopt.objective.examples import Examples
from structopt.objective.problem import Problem, Settings

Sentences = list[tuple[list[list[str]], list[str]]]


def files() -> tuple[Path, Path]:
    """Training and dev part."""
    folder = os.environ.get("STRUCTOPT_ATTRIBUTES")
    if folder:
        return Path(folder) / "train.txt", Path(folder) / "dev.txt"
    return datasets.path("train", "crfsuite"), datasets.path("dev", "crfsuite")


def timed(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def component(kind: str, name: str, **parameters: Any) -> Any:
    """Make a component as its config file sets it, with some parameters changed."""
    node = validate(compose([f"{kind}={name}"]))[kind]
    return registry.create(kind, node | parameters)


def training() -> tuple[Any, Any]:
    """Read the training part; return the task and the part encoded."""
    task = registry.create("task", {"name": "attributes"})
    return task, task.fit(task.read(files()[0]))


@cache
def _read() -> tuple[Any, Any, Any, Any]:
    task, encoded = training()
    corpus_dev = task.read(files()[1])
    return task, encoded, corpus_dev, task.encode(corpus_dev)


def problem(
    loss: str,
    C: float,
    optimizer: Optimizer | None = None,
    encoded: Any = None,
    support: str = "seen",
    **parameters: Any,
) -> Problem:
    """Make the problem of the training part, as the optimizer wants it laid out; `parameters` are
    the loss's.
    """
    graph, made = (
        registry.create("factor_graph", {"name": "linear_chain"}),
        component("loss", loss, **parameters),
    )
    encoded = encoded or _read()[1]
    inference, plan, positional = registry.create("inference", {"name": "exact"}), Plan(), False
    if optimizer is not None:
        plan, positional = optimizer.plan, optimizer.needs(made, graph).positional
    for name in (*plan.kernel_modules, *plan.imports):
        import_module(name)  # no pass is charged for the compiler
    settings = Settings(C, 0, plan.variant, plan.penalty)
    return Problem.of(
        encoded, graph, made, inference, AttributeRows(support).fit, settings, positional
    )


def dev(of: Problem) -> Examples:
    """Return the dev part for the weights of a problem."""
    return Examples.build(
        _read()[3], registry.create("factor_graph", {"name": "linear_chain"}), of.scorer
    )


def dev_f1(of: Problem, weights: Any) -> float:
    """F1 of entities on the dev part."""
    from structopt.objective.decoding import best_outputs, decoded

    task, _, held_out, _ = _read()
    examples, graph = dev(of), registry.create("factor_graph", {"name": "linear_chain"})
    outputs = best_outputs(
        examples, of.kernels, weights, registry.create("executor", {"name": "serial"})
    )
    return float(task.evaluate(held_out, decoded(task, graph, examples, outputs))["f1"])


def read_sentences(part: int) -> Sentences:
    """Read items and labels as the peer takes them."""
    found: Sentences = []
    for block in files()[part].read_text(encoding="utf8").strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n")]
        found.append(
            (
                [[a.replace("\\:", ":").replace("\\\\", "\\") for a in row[1:]] for row in rows],
                [row[0] for row in rows],
            )
        )
    return found


sentences = cache(read_sentences)
"""The same, read once."""


def peer(algorithm: str, passes: int, data: Sentences, **parameters: Any) -> Any:
    """CRFsuite's trainer, with its data."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    for key, value in {"max_iterations": passes, **parameters}.items():
        trainer.set(key, value)
    for items, labels in data:
        trainer.append(items, labels)
    return trainer


def peer_pass(algorithm: str, model: str, few: int = 3, many: int = 9, **parameters: Any) -> float:
    """Seconds of one pass (or iteration) of CRFsuite: the difference of two runs; the longer run's
    model is left.
    """

    def train(passes: int) -> float:
        trainer = peer(algorithm, passes, sentences(0), **parameters)
        return timed(lambda: trainer.train(model))

    short, long = train(few), train(many)
    return (long - short) / (many - few)
