"""Model files of CRFsuite as models of ``task=attributes``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from structopt.config import registry
from structopt.core.memory import refuse_what_does_not_fit
from structopt.core.scorer import Scorer
from structopt.formats import crfsuite_models, tag_schemes
from structopt.formats.crfsuite_models import STATE
from structopt.formats.string_arrays import pack_strings
from structopt.kernels.waist.record import Array
from structopt.model.model import Model, with_late
from structopt.model.restoring import check_together, restored_scorer

CONFIG: Mapping[str, Any] = {
    "task": {"name": "attributes", "encoding": "utf8"},
    "factor_graph": {"name": "linear_chain", "order": 1},
    "inference": {"name": "exact"},
    "loss": {"name": "crf"},
}
"""The components of an imported model."""


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


def _scorer(chain: crfsuite_models.ChainWeights) -> tuple[Scorer, Array]:
    """Return features with a weight for each of the file, and for all pairs of labels."""
    labels, size, features = len(chain.labels), len(chain.attributes), chain.features
    refuse_what_does_not_fit(
        30.0 * labels * (size + labels),  # masks, indices and weights
        f"{labels:,} labels and {size:,} attributes",
        "Train with fewer labels, or with a larger min_count.",
    )
    widths = {"label": (labels, size), "transition": (labels * labels, 1)}
    groups = [
        {"name": name, "width": width, "size": count, "singles": True}
        for name, (width, count) in widths.items()
    ]
    pairs = features["source"].astype(np.int64) * labels + features["target"]
    of_state = features["kind"] == STATE
    support = np.ones(labels * (size + labels), bool)
    support[: labels * size] = False
    support[pairs[of_state]] = True
    transitions = np.zeros(labels * labels)
    transitions[pairs[~of_state]] = features["weight"][~of_state]
    layout = {"name": "attribute_rows", "groups": groups}
    scorer = restored_scorer(layout, {"support": np.packbits(support)})
    return scorer, scorer.expand(np.concatenate([features["weight"][of_state], transitions]))
