"""A trainer for structured prediction: everything between CRFs and structured SVMs, composed by
YAML.

Examples
--------
>>> model = structopt.train(["task=ner", "optimizer=dca", "loss.beta=1"])
>>> model = structopt.partial_fit(model, ["task.train=more.txt", "optimizer.epochs=5"])
>>> model = structopt.load("outputs/2026-01-31/12-00-00-000000")
>>> model.predict([[("Ann", "NNP", "B-NP"), ("visited", "VBD", "B-VP"), ("Oslo", "NNP", "B-NP")]])
>>> tagger = structopt.SequenceTagger(optimizer="lbfgs").fit(X, y)

docs/python.md has all that models do, docs/estimators.md the estimators.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

# After every product of long vectors OpenBLAS's threads spin for 2^26 cycles, on a core that
# passes, evaluations and the process
# of the tracker need. It reads this when NumPy is imported.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")

if TYPE_CHECKING:
    from structopt.core.convergence import ConvergenceWarning
    from structopt.errors import ArgumentError, InfeasibleError
    from structopt.estimators import (
        ConstituencyParser,
        DependencyParser,
        GridLabeler,
        MultilabelClassifier,
        SequenceTagger,
        StructuredEstimator,
    )
    from structopt.kernels.waist.debug import debug
    from structopt.model.model import Model

__version__ = "0.1.0"
ON_DEMAND = {
    "ArgumentError": "structopt.errors",
    "ConstituencyParser": "structopt.estimators",
    "ConvergenceWarning": "structopt.core.convergence",
    "DependencyParser": "structopt.estimators",
    "GridLabeler": "structopt.estimators",
    "InfeasibleError": "structopt.errors",
    "MultilabelClassifier": "structopt.estimators",
    "SequenceTagger": "structopt.estimators",
    "StructuredEstimator": "structopt.estimators",
    "debug": "structopt.kernels.waist.debug",
}
"""The module of each public name that is imported at its first use."""
__all__ = [
    "ArgumentError",
    "ConstituencyParser",
    "ConvergenceWarning",
    "DependencyParser",
    "GridLabeler",
    "InfeasibleError",
    "MultilabelClassifier",
    "SequenceTagger",
    "StructuredEstimator",
    "debug",
    "load",
    "partial_fit",
    "train",
]


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name not in ON_DEMAND:
        raise AttributeError(f"module 'structopt' has no attribute {name!r}")
    return vars(import_module(ON_DEMAND[name]))[name]


def __dir__() -> list[str]:
    """List the names that are imported on demand too."""
    return sorted({*globals(), *ON_DEMAND})


def train(overrides: Sequence[str] = (), folder: str | Path | None = None) -> Model:
    """Train as the command line would, and return the model.

    Parameters
    ----------
    overrides : sequence of str
        What one would type: ``["task=ner", "loss.beta=inf", "tracker=none"]``. Of Hydra's own
        words, ``hydra.run.dir=FOLDER`` and ``hydra.searchpath=[...]`` are heard; others are
        refused.
    folder : str or Path, optional
        The run folder, in the place of ``hydra.run.dir``; a new one under ``outputs`` by default.

    Raises
    ------
    StructoptError
        For whatever the user can mend.
    """
    from structopt.config import composition
    from structopt.config.overrides import check_single_run
    from structopt.errors import ConfigError
    from structopt.process import folder_lock
    from structopt.run import records, stages

    words = list(overrides)
    check_single_run(words)
    config, typed = (
        composition.validate(composition.compose(words), words),
        composition.typed_folder(words),
    )
    if typed is not None and folder is not None and Path(folder).absolute() != typed.absolute():
        raise ConfigError(
            f"The run folder is given twice: folder={folder} and hydra.run.dir={typed}.",
            remedy="Leave one of them out.",
        )
    path = composition.run_folder(typed if folder is None else folder)
    with folder_lock.locked(path), records.nothing_left(path):
        composition.save_config(config, path)
        return _converged(stages.train(config, path))


def partial_fit(
    earlier: Model | str | Path, overrides: Sequence[str] = (), folder: str | Path | None = None
) -> Model:
    """Train on with more data, from the state in which an earlier run ended: its optimizer's, not
    its weights alone.

    New labels and attributes append to those of the earlier run, and all else is as it was there:
    the components, and C, at which lambda = 1/(C m) with the number m of all instances seen.

    Parameters
    ----------
    earlier : Model, str or Path
        What `train` or `partial_fit` returned, or the folder of a run. A model that was loaded has
        weights only.
    overrides : sequence of str
        What differs from the earlier run: its data, its passes, what is measured and recorded:
        ``["task.train=more.txt", "optimizer.epochs=5"]``. The training data are new ones; with
        ``warm_start.state=all`` they are all that were seen, in the same order, and perhaps more
        after them.
    folder : str or Path, optional
        The run folder; a new one under ``outputs`` by default.

    Raises
    ------
    StructoptError
        For whatever the user can mend: an optimizer whose state is bound to its data, among others.
    """
    from structopt.run.continuing.going_on import go_on

    return _converged(go_on(earlier, overrides, folder))


def _converged(model: Model) -> Model:
    """Return the model; warn the caller of the caller if its training did not converge."""
    if model.trained is not None and model.trained.unfinished:
        from structopt.core import convergence

        convergence.warn(model.trained.unfinished)
    return model


def load(
    path: str | Path,
    features: Mapping[str, Any] | None = None,
    task: Mapping[str, Any] | None = None,
) -> Model:
    """Load a model from a run folder, a model folder or an MLflow address.

    Parameters
    ----------
    path : str or Path
    features : mapping or None
        Files of features: ``{"vectors": FILE}`` gives words that training has not shown their
        vectors.
    task : mapping or None
        Settings of the task that may change when a model is applied, as `predict` takes them on the
        command line: ``{"missing": "pad"}`` for ``task.missing=pad``.

    Raises
    ------
    ModelError
        If there is none, or it is truncated or altered.
    ConfigError
        If the model's task has no such setting or features, or does not let the setting change.
    """
    from structopt.model.folder import find_model
    from structopt.model.model import Model

    return Model.load(find_model(str(path)), task, features)
