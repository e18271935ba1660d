"""Predicted labels as lists that are added to the sentences of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from structopt.errors import DataError

Cells = Sequence[Sequence[Sequence[str]]]
"""For each sentence, for each token, what is added: see
`structopt.formats.predicted_cells.predicted_cells`.
"""


@dataclass(frozen=True)
class PredictedLists:
    """What is added to sentences.

    Attributes
    ----------
    keys : tuple of str
        The fields that are added: labels, probabilities, labels of the k best outputs.
    cells : for each sentence, for each token, one cell a key
    """

    keys: tuple[str, ...]
    cells: Cells

    @classmethod
    def of(cls, field: str, cells: Cells, probabilities: bool, k_best: int) -> PredictedLists:
        """The fields that a field of labels makes: itself, ``..._probabilities``, ``..._1`` to
        ``..._k``.
        """
        further = ["probabilities"] * probabilities + [
            str(rank) for rank in range(1, k_best + 1) if k_best > 1
        ]
        return cls((field, *(f"{field}_{name}" for name in further)), cells)

    def rows(self, path: str, lengths: Sequence[int]) -> Iterator[dict[str, list[str]]]:
        """Yield the added lists of every sentence of a file, by field; those of sentences without
        tokens are empty.

        Raises
        ------
        DataError
            The file has other sentences than were predicted.
        """
        if [length for length in lengths if length] != list(map(len, self.cells)):
            raise DataError(
                path,
                None,
                "the file has other sentences than were predicted: it has changed since it was "
                "read.",
            )
        rows = iter(self.cells)
        for length in lengths:
            columns = zip(*next(rows), strict=True) if length else [()] * len(self.keys)
            yield {key: list(cells) for key, cells in zip(self.keys, columns, strict=True)}
