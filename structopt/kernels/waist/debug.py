"""Run kernels as Python with bounds checked: the debug mode.

In debug mode Numba compiles nothing, and every array that Python hands to a kernel becomes a
`CheckedArray`, whose slices are checked, too. An access out of bounds is then an `IndexError` with
the file and line of the kernel, instead of memory of another array.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import numba
import numpy as np

from structopt.errors import StructoptError

_checking = bool(numba.config.DISABLE_JIT)
"""Whether bounds are checked; child processes of a debugged one have ``NUMBA_DISABLE_JIT=1``."""


_INTEGERS = (int, np.integer)


class CheckedArray(np.ndarray):  # type: ignore[type-arg]
    """An array that refuses negative indices and slices beyond its ends, as C has neither."""

    def __getitem__(self, key: Any) -> Any:
        """Return an entry or a view, after checking the indices."""
        _check(self, key)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write an entry or a part, after checking the indices."""
        _check(self, key)
        super().__setitem__(key, value)


def _check(array: CheckedArray, key: Any) -> None:
    """Raise `IndexError` for indices that wrap around or are cut off at the end of an axis."""
    for axis, index in enumerate(key if isinstance(key, tuple) else (key,)):
        if axis >= array.ndim or index is None or index is Ellipsis:
            return
        size = array.shape[axis]
        if isinstance(index, _INTEGERS):  # almost all accesses, for which NumPy's calls are slow
            wrong = not 0 <= index < size
        elif isinstance(index, slice):
            bounds = [bound for bound in (index.start, index.stop) if bound is not None]
            wrong = any(not 0 <= bound <= size for bound in bounds)
        else:
            indices = np.asarray(index)
            wrong = (
                indices.dtype.kind in "iu"
                and indices.size > 0
                and not (indices.min() >= 0 and indices.max() < size)
            )
        if wrong:
            raise IndexError(
                f"index {index} is out of bounds for axis {axis} with size {size}; negative "
                "indices do not count from the end in kernels"
            )


def debug() -> None:
    """Run all kernels of this process as Python, with the bounds of arrays checked.

    Call it first, before anything trains or predicts. Everything becomes much
    slower; use it on a few instances. ``debug=true`` on the command line and the environment
    variable ``NUMBA_DISABLE_JIT=1`` have the same effect. Processes that this one starts inherit
    it.

    Raises
    ------
    StructoptError
        If kernels have been compiled in this process already.
    """
    global _checking
    compiled = "structopt.kernels.waist.signatures" in sys.modules and not numba.config.DISABLE_JIT
    if compiled:
        raise StructoptError(
            "debug() comes too late: this process has compiled kernels already. Call it before "
            "everything else, or set the environment variable NUMBA_DISABLE_JIT=1."
        )
    numba.config.DISABLE_JIT = True
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # read by Numba in processes that this one starts
    _checking = True


def checking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a kernel that runs as Python check the bounds of the arrays that it is handed.

    NumPy does not warn of integers that wrap around, as hashes do in compiled kernels, too.
    """
    if not _checking:
        return function

    @wraps(function)
    def checked_call(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*map(checked, arguments))

    return checked_call


def checked(value: Any) -> Any:
    """Return a view of an array, or a record of such views, that checks bounds."""
    if isinstance(value, np.ndarray):
        return value if isinstance(value, CheckedArray) else value.view(CheckedArray)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(checked, value))
    return value
