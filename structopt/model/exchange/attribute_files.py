"""Files of the attributes of tokens, in CRFsuite's text format, for an exported model."""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from structopt.core.data.attribute_table import AttributeTable
from structopt.errors import DataError, ModelError
from structopt.formats.text_files import write_text
from structopt.model.exchange.chain_models import LARGEST_SCORE, ChainTables, chain_tables
from structopt.model.predictor import Inputs, Predictor

log = logging.getLogger(__name__)

OPEN = "_"
"""The label of a token whose label is not known, or not one of the model."""
BREAK = re.compile(r"[\t\n]")


def write_attributes(
    model: Predictor, instances: Inputs, path: str | Path, encoding: str = "utf8"
) -> str:
    """Write the known attributes of the tokens of instances, and return their number in words.

    A line is ``label TAB attribute[:value] TAB ...``. Labels are in the scheme of
    training. Attributes that the model does not know are left out, as CRFsuite ignores them.

    Raises
    ------
    ConfigError
        See `structopt.model.exchange.chain_models.chain_tables`.
    ModelError
        If a name is empty, or has a tab or a line break.
    DataError
        If the instances cannot be read, or the file cannot be written.
    """
    tables = chain_tables(model)
    encoded = model.examples(_corpus(model.task, instances)).encoded
    table = encoded.tables["label"]
    labels = [_escaped("label", label) for label in tables.labels] + [OPEN]
    names = {
        number: _escaped("attribute", tables.attributes[number])
        for number in np.unique(table.ids).tolist()
    }
    gold = np.full(len(table.offsets) - 1, -1) if encoded.gold is None else encoded.gold
    cells = [names[number] for number in table.ids.tolist()]
    if table.values is not None:
        values = table.values.tolist()
        cells = [
            name if value == 1 else f"{name}:{value!r}"
            for name, value in zip(cells, values, strict=True)
        ]
    bounds = pairwise(table.offsets.tolist())
    lines = [
        "\t".join([labels[number], *cells[begin:end]]) + "\n"
        for number, (begin, end) in zip(gold.tolist(), bounds, strict=True)
    ]
    ends = pairwise(encoded.offsets.tolist())
    text = "".join("".join([*lines[begin:end], "\n"]) for begin, end in ends)
    write_text(path, text, encoding)
    _warn(path, tables, table)
    return f"{len(encoded)} sentences, {len(lines)} tokens, {len(cells)} attributes"


def _corpus(task: Any, instances: Inputs) -> Any:
    """Return instances as a corpus, with their labels if the file has them."""
    if not isinstance(instances, (str, PathLike)):
        return task.corpus(instances)
    with suppress(DataError):  # a file without labels
        return task.read(instances)
    return task.read(instances, labelled=False)


def _escaped(what: str, name: str) -> str:
    if not name or BREAK.search(name):
        raise ModelError(
            f"The {what} {name!r} cannot be written to a text file of CRFsuite, in which tabs and "
            "line breaks separate names.",
            remedy="Pass the attributes of model.task in memory to the program that reads them.",
        )
    return name.replace("\\", "\\\\").replace(":", "\\:")


def _warn(path: str | Path, tables: ChainTables, table: AttributeTable) -> None:
    """Warn of tokens whose scores are too large for the probabilities of CRFsuite."""
    values = np.ones(len(table.ids)) if table.values is None else table.values
    shape = len(table.offsets) - 1, len(tables.attributes)
    scores = sparse.csr_array((values, table.ids, table.offsets), shape=shape) @ tables.state
    count = int(np.count_nonzero(np.abs(scores).max(axis=1, initial=0.0) > LARGEST_SCORE))
    if count:
        log.warning(
            "%s: CRFsuite's labels are right, but its probabilities are NaN in sentences with "
            "scores near 750, which %d tokens have.",
            path,
            count,
        )
