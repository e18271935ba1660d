"""Checks of errors by their fields; each package compares its texts in one table."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from structopt.config import registry
from structopt.errors import StructoptError


@contextmanager
def raises(
    cls: type[StructoptError], *, match: str | None = None, **fields: Any
) -> Iterator[pytest.ExceptionInfo[StructoptError]]:
    """Check that the block raises an error with these fields.

    Parameters
    ----------
    cls : type
        Class of the error, or a base of it.
    match : str, optional
        Regular expression that the text contains.
    **fields
        Attributes to compare: ``parameter``, ``value``, ``where``, ``problem``, ``remedy``, and
        those of subclasses, such as ``line`` and ``instances``.
    """
    with pytest.raises(cls, match=match) as raised:
        yield raised
    compare(raised.value, fields)


def compare(error: BaseException, fields: dict[str, Any]) -> None:
    """Compare attributes of an error, where NaN equals NaN, and None is not a missing value."""
    actual = {name: getattr(error, name) for name in fields}
    differing = {
        name: actual[name] for name, value in fields.items() if not same(actual[name], value)
    }
    assert not differing, f"{error!r} has {differing}, expected {fields}"


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of one type; NaN equals NaN."""
    return type(one) is type(other) and (one == other or (one != one and other != other))


def keys_of(kind: str) -> dict[str, str]:
    """Return the kind by each argument of its components, as `structopt.config.wording.keyed`
    takes it.
    """
    components = registry.installed(kind).values()
    return {one.name: kind for each in components for one in registry.described(each)}
