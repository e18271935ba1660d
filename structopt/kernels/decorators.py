"""The decorators of plugins, `kernel` and `driver`, each with a declared signature or without one.

The core has more decorators (`structopt.kernels.waist.signatures`), which differ in how functions
are inlined. They are internal, because the choice depends on the version of Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Concatenate, overload

from structopt.kernels.waist import signatures
from structopt.kernels.waist.drivers import Driver, P, Result


def kernel(signature: Any) -> Any:
    """Compile a function, and cache it on disk.

    ``@kernel(SOLVE)`` compiles for one declared signature, or for each of a list. Components hand
    such functions to the program. ``@kernel`` compiles a function that other kernels call; Numba
    infers its types at the call.

    The GIL is released, so that kernels run in threads. With ``NUMBA_DISABLE_JIT=1`` or
    ``debug=true`` the function stays plain Python, which is always its attribute ``py_func``.

    Parameters
    ----------
    signature : Numba signature, list of them, or function

    Returns
    -------
    function, or a decorator if a signature is given

    Raises
    ------
    numba.core.errors.NumbaError
        If the function does not compile.
    """
    if isinstance(signature, FunctionType):
        return signatures.inlined(signature)
    return signatures.kernel(signature)


@overload
def driver(returns: FunctionType) -> Callable[..., Any]: ...
@overload
def driver(
    returns: Any, *arguments: Any
) -> Callable[[Callable[Concatenate[Any, Any, Any, P], Result]], Driver[P, Result]]: ...
def driver(returns: Any, *arguments: Any) -> Any:
    """Compile a pass over instances, or mark a function that passes call.

    ``@driver(returns, *arguments)`` compiles a loop over instances. Its first parameters are the
    tuple of kernels, the data, and the scratch of one thread; the types of the others are the
    arguments. ``@driver`` marks a function that drivers call with kernels among its arguments: its
    body is compiled into each of them.

    A driver owns no arrays, because it is compiled without Numba's counts of references. It copies
    by ``set_row(target, source)``, and returns no arrays.

    Parameters
    ----------
    returns : Numba type or function
    *arguments : Numba types

    Returns
    -------
    function, or a decorator if types are given

    Raises
    ------
    numba.core.errors.NumbaError
        If the function does not compile, for example because it creates an array.
    """
    if isinstance(returns, FunctionType):
        return signatures.driven(returns)
    return signatures.driver(returns, *arguments)
