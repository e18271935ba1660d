"""LIBSVM's text of sparse vectors with several labels: ``label,label,... index:value index:value
...`` a line.

As `structopt.formats.vectors.libsvm`, but a line may begin with several labels, separated by commas
without spaces, or with none: then it begins with its first pair.

Training data may leave labels open: ``?a`` is a label a that an instance may have or not, and ``?``
alone means all labels that its line does not name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from structopt.errors import DataError
from structopt.formats.numbering import repeated
from structopt.formats.text_files import read_text, write_text
from structopt.formats.vectors import libsvm
from structopt.formats.vectors.labelled_vectors import LabelledVectors
from structopt.formats.vectors.libsvm import NO_LABEL, label_order, plain_label
from structopt.kernels.waist.record import Array

OPEN = "?"


def read(
    path: str | Path, limit: int | None = None, encoding: str = "utf8", partial: bool = False
) -> LabelledVectors:
    """Read a file, plain or gzip, or its first `limit` instances; O(characters). With `partial`,
    labels may be left open.

    Raises
    ------
    DataError
        What `structopt.formats.vectors.libsvm.read` raises, but for lines without labels; an empty
        label, or one that occurs twice.
    ConfigError
        A limit below 1, or an unknown encoding.
    """
    vectors = libsvm.read(path, limit, labelled=False, encoding=encoding)
    try:
        sets = {text: _labels(text) for text in dict.fromkeys(vectors.labels)}
    except ValueError as error:
        text, complaint = error.args
        raise DataError(path, _line_of(path, text, encoding), complaint) from None
    certain = {
        text: tuple(name for name in labels if not (partial and name.startswith(OPEN)))
        for text, labels in sets.items()
    }
    marked = {
        text: [name[len(OPEN) :] for name in labels if partial and name.startswith(OPEN)]
        for text, labels in sets.items()
    }
    names = sorted(
        {name for labels in (*certain.values(), *marked.values()) for name in labels if name},
        key=label_order,
    )
    order = {name: j for j, name in enumerate(names)}
    ordered = {
        text: tuple(sorted(labels, key=order.__getitem__)) for text, labels in certain.items()
    }
    opened = {text: tuple(_opened(labels, certain[text], names)) for text, labels in marked.items()}
    unknown = [opened[text] for text in vectors.labels] if any(opened.values()) else None
    labels = [ordered[text] for text in vectors.labels]
    arrays = vectors.offsets, vectors.indices, vectors.ids, vectors.values
    return LabelledVectors(vectors.path, *arrays, labels, tuple(names), False, unknown)


def write(
    source: str | Path,
    target: str | Path,
    outputs: Sequence[Sequence[str]],
    names: Sequence[str],
    probabilities: Sequence[Array] | None = None,
    ranked: Sequence[Sequence[tuple[float, Sequence[str]]]] | None = None,
    encoding: str = "utf8",
) -> None:
    """Write a file again with other labels; the vectors are copied, comments are not.

    Everything but the labels is written as comments, so that the file can be read again. With
    probabilities the first line is ``# labels a b c``, and every line ends with ``# p p p``, the
    probability of each of them; of the `ranked` outputs, each of the second and later is a line ``#
    rank score a,b`` after its instance.

    Raises
    ------
    DataError
        A target that cannot be written; a label that LIBSVM's text cannot hold.
    """
    for name in names:
        if not name or set(name) & set(" \t,:#"):
            raise DataError(
                target,
                None,
                f"LIBSVM's text cannot hold the label {name!r}",
                remedy="rename it, or predict on an ARFF file.",
            )
    rows = [] if probabilities is None else ["# labels " + " ".join(names)]
    vectors = filter(None, (_pairs(text) for text in read_text(source, encoding).split("\n")))
    for i, (pairs, output) in enumerate(zip(vectors, outputs, strict=True)):
        cells = [",".join(output), *pairs] if output else list(pairs)
        if probabilities is not None:
            cells += ["#", *(f"{p:.4f}" for p in probabilities[i][:, 1])]
        rows.append(" ".join(cells))
        for rank, (score, labels) in enumerate(ranked[i][1:] if ranked else [], 2):
            rows.append(f"# {rank} {score:g} {','.join(labels)}")
    write_text(target, "".join(row + "\n" for row in rows), encoding)


def _opened(marked: Sequence[str], certain: Sequence[str], names: Sequence[str]) -> list[str]:
    """The labels that a line leaves open: those marked, and where a mark has no name all that are
    not certain.
    """
    marks, rest = set(marked), set(certain)
    return (
        []
        if not marks
        else [name for name in names if name in marks or ("" in marks and name not in rest)]
    )


def _labels(text: str) -> tuple[str, ...]:
    """The labels that a line begins with, whole numbers written one way."""
    if text == NO_LABEL:
        return ()
    names = [plain_label(name) for name in text.split(",")]
    if "" in names:
        raise ValueError(
            text,
            f"{text!r} has a comma with no label beside it: write label,label index:value ....",
        )
    if twice := repeated(names):
        raise ValueError(text, f"the label {twice!r} stands twice in this line: keep one of them.")
    return tuple(names)


def _fields(text: str) -> list[str]:
    return text.partition("#")[0].split()


def _pairs(text: str) -> list[str] | None:
    """The pairs of a line, at least one, since a line without labels must not be blank; None where
    it has no instance.
    """
    fields = _fields(text)
    if not fields:
        return None
    return fields if ":" in fields[0] else fields[1:] or ["1:0"]


def _line_of(path: str | Path, label: str, encoding: str) -> int:
    """The first line that begins with this text."""
    lines = read_text(path, encoding).split("\n")
    return next(line for line, text in enumerate(lines, 1) if _fields(text)[:1] == [label])
