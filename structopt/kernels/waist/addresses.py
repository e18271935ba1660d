"""Tuples of functions, handed to compiled calls by their addresses.

Numba looks up two addresses of each function that it is handed, anew at each call, by the
function's signature. For the 17 kernels of a driver that takes 0.1 ms, as long as a pass over
twenty sentences. A kernel has one signature, and its addresses never change: here they are written
to memory once, in the form in which compiled functions hold them, and a call reads them from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import NativeValue, models, register_model, unbox

from structopt.kernels.waist.record import Array


class Functions(types.NamedTuple):
    """The type of a named tuple of functions whose attribute `address` says where their addresses
    (`addresses_of`) are in memory.
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
        expected = member.signature
        try:
            result = function.get_compile_result(expected)
        except TypingError:
            result = None
        if result is None or result.signature.return_type != expected.return_type:
            raise TypeError(
                f"{function.__name__}, the kernel `{name}`, is not compiled for the signature "
                f"{expected}. Decorate it with @kernel and this signature."
            )
        names = result.fndesc.llvm_cfunc_wrapper_name, result.fndesc.llvm_func_name
        wrapper, own = map(result.library.get_pointer_to_function, names)
        found += wrapper, id(function), own
    return np.array(found, np.intp)


@unbox(Functions)
def _read(kind: Any, functions: Any, c: Any) -> NativeValue:
    """Read the functions from memory."""
    form = c.context.get_value_type(kind)
    value = cgutils.alloca_once_value(c.builder, c.context.get_constant_null(kind))
    failed = cgutils.alloca_once_value(c.builder, cgutils.true_bit)
    with ExitStack() as stack:
        address = c.pyapi.object_getattr_string(functions, "address")
        with cgutils.early_exit_if_null(c.builder, stack, address):
            pass
        memory = c.builder.bitcast(c.pyapi.long_as_voidptr(address), form.as_pointer())
        c.pyapi.decref(address)
        c.builder.store(c.builder.load(memory, align=np.dtype(np.intp).itemsize), value)
        c.builder.store(cgutils.false_bit, failed)
    return NativeValue(c.builder.load(value), is_error=c.builder.load(failed))
