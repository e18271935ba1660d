"""Predicted labels, probabilities and k best labels as cells that are added to the tokens of a
file.
"""

from __future__ import annotations

from collections.abc import Sequence

from structopt.core.task import Ranked
from structopt.kernels.waist.record import Array

RAREST = 0.001
"""The least probability that is written; that of the likeliest label always is."""


def predicted_cells(
    labels: Sequence[str],
    outputs: Sequence[Sequence[str]],
    tables: Sequence[Array] | None,
    ranked: Sequence[Ranked] | None,
    k: int,
) -> list[list[list[str]]]:
    """Return the cells to add to every token: its label, its probabilities, and its label in each
    of the k best outputs.

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
    sentences = []
    for i, output in enumerate(outputs):
        columns = [output]
        if tables is not None:
            columns.append(_probabilities(labels, tables[i]))
        if ranked is not None:
            columns += [labelling for _, labelling in ranked[i]]
            columns += [["-"] * len(output)] * (k - len(ranked[i]))
        sentences.append([list(cells) for cells in zip(*columns, strict=True)])
    return sentences


def _probabilities(labels: Sequence[str], table: Array) -> list[str]:
    """One cell a token: its labels with their probabilities, the likeliest first, those of a
    thousandth or more.
    """
    cells = []
    for row in table:
        order = (-row).argsort(kind="stable")
        cells.append(
            ",".join(
                f"{labels[y]}:{row[y]:.4f}" for y in order if row[y] >= RAREST or y == order[0]
            )
        )
    return cells
