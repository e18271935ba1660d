"""``structopt compile``: compiles kernels ahead, so that no later command waits for them."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from io import StringIO
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from structopt.command.options import Syntax
from structopt.command.spelling import check_overrides
from structopt.config import registry
from structopt.config.validation import Settings
from structopt.errors import ConfigError, StructoptError
from structopt.progress.quiet import quietly

if TYPE_CHECKING:
    from structopt.model.model import Model

ALL, MODEL = "all", "model="
UNTRACKED = {"tracker": "none"}
SMALL = {"optimizer.epochs": 1, "task.limit": 20}
"""Settings of the run: kernels depend on the components, not on the amount of data."""
MANY = 50
"""Copies of the example of a task: few instances use other kernels than many."""
SYNTAX = Syntax(
    "structopt compile [all|task=NAME] [KEY=VALUE ...]\n       structopt compile model=MODEL",
    "Compiles the kernels with which structopt KEY=VALUE ... trains and its model predicts, and "
    "stores them in the user's\n"
    "cache folder, or in NUMBA_CACHE_DIR. Use it when you build an image or install for a "
    "laboratory.\n"
    "all compiles the kernels of every task with its default components. KEY=VALUE are overrides "
    "of a training command, such as\n"
    "optimizer=lbfgs; each optimizer, loss and inference has kernels of its own. model=MODEL "
    "compiles the kernels with which a\n"
    "saved model predicts.",
)


def run(words: Sequence[str]) -> None:
    """Run the subcommand with the words after its name."""
    if SYNTAX.print_help(words):
        return
    models = [word for word in words if word.startswith(MODEL)]
    if models and len(words) > 1:
        raise ConfigError(f"{models[0]} cannot be combined with other arguments.")
    every = {ALL, f"task={ALL}"} & set(words)
    overrides = [word for word in words if word not in every]
    if not models:
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
    if folder is None or not os.access(folder, os.W_OK):
        raise ConfigError(
            "Compiled kernels cannot be stored: the user's cache folder cannot be written.",
            remedy="Set NUMBA_CACHE_DIR to a folder of your own.",
        )
    return folder


def _compile_kernels(words: Sequence[str]) -> None:
    """Predict with a saved model, or with a model of a few instances."""
    from structopt.model import prediction

    # messages about the few instances would not be about the user's data
    with redirect_stdout(StringIO()), quietly(True):
        if words and words[0].startswith(MODEL):
            _predict(prediction.loaded({"model": words[0].removeprefix(MODEL), "inference": ""}))
            return
        from structopt.run import stages

        with TemporaryDirectory(prefix="structopt-compile-") as folder:
            _predict(stages.train(_config(words), Path(folder), pictures=False))


def _config(words: Sequence[str]) -> dict[str, Any]:
    """Compose the config of a small run, without Hydra if all words choose components."""
    from structopt.config import plain_composition, validation
    from structopt.config.overrides import check_single_run, key_of

    words = [word for word in words if key_of(word) not in {*UNTRACKED, *SMALL}]
    choices = {key: name for key, _, name in (word.partition("=") for word in words)}
    config = None
    if len(choices) == len(words) and choices.keys() <= set(registry.KINDS):
        config = plain_composition.compose({**choices, **UNTRACKED}, SMALL)
    if config is None:
        from structopt.config import composition

        words += [f"{key}={value}" for key, value in {**UNTRACKED, **SMALL}.items()]
        check_single_run(words)
        config = composition.compose(words)
    return validation.validate(config, words)


def _predict(model: Model) -> None:
    """Predict the task's example in each way that the model can: one instance, and many; by the
    plan of sentences in memory, and as the instances of a file.
    """
    task = model.task
    table = task.input_schema.checked(task.input_example())
    instances = list(task.instances(table))
    for some, executor in product((instances[:1], MANY * instances), (None, registry.serial())):
        model.predict(some, executor)
        with suppress(StructoptError):  # an inference without marginals
            model.marginals(some, executor)
        with suppress(StructoptError):  # an inference without lists
            model.predict_k_best(some, 2, executor)
