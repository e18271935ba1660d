"""Models as model files of CRFsuite."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

import numpy as np

from structopt.errors import ConfigError
from structopt.formats import crfsuite_models
from structopt.kernels.waist.record import Array
from structopt.model.exchange.named_weights import named_rows
from structopt.model.predictor import Predictor
from structopt.model.restoring import example_of

log = logging.getLogger(__name__)

LARGEST_SCORE = 700.0
"""Scores of a label at a token, nats, up to which CRFsuite's probabilities are numbers: it computes
exp(score), which overflows at 709.8 and is 0 below -745.
"""
SEVERAL = 20
"""Attributes of a token in the estimate of its scores: about as many as templates make."""
SUPPORTED = (
    "A model file of CRFsuite has weights of named attributes, and of pairs of labels, in a linear "
    "chain of order 1"
)


class ChainTables(NamedTuple):
    """The weights of a chain, divided by the temperature of the model.

    Attributes
    ----------
    labels, attributes : sequence of str
    state : float64, shape (attributes, labels)
    transitions : float64, shape (labels, labels)
        Entry (i, j) is the weight of label j after label i.
    """

    labels: tuple[str, ...]
    attributes: list[str]
    state: Array
    transitions: Array


def chain_tables(model: Predictor) -> ChainTables:
    """Return the weights of a model that CRFsuite can have.

    Raises
    ------
    ConfigError
        If the model has anything else, with the reason.
    """
    chain = "factor_graph=linear_chain factor_graph.order=1"
    if (name := model.config["factor_graph"]["name"]) != "linear_chain":
        raise _refusal(f"factor_graph={name} is another graph.", chain)
    if (order := model.graph.traits.order) != 1:
        raise _refusal(f"the model is a chain of order {order}.", chain)
    tables = {one.group: one.table for one in named_rows(model)}
    encoded = example_of(model.task)
    if encoded.dense.get("label"):
        raise _refusal("dense features are not attributes.", "features without vectors and dense")
    if not all(group.tied for group in model.graph.build(encoded).groups[1:]):
        raise _refusal("pairs of labels have attributes.", "features.transitions=[]")
    if encoded.forbidden_starts or encoded.forbidden_ends or encoded.forbidden_transitions:
        raise _refusal(
            "the model forbids sequences of labels.", "task.valid_tags=false task.forbidden=[]"
        )
    labels, attributes = model.task.labels, model.task.attribute_names()
    shapes = {"label": (len(attributes), len(labels)), "transition": (1, len(labels) ** 2)}
    if {name: table.shape for name, table in tables.items()} != shapes:
        raise _refusal("there are weights that belong to no attribute.", "task=attributes")
    with np.errstate(over="ignore"):
        state, pairs = (tables[name] / model.temperature for name in shapes)
    if not (np.isfinite(state).all() and np.isfinite(pairs).all()):
        raise ConfigError(
            f"The weights divided by the temperature {model.temperature:g} overflow.",
            remedy="Train with a smaller loss.beta.",
        )
    return ChainTables(labels, attributes, state, pairs.reshape(len(labels), len(labels)))


def _refusal(reason: str, words: str) -> ConfigError:
    return ConfigError(f"{SUPPORTED}, and {reason}", remedy=f"Train with {words}.")


def write_chain(model: Predictor, path: str | Path, encoding: str = "utf8") -> str:
    """Write a model file of CRFsuite, and return its counts in words.

    Raises
    ------
    ConfigError
        See `chain_tables`.
    ModelError, DataError
        See `structopt.formats.crfsuite_models.write`.
    """
    tables = chain_tables(model)
    weights = crfsuite_models.chain_weights(*tables)
    crfsuite_models.write(path, weights, encoding)
    largest = np.abs(tables.state).max(axis=1, initial=0.0)
    score = float(np.sort(largest)[-SEVERAL:].sum() + np.abs(tables.transitions).max(initial=0.0))
    if score > LARGEST_SCORE:
        log.warning(
            "%s: CRFsuite's labels are right, but its probabilities are NaN at scores near 750, "
            "and %d attributes of this model score up to %.0f together.",
            path,
            SEVERAL,
            score,
        )
    return (
        f"{len(weights.labels)} labels, {len(weights.attributes)} attributes, "
        f"{len(weights.features)} weights"
    )
