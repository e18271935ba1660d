"""The functions of `structopt.kernels.waist.halting` within compiled kernels.

Compiled code finds the numbers by a name, whose address is looked up when the code is loaded: so
kernels that are cached on disk find them in every process.
"""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from structopt.kernels.waist.halting import HALTED, NUMBERS, VISITS, count_visit, halted

NAME = "structopt_halting"
WORD = ir.IntType(64)

llvm.add_symbol(NAME, ctypes.addressof(NUMBERS))


def _address(context: Any, builder: Any, index: int) -> Any:
    """Where a number stands, in compiled code."""
    numbers = context.get_c_value(builder, ir.ArrayType(WORD, len(NUMBERS)), NAME)
    return builder.gep(numbers, [ir.IntType(32)(0), ir.IntType(32)(index)])


@intrinsic  # type: ignore[untyped-decorator]
def _load_halted(typing_context: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # atomic: it is not moved out of a loop
        return builder.load_atomic(_address(context, builder, HALTED), "monotonic", 8)

    return types.int64(), generate


@intrinsic  # type: ignore[untyped-decorator]
def _add_visit(typing_context: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("add", _address(context, builder, VISITS), WORD(1), "monotonic")

    return types.int64(), generate


@overload(halted)  # type: ignore[untyped-decorator]
def _compiled_halted() -> Any:
    return lambda: _load_halted() != 0


@overload(count_visit)  # type: ignore[untyped-decorator]
def _compiled_count_visit() -> Any:
    def count() -> None:
        _add_visit()

    return count
