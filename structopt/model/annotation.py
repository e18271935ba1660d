"""The model whose predictions are a column of another one's inputs, such as a tagger's tags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from structopt.core.executor import Executor
from structopt.core.task import Task
from structopt.errors import ConfigError
from structopt.model.folder import find_model

FOLDER = "annotator"
"""Where it stands in the folder of the model that it belongs to."""


class Annotator:
    """A model, as a task declares it (`Task.annotator`).

    Parameters
    ----------
    model : structopt.model.model.Model
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    @classmethod
    def of(cls, task: Task, load: Any) -> Annotator | None:
        """The annotator that a task names, loaded by `load`; None where it names none.

        Raises
        ------
        ConfigError
            For a model of another kind than words with a label each.
        """
        if task.annotator is None:
            return None
        model = load(find_model(task.annotator))
        if model.task.view != "labels" or model.task.unit != "tokens":
            raise ConfigError(
                f"{task.annotator}: this is a model of "
                f"task={model.config['task']['name']}, which gives no label to every word.",
                remedy="Give a model of task=tagging.",
            )
        return cls(model)

    def annotated(self, task: Task, corpus: Any, executor: Executor | None = None) -> Any:
        """A corpus of a task with the predictions of this model."""
        return task.annotated(corpus, self.model.predict(task.unannotated(corpus), executor))

    def save(self, folder: Path) -> None:
        """Write the model into the folder of the one that it belongs to."""
        self.model.save(folder / FOLDER)
