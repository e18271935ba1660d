"""A trainer for structured prediction: everything between CRFs and structured SVMs, composed by YAML.

Examples
--------
>>> model = structopt.train(["task=ner", "optimizer=dca", "loss.beta=1"])
>>> model = structopt.load("outputs/2026-01-31/12-00-00-000000")
>>> model.predict([[("Ann", "NNP", "B-NP"), ("visited", "VBD", "B-VP"), ("Oslo", "NNP", "B-NP")]])
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structopt.model import Model

__version__ = "0.1.0"
__all__ = ["load", "train"]


def train(overrides: Sequence[str] = (), folder: str | Path | None = None) -> Model:
    """Train as the command line would, and return the model.

    Parameters
    ----------
    overrides : sequence of str
        What one would type: ``["task=ner", "loss.beta=inf", "tracker=none"]``.
    folder : str or Path, optional
        The run folder; a new one under ``outputs`` by default.

    Raises
    ------
    StructoptError
        For whatever the user can mend.
    """
    from structopt import configuration, session

    config = configuration.validate(configuration.compose(list(overrides)))
    return session.train(config, configuration.run_folder(config, folder))


def load(path: str | Path) -> Model:
    """Load a model from a run folder, a model folder or an MLflow address.

    Raises
    ------
    ModelError
        If there is none, or it is truncated or altered.
    """
    from structopt.model import Model, find_model

    return Model.load(find_model(str(path)))
