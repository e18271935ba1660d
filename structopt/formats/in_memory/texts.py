"""Texts that stand for files while a stream is predicted: what is read and written under their
names stays in memory.
"""

from __future__ import annotations

from os import PathLike, fspath
from typing import Generic, TypeVar

T = TypeVar("T")

INPUT, OUTPUT = "<stdin>", "<stdout>"
"""The names that messages show."""

_inputs: dict[str, bytes] = {}
_outputs: dict[str, list[bytes]] = {}


class _Held(Generic[T]):
    """Holds a value under a name while a ``with`` statement lasts."""

    def __init__(self, values: dict[str, T], name: str, value: T) -> None:
        self._values, self._name, self._value = values, name, value

    def __enter__(self) -> T:
        self._values[self._name] = self._value
        return self._value

    def __exit__(self, *error: object) -> None:
        del self._values[self._name]


def input_held(name: str, data: bytes) -> _Held[bytes]:
    """Let readers find these bytes under a name while this lasts."""
    return _Held(_inputs, name, data)


def output_held(name: str) -> _Held[list[bytes]]:
    """Keep what writers write under a name while this lasts; the list has it in the end."""
    return _Held(_outputs, name, [])


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
