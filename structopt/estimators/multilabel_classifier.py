"""Sets of labels of vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from structopt.core.data.in_memory import read_once
from structopt.estimators.bases import ClassifierMixin, Tags
from structopt.estimators.estimator import COMMON, Estimator
from structopt.estimators.matrices import (
    checked_indicators,
    checked_matrix,
    sparse_rows,
    weights_of,
)
from structopt.kernels.waist.record import Array


@dataclass(kw_only=True, eq=False, repr=False)
class MultilabelClassifier(ClassifierMixin, Estimator):
    """Any number of labels an instance, which depend on each other.

    X is a matrix of numbers, dense or sparse, a row an instance. y is an indicator matrix, dense or
    sparse, of shape (instances, labels), whose two values may be any; or a vector, of one label.
    Predictions are dense, of that shape and with these values.

    Parameters
    ----------
    edges : str or None
        ``complete``: every two labels depend on each other; ``none``.
    bias : bool or None
        Whether every instance has one more attribute, of the value 1.
    standardize, normalize : str or None
        ``columns``, ``unit``, or ``none``: how values are scaled.
    optimizer, loss, inference, C, epochs, beta, gamma, cost, cost_weights, seed, threads,
    overrides, verbose, folder
        See `structopt.estimators.estimator.Estimator`.

    Attributes
    ----------
    classes_ : array
        The numbers of the labels; where there is one label, the two values of y.
    n_features_in_ : int
    """

    keys: ClassVar[Mapping[str, str]] = {
        **COMMON,
        "edges": "factor_graph.edges",
        "bias": "features.bias",
        "standardize": "features.standardize",
        "normalize": "features.normalize",
    }

    edges: str | None = None
    bias: bool | None = None
    standardize: str | None = None
    normalize: str | None = None

    @property
    def task_name(self) -> str:
        """Sets of labels."""
        return "multilabel"

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_dev: Any = None, y_dev: Any = None
    ) -> Self:
        """Train; ValueError for what are no such matrices, and the errors of `Estimator.fit`."""
        y = read_once("y", y)
        matrix = checked_matrix(self, read_once("X", X), True)
        indicators = checked_indicators(matrix, y)
        self._values, self._labels, self._flat = (
            indicators.values,
            indicators.on.shape[1],
            indicators.flat,
        )
        self.classes_ = np.unique(self._values) if self._labels == 1 else np.arange(self._labels)
        return super().fit(matrix, y, sample_weight, X_dev=X_dev, y_dev=y_dev)

    def predict(self, X: Any, *, allowed: Any = None) -> Array:
        """Return the indicator matrix of the predicted labels; `allowed` is a mapping from label
        number to bool an instance.
        """
        outputs = super().predict(X, allowed=allowed)
        return self._shaped(self._values[self._indicators(outputs).astype(int)])

    def predict_marginals(self, X: Any, *, allowed: Any = None) -> Array:
        """Return the probability of every label to be in the set, float64, shape (instances,
        labels).
        """
        marginals = super().predict_marginals(X, allowed=allowed)
        table = np.zeros((len(marginals), self._labels))
        table[:, self._columns] = np.array([array[:, 1] for array in marginals])
        return self._shaped(table)

    def decision_function(self, X: Any) -> Array:
        """Return by how much the best set with a label scores above the best set without it,
        float64, shape (instances, labels).

        It is above 0 where the label is predicted; labels that training never shows have -inf.
        O(labels) predictions.
        """
        instances = self._instances_of_fitted(X)
        predicted, best = (
            self._indicators(self.model_.predict(instances)),
            self.model_.scores(instances),
        )
        table = np.full(predicted.shape, -np.inf)
        for column in self._columns.tolist():
            on = predicted[:, column]
            other = [{str(column): not one} for one in on.tolist()]
            lead = np.maximum(best - self.model_.scores(instances, given=other), 0.0)
            table[:, column] = np.where(on, np.maximum(lead, np.finfo(float).tiny), -lead)
        return self._shaped(table)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of sets that are wholly right, as scikit-learn's classifiers do."""
        predicted = np.asarray(self.predict(X)).reshape(-1, self._labels)
        on = checked_indicators(predicted, read_once("y", y)).on
        right = ((predicted == self._values[1]) == on).all(axis=1)
        return float(np.average(right, weights=weights_of(sample_weight, len(right))))

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn asks about an estimator: sparse X, and y with a column a label."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.sparse = True, True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_class, tags.classifier_tags.multi_label = False, True
        return tags

    def _shaped(self, table: Array) -> Array:
        """A table of all labels, or the column of the only one where y was a vector."""
        return table[:, 0] if self._flat else table

    @property
    def _columns(self) -> Array:
        """The columns of y whose labels the model has."""
        return np.array(list(map(int, self.model_.labels)), np.int64)

    def _instances(self, X: Any) -> Any:
        return sparse_rows(checked_matrix(self, X, False))

    def _outputs(self, y: Any, X: Any) -> list[list[str]]:
        matrix = checked_matrix(self, X, False)
        return [
            [str(column) for column in np.flatnonzero(row)]
            for row in checked_indicators(matrix, y).on
        ]

    def _allowed(self, allowed: Any) -> Any:
        if allowed is None:
            return None
        return [
            None if one is None else {str(label): state for label, state in one.items()}
            for one in allowed
        ]

    def _indicators(self, outputs: Any) -> Array:
        """Sets of labels as an indicator matrix."""
        table = np.zeros((len(outputs), self._labels), bool)
        for row, labels in enumerate(outputs):
            table[row, list(map(int, labels))] = True
        return table

    def _note(self, X: Any, y: Any) -> None:
        """`fit` has noted it all."""

    def _note_more(self, X: Any, y: Any) -> None:
        """There may be columns of new labels behind the others."""
        if not self._flat:
            self._labels = max(
                self._labels, checked_indicators(checked_matrix(self, X, False), y).on.shape[1]
            )
            self.classes_ = (
                np.unique(self._values) if self._labels == 1 else np.arange(self._labels)
            )
