"""Predicted labels as cells behind the tokens of a column file."""

from __future__ import annotations

from collections.abc import Sequence

from structopt.core.task import Ranked
from structopt.kernels.waist.record import Array

RAREST = 0.001
"""The least probability that is written, but for that of the likeliest label."""


def predicted_cells(
    labels: Sequence[str],
    outputs: Sequence[Sequence[str]],
    tables: Sequence[Array] | None,
    ranked: Sequence[Ranked] | None,
    k: int,
) -> list[list[list[str]]]:
    """For every token the cells to add: its label, its probabilities, and its label in each of the k best outputs.

    Parameters
    ----------
    labels : sequence of str
        The names of the columns of `tables`.
    outputs : one list of labels a sentence
    tables : one array of shape (tokens, labels) a sentence, or None
    ranked : one list of scores and outputs a sentence, the best first, or None
    k : int
        Cells for the k best; ``-`` where a sentence has fewer outputs.
    """
    columns = [[output] for output in outputs]
    for i, own in enumerate(columns):
        if tables is not None:
            own.append(_probabilities(labels, tables[i]))
        if ranked is not None:
            own += [output for _, output in ranked[i]]
            own += [["-"] * len(outputs[i])] * (k - len(ranked[i]))
    return [[list(cells) for cells in zip(*own, strict=True)] for own in columns]


def _probabilities(labels: Sequence[str], table: Array) -> list[str]:
    """One cell a token: its labels with their probabilities, the likeliest first, those of a thousandth or more."""
    cells = []
    for row in table:
        order = (-row).argsort(kind="stable")
        cells.append(",".join(f"{labels[y]}:{row[y]:.4f}" for y in order if row[y] >= RAREST or y == order[0]))
    return cells
