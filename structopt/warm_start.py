"""Weights of an earlier model as the start of a new one, matched by the names of attributes and labels."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from structopt.core.protocols import FeatureMap
from structopt.errors import ConfigError
from structopt.features.attribute_rows import AttributeRows, RowGroup
from structopt.kernels.record import Array
from structopt.model import Model


def transfer(model: Model, task: Any, feature_map: FeatureMap) -> tuple[FeatureMap, Array, int]:
    """Carry over every weight that has a place in the new model.

    Of attributes, those whose part group, name and labels exist there; hashed weights keep their places, if the hashing is the
    same.

    Parameters
    ----------
    model : Model
        The earlier model.
    task : component
        The fitted task of the new one.
    feature_map : FeatureMap
        Of the new one; the support grows by the weights that are carried over.

    Returns
    -------
    (FeatureMap, float64 array of shape (dimension,), int)
        The feature map, the weights, and how many of them are not zero.

    Raises
    ------
    ConfigError
        If the two models' features have nothing in common.
    """
    if isinstance(feature_map, AttributeRows) and isinstance(model.feature_map, AttributeRows):
        return _by_name(model, task, feature_map)
    layouts = [one.state()[0] for one in (model.feature_map, feature_map)]
    if layouts[0] != layouts[1]:
        raise ConfigError(
            "warm_start: that model's features are not this one's; give the same features.* and task, or leave warm_start out."
        )
    weights = model.weights.copy()
    return feature_map.widened(weights != 0), weights, int(np.count_nonzero(weights))


def _by_name(model: Model, task: Any, rows: AttributeRows) -> tuple[AttributeRows, Array, int]:
    """Carry over weights of attributes by their names."""
    assert isinstance(model.feature_map, AttributeRows)
    weights = np.zeros(rows.dimension)
    starts = np.cumsum([0, *(group.size * group.width for group in rows.groups)])
    places = {group.name: (group, start) for group, start in zip(rows.groups, starts[:-1], strict=True)}
    old_start = 0
    for old in model.feature_map.groups:
        block = model.weights[old_start : old_start + old.size * old.width].reshape(old.size, old.width)
        old_start += old.size * old.width
        if old.name not in places:
            continue
        group, start = places[old.name]
        attributes = _matches(_names(model.task, old.name, old.size), _names(task, old.name, group.size))
        labels = _matches(_configurations(model.task, old), _configurations(task, group))
        view = weights[start : start + group.size * group.width].reshape(group.size, group.width)
        view[np.ix_(attributes[1], labels[1])] = block[np.ix_(attributes[0], labels[0])]
    return rows.widened(weights != 0), weights, int(np.count_nonzero(weights))


def _names(task: Any, group: str, size: int) -> list[Any]:
    """Attribute names of a group; what the feature map adds itself is called by its place from the end."""
    names = list(task.attribute_names(group))[:size]
    return names + [("constant", k) for k in range(size - len(names))]


def _configurations(task: Any, group: RowGroup) -> list[Any]:
    """Names of the configurations of a part: as the task calls them, or tuples of labels; in their order."""
    if hasattr(task, "configuration_names"):
        return list(task.configuration_names(group.name))
    labels, length = tuple(task.labels), 1
    while len(labels) ** length < group.width:
        length += 1
    return list(product(labels, repeat=length))


def _matches(old: list[Any], new: list[Any]) -> tuple[Array, Array]:
    """Indices of the names that both lists have."""
    places = {name: j for j, name in enumerate(new)}
    pairs = [(i, places[name]) for i, name in enumerate(old) if name in places]
    return np.array([i for i, _ in pairs], np.int64), np.array([j for _, j in pairs], np.int64)
