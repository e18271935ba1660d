"""Sparse vectors of instances in memory: mappings from index or name to value, or rows of
values.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from structopt.formats.in_memory.instances import MEMORY, Form, shown
from structopt.formats.numbering import Numbering
from structopt.formats.vectors.libsvm import NO_LABEL, Vectors, vectors_of

FORM = Form(
    "instance",
    "Give a list of instances, each a mapping from index to value: [{1: 0.5, 7: 2.0}], or a row "
    "of values: [[0.5, 0.0, 2.0]].",
)


def vectors(instances: Sequence[Any], first: int = 1) -> Vectors:
    """Make unlabelled vectors of instances in memory.

    Parameters
    ----------
    instances : sequence
        Each a mapping from index to value, or a sequence of the values at all indices from `first`
        on.
    first : int
        The index of a sequence's first value.

    Raises
    ------
    DataError
        An instance that is neither, an index that is negative or neither integer nor name, or a
        value that is not a finite number or above 1e100 in absolute value; its ``line`` is the
        number of the instance, from 1.
    """
    numbers, ids, values, ends = Numbering(), array("i"), array("d"), array("q", [0])
    for number, instance in enumerate(FORM.listed(instances), 1):
        pairs = (
            instance.items()
            if isinstance(instance, Mapping)
            else _dense_pairs(instance, first, number)
        )
        for index, value in pairs:
            if isinstance(index, bool) or not isinstance(index, (str, Integral)):
                raise FORM.refused(
                    number, f"the index {shown(index)} is neither an integer nor a name"
                )
            if isinstance(index, Integral) and index < 0:
                raise FORM.refused(number, f"the index {index} is negative; indices are at least 0")
            ids.append(numbers[str(index)])
            values.append(FORM.number(number, f"index {index}", value))
        ends.append(len(ids))
    return vectors_of(MEMORY, ends, numbers, ids, values, [NO_LABEL] * (len(ends) - 1))


def named_values(instance: Any, names: Sequence[str], number: int) -> Any:
    """Return a row of values as a mapping from attribute name to value, without zeros; anything
    else is returned as it is.

    Raises
    ------
    DataError
        A row of another length; its ``line`` is the `number` of the instance, from 1.
    """
    if isinstance(instance, Mapping) or not np.iterable(instance) or isinstance(instance, str):
        return instance
    row = list(instance)
    if len(row) != len(names):
        raise FORM.refused(number, f"the row has {len(row)} values for {len(names)} attributes")
    return {name: value for name, value in zip(names, row, strict=True) if value != 0}


def _dense_pairs(instance: Any, first: int, number: int) -> Iterator[tuple[int, float]]:
    """Indices and values of a row, without its zeros."""
    try:
        row = np.asarray(instance, np.float64)
    except (TypeError, ValueError):
        row = np.zeros(())
    if row.ndim != 1:
        raise FORM.refused(number, f"an instance is {shown(instance)}")
    nonzero = np.flatnonzero(row)
    return zip((nonzero + first).tolist(), row[nonzero].tolist(), strict=True)
