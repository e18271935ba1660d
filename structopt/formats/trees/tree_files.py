"""Reading files of dependency trees, and writing them again with predicted trees: CoNLL-U, CoNLL-X,
Penn columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from structopt.errors import ConfigError, DataError
from structopt.formats.text_files import BYTE_ORDER_MARK, check_limit, read_verbatim, write_text
from structopt.formats.trees import conllu, conllx, penn_columns
from structopt.formats.trees.dependency_trees import EMPTY, Arc, Trees
from structopt.formats.trees.tree_checks import check_word_numbers, checked_heads
from structopt.formats.trees.tree_rows import (
    TAB,
    Layout,
    Rows,
    is_blank,
    plain_lines,
    scan,
    separator_of,
)
from structopt.kernels.waist.record import Array

Format = Literal["auto", "conllu", "conllx", "penn"]
LAYOUTS: dict[str, Layout] = {
    "conllu": conllu.LAYOUT,
    "conllx": conllx.LAYOUT,
    "penn": penn_columns.LAYOUT,
}

AFTER: dict[str, tuple[int, ...]] = {"conllu": (conllu.DEPS,), "conllx": (8, 9), "penn": ()}
"""The columns of other arcs of a word, which are not predicted."""

Ranked = Sequence[tuple[float, Sequence[Arc]]]
"""Scores and outputs of one sentence, the best first."""


def read(
    path: str | Path,
    format: Format = "auto",
    limit: int | None = None,
    labelled: bool = True,
    encoding: str = "utf8",
    partial: bool = False,
) -> Trees:
    """Read a file, plain or gzip, or its first `limit` sentences; O(characters).

    Parameters
    ----------
    path : str or Path
    format : {"auto", "conllu", "conllx", "penn"}
        ``auto``: see `detect_format`.
    limit : int or None
    labelled : bool
        Whether every word must have a head; otherwise heads are not read.
    encoding : str
    partial : bool
        Whether some words may have no head.

    Raises
    ------
    DataError
        A file that cannot be read or has no sentences; a row that breaks its format; heads that are
        no tree.
    ConfigError
        A limit below 1, or an unknown encoding.
    """
    check_limit(limit)
    text = read_verbatim(path, encoding)
    lines = plain_lines(text)
    form = detect_format(path, lines) if format == "auto" else format
    layout, rows = LAYOUTS[form], word_rows(path, lines, form, limit)
    cells = rows.columns[layout.numbers["head"]]
    heads = checked_heads(path, rows.lines, rows.offsets, cells, partial) if labelled else None
    return Trees(str(path), rows.offsets, rows.lines, _cells(rows, layout), heads, form, text)


def word_rows(
    path: str | Path, lines: Sequence[str], form: Format, limit: int | None = None
) -> Rows:
    """Return the rows of a file, or of its first `limit` sentences, that are words.

    Raises
    ------
    DataError
        No rows, or a row that breaks the format.
    """
    layout = LAYOUTS[form]
    rows = scan(path, lines, layout, limit)
    if form == "conllu":
        rows = conllu.words(path, rows)
    if layout.numbered:
        check_word_numbers(path, rows.lines, rows.offsets, rows.columns[0])
    return rows


def detect_format(path: str | Path, lines: Sequence[str]) -> Format:
    """Return the format of a file, given its lines.

    It is ``penn`` where the first row has three columns. Otherwise it is ``conllu`` where the file
    is named so, or has comments, multi-word tokens, empty nodes or a cell of DEPS or MISC such as
    ``4:obj`` and ``SpaceAfter=No``; else ``conllx``.
    """
    first = next(
        (line for line in lines if not is_blank(line) and (line[0] != "#" or line.count(TAB) == 2)),
        "",
    )
    if 1 + first.count(separator_of(first, penn_columns.LAYOUT)) == len(penn_columns.LAYOUT.names):
        return "penn"
    if str(path).removesuffix(".gz").endswith(".conllu") or any(map(_only_universal, lines)):
        return "conllu"
    return "conllx"


def write(
    corpus: Trees,
    target: str | Path,
    outputs: Sequence[Sequence[Arc]],
    probabilities: Sequence[Array] | None = None,
    ranked: Sequence[Ranked] | None = None,
    encoding: str = "utf8",
) -> None:
    """Write the file of a corpus again with predicted heads and relations; all else is copied to
    the byte.

    Relations are copied too where none are predicted. In CoNLL-U, `probabilities` (one table a
    sentence, of shape (words, words + 1), column 0 the root) put the probability of every arc into
    MISC as ``p=0.987``, and every sentence is written once for each of its `ranked` outputs, under
    comments such as ``# k_best = 2`` and ``# score = 31.41``. The target is replaced at once.

    Raises
    ------
    ConfigError
        Probabilities or ranked outputs in a format that cannot hold them.
    DataError
        The target cannot be written.
    """
    layout = LAYOUTS[corpus.format]
    for written, option in ((probabilities, "probabilities=true"), (ranked, "k_best")):
        if written is not None and corpus.format != "conllu":
            raise ConfigError(
                f"{layout.title} has no place for what {option} writes.",
                remedy="Give input in CoNLL-U, or leave it out.",
            )
    mark = BYTE_ORDER_MARK if corpus.text.startswith(BYTE_ORDER_MARK) else ""
    lines = corpus.text.removeprefix(mark).split("\n")
    if ranked is None:
        _fill(lines, corpus, layout, range(len(corpus)), outputs, probabilities)
    else:
        lines = list(_ranked_lines(lines, corpus, layout, ranked, probabilities))
    write_text(target, mark + "\n".join(lines), encoding, source=corpus.path)


def stale_cells(corpus: Trees, outputs: Sequence[Sequence[Arc]]) -> DataError | None:
    """Return a message if words with a new head keep the relation or the enhanced arcs of the old
    head, which `write` copies; None otherwise.
    """
    layout, lines = LAYOUTS[corpus.format], corpus.text.split("\n")
    relation = layout.numbers.get("deprel")
    if relation is None:
        return None
    kept: dict[str, int] = {}
    words, first = 0, 0
    arcs = (arc for output in outputs for arc in output)
    for number, head, arc in zip(corpus.lines.tolist(), corpus.cells["head"], arcs, strict=True):
        if head in (str(arc.head), EMPTY):
            continue
        cells = lines[number - 1].removesuffix("\r").split(TAB)
        columns = [*([relation] if arc.relation is None else []), *AFTER[corpus.format]]
        stale = [layout.names[column] for column in columns if cells[column] != EMPTY]
        if stale:
            words, first = words + 1, first or number
            kept.update(dict.fromkeys(stale, 0))
    if not words:
        return None
    names = list(kept)
    others = [name for name in names if name != layout.names[relation]]
    advice = ["to predict relations, train with factor_graph.labeled=true"] * (others != names)
    advice += [f"write _ to {' and '.join(others)}, which no model predicts"] * bool(others)
    return DataError(
        corpus.path,
        first,
        f"{words} of {len(corpus.lines)} words, the first one here, have a new head, but keep "
        f"{' and '.join(names)} of the input",
        remedy=f"{'; '.join(advice)}.",
    )


def _only_universal(line: str) -> bool:
    """Whether a line can only be CoNLL-U's."""
    if line.startswith("#"):
        return True
    cells = line.split(TAB)
    return (
        "-" in cells[0]
        or "." in cells[0]
        or (len(cells) == 10 and (":" in cells[conllu.DEPS] or "=" in cells[conllu.MISC]))
    )


def _cells(rows: Rows, layout: Layout) -> dict[str, list[str]]:
    """Columns by name, equal strings as one object."""
    shared: dict[int, list[str]] = {}
    for number in set(layout.numbers.values()):
        column, share = rows.columns[number], dict[str, str]()
        shared[number] = list(map(share.setdefault, column, column))
    return {name: shared[number] for name, number in layout.numbers.items()}


def _fill(
    lines: list[str],
    corpus: Trees,
    layout: Layout,
    sentences: range,
    outputs: Sequence[Sequence[Arc]],
    probabilities: Sequence[Array] | None,
) -> None:
    """Put outputs, one a sentence of the range, into the rows of the sentences' words."""
    separator = separator_of(lines[int(corpus.lines[0]) - 1], layout)
    head, relation = layout.numbers["head"], layout.numbers.get("deprel")
    for i, output in zip(sentences, outputs, strict=True):
        numbers = corpus.lines[corpus.offsets[i] : corpus.offsets[i + 1]].tolist()
        for m, (number, arc) in enumerate(zip(numbers, output, strict=True)):
            line = lines[number - 1]
            cells = line.removesuffix("\r").split(separator)
            cells[head] = str(arc.head)
            if relation is not None and arc.relation is not None:
                cells[relation] = arc.relation
            if probabilities is not None:
                cells[conllu.MISC] = conllu.with_probability(
                    cells[conllu.MISC], probabilities[i][m, arc.head]
                )
            lines[number - 1] = separator.join(cells) + ("\r" if line.endswith("\r") else "")


def _ranked_lines(
    lines: list[str],
    corpus: Trees,
    layout: Layout,
    ranked: Sequence[Ranked],
    probabilities: Sequence[Array] | None,
) -> Iterator[str]:
    """Lines of the file, every sentence as often as it has outputs."""
    done = 0
    for i, outputs in enumerate(ranked):
        begin, end = _block(lines, int(corpus.lines[corpus.offsets[i]]) - 1)
        yield from lines[done:begin]
        for rank, (score, output) in enumerate(outputs, 1):
            _fill(lines, corpus, layout, range(i, i + 1), [output], probabilities)
            if rank > 1:
                yield "\r" if lines[begin].endswith("\r") else ""
            yield from conllu.ranked_block(
                lines[begin:end], [f"k_best = {rank}", f"score = {score:.6f}"]
            )
        done = end
    yield from lines[done:]


def _block(lines: Sequence[str], line: int) -> tuple[int, int]:
    """First and last (exclusive) of the lines around a line, up to the blank lines before and after
    it.
    """
    begin = end = line
    while begin > 0 and not is_blank(lines[begin - 1]):
        begin -= 1
    while end < len(lines) and not is_blank(lines[end]):
        end += 1
    return begin, end
