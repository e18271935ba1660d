"""Writing an ARFF file again with predicted labels in its label columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from structopt.formats.text_files import read_text, write_text
from structopt.formats.vectors.arff_header import header, is_row, quoted, split, without_comment
from structopt.kernels.waist.record import Array

COUNT = re.compile(r"-C\s+[-+]?[0-9]+")


def write(
    source: str | Path,
    target: str | Path,
    outputs: Sequence[Sequence[str]],
    names: Sequence[str],
    probabilities: Sequence[Array] | None = None,
    ranked: Sequence[Sequence[tuple[float, Sequence[str]]]] | None = None,
    encoding: str = "utf8",
) -> None:
    """Write a file again with predicted labels: 1 or 0 in the column of each label; missing columns
    are added last.

    With probabilities those columns are numeric and hold the probability of each label instead. Of
    the `ranked` outputs, the second and later are written as comments ``% rank score a,b`` after
    their row. If columns are added, MEKA's ``-C`` counts them. Everything else is copied, columns
    of labels that the model does not know too.

    Parameters
    ----------
    source, target : str or Path
    outputs : sequence of sequences of str
        The labels of each row.
    names : sequence of str
        All labels of the model.
    probabilities : sequence of float64 arrays of shape (labels, 2), or None
    ranked : sequence, or None
        For every row, the scores and labels of its best outputs.
    encoding : str

    Raises
    ------
    DataError
        A target that cannot be written.
    """
    lines = read_text(source, encoding).removesuffix("\n").split("\n")
    head = header(source, lines)
    column_of = {attribute.name: j for j, attribute in enumerate(head.attributes)}
    existing = set(names) & set(column_of)
    missing = [name for name in names if name not in column_of]
    column_of |= {name: j for j, name in enumerate(missing, len(head.attributes))}
    columns = [column_of[name] for name in names]
    written = lines[: head.data - 1]
    if missing and head.labels is not None:
        at = head.labels.line - 1
        written[at] = COUNT.sub(f"-C -{len(missing)}", written[at])
    if probabilities is not None:
        for name in existing:
            line = head.attributes[column_of[name]].line
            written[line - 1] = f"@attribute {quoted(name)} numeric"
    written += [
        f"@attribute {quoted(name)} {'{0,1}' if probabilities is None else 'numeric'}"
        for name in missing
    ]
    written.append(lines[head.data - 1])
    row = 0
    for text in lines[head.data :]:
        if not is_row(text):
            written.append(text)
            continue
        labels = set(outputs[row])
        cells = [str(int(name in labels)) for name in names]
        if probabilities is not None:
            cells = [f"{p:.4f}" for p in probabilities[row][:, 1]]
        written.append(_replaced(without_comment(text), columns, cells, len(missing)))
        for rank, (score, output) in enumerate(ranked[row][1:] if ranked else [], 2):
            written.append(f"% {rank} {score:g} {','.join(map(quoted, output))}")
        row += 1
    write_text(target, "".join(line + "\n" for line in written), encoding)


def _replaced(row: str, columns: Sequence[int], cells: Sequence[str], new: int) -> str:
    """A row with other cells in some columns, of which the last `new` ones are added to it."""
    if not row.startswith("{"):
        fields = [*split(row), *[""] * new]
        for column, cell in zip(columns, cells, strict=True):
            fields[column] = cell
        return ",".join(fields)
    body = row[1:-1].strip()
    entries = {int(cell.split(None, 1)[0]): cell for cell in (split(body) if body else [])}
    for column, cell in zip(columns, cells, strict=True):
        entries.pop(column, None)
        if float(cell) != 0.0:
            entries[column] = f"{column} {cell}"
    return "{" + ",".join(entries[column] for column in sorted(entries)) + "}"
