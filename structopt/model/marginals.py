"""Marginals of instances: an array each, and all of them as one table with named columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from structopt.kernels.waist.record import Array


class Marginals(list[Array]):
    """Probabilities, one array an instance; `table` names them.

    Parameters
    ----------
    arrays : sequence of float64 arrays, one an instance
        Of tokens, cells and classes: shape (variables, labels). Of sets of labels: shape (labels,
        2), out of the set and in it. Of trees: shape (words, words + 1), every head of every word,
        column 0 the root.
    labels : tuple of str
        The labels in the order of the arrays; of trees the relations, which only the table has.
    instance : str
        What an instance is called: the first column of the table.
    columns : callable
        From the number of an instance, from 0, to the further columns.
    """

    def __init__(
        self,
        arrays: Sequence[Array],
        labels: tuple[str, ...],
        instance: str,
        columns: Callable[[int], Mapping[str, Any]],
    ) -> None:
        super().__init__(arrays)
        self.labels, self.instance, self._columns = labels, instance, columns

    @cached_property
    def table(self) -> dict[str, list[Any]]:
        """A row a choice: columns of equal length, by name. ``pandas.DataFrame(marginals.table)``
        makes a data frame.

        The first column counts the instances from 1 (``sentence``, ``image``); the last is the
        ``probability``. Between them:

        - of tokens: ``token`` (from 1), ``label`` (in the scheme that the model has learnt);
        - of trees: ``modifier``, ``head`` (from 1; 0: the root), ``relation`` (None where arcs
          carry none);
        - of vectors: ``label``; where a vector has a set of labels, the probability is that of
          being in it;
        - of images: ``row``, ``column`` (from 1), ``label``.
        """
        tables = []
        for index in range(len(self)):
            columns = self._columns(index)
            if len(columns["probability"]):
                tables.append({self.instance: [index + 1] * len(columns["probability"]), **columns})
        names = tables[0] if tables else (self.instance, "probability")
        return {
            name: list(chain.from_iterable(_plain(table[name]) for table in tables))
            for name in names
        }


def _plain(column: Any) -> list[Any]:
    """A column as a list of Python's own values."""
    return column.tolist() if isinstance(column, np.ndarray) else list(column)
