"""The base of tasks whose files have no place for outputs that are known in part: they are kept
from memory only.
"""

from __future__ import annotations

from typing import Any

from structopt.core.task import Task
from structopt.errors import ConfigError


class WholeOutputs(Task):
    """Refuses ``predict partial=true``, by the task's name."""

    def given_labels(self, corpus: Any) -> None:
        """Raise ConfigError: a file's labels are not kept."""
        task = type(self).__name__.lower()
        raise ConfigError(
            "predicts everything and keeps nothing that is given in a file.",
            parameter="task",
            value=task,
            remedy="Leave out partial=true; from Python, model.predict(instances, "
            "given=[...]) keeps labels.",
        )
