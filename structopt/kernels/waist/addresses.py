"""Tuples of functions, handed to compiled calls by their addresses.

At each call Numba looks up two addresses of each function among the arguments, by the function's
signature. For the 17 kernels of a driver this takes 0.1 ms, as long as a pass over twenty
sentences. The addresses never change. Therefore they are written to memory once, in the form in
which compiled functions hold them, and a call reads them from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
from numba import types
from numba.extending import NativeValue, models, register_model, unbox

from structopt.kernels.waist.record import Array


class Functions(types.NamedTuple):
    """The type of a named tuple of functions. Its attribute `address` is the place in memory of
    their addresses (`addresses_of`).
    """


register_model(Functions)(models.TupleModel)


def addresses_of(functions: Iterable[Any], kind: Functions) -> Array:
    """Return the addresses of compiled functions, which `kind` has the signatures of; three a
    function, in the order of Numba's `FunctionModel`.

    Raises
    ------
    TypeError
        If a function has another signature.
    """
    found: list[int] = []
    for name, function, member in zip(kind.fields, functions, kind.types, strict=True):
        result = _result(function, member.signature)
        if result is None:
            raise TypeError(
                f"{function.__name__}, the kernel `{name}`, is not compiled for the signature "
                f"{member.signature}. Decorate it with @kernel and this signature."
            )
        names = result.fndesc.llvm_cfunc_wrapper_name, result.fndesc.llvm_func_name
        wrapper, own = map(result.library.get_pointer_to_function, names)
        found += wrapper, id(function), own
    return np.array(found, np.intp)


def _result(function: Any, signature: Any) -> Any:
    """What compiling a function for a signature made; None if it is compiled for others only."""
    result = function.overloads.get(signature.args)
    if result is None:
        # not before: it takes a lock, which an interrupt may leave locked
        with suppress(RuntimeError):  # unless signatures were declared
            function.compile(signature.args)
        result = function.overloads.get(signature.args)
    known = result is not None and result.signature.return_type == signature.return_type
    return result if known else None


@unbox(Functions)
def _read(kind: Any, functions: Any, c: Any) -> NativeValue:
    """Read the functions from memory."""
    form = c.context.get_value_type(kind)
    value = c.builder.alloca(form)
    address = c.pyapi.object_getattr_string(functions, "address")
    failed = c.builder.icmp_unsigned("==", address, address.type(None))
    with c.builder.if_then(c.builder.not_(failed)):
        memory = c.builder.bitcast(c.pyapi.long_as_voidptr(address), form.as_pointer())
        c.builder.store(c.builder.load(memory, align=np.dtype(np.intp).itemsize), value)
        c.pyapi.decref(address)
    return NativeValue(c.builder.load(value), is_error=failed)
