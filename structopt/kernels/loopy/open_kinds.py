"""Kinds of factors that the core does not know, as functions that kernels find by the number of the
kind.

Compiled kernels cannot name these functions: they are compiled and kept on disk without them. So
they look them up in a table of this process, at each factor of such a kind, and call them by their
addresses. Generated code refers to the table by a symbol, as it does to functions of the C library:
it is the same code wherever the table lies. The core's own kinds are never looked up.

A kind's functions are in the table from `put` on. Where one is not, values are nan, and nothing is
allowed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from math import nan

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core.typing import signature as typing_signature
from numba.experimental.function_type import _get_wrapper_address
from numba.extending import lower_builtin, type_callable

from structopt.errors import ConfigError
from structopt.kernels.loopy.factors import FIRST_OPEN
from structopt.kernels.waist.signatures import INTS, VECTOR, inlined, is_compiled

# extra, x, private -> whether the states x are allowed
FACTOR_EXTEND = types.boolean(INTS, VECTOR, VECTOR)
FACTOR_LOCAL = types.float64(INTS, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, INTS)
# extra, s, p, out, private_out, floats, ints -> value
FACTOR_MESSAGES = types.boolean(INTS, VECTOR, VECTOR, types.boolean, VECTOR, VECTOR, INTS)
# extra, n, p, hot, out, floats, ints -> whether anything is allowed
FACTOR_PROJECT = types.boolean(INTS, VECTOR, VECTOR, types.float64, VECTOR, VECTOR, VECTOR, INTS)
# extra, a, p, eta, out, private_out, floats, ints -> whether anything is allowed

MOST = 64
NUMBER, IS_HARD, AT_EXTEND, AT_MAXIMUM, AT_MARGINALS, AT_MESSAGES, AT_PROJECT, COLUMNS = range(8)
"""Columns of the table; those AT hold addresses, 0 where there is no function. Before the rows
stands their number.
"""
SIGNATURES = (
    ("FACTOR_EXTEND", FACTOR_EXTEND),
    ("FACTOR_LOCAL", FACTOR_LOCAL),
    ("FACTOR_LOCAL", FACTOR_LOCAL),
    ("FACTOR_MESSAGES", FACTOR_MESSAGES),
    ("FACTOR_PROJECT", FACTOR_PROJECT),
)
SYMBOL = "structopt_open_factor_kinds"
TABLE = np.zeros(1 + MOST * COLUMNS, np.int64)
_PYTHON: dict[int, Callable[..., object]] = {}
"""Functions that are not compiled, by their entries of the table."""
HELD: dict[int, tuple[object, ...]] = {}
"""The functions whose addresses are in the table, which must outlive it."""
binding.add_symbol(SYMBOL, TABLE.ctypes.data)


def put(number: int, hard: bool, functions: tuple[object, ...]) -> None:
    """Write the functions of a kind to the table: extend, maximum, marginals, messages, project,
    each a kernel or None.

    Raises
    ------
    ConfigError
        For a function of another signature, and where the table is full.
    """
    if HELD.get(number) == functions:
        return
    addresses = [
        _address(function, *one) for function, one in zip(functions, SIGNATURES, strict=True)
    ]
    known = TABLE[1 + NUMBER :: COLUMNS][: TABLE[0]].tolist()
    row = known.index(number) if number in known else len(known)
    if row == MOST:
        raise ConfigError(
            f"There are more than {MOST} kinds of factors in use. Use fewer in one process."
        )
    TABLE[1 + row * COLUMNS :][:COLUMNS] = [number, hard, *addresses]
    HELD[number] = functions
    TABLE[0] = max(TABLE[0], row + 1)


def _address(function, name, signature):
    """Address of the C form of a kernel of this signature; 0 for None."""
    if function is None:
        return 0
    if not is_compiled(function):
        _PYTHON[id(function)] = function
        return id(function)
    known = function.overloads.get(signature.args)
    if known is None or known.signature.return_type != signature.return_type:
        raise ConfigError(
            f"{function.__name__}, a kernel of a factor_kind, is not compiled for the signature "
            f"{name}. Decorate it with "
            f"@kernel({name}), both of structopt.plugin.kernels."
        )
    return _get_wrapper_address(function, signature)


def entry(index):
    """Read TABLE[index], wherever the table of this process lies."""
    return int(TABLE[index])


def call_extend(address, extra, x, private):
    """Call a function of the signature FACTOR_EXTEND."""
    return _PYTHON[address](extra, x, private)


def call_local(address, extra, s, p, out, private_out, floats, ints):
    """Call a function of the signature FACTOR_LOCAL."""
    return _PYTHON[address](extra, s, p, out, private_out, floats, ints)


def call_messages(address, extra, n, p, hot, out, floats, ints):
    """Call a function of the signature FACTOR_MESSAGES."""
    return _PYTHON[address](extra, n, p, hot, out, floats, ints)


def call_project(address, extra, a, p, eta, out, private_out, floats, ints):
    """Call a function of the signature FACTOR_PROJECT."""
    return _PYTHON[address](extra, a, p, eta, out, private_out, floats, ints)


def _compiled_entry(context, builder, signature, arguments):
    number = ir.IntType(64)
    table = context.get_c_value(builder, ir.ArrayType(number, len(TABLE)), SYMBOL)
    index = context.cast(builder, arguments[0], signature.args[0], types.int64)
    return builder.load(builder.gep(table, [number(0), index]))


def _compile_by_address(function, signature):
    """Let compiled kernels call the function of a signature at an address."""

    def types_of(*arguments):
        return typing_signature(signature.return_type, types.int64, *signature.args)

    def generate(context, builder, called, arguments):
        pointer = builder.inttoptr(
            arguments[0], context.get_value_type(types.FunctionType(signature).ftype)
        )
        return builder.call(pointer, arguments[1:])

    types_of.__signature__ = inspect.signature(function)
    type_callable(function)(lambda context: types_of)
    lower_builtin(function, types.VarArg(types.Any))(generate)


type_callable(entry)(lambda context: lambda index: typing_signature(types.int64, types.int64))
lower_builtin(entry, types.VarArg(types.Any))(_compiled_entry)
_compile_by_address(call_extend, FACTOR_EXTEND)
_compile_by_address(call_local, FACTOR_LOCAL)
_compile_by_address(call_messages, FACTOR_MESSAGES)
_compile_by_address(call_project, FACTOR_PROJECT)


@inlined
def look_up(kind, column):
    """Entry of a kind in a column of the table; 0 where the kind is not there."""
    for row in range(entry(0)):
        at = 1 + row * COLUMNS
        if entry(at + NUMBER) == kind:
            return entry(at + column)
    return 0


@inlined
def is_hard(kind):
    """Whether a kind is in the table, and forbids joint states."""
    return kind >= FIRST_OPEN and look_up(kind, IS_HARD) != 0


@inlined
def projects(kind):
    """Whether a kind is in the table, and solves the quadratic problems of dual decomposition
    itself.
    """
    return kind >= FIRST_OPEN and look_up(kind, AT_PROJECT) != 0


@inlined
def extend(kind, extra, x, private):
    """Whether a factor allows the states x; its private parts go to `private`."""
    private[:] = 0.0
    address = look_up(kind, AT_EXTEND)
    return address != 0 and call_extend(address, extra, x, private)


@inlined
def open_max(kind, extra, s, p, out, private_out, floats, ints):
    """`structopt.kernels.loopy.factor_kinds.local_max`; the outs are zero."""
    address = look_up(kind, AT_MAXIMUM)
    return call_local(address, extra, s, p, out, private_out, floats, ints) if address != 0 else nan


@inlined
def open_marginals(kind, extra, s, p, out, private_out, floats, ints):
    """`structopt.kernels.loopy.factor_kinds.local_marginals`; the outs are zero."""
    address = look_up(kind, AT_MARGINALS)
    return call_local(address, extra, s, p, out, private_out, floats, ints) if address != 0 else nan


@inlined
def open_messages(kind, extra, n, p, hot, out, floats, ints):
    """`structopt.kernels.loopy.messages.send`."""
    address = look_up(kind, AT_MESSAGES)
    return address != 0 and call_messages(address, extra, n, p, hot, out, floats, ints)


@inlined
def open_project(kind, extra, a, p, eta, out, private_out, floats, ints):
    """max_q a^T q + c^T p / eta - ||q||^2 / 2 over the polytope of a factor; q goes to `out`, c to
    `private_out`.
    """
    private_out[:] = 0.0
    address = look_up(kind, AT_PROJECT)
    return address != 0 and call_project(address, extra, a, p, eta, out, private_out, floats, ints)
