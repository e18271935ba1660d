"""Weights by the names of attributes and labels, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from structopt.errors import ConfigError
from structopt.formats.durable_files import replace_file
from structopt.model.explanation.naming import ModelNames, WeightRows, weight_rows
from structopt.model.predictor import Predictor

FORMAT, VERSION = "structopt weights", 1
TOGETHER = 1 << 12
"""Weights whose lines are written together."""


def named_rows(model: Predictor) -> list[WeightRows]:
    """Return the weights of a model by name.

    Raises
    ------
    ConfigError
        If a row of weights has no name, with the reason.
    """
    if model.task.hashes_attributes:
        raise ConfigError(
            "The rows of weights have no names: attributes are hashed, so several of them share a "
            "row.",
            remedy="Train with features.hash_bits=null.",
        )
    return weight_rows(ModelNames(model.task, model.graph), model.scorer, model.weights)


def write_weights(model: Predictor, path: str | Path) -> str:
    """Write the weights of a model as JSON, one per line, and return their number in words.

    Weights that are 0 are left out. Labels have the order of the model. Scores are sums of these
    weights; scores divided by ``temperature`` give the probabilities.

    Raises
    ------
    ConfigError
        See `named_rows`.
    DataError
        If the file cannot be written.
    """
    rows = named_rows(model)
    replace_file(Path(path), _pieces(model, rows))
    return f"{sum(int(np.count_nonzero(one.table)) for one in rows)} weights"


def _pieces(model: Predictor, rows: list[WeightRows]) -> Iterator[bytes]:
    head = {
        "format": FORMAT,
        "version": VERSION,
        **{kind: model.config[kind]["name"] for kind in ("task", "factor_graph")},
        "labels": list(model.labels),
        "temperature": float(model.temperature),
    }
    yield (json.dumps(head)[:-1] + ', "weights": [').encode()
    begin = "\n"
    for one in rows:
        group = json.dumps(one.group)
        configurations = [json.dumps(name) for name in one.configurations]
        entries = np.argwhere(one.table)
        for first in range(0, len(entries), TOGETHER):
            lines = []
            for row, column in entries[first : first + TOGETHER].tolist():
                lines.append(
                    f'{begin}{{"group": {group}, "attribute": {json.dumps(one.attributes[row])}, '
                    f'"configuration": {configurations[column]}, '
                    f'"weight": {float(one.table[row, column])!r}}}'
                )
                begin = ",\n"
            yield "".join(lines).encode()
    yield b"\n]}\n"
