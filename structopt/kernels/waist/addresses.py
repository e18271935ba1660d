"""Addresses of kernels, which Numba looks up anew for each kernel of each call of a driver, by
hashing its signature twice.

That takes half a millisecond a call with 15 kernels, as long as a pass over a hundred short
sentences. A kernel has one signature: the answer is always the same.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any


def remember(kernel: Any) -> None:
    """Let a kernel that was compiled for one signature answer from memory when Numba asks for its
    address.
    """
    if len(kernel.overloads) == 1:
        known = _Result(next(iter(kernel.overloads.values())))
        kernel.get_compile_result = lambda signature: known


class _Result:
    """What compiling made, with a library that remembers addresses; all else is as it was."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.result, name)

    @cached_property
    def library(self) -> _Library:
        return _Library(self.result.library)


class _Library:
    def __init__(self, library: Any) -> None:
        self.library = library
        self._known: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)

    def get_pointer_to_function(self, name: str) -> int:
        """As Numba's, asked once."""
        if name not in self._known:
            self._known[name] = self.library.get_pointer_to_function(name)
        return self._known[name]
