"""How a task learns of training data that come in blocks, of which stretches may be read in several
processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any


class Learner(ABC):
    """Learns what `structopt.core.task.Task.fit` learns, in one or more rounds over the corpus.

    In every round, what the blocks show is gathered: at once, or of consecutive stretches of the
    corpus apart. What was gathered is then taken up in the order of the corpus. After the last
    round the task is fitted. Between two rounds the learner may be sent to other processes, its
    task with it.

    Attributes
    ----------
    task : Task
    rounds : int
    """

    task: Any
    rounds: int

    @abstractmethod
    def gather(self, number: int, blocks: Iterable[Any]) -> Any:
        """Return what blocks show in a round, counted from 0; the learner stays as it is."""

    @abstractmethod
    def take(self, number: int, gathered: Iterable[Any]) -> None:
        """Take up what was gathered in a round, in the order of the corpus."""
