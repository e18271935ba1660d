"""Matrices of instances and of labels, checked by scikit-learn where it is installed, so that its
messages are the usual ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from structopt.core.data.in_memory import checked_weights
from structopt.errors import ArgumentError
from structopt.estimators.bases import INSTALLED
from structopt.kernels.waist.record import Array

if INSTALLED:
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_array, check_consistent_length, validate_data


class Indicators(NamedTuple):
    """Which instance has which label.

    Attributes
    ----------
    on : bool, shape (instances, labels)
    values : shape (2,)
        What the matrix had for a label that an instance lacks, and for one that it has.
    flat : bool
        Whether y was a vector, of one label.
    """

    on: Array
    values: Array
    flat: bool


def checked_matrix(estimator: Any, X: Any, fitting: bool) -> Any:
    """Return instances as a dense matrix or a CSR array of numbers, shape (instances, attributes).

    Raises
    ------
    ValueError
        If X is not a matrix of finite numbers, or has another number of columns than in training:
        `ArgumentError`, or what scikit-learn raises.
    """
    if INSTALLED:
        matrix = validate_data(estimator, X, reset=fitting, accept_sparse="csr", dtype=np.float64)
        return csr_array(matrix) if issparse(matrix) else matrix
    matrix = csr_array(X, dtype=np.float64) if issparse(X) else np.asarray(X, np.float64)
    if (
        matrix.ndim != 2
        or not matrix.shape[0]
        or not np.isfinite(matrix.data if issparse(matrix) else matrix).all()
    ):
        raise ArgumentError(
            "must be a matrix of finite numbers with at least one row; its shape is "
            f"{matrix.shape}.",
            parameter="X",
        )
    if fitting:
        estimator.n_features_in_ = matrix.shape[1]
    if matrix.shape[1] != estimator.n_features_in_:
        raise ArgumentError(
            f"has {matrix.shape[1]} features, but the estimator is expecting "
            f"{estimator.n_features_in_} features.",
            parameter="X",
        )
    return matrix


def checked_indicators(X: Any, y: Any) -> Indicators:
    """Return an indicator matrix, dense or sparse, whose two values may be any; or a vector, of one
    label.

    Raises
    ------
    ValueError
        If y is not a matrix, has another number of rows than X, or more than two values:
        `ArgumentError`, or what scikit-learn raises.
    """
    if y is None:
        # scikit-learn's checks expect this wording
        problem = "is missing: the estimator requires y to be passed, but the target y is None."
        raise ArgumentError(problem, parameter="y")
    matrix = y.toarray() if issparse(y) else np.asarray(y)
    if INSTALLED:
        matrix = check_array(matrix, ensure_2d=False, dtype=None, input_name="y", allow_nd=True)
        check_classification_targets(matrix)
        check_consistent_length(X, matrix)
    values = np.unique(matrix)
    if len(values) > 2:
        # scikit-learn's checks expect the words about binary classification
        raise ArgumentError(
            f"has {len(values)} values. Only binary classification is supported, of every label "
            "by itself.",
            parameter="y",
            remedy="Give an indicator matrix, of shape (instances, labels).",
        )
    if matrix.ndim not in (1, 2) or len(matrix) != X.shape[0]:
        raise ArgumentError(
            f"must be an indicator matrix, of shape ({X.shape[0]}, labels); its shape is "
            f"{matrix.shape}.",
            parameter="y",
        )
    if len(values) < 2:
        # all 0: no label is on
        values = np.array([0, 1], matrix.dtype) if values[0] in (0, 1) else np.repeat(values, 2)
    return Indicators(
        np.asarray(matrix == values[1]).reshape(len(matrix), -1), values, matrix.ndim == 1
    )


def weights_of(sample_weight: Any, count: int) -> Array | None:
    """Return the weights of instances, float64, shape (instances,); None if there are none.

    Raises
    ------
    ArgumentError
        If `structopt.core.data.in_memory.checked_weights` refuses them.
    """
    return None if sample_weight is None else checked_weights(sample_weight, count)


def sparse_rows(matrix: Any) -> list[dict[int, float]]:
    """Return the rows of a matrix as mappings from column, from 1, to value, zeros left out."""
    rows = csr_array(matrix)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    bounds, columns, values = rows.indptr.tolist(), (rows.indices + 1).tolist(), rows.data.tolist()
    return [
        dict(zip(columns[a:b], values[a:b], strict=True))
        for a, b in zip(bounds, bounds[1:], strict=False)
    ]
