"""Compiles the kernels of a run in processes beside it, once, while the run reads its files.

Kernels compile when they are loaded and are not on disk. One after the other, those of a first run
take most of a minute; on several cores they take about as long as the slowest of them. Each process
here makes the components of the run, and loads the kernels that it is told; the run then finds all
of them on disk. Whatever fails here costs time alone: a run compiles what it does not find.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from structopt.config import feature_keys, registry
from structopt.config.fit_settings import FitSettings
from structopt.core.ability import Ability
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.objective import LOSS_KERNELS, OUTPUT_KERNELS
from structopt.core.optimizer import Optimizer
from structopt.core.scorer import Scorer
from structopt.core.weights.penalty import Penalty
from structopt.kernels.waist import disk_cache
from structopt.objective import scoring
from structopt.objective.drivers import GraphKernels
from structopt.process.cores import cores
from structopt.progress import phases

KINDS = ("factor_graph", "inference", "loss", "optimizer")
"""The first fields of `Composed`."""
DRIVERS = (
    LOSS_KERNELS,
    OUTPUT_KERNELS,
    "structopt.kernels.waist.stand_ins",
)
"""Modules of kernels that every run loads."""
MOST_PROCESSES = 4
"""More of them would wait for the kernel that takes longest."""
SERVE = f"from {__name__} import serve; serve()"
ANSWER = b"\n"


class Composed(NamedTuple):
    """The components that have kernels; those of the optimizer depend on the penalty."""

    graph: FactorGraph
    inference: Inference
    loss: Loss
    optimizer: Optimizer
    scorer: Scorer
    penalty: Penalty

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Composed:
        """Make them as a config says."""
        common = {key: config[key] for key in feature_keys.COMMON if key in config}
        graph, inference, loss, optimizer = (
            registry.create(kind, config[kind], **common) for kind in KINDS
        )
        penalty = FitSettings.of(config["optimizer"], optimizer).regulariser
        return cls(graph, inference, loss, optimizer, feature_keys.scorer_of(config), penalty)

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules of kernels of the optimizer."""
        return self.optimizer.plan.modules(self.penalty)

    def _lists(self) -> Any:
        """Load the kernel of k-best lists, which runs that read none do not compile."""
        return self.inference.kernels(self.graph.kind).lists

    def loaders(self) -> list[Callable[[], object]]:
        """Return what loads the kernels of a run, those first that take longest to compile."""
        variant = self.optimizer.plan.variant
        needs = self.optimizer.needs(self.loss, self.graph)
        return [
            partial(self.inference.kernels, self.graph.kind),
            *([self._lists] if Ability.K_BEST in needs.abilities else []),
            *(partial(import_module, name) for name in self.scorer.kernel_modules),
            partial(scoring.kernels_of, self.scorer),
            *(partial(import_module, name) for name in (*self.modules, *DRIVERS)),
            partial(self.loss.kernel, variant),
            partial(GraphKernels.of, self.graph, needs.positional),
        ]


@contextmanager
def compiling(config: Mapping[str, Any], of: Composed, alone: bool) -> Iterator[None]:
    """Compile the kernels of a run beside what is done in this context, and wait for them at its
    end.

    Nothing is done where the drivers and the kernels of the optimizer are on disk, as they are but
    in first runs; where there is one core; or where jobs of a sweep run beside this one.

    Parameters
    ----------
    config : mapping
        Of the run, composed and validated.
    of : Composed
        Components of the config.
    alone : bool
        Whether no other jobs run beside it.
    """
    processes = min(cores(), MOST_PROCESSES)
    if not alone or processes < 2 or all(map(_on_disk, (*DRIVERS, *of.modules))):
        yield
        return
    helpers = Helpers(config, len(of.loaders()), processes)
    try:
        yield
        with phases.phase(
            "compiling", "kernels, once", remark=lambda: helpers.progress, lasting=False
        ):
            helpers.wait()
    finally:
        helpers.end()


class Helpers:
    """Processes that load the kernels of a run, each the next that no other has taken."""

    def __init__(self, config: Mapping[str, Any], count: int, processes: int) -> None:
        self._count, self._left = count, iter(range(count))
        self._answered: list[int] = []
        self._lock = threading.Lock()
        first = pickle.dumps(dict(config))
        place = os.pathsep.join(entry for entry in sys.path if entry)
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-c", SERVE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": place},
            )
            for _ in range(processes)
        ]
        self._threads = [
            threading.Thread(target=self._feed, args=(one, first), daemon=True)
            for one in self._processes
        ]
        for thread in self._threads:
            thread.start()

    @property
    def progress(self) -> str:
        """How much is ready."""
        return f"{len(self._answered)} of {self._count}"

    def wait(self) -> None:
        """Wait until nothing is left to do."""
        for thread in self._threads:
            while thread.is_alive():
                thread.join(0.1)  # a wait without end would not hear of signals on every system

    def end(self) -> None:
        """End the processes, whatever they do."""
        for process in self._processes:
            process.kill()
            process.wait()

    def _feed(self, process: subprocess.Popen[bytes], config: bytes) -> None:
        assert process.stdin is not None and process.stdout is not None
        with suppress(OSError, ValueError), process.stdin, process.stdout:
            process.stdin.write(config)
            while (number := self._next()) is not None:
                process.stdin.write(b"%d\n" % number)
                process.stdin.flush()
                answer = process.stdout.readline()
                if not answer:
                    return
                self._answered.append(number)

    def _next(self) -> int | None:
        with self._lock:
            return next(self._left, None)


def serve() -> None:
    """Load what is asked for on standard input, in a process beside a run: the run's config, then a
    number a line.
    """
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what components print is no answer
    load = Composed.of(pickle.load(asked)).loaders()
    for number in asked:
        with suppress(Exception):  # the run meets it too, and says what it is
            load[int(number)]()
        answers.write(ANSWER)


def _on_disk(module: str) -> bool:
    """Whether kernels of a module, compiled from its present sources, are on disk; True if no
    folder can store them.
    """
    spec = find_spec(module)
    return not (spec and spec.origin) or disk_cache.is_cached(Path(spec.origin))
