"""Checks of encoded corpora from Python or from a folder, before compiled code reads them.

`check_encoded` is called once per corpus, by `Problem.of`, by `Examples.build` and for folders of
``storage=disk``. It takes one pass over the arrays and copies none. Corpora that a task encodes for
prediction are valid by construction, so that predicting a sentence does not pay for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structopt.core import checks
from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.core.data.encoded import (
    Encoded,
    EncodedConstituents,
    EncodedGraphs,
    EncodedMentions,
    EncodedTexts,
    EncodedTrees,
)
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array


def check_encoded(encoded: Encoded, training: bool = False) -> None:
    """Refuse an encoded corpus whose arrays are inconsistent or have values out of bounds.

    Parameters
    ----------
    encoded : Encoded
        Fields of subclasses of other packages are not checked.
    training : bool
        Whether gold outputs must be known. In prediction, gold may be -1.

    Raises
    ------
    ArgumentError
        With the name of the field, the value, the bound, and the instance if there is one.
    """
    offsets = encoded.offsets
    checks.check_offsets("offsets", offsets)
    lengths = np.diff(offsets)
    if not lengths.all():
        index = int(np.argmin(lengths > 0))
        raise ArgumentError(
            "must have at least one variable per instance.",
            parameter="offsets",
            where=f"instance {index}",
            remedy="Remove empty instances with Encoded.without_empty.",
        )
    _check_variables(encoded, training)
    rows = _rows(encoded)
    for name, table in encoded.tables.items():
        check_table(f"tables[{name!r}]", table, rows.get(name))
    for name, tables in encoded.dense.items():
        for k, dense in enumerate(tables):
            check_dense_table(f"dense[{name!r}][{k}]", dense, rows.get(name))
    if isinstance(encoded, EncodedTrees):
        _check_trees(encoded, lengths)
    elif isinstance(encoded, EncodedGraphs):
        _check_graphs(encoded, lengths)
    elif isinstance(encoded, EncodedMentions):
        _check_mentions(encoded)
    elif isinstance(encoded, EncodedTexts):
        _check_texts(encoded, lengths)
    elif isinstance(encoded, EncodedConstituents):
        _check_constituents(encoded, lengths)


def check_table(name: str, table: AttributeTable, rows: int | None = None) -> None:
    """Refuse an attribute table with invalid offsets, ids out of its range, or values that are not
    finite.

    Parameters
    ----------
    name : str
        Name of the argument.
    table : AttributeTable
    rows : int, optional
        The required number of rows.
    """
    checks.check_offsets(f"{name}.offsets", table.offsets, rows)
    place = checks.in_rows(table.offsets)
    count = int(table.offsets[-1])
    checks.check_ids(f"{name}.ids", table.ids, 0, table.size - 1, (count,), place=place)
    if table.values is not None:
        checks.check_floats(f"{name}.values", table.values, (count,), place=place)


def check_dense_table(name: str, table: DenseTable, rows: int | None = None) -> None:
    """Refuse a dense table with row numbers out of its matrix, or numbers that are not finite.

    The numbers of memory maps are checked when their files are read.
    """
    count = len(table.matrix)
    checks.check_ids(f"{name}.rows", table.rows, -1, count - 1, (rows, None))
    if isinstance(table.matrix, np.memmap):
        return
    checks.check_floats(f"{name}.matrix", table.matrix, (None, None))


def _check_variables(encoded: Encoded, training: bool) -> None:
    """Check gold outputs, allowed outputs, constraints and weights of instances."""
    n, m, labels = int(encoded.offsets[-1]), len(encoded), len(encoded.labels)
    place = checks.in_instances(encoded.offsets)
    if encoded.gold is not None:
        of_labels = not isinstance(encoded, EncodedMentions | EncodedTrees | EncodedTexts)
        least = 0 if training and of_labels and not isinstance(encoded, EncodedConstituents) else -1
        most = labels - 1 if of_labels else None
        rows = int(encoded.bounds[-1]) if isinstance(encoded, EncodedMentions) else n
        checks.check_ids("gold", encoded.gold, least, most, (rows,), place=place)
    for name in ("allowed", "gold_sets"):
        value = getattr(encoded, name)
        if value is not None:
            checks.check_booleans(name, value, (n, None))
    for name in ("forbidden_starts", "forbidden_ends", "forbidden_transitions"):
        if getattr(encoded, name):
            checks.integers(name, list(getattr(encoded, name)), 0, labels - 1)
    if encoded.instance_weights is not None:
        weights = encoded.instance_weights
        of = checks.of_instance
        checks.check_floats("instance_weights", weights, (m,), least=0.0, place=of)


def _rows(encoded: Encoded) -> dict[str, int]:
    """Return the numbers of rows of tables, by group, of the groups whose rows are known."""
    n, m = int(encoded.offsets[-1]), len(encoded)
    if isinstance(encoded, EncodedGraphs):
        checks.check_offsets("edges[0]", encoded.edges[0], m)
        rows = {"label": n, "edge": int(encoded.edges[0][-1])}
        if encoded.wide:
            tables = encoded.tables
            whole = [name for name in rows if name in tables and len(tables[name].offsets) == m + 1]
            rows |= dict.fromkeys(whole, m)
        return rows
    if isinstance(encoded, EncodedTexts):
        checks.check_offsets("bigrams", encoded.bigrams, m)
        return {"sentence": n, "bigram": int(encoded.bigrams[-1])}
    if isinstance(encoded, EncodedTrees | EncodedMentions):  # a row per part, which graphs count
        return {}
    return {"label": n, "word": n, "transition": n - m}


def _check_trees(trees: EncodedTrees, lengths: Array) -> None:
    """Check the columns, and heads within their sentences."""
    n, place = int(trees.offsets[-1]), checks.in_instances(trees.offsets)
    checks.check_ids("codes", trees.codes, 0, None, (n, len(trees.columns)), place=place)
    sizes = np.repeat(lengths, lengths)
    if trees.heads is not None:
        checks.check_ids("heads", trees.heads, 0, None, (n,), place=place)
        _check_below("heads", trees.heads, sizes, place)
    if trees.free_heads is not None:
        checks.check_booleans("free_heads", trees.free_heads, (n,))
    if trees.candidates is not None:
        starts, heads = trees.candidates
        checks.check_offsets("candidates[0]", starts, n)
        checks.check_ids("candidates[1]", heads, 0, None, (int(starts[-1]),))
        _check_below("candidates[1]", heads, np.repeat(sizes, np.diff(starts)), checks.at_index)


def _check_graphs(graphs: EncodedGraphs, lengths: Array) -> None:
    """Check that edges join variables of their own instance."""
    starts, pairs = graphs.edges
    place = checks.in_instances(starts, "end")
    checks.check_ids("edges[1]", pairs, 0, None, (int(starts[-1]), 2), place=place)
    sizes = np.repeat(lengths, np.diff(starts))
    _check_below("edges[1]", pairs, sizes[:, np.newaxis], place)


def _check_mentions(documents: EncodedMentions) -> None:
    """Check the columns and the spans of mentions."""
    if documents.documents is not None:
        checks.check_offsets("documents", documents.documents)
        count = int(documents.offsets[-1])
        checks.integers("context", documents.context, 0, shape=())
        if int(documents.documents[-1]) != documents.context + count:
            raise ArgumentError(
                f"must end at {documents.context + count}, `context` and the mentions of the "
                "instances.",
                parameter="documents",
                value=documents.documents,
            )
    n, place = int(documents.bounds[-1]), checks.in_instances(documents.bounds)
    shape = n, len(documents.columns)
    checks.check_ids("codes", documents.codes, 0, None, shape, place=place)
    shape = n, len(documents.compared_columns)
    checks.check_ids("compared", documents.compared, -1, None, shape, place=place)
    checks.check_ids("sentences", documents.sentences, 0, None, (n,), place=place)
    checks.check_ids("spans", documents.spans, 0, None, (n, 2), place=place)


def _check_texts(texts: EncodedTexts, lengths: Array) -> None:
    """Check lengths and budgets, and that bigrams are in sentences of their own document."""
    n, m, place = int(texts.offsets[-1]), len(texts), checks.in_instances(texts.offsets)
    checks.check_ids("lengths", texts.lengths, 0, None, (n,), place=place)
    checks.check_ids("budgets", texts.budgets, 0, None, (m,), place=checks.of_instance)
    starts, sentences = texts.holders
    count = int(texts.bigrams[-1])
    checks.check_offsets("holders[0]", starts, count)
    checks.check_ids("holders[1]", sentences, 0, None, (int(starts[-1]),))
    sizes = np.repeat(np.repeat(lengths, np.diff(texts.bigrams)), np.diff(starts))
    _check_below("holders[1]", sentences, sizes, checks.at_index)
    if texts.worth is not None:
        checks.check_floats("worth", texts.worth, (count,))


def _check_constituents(trees: EncodedConstituents, lengths: Array) -> None:
    """Check the columns, and constituents within their sentences."""
    n, m, place = int(trees.offsets[-1]), len(trees), checks.in_instances(trees.offsets)
    if trees.codes is not None:
        checks.check_ids("codes", trees.codes, 0, None, (n, len(trees.columns)), place=place)
    if trees.constituents is None:
        return
    starts, rows = trees.constituents
    name = "constituents[1]"
    checks.check_offsets("constituents[0]", starts, m)
    inside = checks.in_instances(starts)
    count = int(starts[-1])
    most = len(trees.categories) - 1
    checks.check_ids(name, rows, -1, None, (count, 3), place=inside)
    checks.check_ids(name, rows[:, 0], -1, most, (count,), place=inside)
    checks.check_ids(name, rows[:, 1:], 0, None, (count, 2), place=inside)
    ends = np.repeat(lengths, np.diff(starts)) + 1
    _check_below(name, rows[:, 1:], ends[:, np.newaxis], inside)


def _check_below(name: str, values: Array, bounds: Any, place: checks.Place) -> None:
    """Refuse the first value that is not below its own bound."""
    beyond = values >= bounds
    if beyond.any():
        index = tuple(map(int, np.argwhere(beyond)[0]))
        most = int(np.broadcast_to(bounds, values.shape)[index]) - 1
        raise ArgumentError(
            f"must be from 0 to {most}.",
            parameter=name,
            value=int(values[index]),
            where=place(index),
        )
