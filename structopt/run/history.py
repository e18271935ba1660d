"""The run's history: a CSV file with one row a pass."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping
from numbers import Integral
from pathlib import Path

from structopt.errors import DataError
from structopt.formats.durable_files import naming, write_bytes

REMEDY = "Restore the file, or delete it."

Value = float | int | None


class History:
    """Appends one row a pass to a CSV file; each row is on the disk before `append` returns.

    The first row's keys are the header. A key that appears later adds a column; a key that is
    missing, or whose value is None, leaves its cell empty. Opening an existing file goes on behind
    its last whole row. Numbers are written so that they read back bit for bit.

    Parameters
    ----------
    path : Path
        The file, usually ``history.csv`` in the run folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        text = _whole_lines(self.path)
        self._header = next(csv.reader(io.StringIO(text)), [])
        if self.path.exists() and self.path.stat().st_size != len(text.encode()):
            write_bytes(self.path, text.encode())

    def append(self, row: Mapping[str, Value]) -> None:
        """Write one pass, flush and sync."""
        added = [key for key in row if key not in self._header]
        if added:
            self._rewrite(read(self.path), [*self._header, *added])
        with naming(self.path), self.path.open("a", encoding="utf-8", newline="") as stream:
            stream.write(_line(_cell(row.get(key)) for key in self._header))
            _sync(stream)

    def rewind(self, epoch: int) -> None:
        """Forget the passes after `epoch`, as a resumed run does; `rewind(0)` empties the
        history.
        """
        kept = [row for row in read(self.path) if int(row["epoch"] or 0) <= epoch]
        self._rewrite(kept, self._header if kept else [])

    def _rewrite(self, rows: list[dict[str, Value]], header: list[str]) -> None:
        """Write the whole file anew under a header."""
        self._header = header
        lines = [_line(_cell(row.get(key)) for key in header) for row in rows]
        write_bytes(self.path, "".join([_line(header), *lines] if header else []).encode())


def read(path: str | Path) -> list[dict[str, Value]]:
    """Read a history: one dict a pass; ``epoch`` is an int, other cells are floats, empty cells
    None.

    A last line without its newline (a run killed as it wrote) is left out; a missing file is an
    empty history.

    Raises
    ------
    DataError
        With file and line, where a row has no epoch, or cells that are no numbers or in no column.
    """
    rows = csv.DictReader(io.StringIO(_whole_lines(Path(path))))
    try:
        history = [{key: _value(key, cell) for key, cell in row.items()} for row in rows]
    except (ValueError, TypeError, csv.Error):
        raise _damaged(path, rows.line_num) from None
    for line, row in enumerate(history, 2):
        if row.get("epoch") is None:
            raise _damaged(path, line)
    return history


def _damaged(path: str | Path, line: int | None) -> DataError:
    return DataError(
        path,
        line,
        "this is not a row of a history, which has the epoch and a number or nothing per column.",
        remedy=REMEDY,
    )


def _whole_lines(path: Path) -> str:
    """Return the file's text up to its last newline."""
    try:
        text = path.read_bytes().decode("utf8") if path.exists() else ""
    except UnicodeDecodeError:
        raise _damaged(path, None) from None
    return text[: text.rfind("\n") + 1]


def _value(key: str, cell: str | None) -> Value:
    """Turn a cell into a number."""
    if not cell:
        return None
    return int(cell) if key == "epoch" else float(cell)


def _cell(value: Value) -> str:
    """Turn a number into a cell that reads back to the same number."""
    if value is None:
        return ""
    return str(value) if isinstance(value, Integral) else repr(float(value))


def _line(cells: Iterable[str]) -> str:
    """Make one CSV line."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()


def _sync(stream: io.TextIOBase | io.TextIOWrapper) -> None:
    """Flush to the disk."""
    stream.flush()
    os.fsync(stream.fileno())
