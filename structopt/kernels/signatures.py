"""The signatures of the kernels: the waist of the house.

A compiled driver takes kernels as first-class functions of these types. Because every record has the one type
`structopt.kernels.record.Record`, a driver is compiled once, whatever features, graph, inference and loss it is given.
The same driver called un-compiled (``driver.py_func``) takes plain Python functions of the same form.

Letters: i instance, s part scores (nats), z marginals, r residual z - gold, theta flat weights.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import types

from structopt.kernels.record import EMPTY

RECORD: Any = numba.typeof(EMPTY)  # type: ignore[no-untyped-call]
VECTOR = types.float64[::1]
LONGS = types.int64[::1]
INTS = types.int32[::1]

# Features: a linear operator with one sparse column per part.
SCORES = types.void(RECORD, VECTOR, types.int64, VECTOR)  # features, theta, i, s
PULLBACK = types.float64(RECORD, types.int64, VECTOR, RECORD)  # features, i, r, gradient -> squared norm
ADD = types.void(RECORD, VECTOR, RECORD, types.float64)  # features, theta, gradient, step: theta += step * gradient
DOT = types.float64(RECORD, VECTOR, RECORD)  # features, theta, gradient -> inner product
FLATTEN = types.int64(RECORD, RECORD, LONGS, VECTOR)  # features, gradient, indices, values -> how many coordinates

# Inference: a convex function of the scores together with a (sub)gradient of it.
SOLVE = types.float64(RECORD, types.int64, VECTOR, types.float64, VECTOR, VECTOR, RECORD)
# structure, i, s, temperature, z, memory, work -> value
K_BEST = types.int64(RECORD, types.int64, VECTOR, types.int64, VECTOR, INTS, RECORD)
# structure, i, s, k, values, assignments (k rows), work -> how many were found

SOLVER = types.FunctionType(SOLVE)
EVALUATE = types.float64(SOLVER, RECORD, RECORD, VECTOR, types.int64, VECTOR, VECTOR, VECTOR, RECORD)
# solve, structure, target, parameters, i, s (spoilt), r, memory, work -> loss


def kernel(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for one declared signature, with the disk cache where the machine has a place for it.

    The GIL is released, so that kernels run in threads. Without any writable cache folder the function is compiled
    again in every process instead of failing.
    """
    return lambda function: _compiled(function, signature)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small function that other kernels call; its types are inferred at the call."""
    return _compiled(function)


def _compiled(function: Callable[..., Any], *signature: Any) -> Any:
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(*signature, cache=True, **options)(function)
    except ModuleNotFoundError:  # the cache was written when a module that it names stood elsewhere
        for index in (Path(function.__code__.co_filename).parent / "__pycache__").glob("*.nbi"):
            index.unlink(missing_ok=True)
        return numba.njit(*signature, cache=True, **options)(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        return numba.njit(*signature, **options)(function)
