"""Tasks whose inputs are whole: no column of them can be missing, and nothing that is to be predicted can be given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structopt.core.task import Task
from structopt.errors import ConfigError


class WholeInputs(Task):
    """What such tasks, of vectors or images, answer alike."""

    def given_labels(self, corpus: Any) -> list[str] | None:
        """Refuse."""
        raise self._nothing_is_given()

    def _refuse_given(self, given: Sequence[str] | None) -> None:
        """Refuse labels that are to be kept, if there are any."""
        if given is not None:
            raise self._nothing_is_given()

    def _nothing_is_given(self) -> ConfigError:
        task = type(self).__name__.lower()
        return ConfigError(f"task={task} predicts everything and keeps nothing that is given. Leave out partial=true.")
