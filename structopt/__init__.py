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

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structopt.config.registering import component, register
    from structopt.core.convergence import ConvergenceWarning
    from structopt.core.cost import Cost
    from structopt.core.factor_graph import FactorGraph
    from structopt.core.inference import Inference
    from structopt.core.loss import Loss
    from structopt.core.objective import Certificate
    from structopt.core.optimizer import Optimizer
    from structopt.core.parts.batch import Batch, Gold
    from structopt.core.parts.inferred import Inferred
    from structopt.core.parts.parts import Parts
    from structopt.core.scorer import Scorer
    from structopt.core.weights.penalty import L1, L2, Penalty
    from structopt.errors import ArgumentError, InfeasibleError, StructoptError
    from structopt.estimators import (
        ConstituencyParser,
        DependencyParser,
        GraphLabeler,
        GridLabeler,
        MultilabelClassifier,
        SequenceTagger,
        StructuredEstimator,
    )
    from structopt.factor_graph.antecedent import Antecedent
    from structopt.factor_graph.arc_factored import ArcFactored
    from structopt.factor_graph.coverage import Coverage
    from structopt.factor_graph.edges import grid_edges
    from structopt.factor_graph.grammar.grammar import Grammar
    from structopt.factor_graph.grammar.span import Span
    from structopt.factor_graph.linear_chain import LinearChain
    from structopt.factor_graph.pairwise import Pairwise
    from structopt.factor_graph.second_order import SecondOrder
    from structopt.factor_graph.single import Single
    from structopt.features.sparse_map import SparseMap
    from structopt.inference.ad3 import AD3
    from structopt.inference.cut import Cut
    from structopt.inference.enumeration import Enumeration
    from structopt.inference.exact import Exact
    from structopt.inference.greedy import Greedy
    from structopt.inference.ilp import ILP
    from structopt.inference.loopy_bp import LoopyBP
    from structopt.inference.lp import LP
    from structopt.inference.mplp import MPLP
    from structopt.inference.trw_bp import TRWBP
    from structopt.kernels.waist.debug import debug
    from structopt.learning.training import Callback
    from structopt.loss.cost.cost_matrix import CostMatrix
    from structopt.loss.difference import LossDifference
    from structopt.loss.expected_cost import ExpectedCost
    from structopt.loss.family import LossFamily
    from structopt.loss.presets import CRF, SVM, PerceptronLoss, SoftmaxMargin
    from structopt.model.array_model import ArrayModel
    from structopt.model.model import Model
    from structopt.optimizer.adadelta import AdaDelta
    from structopt.optimizer.adagrad import AdaGrad
    from structopt.optimizer.cutting_plane import CuttingPlane
    from structopt.optimizer.dca import DCA
    from structopt.optimizer.dlpw import DLPW
    from structopt.optimizer.eg import EG
    from structopt.optimizer.lbfgs import LBFGS
    from structopt.optimizer.mira import MIRA
    from structopt.optimizer.online_cutting_plane import OnlineCuttingPlane
    from structopt.optimizer.pegasos import Pegasos
    from structopt.optimizer.perceptron import Perceptron
    from structopt.optimizer.sdca import SDCA
    from structopt.optimizer.sgd import SGD
    from structopt.optimizer.smo import SMO
    from structopt.report.frames import history, runs
    from structopt.testing.checking import check
    from structopt.verbs.ahead import compile
    from structopt.verbs.fitting import Epoch, Fit, fit
    from structopt.verbs.inferring import (
        covariance_product,
        entropy,
        infer,
        kl,
        log_partition,
        marginals,
    )
    from structopt.verbs.losses import log_prob, value_and_gradient
    from structopt.verbs.outputs import Best, argmax, k_best, sample
    from structopt.verbs.problem import Problem

__version__ = "0.1.0"
ON_DEMAND = {
    "AD3": "structopt.inference.ad3",
    "AdaDelta": "structopt.optimizer.adadelta",
    "AdaGrad": "structopt.optimizer.adagrad",
    "Antecedent": "structopt.factor_graph.antecedent",
    "ArcFactored": "structopt.factor_graph.arc_factored",
    "ArgumentError": "structopt.errors",
    "ArrayModel": "structopt.model.array_model",
    "Batch": "structopt.core.parts.batch",
    "Best": "structopt.verbs.outputs",
    "CRF": "structopt.loss.presets",
    "Callback": "structopt.learning.training",
    "Certificate": "structopt.core.objective",
    "ConstituencyParser": "structopt.estimators",
    "ConvergenceWarning": "structopt.core.convergence",
    "Cost": "structopt.core.cost",
    "CostMatrix": "structopt.loss.cost.cost_matrix",
    "Coverage": "structopt.factor_graph.coverage",
    "Cut": "structopt.inference.cut",
    "CuttingPlane": "structopt.optimizer.cutting_plane",
    "DCA": "structopt.optimizer.dca",
    "DLPW": "structopt.optimizer.dlpw",
    "DependencyParser": "structopt.estimators",
    "EG": "structopt.optimizer.eg",
    "Enumeration": "structopt.inference.enumeration",
    "Epoch": "structopt.verbs.fitting",
    "Exact": "structopt.inference.exact",
    "ExpectedCost": "structopt.loss.expected_cost",
    "FactorGraph": "structopt.core.factor_graph",
    "Fit": "structopt.verbs.fitting",
    "Gold": "structopt.core.parts.batch",
    "Grammar": "structopt.factor_graph.grammar.grammar",
    "GraphLabeler": "structopt.estimators",
    "Greedy": "structopt.inference.greedy",
    "GridLabeler": "structopt.estimators",
    "ILP": "structopt.inference.ilp",
    "InfeasibleError": "structopt.errors",
    "Inference": "structopt.core.inference",
    "Inferred": "structopt.core.parts.inferred",
    "L1": "structopt.core.weights.penalty",
    "L2": "structopt.core.weights.penalty",
    "LBFGS": "structopt.optimizer.lbfgs",
    "LP": "structopt.inference.lp",
    "LinearChain": "structopt.factor_graph.linear_chain",
    "LoopyBP": "structopt.inference.loopy_bp",
    "Loss": "structopt.core.loss",
    "LossDifference": "structopt.loss.difference",
    "LossFamily": "structopt.loss.family",
    "MIRA": "structopt.optimizer.mira",
    "MPLP": "structopt.inference.mplp",
    "MultilabelClassifier": "structopt.estimators",
    "OnlineCuttingPlane": "structopt.optimizer.online_cutting_plane",
    "Optimizer": "structopt.core.optimizer",
    "Pairwise": "structopt.factor_graph.pairwise",
    "Parts": "structopt.core.parts.parts",
    "Pegasos": "structopt.optimizer.pegasos",
    "Penalty": "structopt.core.weights.penalty",
    "Perceptron": "structopt.optimizer.perceptron",
    "PerceptronLoss": "structopt.loss.presets",
    "Problem": "structopt.verbs.problem",
    "SDCA": "structopt.optimizer.sdca",
    "SGD": "structopt.optimizer.sgd",
    "SMO": "structopt.optimizer.smo",
    "SVM": "structopt.loss.presets",
    "Scorer": "structopt.core.scorer",
    "SecondOrder": "structopt.factor_graph.second_order",
    "SequenceTagger": "structopt.estimators",
    "Single": "structopt.factor_graph.single",
    "SoftmaxMargin": "structopt.loss.presets",
    "Span": "structopt.factor_graph.grammar.span",
    "SparseMap": "structopt.features.sparse_map",
    "StructoptError": "structopt.errors",
    "StructuredEstimator": "structopt.estimators",
    "TRWBP": "structopt.inference.trw_bp",
    "argmax": "structopt.verbs.outputs",
    "check": "structopt.testing.checking",
    "compile": "structopt.verbs.ahead",
    "component": "structopt.config.registering",
    "covariance_product": "structopt.verbs.inferring",
    "debug": "structopt.kernels.waist.debug",
    "entropy": "structopt.verbs.inferring",
    "fit": "structopt.verbs.fitting",
    "grid_edges": "structopt.factor_graph.edges",
    "history": "structopt.report.frames",
    "infer": "structopt.verbs.inferring",
    "k_best": "structopt.verbs.outputs",
    "kl": "structopt.verbs.inferring",
    "log_partition": "structopt.verbs.inferring",
    "log_prob": "structopt.verbs.losses",
    "marginals": "structopt.verbs.inferring",
    "register": "structopt.config.registering",
    "runs": "structopt.report.frames",
    "sample": "structopt.verbs.outputs",
    "value_and_gradient": "structopt.verbs.losses",
}
"""The module of each public name that is imported at its first use."""
__all__ = [
    "AD3",
    "AdaDelta",
    "AdaGrad",
    "Antecedent",
    "ArcFactored",
    "ArgumentError",
    "ArrayModel",
    "Batch",
    "Best",
    "CRF",
    "Callback",
    "Certificate",
    "ConstituencyParser",
    "ConvergenceWarning",
    "Cost",
    "CostMatrix",
    "Coverage",
    "Cut",
    "CuttingPlane",
    "DCA",
    "DLPW",
    "DependencyParser",
    "EG",
    "Enumeration",
    "Epoch",
    "Exact",
    "ExpectedCost",
    "FactorGraph",
    "Fit",
    "Gold",
    "Grammar",
    "GraphLabeler",
    "Greedy",
    "GridLabeler",
    "ILP",
    "InfeasibleError",
    "Inference",
    "Inferred",
    "L1",
    "L2",
    "LBFGS",
    "LP",
    "LinearChain",
    "LoopyBP",
    "Loss",
    "LossDifference",
    "LossFamily",
    "MIRA",
    "MPLP",
    "MultilabelClassifier",
    "OnlineCuttingPlane",
    "Optimizer",
    "Pairwise",
    "Parts",
    "Pegasos",
    "Penalty",
    "Perceptron",
    "PerceptronLoss",
    "Problem",
    "SDCA",
    "SGD",
    "SMO",
    "SVM",
    "Scorer",
    "SecondOrder",
    "SequenceTagger",
    "Single",
    "SoftmaxMargin",
    "Span",
    "SparseMap",
    "StructoptError",
    "StructuredEstimator",
    "TRWBP",
    "argmax",
    "check",
    "compile",
    "component",
    "covariance_product",
    "debug",
    "entropy",
    "fit",
    "grid_edges",
    "history",
    "infer",
    "k_best",
    "kl",
    "load",
    "log_partition",
    "log_prob",
    "marginals",
    "partial_fit",
    "register",
    "runs",
    "sample",
    "train",
    "value_and_gradient",
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
    from structopt.config import composition, saved_config, validation
    from structopt.config.overrides import check_single_run
    from structopt.errors import ConfigError
    from structopt.process import folder_lock
    from structopt.run import records, stages

    words = list(overrides)
    check_single_run(words)
    config, typed = (
        validation.validate(composition.compose(words), words),
        composition.typed_folder(words),
    )
    if typed is not None and folder is not None and Path(folder).absolute() != typed.absolute():
        raise ConfigError(
            f"The run folder is given twice: folder={folder} and hydra.run.dir={typed}.",
            remedy="Leave one of them out.",
        )
    path = saved_config.run_folder(typed if folder is None else folder)
    with folder_lock.locked(path), records.nothing_left(path):
        saved_config.save(config, path)
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
    components: Sequence[type] | None = None,
) -> Any:
    """Load a model from a run folder, a model folder, an MLflow address, or CRFsuite's model file.

    Parameters
    ----------
    path : str or Path
    features : mapping or None
        Files of features: ``{"vectors": FILE}`` gives words that training has not shown their
        vectors.
    task : mapping or None
        Settings of the task that may change when a model is applied, as `predict` takes them on the
        command line: ``{"missing": "pad"}`` for ``task.missing=pad``.
    components : sequence of classes, or None
        Classes of a model of arrays that have no registered names. No code of the folder is run.

    Returns
    -------
    Model or ArrayModel

    Raises
    ------
    ModelError
        If there is none, or it is truncated or altered.
    ConfigError
        If the model's task has no such setting or features, or does not let the setting change.
    """
    from structopt.formats.crfsuite_models import is_model_file
    from structopt.model.folder import ARRAY_MODEL, find_model, kind_of_model

    if is_model_file(path):
        from structopt.model.exchange.importing import read_chain

        return read_chain(path, task, features)
    folder = find_model(str(path))
    if kind_of_model(folder) == ARRAY_MODEL:
        from structopt.model.array_model import ArrayModel

        return ArrayModel.load(folder, components or ())
    from structopt.model.model import Model

    return Model.load(folder, task, features)
