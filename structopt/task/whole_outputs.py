"""The base of tasks that predict outputs whole: no label can be given with an input and kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structopt.core.task import Task
from structopt.errors import ConfigError


class WholeOutputs(Task):
    """Refuses labels that are given with an input, by the task's name."""

    def given_labels(self, corpus: Any) -> list[str] | None:
        """Raise ConfigError: everything is predicted."""
        raise self._refusal()

    def _refuse_given(self, given: Sequence[str] | None) -> None:
        if given is not None:
            raise self._refusal()

    def _refusal(self) -> ConfigError:
        task = type(self).__name__.lower()
        return ConfigError(f"task={task} predicts everything and keeps nothing that is given. Leave out partial=true.")
