"""Sentences as Parquet: a row a sentence, with columns of lists, as HuggingFace keeps data sets.
Needs pyarrow.

Names of integers are in the metadata of the file's schema, under ``huggingface``.
"""

from __future__ import annotations

import io
import json
from itertools import chain, pairwise
from typing import Any

import numpy as np

from structopt.core.data.expansion import check_expansion
from structopt.core.data.file_sets import FileSet, data_path
from structopt.errors import ConfigError, DataError
from structopt.formats.conll_layouts import TAG
from structopt.formats.durable_files import replace_file
from structopt.formats.text_files import read_bytes
from structopt.formats.token_lists.class_names import names_of
from structopt.formats.token_lists.fields import Fields
from structopt.formats.token_lists.predicted_lists import PredictedLists
from structopt.formats.token_lists.token_lists import TokenLists, other_length

HUGGINGFACE = b"huggingface"
MISSING = (
    "Parquet is read with pyarrow, which is not installed: pip install "
    "'structopt-trainer[parquet]', or give JSON lines."
)


def read(path: str, fields: Fields, limit: int | None) -> TokenLists:
    """Read the sentences of a file, or of several with the same columns, or the first `limit` of
    them.

    Raises
    ------
    DataError
        No Parquet, or a column that is no list of strings or integers; with the row, lists of
        different lengths.
    ConfigError
        There is no pyarrow.
    """
    table = _table(path)
    chosen = fields.of(path, 1, table.column_names)
    lists = {column: _flat(path, table, field) for column, field in chosen.items()}
    lengths = np.diff(lists[fields.word][0])
    if TAG in chosen:
        lists[TAG] = _with_missing(table.column(chosen[TAG]), lengths, *lists[TAG])
    for column, (offsets, _) in lists.items():
        if len(other := np.flatnonzero(np.diff(offsets) != lengths)):
            row = int(other[0])
            entries = int(offsets[row + 1] - offsets[row])
            raise DataError(
                path,
                row + 1,
                other_length(chosen[column], entries, chosen[fields.word], int(lengths[row])),
            )
    rows = np.flatnonzero(lengths)[:limit]
    offsets = np.concatenate([[0], np.cumsum(lengths[rows])]).astype(np.int64)
    cells = {column: values[: int(offsets[-1])] for column, (_, values) in lists.items()}
    return TokenLists(
        path, chosen, cells, offsets, np.repeat(rows + 1, lengths[rows]), _names(table)
    )


def write(path: str, target: str, fields: Fields, predicted: PredictedLists) -> None:
    """Write a file again with columns behind those that it has; in the place of those that it has
    by these names.
    """
    pyarrow, table = _pyarrow(), _table(path)
    word = fields.of(path, 1, table.column_names)[fields.word]
    lengths = np.diff(_flat(path, table, word)[0]).tolist()
    rows = list(predicted.rows(path, lengths))
    strings = pyarrow.list_(pyarrow.string())
    for key in predicted.keys:
        if key in table.column_names:
            table = table.drop_columns([key])
        table = table.append_column(key, pyarrow.array([row[key] for row in rows], strings))
    table = table.replace_schema_metadata(_described(table.schema.metadata, predicted.keys))
    stream = io.BytesIO()
    _parquet().write_table(table, stream)
    replace_file(target, stream.getvalue())


def _pyarrow() -> Any:
    """The library; a function of its own, since nothing else needs it."""
    try:
        import pyarrow
    except ImportError:
        raise ConfigError(MISSING) from None
    return pyarrow


def _parquet() -> Any:
    _pyarrow()
    import pyarrow.parquet

    return pyarrow.parquet


def _table(path: str) -> Any:
    """The rows of a file, or of several."""
    files = data_path(path)
    contents = list(files.contents()) if isinstance(files, FileSet) else [(path, read_bytes(path))]
    tables = [_decoded(name, data) for name, data in contents]
    if any(table.column_names != tables[0].column_names for table in tables):
        raise DataError(
            path,
            None,
            "these files have not the same columns",
            remedy="read them one by one.",
        )
    pyarrow = _pyarrow()
    try:
        return pyarrow.concat_tables(tables) if len(tables) > 1 else tables[0]
    except pyarrow.ArrowException as error:
        raise DataError(
            path, None, f"the columns of these files have different types ({_line(error)})."
        ) from None


def _decoded(path: str, data: bytes) -> Any:
    """The table of a file."""
    parquet, pyarrow = _parquet(), _pyarrow()
    try:
        file = parquet.ParquetFile(io.BytesIO(data))
        groups = [
            file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)
        ]
        check_expansion(path, len(data), sum(groups))
        return file.read()
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise DataError(
            path,
            None,
            f"this is no Parquet, or damaged ({_line(error)})",
            remedy="copy or download it again.",
        ) from None


def _flat(path: str, table: Any, field: str) -> tuple[Any, list[Any]]:
    """Offsets of the lists of a column, and their entries one after the other; a missing list is
    empty.
    """
    pyarrow, column = _pyarrow(), table.column(field)
    types = pyarrow.types
    if not (
        types.is_list(column.type)
        or types.is_large_list(column.type)
        or types.is_fixed_size_list(column.type)
    ):
        raise DataError(
            path,
            None,
            f'the column "{field}" is of the type {column.type}',
            remedy="give a list of strings, one a token.",
        )
    try:
        lists = column.combine_chunks().cast(pyarrow.large_list(column.type.value_type))
        lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        values = lists.flatten()
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), values.to_pylist()
    except (pyarrow.ArrowException, ValueError, OverflowError) as error:
        message = f'the column "{field}" is damaged ({_line(error)})'
        raise DataError(
            path,
            None,
            message,
            remedy="copy or download the file again.",
        ) from None


def _with_missing(
    column: Any, lengths: Any, offsets: Any, values: list[Any]
) -> tuple[Any, list[Any]]:
    """The labels of all rows, with None for each token of a row whose list is missing."""
    missing = column.is_null().to_numpy()
    if not missing.any():
        return offsets, values
    rows = [
        [None] * int(length) if absent else values[begin:end]
        for absent, length, (begin, end) in zip(
            missing, lengths, pairwise(offsets.tolist()), strict=True
        )
    ]
    ends = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return ends, list(chain.from_iterable(rows))


def _names(table: Any) -> dict[str, list[str]]:
    """The names of integers in the metadata of a schema, by field."""
    information = _information(table.schema.metadata)
    return names_of(information.get("info")) if information else {}


def _information(metadata: dict[bytes, bytes] | None) -> dict[str, Any]:
    try:
        value = json.loads((metadata or {}).get(HUGGINGFACE, b"{}"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _described(
    metadata: dict[bytes, bytes] | None, keys: tuple[str, ...]
) -> dict[bytes, bytes] | None:
    """The metadata of a schema with the columns that were added, where it describes columns."""
    information = _information(metadata)
    info = information.get("info")
    features = info.get("features") if isinstance(info, dict) else None
    if not isinstance(features, dict):
        return metadata
    kinds = [one.get("_type") for one in features.values() if isinstance(one, dict)]
    kind = "List" if "List" in kinds else "Sequence"
    for key in keys:
        features[key] = {"feature": {"dtype": "string", "_type": "Value"}, "_type": kind}
    return {**(metadata or {}), HUGGINGFACE: json.dumps(information).encode()}


def _line(error: Exception) -> str:
    """The first line of a library's message, shortened."""
    return str(error).partition("\n")[0][:200]
