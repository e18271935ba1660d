"""Training data read in blocks, or in stretches by the workers of an executor, which learn of them
and featurise them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import uuid4

from structopt.core.data.encoded import Encoded
from structopt.core.executor import Executor
from structopt.core.storage.learner import Learner
from structopt.core.task import Task
from structopt.errors import ConfigError
from structopt.formats.array_folder import UnusableFolder, temporary_name
from structopt.objective.on_disk.corpus_folder import open_shard, write_corpus


class Blocks:
    """Training data that this process reads, block by block.

    Parameters
    ----------
    blocks : function that returns an iterator of corpora
        It is called once a round of learning, and once to featurise.
    """

    def __init__(self, blocks: Callable[[], Iterator[Any]]) -> None:
        self.blocks = blocks

    def gathered(self, learner: Learner, number: int) -> Iterator[Any]:
        """What they show in a round of learning."""
        yield learner.gather(number, self.blocks())

    def encoded(self, task: Task) -> Iterator[Encoded]:
        """Featurise them one after the other."""
        return map(task.encode, self.blocks())


class Stretches:
    """Stretches of training data, each read by the worker that has it.

    Parameters
    ----------
    executor : Executor
    stretches : sequence
        As of `structopt.core.task.Task.stretches`.
    folder : Path
        Beside this one workers write what they featurise: all machines must see it under the same
        path.
    """

    def __init__(self, executor: Executor, stretches: Sequence[Any], folder: Path) -> None:
        self.placement = executor.place(StretchReader, stretches)
        folder = folder.absolute()
        self.beside = folder.with_name(temporary_name(f"{folder.name}.stretches"))

    def gathered(self, learner: Learner, number: int) -> Iterator[Any]:
        """What every stretch shows in a round of learning, in their order."""
        return self.placement.call("gather", learner, number)

    def encoded(self, task: Task) -> Iterator[Encoded]:
        """Have all stretches featurised, and map them one after the other; what workers wrote is
        removed at the end.

        Raises
        ------
        ConfigError
            Where a worker wrote to a folder that is not here.
        """
        try:
            for folder in self.placement.call("encode", task, str(self.beside)):
                if folder is not None:
                    yield _opened(Path(folder))
                    shutil.rmtree(folder)
        finally:
            shutil.rmtree(self.beside, ignore_errors=True)


class StretchReader:
    """One stretch of the training data.

    Parameters
    ----------
    stretch : as of `structopt.core.task.Task.stretches`
    """

    def __init__(self, stretch: Any) -> None:
        self.stretch = stretch

    def gather(self, learner: Learner, number: int) -> Any:
        """What it shows in a round of learning."""
        return learner.gather(number, learner.task.blocks(self.stretch))

    def encode(self, task: Task, beside: str) -> str | None:
        """Featurise it into a folder of its own, whose path is returned; None where it has no
        instance.
        """
        blocks = task.blocks(self.stretch)
        first = next(blocks, None)
        if first is None:
            return None
        folder = Path(beside) / uuid4().hex
        write_corpus(folder, {}, map(task.encode, chain([first], blocks)), ({}, {}))
        return str(folder)


def _opened(folder: Path) -> Encoded:
    try:
        return open_shard(folder, 0, None)
    except UnusableFolder as error:
        raise ConfigError(
            f"storage.folder: a worker wrote {folder}, which cannot be opened here: {error}.",
            remedy="Name a folder that all machines see, or run with Serial() first.",
        ) from error
