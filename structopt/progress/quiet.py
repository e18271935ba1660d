"""Whether only errors are shown: ``quiet=true``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_asked: list[bool] = []


def is_quiet() -> bool:
    """Whether only errors are shown now."""
    return any(_asked)


def be_quiet(quiet: bool) -> None:
    """Show errors alone until the command ends, if `quiet`."""
    _asked.append(quiet)


@contextmanager
def quietly(quiet: bool = False) -> Iterator[None]:
    """Show errors alone while this lasts, if `quiet`; whatever is asked for meanwhile is forgotten
    at its end.
    """
    before = list(_asked)
    be_quiet(quiet)
    try:
        yield
    finally:
        _asked[:] = before
