"""Weights of an earlier model as the start of a new one, matched by the names of attributes and labels."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from structopt.features import AttributeRows
from structopt.kernels.record import Array
from structopt.model import Model


def transfer(model: Model, task: Any, rows: AttributeRows) -> tuple[AttributeRows, Array, int]:
    """Carry over every weight whose part group, attribute and labels exist in the new model.

    Parameters
    ----------
    model : Model
        The earlier model.
    task : component
        The fitted task of the new one.
    rows : AttributeRows
        Its feature map; the support grows by the weights that are carried over.

    Returns
    -------
    (AttributeRows, float64 array of shape (dimension,), int)
        The feature map, the weights, and how many of them are not zero.
    """
    weights = np.zeros(rows.dimension)
    starts = np.cumsum([0, *(group.size * group.width for group in rows.groups)])
    places = {group.name: (group, start) for group, start in zip(rows.groups, starts[:-1], strict=True)}
    old_start = 0
    for old in model.rows.groups:
        block = model.weights[old_start : old_start + old.size * old.width].reshape(old.size, old.width)
        old_start += old.size * old.width
        if old.name not in places:
            continue
        group, start = places[old.name]
        attributes = _matches(_names(model.task, old.name, old.size), _names(task, old.name, group.size))
        labels = _matches(_configurations(model.labels, old.width), _configurations(tuple(task.labels), group.width))
        view = weights[start : start + group.size * group.width].reshape(group.size, group.width)
        view[np.ix_(attributes[1], labels[1])] = block[np.ix_(attributes[0], labels[0])]
    support = None if rows.support is None else rows.support | (weights != 0)
    return AttributeRows(rows.groups, support), weights, int(np.count_nonzero(weights))


def _names(task: Any, group: str, size: int) -> list[Any]:
    """Attribute names of a group; what the feature map adds itself is called by its place from the end."""
    names = list(task.attribute_names(group))[:size]
    return names + [("constant", k) for k in range(size - len(names))]


def _configurations(labels: tuple[str, ...], width: int) -> list[tuple[str, ...]]:
    """The configurations of a part, as tuples of labels, in their order."""
    length = 1
    while len(labels) ** length < width:
        length += 1
    return list(product(labels, repeat=length))


def _matches(old: list[Any], new: list[Any]) -> tuple[Array, Array]:
    """Indices of the names that both lists have."""
    places = {name: j for j, name in enumerate(new)}
    pairs = [(i, places[name]) for i, name in enumerate(old) if name in places]
    return np.array([i for i, _ in pairs], np.int64), np.array([j for _, j in pairs], np.int64)
