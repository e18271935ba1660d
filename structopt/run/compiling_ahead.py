"""Compile the kernels of a config ahead, for images and laboratories: train on a few instances in a
temporary folder, and predict.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from structopt.config import composition, validation
from structopt.config.overrides import check_single_run, key_of
from structopt.errors import ConfigError, StructoptError
from structopt.kernels.waist import disk_cache
from structopt.model.model import Model
from structopt.progress.quiet import quietly
from structopt.run import stages

SMALL = {"tracker": "none", "optimizer.epochs": "1", "task.limit": "20"}
"""Overrides of the run: kernels depend on the components, not on the amount of data."""


def compile_kernels(overrides: Sequence[str]) -> Path:
    """Compile the kernels with which a command trains and its model predicts; return the folder of
    the cache.

    Parameters
    ----------
    overrides : sequence of str
        Of the command: ``["task=ner", "optimizer=dca"]``.

    Raises
    ------
    ConfigError
        If no folder can store kernels, or for an invalid override.
    """
    folder = disk_cache.folder()
    if folder is None:
        raise ConfigError(
            "Compiled kernels cannot be stored: the user's cache folder cannot be written.",
            remedy="Set NUMBA_CACHE_DIR to a folder of your own.",
        )
    words = [word for word in overrides if key_of(word) not in SMALL]
    words += [f"{key}={value}" for key, value in SMALL.items()]
    check_single_run(words)
    config = validation.validate(composition.compose(words), words)
    # messages about the few instances would not be about the user's data
    with (
        TemporaryDirectory(prefix="structopt-compile-") as run,
        redirect_stdout(StringIO()),
        quietly(True),
    ):
        _predict(stages.train(config, Path(run), pictures=False))
    return folder


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
