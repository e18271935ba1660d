"""Models as model files of CRFsuite, and back."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from structopt.config import registry
from structopt.errors import ConfigError
from structopt.factor_graph.kinds import FIRST_ORDER_CHAIN
from structopt.features.attribute_rows import AttributeRows
from structopt.features.row_places import RowGroup
from structopt.features.support import refuse_masks
from structopt.formats import crfsuite_models, tag_schemes
from structopt.formats.crfsuite_models import STATE
from structopt.formats.string_arrays import pack_strings
from structopt.kernels.waist.record import Array
from structopt.model.exchange.named_weights import named_rows
from structopt.model.model import Model, with_late
from structopt.model.restoring import check_together, example_of

log = logging.getLogger(__name__)

CONFIG: Mapping[str, Any] = {
    "task": {"name": "attributes", "encoding": "utf8"},
    "factor_graph": {"name": "linear_chain", "order": 1},
    "inference": {"name": "exact"},
    "loss": {"name": "crf"},
}
"""The components of an imported model."""
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


def chain_tables(model: Model) -> ChainTables:
    """Return the weights of a model that CRFsuite can have.

    Raises
    ------
    ConfigError
        If the model has anything else, with the reason.
    """
    name = model.config["factor_graph"]["name"]
    if model.graph.kind is not FIRST_ORDER_CHAIN:
        order = f" of order {order}" if (order := getattr(model.graph, "order", None)) else ""
        raise _refusal(f"factor_graph={name}{order} is another graph.", "factor_graph.order=1")
    rows = {one.group: one for one in named_rows(model)}
    encoded = example_of(model.task)
    if encoded.dense.get("label"):
        raise _refusal("dense features are not attributes.", "features without vectors and dense")
    if not all(group.tied for group in model.graph.build(encoded).groups[1:]):
        raise _refusal("pairs of labels have attributes.", "features.transitions=[]")
    if encoded.forbidden_starts or encoded.forbidden_ends or encoded.forbidden_transitions:
        raise _refusal("the model forbids sequences of labels.", "task.valid_tags=false")
    label, transition = rows["label"], rows["transition"]
    labels, attributes = model.task.labels, model.task.attribute_names()
    if label.table.shape != (len(attributes), len(labels)) or len(transition.table) != 1:
        raise _refusal("there are weights that belong to no attribute.", "task=attributes")
    with np.errstate(over="ignore"):
        state, pairs = (one.table / model.temperature for one in (label, transition))
    if not (np.isfinite(state).all() and np.isfinite(pairs).all()):
        raise ConfigError(
            f"The weights divided by the temperature {model.temperature:g} overflow.",
            remedy="Train with a smaller loss.beta.",
        )
    return ChainTables(labels, attributes, state, pairs.reshape(len(labels), len(labels)))


def _refusal(reason: str, words: str) -> ConfigError:
    return ConfigError(f"{SUPPORTED}, and {reason}", remedy=f"Train with {words}.")


def write_chain(model: Model, path: str | Path, encoding: str = "utf8") -> str:
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


def read_chain(
    path: str | Path,
    late: Mapping[str, Any] | None = None,
    sources: Mapping[str, Any] | None = None,
) -> Model:
    """Read a model file of CRFsuite as a model of ``task=attributes``.

    Labels keep their order, since ties go to the first label. The scheme of the tags is that of
    the set of labels; labels that are not all tags are plain.

    Parameters
    ----------
    path : str or Path
    late : mapping or None
        ``{"encoding": "latin-1"}``: the encoding of the names, and of files that the model reads.
    sources : mapping or None
        Files of features; this task refuses them.

    Raises
    ------
    ModelError, DataError
        See `structopt.formats.crfsuite_models.read`.
    ConfigError
        If the weights do not fit into memory; for unknown settings.
    """
    config = with_late(CONFIG, late or {})
    task, graph, inference = (
        registry.create(kind, config[kind]) for kind in ("task", "factor_graph", "inference")
    )
    if sources:
        task.read_features_from(sources)
    chain = crfsuite_models.read(path, task.encoding)
    scheme = _scheme(chain.labels)
    names, offsets = pack_strings(chain.attributes)
    task.restore(
        {"labels": chain.labels, "scheme": scheme, "target_scheme": scheme},
        {"attribute_bytes": names, "attribute_offsets": offsets},
    )
    scorer, weights = _scorer(chain)
    check_together(task, graph, inference.decoder(), scorer, weights, config["task"]["name"])
    return Model(config, task, graph, inference, scorer, weights, 1.0)


def _scheme(labels: list[str]) -> str:
    evidence = tag_schemes.SchemeEvidence()
    evidence.add([[label] for label in labels])
    return "none" if evidence.malformed else evidence.scheme


def _scorer(chain: crfsuite_models.ChainWeights) -> tuple[AttributeRows, Array]:
    """Return features with a weight for each of the file, and for all pairs of labels."""
    labels, size, features = len(chain.labels), len(chain.attributes), chain.features
    refuse_masks(labels * (size + labels))
    groups = [
        RowGroup("label", labels, size, singles=True),
        RowGroup("transition", labels * labels, 1, singles=True),
    ]
    pairs = features["source"].astype(np.int64) * labels + features["target"]
    of_state = features["kind"] == STATE
    support = np.ones(labels * (size + labels), bool)
    support[: labels * size] = False
    support[pairs[of_state]] = True
    transitions = np.zeros(labels * labels)
    transitions[pairs[~of_state]] = features["weight"][~of_state]
    scorer = AttributeRows.of(groups, support)
    return scorer, scorer.expand(np.concatenate([features["weight"][of_state], transitions]))
