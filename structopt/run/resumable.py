"""Training whose state survives in a run folder: its history, and checkpoints to resume from."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from structopt.config.schema import coerce
from structopt.core.optimizer import Earlier, Report
from structopt.core.optimizer_state import values_of
from structopt.errors import ConfigError, NumericalError
from structopt.kernels.waist.record import Array
from structopt.learning.training import CERTIFIED, Callback, Progress, Row, Training
from structopt.process import interruption
from structopt.run.checkpoint import SEEN, Checkpoint
from structopt.run.history import History

# in a checkpoint; no optimizer's state has a dot in its names
BEST, MESSAGES = "best.weights", "inference.messages"
SHORT = 2.0
"""Seconds of an epoch for whose end an interrupt can wait; after longer ones there is always a
checkpoint.
"""
SPARED = 20
"""Other checkpoints are written so many times as long after the last one as that took."""
DAMAGES = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, ConfigError)
"""Errors of reading the state of another version."""


class Resumable(Training):
    """Training in a run folder, which another process can resume.

    Parameters
    ----------
    folder : Path
        ``history.csv`` and ``checkpoint/state.safetensors`` go there.
    vocabulary : str
        Digest of the names behind the numbers of labels and attributes; a checkpoint with another
        one is refused.
    checkpoint_seconds : float
        Least time between two checkpoints within an epoch that consists of several steps.
    before, after : sequence of Callback
        Called before an epoch is saved, and after it.
    **options
        The other options of `Training`.
    """

    def __init__(
        self,
        *arguments: Any,
        folder: Path,
        vocabulary: str = "",
        checkpoint_seconds: float = 60.0,
        before: tuple[Callback, ...] = (),
        after: tuple[Callback, ...] = (),
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self.history, self.vocabulary = History(folder / "history.csv"), vocabulary
        self.file = folder / "checkpoint" / "state.safetensors"
        self.saved = 0  # epoch of the last checkpoint
        self.callbacks = [*before, Saving(self, checkpoint_seconds), *after]

    def start(self, weights: Array, earlier: Earlier | None = None) -> None:
        """Begin with the first epoch; a checkpoint in the folder is deleted."""
        self.file.unlink(missing_ok=True)
        self.saved = 0
        super().start(weights, earlier)
        self.history.rewind(0)

    def resume(self) -> bool:
        """Go on from the checkpoint; return whether there is one."""
        if not self.file.is_file():
            return False
        try:
            self._restore(*self.checkpoint.read())
            self.optimizer.weights(self.state)
        except DAMAGES as error:
            raise self.checkpoint.mismatch("it is of another version") from error
        self.saved = self.progress.epoch
        self.history.rewind(self.saved)
        return True

    @property
    def behind(self) -> bool:
        """Whether epochs were finished that the checkpoint lacks."""
        return self.progress.epoch > self.saved

    @cached_property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint, which knows the training data: they are digested once per run."""
        data = self.problem.fingerprint
        data = replace(data, digest=data.digest + self.vocabulary)
        return Checkpoint(self.file, self.problem.examples.scorer, data)

    def _restore(self, arrays: Mapping[str, Array], notes: Mapping[str, Any]) -> None:
        """Restore what `save` wrote."""
        self.progress, self.known = restored_progress(notes["progress"]), {}
        if self.progress.stopped.startswith(CERTIFIED) and not self.certified:
            self.progress.stopped = ""  # the resumed run asks for a smaller gap
        rest = dict(arrays)
        self.kept = rest.pop(BEST, None)
        messages = rest.pop(MESSAGES, np.zeros(0))
        if messages.shape != self.problem.messages.shape:
            raise self.checkpoint.mismatch("its messages are not as many as those of the data")
        self.problem.messages[:] = messages
        placed = {name: self._placed(name, array) for name, array in rest.items()}
        self.state = self.optimizer.restored(placed | notes["scalars"])

    def _placed(self, name: str, array: Array) -> Array:
        """Return an array of the state where it belongs: with the data, if it is over instances."""
        storage = self.problem.storage
        if not storage.in_files or name not in self.optimizer.names("instances"):
            return array
        placed: Array = storage.joined([array], array.dtype).reshape(array.shape)
        return placed

    def arrays(self) -> dict[str, Array]:
        """Return the arrays of a checkpoint."""
        values = values_of(self.state)
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        if self.kept is not None:
            arrays[BEST] = self.kept
        if len(self.problem.messages):
            arrays[MESSAGES] = self.problem.messages
        return arrays

    def save(self) -> None:
        """Write the checkpoint."""
        values = values_of(self.state)
        scalars = {
            name: value for name, value in values.items() if not isinstance(value, np.ndarray)
        }
        seen = int(self.problem.before) + self.problem.m
        notes = {"progress": asdict(self.progress), "scalars": scalars, SEEN: seen}
        self.checkpoint.write(self.arrays(), notes, (*self.optimizer.names("weights"), BEST))
        self.saved = self.progress.epoch


def restored_progress(saved: Mapping[str, Any]) -> Progress:
    """Return the progress that a checkpoint saved, every number in its type.

    Raises
    ------
    ConfigError, KeyError
        If an entry is of another type, or there is none of this name.
    """
    hints = get_type_hints(Progress)
    progress = Progress(**{key: coerce(key, value, hints[key]) for key, value in saved.items()})
    if not 0 <= progress.best_epoch <= progress.epoch:
        raise ConfigError(f"the best pass {progress.best_epoch} is none of {progress.epoch}")
    return progress


class Saving(Callback):
    """Writes the history, and checkpoints: after the last epoch, after long ones, after others if
    that costs little, and within an epoch of several steps.

    Parameters
    ----------
    training : Resumable
    seconds : float
        Least time between two checkpoints within an epoch.
    """

    def __init__(self, training: Resumable, seconds: float) -> None:
        self.training, self.seconds = training, seconds
        self._whole = True  # whether the state is that after an epoch, and not within one
        self._began = self._saved_at = self._saving = 0.0
        self._entered = ExitStack()

    def epoch_begins(self, training: Training) -> None:
        """Put interrupts off if a finished epoch could be lost: those are short."""
        self._whole, self._began = False, time.monotonic()
        if self.training.behind:
            self._entered.enter_context(interruption.put_off())

    def stepped(self, training: Training, report: Report) -> None:
        """Save within an epoch; numbers that are not finite are refused after it."""
        due = time.monotonic() - max(self._saved_at, self._began) >= self.seconds
        if due and isfinite(report.loss) and training.sound:
            self._save()

    def evaluated(self, training: Training, row: Row) -> None:
        """Append the row to the history, and save."""
        self.training.history.append(row)
        if self._due(time.monotonic() - self._began):
            self._save()
        self._whole = True
        self._entered.close()

    def failed(self, training: Training, error: BaseException) -> None:
        """Save finished epochs that the checkpoint lacks."""
        self._entered.close()
        if isinstance(error, NumericalError):
            kept = f"{self.training.file.parent} holds pass {self.training.saved}."
            first = training.progress.epoch <= 1
            error.remedy = f"{error.remedy} {'No pass was finished.' if first else kept}"
        if self.training.behind and self._whole:
            self._save()

    def _due(self, seconds: float) -> bool:
        """Whether to save after an epoch of so many seconds."""
        of = self.training
        if of.progress.stopped or of.progress.epoch >= of.epochs or seconds > SHORT:
            return True
        return time.monotonic() - self._saved_at >= SPARED * self._saving

    def _save(self) -> None:
        began = time.monotonic()
        self.training.save()
        self._saved_at = time.monotonic()
        self._saving = self._saved_at - began
