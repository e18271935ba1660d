"""Texts that stand for files while a stream is predicted: what is read and written under their
names stays in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath

INPUT, OUTPUT = "<stdin>", "<stdout>"
"""The names that messages show."""

_inputs: dict[str, bytes] = {}
_outputs: dict[str, list[bytes]] = {}


@contextmanager
def input_held(name: str, data: bytes) -> Iterator[None]:
    """Let readers find these bytes under a name while this lasts."""
    _inputs[name] = data
    try:
        yield
    finally:
        del _inputs[name]


@contextmanager
def output_held(name: str) -> Iterator[list[bytes]]:
    """Keep what writers write under a name while this lasts; the list has it in the end."""
    _outputs[name] = []
    try:
        yield _outputs[name]
    finally:
        del _outputs[name]


def held(path: str | PathLike[str]) -> bytes | None:
    """The bytes that are held under a name; None where it is that of a file."""
    return _inputs.get(fspath(path)) if _inputs else None


def keep(path: str | PathLike[str], data: bytes) -> bool:
    """Keep bytes that are written under a name; False where it is that of a file."""
    kept = _outputs.get(fspath(path))
    if kept is None:
        return False
    kept.append(data)
    return True
