"""Covering arrays: a few cases of a product of parameters in which all pairs of values occur."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product
from typing import Any


def covering(*parameters: Iterable[Any], strength: int = 2) -> list[tuple[Any, ...]]:
    """Choose cases of a product in which every combination of values of few parameters occurs.

    Parameters
    ----------
    *parameters : iterable
        Values of each parameter.
    strength : int
        Of how many parameters all combinations of values occur: 2 for all pairs, 1 for each value.

    Returns
    -------
    list of tuple
        Cases for `pytest.mark.parametrize`, the same at every call.
    """
    values = [list(one) for one in parameters]
    groups = list(combinations(range(len(values)), strength))
    rows = {
        row: {(group, tuple(row[k] for k in group)) for group in groups}
        for row in product(*(range(len(one)) for one in values))
    }
    missing, chosen = set().union(*rows.values()), []
    while missing:
        best = max(rows, key=lambda row: len(rows[row] & missing))
        missing -= rows[best]
        chosen.append(best)
    return [tuple(one[k] for one, k in zip(values, row, strict=True)) for row in chosen]
