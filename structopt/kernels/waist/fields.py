"""The types of the fields of records, and how a declaration is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Kept:
    """Where a field is kept: in which buffer, as a single number or an array, and how it is read
    from there.
    """

    buffer: str
    single: bool = False
    form: str = "{}"


@dataclass(frozen=True)
class Wide:
    """An array with two axes, of which the second has so many entries: a number, or the name of an
    `Int` of the same class.
    """

    columns: int | str


Int = Annotated[int, Kept("ints", True, "np.int64({})")]
Flag = Annotated[bool, Kept("ints", True, "({} != 0)")]
Long = Annotated[int, Kept("longs", True)]
Float = Annotated[float, Kept("floats", True)]
Ints = Annotated[NDArray[np.int32], Kept("ints")]
Longs = Annotated[NDArray[np.int64], Kept("longs")]
Floats = Annotated[NDArray[np.float64], Kept("floats")]
Words = Annotated[NDArray[np.uint64], Kept("longs", form="{}.view(np.uint64)")]
"""64 bits each; packed from int64 or uint64."""


class Field(NamedTuple):
    """A field of a declaration.

    Attributes
    ----------
    name : full name, with those of the fields that hold its declaration: ``scratch.image``
    kept : Kept
    columns : as those of `Wide`, by the full name; 0 for fields with one axis
    """

    name: str
    kept: Kept
    columns: int | str


@cache
def annotations(kind: type) -> dict[str, Any]:
    """Return the fields of a class of named tuples, with their annotated types; read only."""
    return get_type_hints(kind, include_extras=True)


def is_declaration(held: Any) -> bool:
    """Whether a field's type is a class of named tuples, whose fields are kept among the others."""
    return isinstance(held, type) and issubclass(held, tuple)


def fields_of(kind: type, prefix: str = "") -> Iterator[Field]:
    """All fields of a declaration, and of those it holds, in their order."""
    for name, held in annotations(kind).items():
        if is_declaration(held):
            yield from fields_of(held, f"{prefix}{name}.")
            continue
        marks = get_args(held)[1:] if get_origin(held) is Annotated else ()
        kept = [mark for mark in marks if isinstance(mark, Kept)]
        wide = [mark.columns for mark in marks if isinstance(mark, Wide)]
        if len(kept) != 1:
            raise TypeError(
                f"{kind.__name__}.{name}: annotate it Int, Flag, Long, Float, Ints, Longs, "
                "Floats, Words, or with a named tuple "
                "of such fields."
            )
        columns = [prefix + column if isinstance(column, str) else column for column in wide]
        yield Field(prefix + name, kept[0], *(columns or [0]))
