"""Featurised corpora in folders of arrays: written block by block, opened as memory maps, whole or
some instances of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import Encoded
from structopt.core.data.encoded_checks import check_encoded
from structopt.core.storage.arrays import IN_MEMORY, InFiles, Storage
from structopt.errors import ArgumentError, ConfigError
from structopt.formats.array_folder import ArrayFolderWriter, UnusableFolder, opened
from structopt.kernels.waist.record import Array

STATE = "task."
"""What the names of the arrays of the task's state begin with."""
WRONG_ENTRIES = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)
"""Errors of Python and NumPy for entries that are missing or of another type."""
CONSTANT = ("labels", "forbidden_starts", "forbidden_ends", "forbidden_transitions")
"""Fields of an encoded corpus that are those of each of its blocks."""


def write_corpus(
    folder: Path,
    key: Mapping[str, Any],
    blocks: Iterable[Encoded],
    state: tuple[Mapping[str, Any], Mapping[str, Array]],
) -> None:
    """Write a corpus that comes in blocks, of which one at a time is in memory, and the state of
    the task that encoded it.

    Raises
    ------
    ConfigError
        If a block has data that such folders do not keep, values in some blocks only, or the disk
        is full.
    """
    writer = ArrayFolderWriter(folder, key)
    try:
        notes: dict[str, Any] = {}
        for block in blocks:
            _check(block)
            notes = {name: getattr(block, name) for name in CONSTANT}
            notes["tables"] = {name: table.size for name, table in block.tables.items()}
            _add(writer, block)
        values, arrays = state
        for name, array in arrays.items():
            writer.add(STATE + name, array)
        writer.finish({**notes, "state": values, "arrays": list(arrays)})
    except BaseException:
        writer.abandon()
        raise


def open_corpus(
    folder: Path, key: Mapping[str, Any] | None = None, checked: bool = True
) -> tuple[Encoded, tuple[dict[str, Any], dict[str, Array]]]:
    """Map a corpus, and read the state of the task; what is made of the corpus goes to nameless
    files beside the folder.

    Checksums guard against accidents only, so that ids and offsets are compared with their bounds,
    too, before compiled code reads them.

    Raises
    ------
    UnusableFolder
        See `structopt.formats.array_folder.opened`.
    """
    arrays, notes = opened(folder, key, checked)
    try:
        encoded = replace(_encoded(arrays, notes, InFiles(folder.parent)), folder=folder.absolute())
        state = notes["state"], {name: np.array(arrays[STATE + name]) for name in notes["arrays"]}
        if checked:
            check_encoded(encoded, training=True)
    except ArgumentError as error:
        raise UnusableFolder(f"its arrays are inconsistent ({error})") from error
    except WRONG_ENTRIES as error:
        reason = f"{type(error).__name__}: {error}"
        raise UnusableFolder(f"its manifest is incomplete ({reason})") from error
    return encoded, state


def open_shard(folder: Path, first: int, last: int | None) -> Encoded:
    """Map the instances first <= i < last of a corpus; None: to the end.

    The checksums are those of who made the folder, and are not compared again.

    A worker that is given the folder's path has its instances in this way, without anybody sending
    them.
    """
    arrays, notes = opened(folder, checked=False)
    return _encoded(arrays, notes, IN_MEMORY, first, last)


def _check(block: Encoded) -> None:
    partial = block.gold is None or block.gold_sets is not None or block.allowed is not None
    if type(block) is not Encoded or block.dense or partial:
        raise ConfigError(
            "keeps sparse attributes and labels that are known in full; this task and its "
            "settings make other data.",
            parameter="storage",
            value="disk",
            remedy="Set storage=memory.",
        )


def _add(writer: ArrayFolderWriter, block: Encoded) -> None:
    """Append a block: offsets as lengths, values from the first block on that has any, before which
    all are 1.
    """
    assert block.gold is not None
    writer.add("lengths", np.diff(block.offsets))
    writer.add("gold", block.gold)
    for name, table in block.tables.items():
        ids, values = f"{name}.ids", f"{name}.values"
        if table.values is not None or writer.size(values):
            writer.add(values, np.ones(writer.size(ids) - writer.size(values)))
            writer.add(values, np.ones(len(table.ids)) if table.values is None else table.values)
        writer.add(f"{name}.lengths", np.diff(table.offsets).astype(np.int32))
        writer.add(ids, table.ids)


def _encoded(
    arrays: Mapping[str, Array],
    notes: Mapping[str, Any],
    storage: Storage,
    first: int = 0,
    last: int | None = None,
) -> Encoded:
    """The instances first <= i < last; None: to the end."""
    last = len(arrays["lengths"]) if last is None else last
    begin, end = (int(arrays["lengths"][:bound].sum()) for bound in (first, last))
    tables = {}
    for name, size in notes["tables"].items():
        # pairs of neighbours
        rows = slice(begin, end) if name == "label" else slice(begin - first, end - last)
        lengths, values = arrays[f"{name}.lengths"], arrays.get(f"{name}.values")
        entries = slice(*(int(lengths[:bound].sum()) for bound in (rows.start, rows.stop)))
        ids, values = arrays[f"{name}.ids"][entries], None if values is None else values[entries]
        tables[name] = AttributeTable(_offsets(lengths[rows], storage), ids, values, size)
    return Encoded(
        _offsets(arrays["lengths"][first:last], storage),
        tables,
        tuple(notes["labels"]),
        arrays["gold"][begin:end],
        forbidden_starts=tuple(notes["forbidden_starts"]),
        forbidden_ends=tuple(notes["forbidden_ends"]),
        forbidden_transitions=tuple((int(u), int(v)) for u, v in notes["forbidden_transitions"]),
        storage=storage,
    )


def _offsets(lengths: Array, storage: Storage) -> Array:
    """Where runs of given lengths begin, and the last one ends."""
    offsets = storage.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
