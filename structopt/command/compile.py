"""``structopt compile``: compiles kernels ahead, so that no later command waits for them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from structopt.command.options import Syntax
from structopt.command.spelling import check_overrides
from structopt.config import registry
from structopt.config.validation import Settings
from structopt.errors import ConfigError, StructoptError
from structopt.progress.quiet import quietly

if TYPE_CHECKING:
    from structopt.model.model import Model

ALL = "all"
SMALL = {"tracker": "none", "optimizer.epochs": "1", "task.limit": "20"}
"""Overrides of the run: kernels depend on the components, not on the amount of data."""
SYNTAX = Syntax(
    "structopt compile [all|task=NAME] [KEY=VALUE ...]",
    "Compiles the kernels with which structopt KEY=VALUE ... trains and its model predicts, and "
    "stores them in the user's\n"
    "cache folder, or in NUMBA_CACHE_DIR. Use it when you build an image or install for a "
    "laboratory.\n"
    "all compiles the kernels of every task with its default components. KEY=VALUE are overrides "
    "of a training command, such as\n"
    "optimizer=lbfgs; each optimizer, loss and inference has kernels of its own.",
)


def run(words: Sequence[str]) -> None:
    """Run the subcommand with the words after its name."""
    if SYNTAX.print_help(words):
        return
    every = {ALL, f"task={ALL}"} & set(words)
    overrides = [word for word in words if word not in every]
    check_overrides(overrides, (*Settings.__annotations__, *registry.KINDS))
    folder = _cache_folder()
    tasks = [f"task={name}" for name in registry.installed("task")] if every else [""]
    for task in tasks:
        begin, command = time.monotonic(), [*([task] if task else []), *overrides]
        print(f"{' '.join(command) or 'default components'}: ", end="", flush=True)
        _compile_kernels(command)
        print(f"ready in {folder}, {time.monotonic() - begin:.0f} s")


def _cache_folder() -> Path:
    from structopt.kernels.waist import disk_cache

    folder = disk_cache.folder()
    if folder is None:
        raise ConfigError(
            "Compiled kernels cannot be stored: the user's cache folder cannot be written.",
            remedy="Set NUMBA_CACHE_DIR to a folder of your own.",
        )
    return folder


def _compile_kernels(overrides: Sequence[str]) -> None:
    """Train on a few instances in a temporary folder, and predict."""
    from structopt.config import composition, validation
    from structopt.config.overrides import check_single_run, key_of
    from structopt.run import stages

    words = [word for word in overrides if key_of(word) not in SMALL]
    words += [f"{key}={value}" for key, value in SMALL.items()]
    check_single_run(words)
    config = validation.validate(composition.compose(words), words)
    # messages about the few instances would not be about the user's data
    with (
        TemporaryDirectory(prefix="structopt-compile-") as folder,
        redirect_stdout(StringIO()),
        quietly(True),
    ):
        _predict(stages.train(config, Path(folder), pictures=False))


def _predict(model: Model) -> None:
    """Predict the task's example in each way that the model can: one instance, and several."""
    task = model.task
    table = task.input_schema.checked(task.input_example())
    instances = list(task.instances(table))
    for some in (instances[:1], [*instances, *instances]):
        model.predict(some)
        with suppress(StructoptError):  # an inference without marginals
            model.marginals(some)
        with suppress(StructoptError):  # an inference without lists
            model.predict_k_best(some, 2)
