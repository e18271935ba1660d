"""Views that own nothing, for kernels: taking one counts no reference, and neither does handing one
to a function.

Numba counts references to arrays by atomic additions, two a view and two a call; and it reshapes by
a call that looks at all strides. The views here are pointers. They are for arrays that the *caller*
of a kernel keeps: buffers of records, weights, scratch. A view of an array that the kernel itself
has made would outlive it.

Un-compiled they are slices that refuse bounds outside the array; compiled ones are not checked.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, lower_builtin, overload, type_callable

CACHE_LINE = 64
"""Bytes."""


def part(array, begin, end):
    """View the entries begin <= j < end of a contiguous array, row by row."""
    if not 0 <= begin <= end <= array.size:
        raise IndexError(f"entries {begin} to {end} of an array with {array.size} entries")
    return array.reshape(-1)[begin:end]


def table(array, begin, rows, columns):
    """View rows * columns entries of a contiguous array, from `begin` on, as a table."""
    end = begin + rows * columns
    if min(begin, rows, columns) < 0 or end > array.size:
        raise IndexError(
            f"a table of {rows} x {columns} entries from {begin} on, of an array with {array.size} "
            "entries"
        )
    return array.reshape(-1)[begin:end].reshape((rows, columns))


def prefetch(array, index):
    """Ask for the cache line of an entry of a contiguous vector, which will soon be read and
    written; un-compiled, do nothing.
    """


def prefetch_run(array, begin, end):
    """Ask for the cache lines of the entries begin <= j < end of a contiguous vector, as `prefetch`
    does.
    """


def fields_of(context: Any, builder: Any, kind: Any, *value: Any) -> Any:
    """Return what reads and writes the fields of a compiled array; without a value, of a new one.

    Numba's module is imported only when something is compiled: kernels from the cache load sooner.
    """
    from numba.np.arrayobj import make_array

    return make_array(kind)(context, builder, *value)


def _view(
    context: Any, builder: Any, signature: Any, array: Any, begin: Any, shape: list[Any]
) -> Any:
    """Build the view of the given shape that begins at an entry of a contiguous vector."""
    from numba.np.arrayobj import populate_array

    kind = signature.args[0]
    source = fields_of(context, builder, kind, array)
    view = fields_of(context, builder, signature.return_type)
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides = [cgutils.intp_t(size)]
    for count in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], count))
    data = builder.gep(source.data, [begin])
    populate_array(
        view, data=data, shape=shape, strides=strides, itemsize=cgutils.intp_t(size), meminfo=None
    )
    return view._getvalue()


def _type_of_view(array: Any, axes: int) -> Any:
    if not (isinstance(array, types.Array) and array.layout == "C"):
        raise TypingError(f"a view is of a contiguous array, not of {array}")
    return types.Array(array.dtype, axes, "C")


@type_callable(part)
def _type_of_part(context):  # type: ignore[no-untyped-def]  # Numba's form
    return lambda array, begin, end: _type_of_view(array, 1)


@type_callable(table)
def _type_of_table(context):  # type: ignore[no-untyped-def]
    return lambda array, begin, rows, columns: _type_of_view(array, 2)


@lower_builtin(part, types.Array, types.Integer, types.Integer)
def _compiled_part(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
    begin, end = _longs(context, builder, signature, arguments)
    return _view(context, builder, signature, arguments[0], begin, [builder.sub(end, begin)])


@lower_builtin(table, types.Array, types.Integer, types.Integer, types.Integer)
def _compiled_table(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
    begin, *shape = _longs(context, builder, signature, arguments)
    return _view(context, builder, signature, arguments[0], begin, shape)


def _longs(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """The numbers behind the array, as int64."""
    numbers = zip(arguments[1:], signature.args[1:], strict=True)
    return [context.cast(builder, number, kind, types.intp) for number, kind in numbers]


@intrinsic
def _prefetch(typingctx, array, index):  # type: ignore[no-untyped-def]
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(
            builder.gep(fields_of(context, builder, array, arguments[0]).data, [arguments[1]]),
            byte,
        )
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        # to be written; into all caches; data
        builder.call(call, [address, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


@overload(prefetch)
def _compiled_prefetch(array, index):  # type: ignore[no-untyped-def]
    return lambda array, index: _prefetch(array, index)


@overload(prefetch_run)
def _compiled_prefetch_run(array, begin, end):  # type: ignore[no-untyped-def]
    entries = 8 * CACHE_LINE // array.dtype.bitwidth

    def run(array, begin, end):  # type: ignore[no-untyped-def]
        for j in range(begin, end - 1, entries):
            _prefetch(array, j)
        if begin < end:
            _prefetch(array, end - 1)  # which may lie in a line behind the last of these

    return run
