"""Functions over rows by vector instructions: for four numbers at a time, then two, then one.

For functions that Numba's own vectorising does not serve (`structopt.kernels.arrays`): short loops
of unknown length, and sums, whose order it may not change. Such a function is written twice, side
by side: as an expression of NumPy, for un-compiled kernels, and as a formula in LLVM's
instructions, for any number of lanes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.typing import signature
from numba.extending import lower_builtin, type_callable

from structopt.kernels.waist.views import fields_of

LANES = 4  # numbers of one instruction
# those that a sum over a long vector takes at once, since each addition waits for the one before
MANY = 16

NUMBER, LONG, INT = ir.DoubleType(), ir.IntType(64), ir.IntType(32)

Value = Any
Formula = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Run:
    """A run of neighbouring places of rows that all are as long, which one instruction takes.

    Attributes
    ----------
    build : llvmlite.ir.IRBuilder
    lanes : int
        How many places there are.
    first, length : Value
        The first place, and the length of a row.
    """

    build: Any
    lanes: int
    first: Value
    length: Value

    def row(self, array: Any, begin: Value | None = None) -> Value:
        """Load these places of a row, or of the row that begins at an entry of a vector or
        table.
        """
        return self.build.load(self._pointer(array, begin), align=8)

    def write(
        self, value: Value, array: Any, begin: Value | None = None, kind: ir.Type = NUMBER
    ) -> None:
        """Store these places of a row, or of the row that begins at an entry of a vector or
        table.
        """
        self.build.store(value, self._pointer(array, begin, kind), align=4 if kind == INT else 8)

    def begin(self, number: Value) -> Value:
        """Where row `number` of a table begins."""
        return self.build.mul(number, self.length)

    def _pointer(self, array: Any, begin: Value | None, kind: ir.Type = NUMBER) -> Value:
        at = self.first if begin is None else self.build.add(begin, self.first)
        return self.build.bitcast(self.build.gep(array.data, [at]), self.type(kind).as_pointer())

    def type(self, kind: ir.Type = NUMBER) -> ir.Type:
        """The type of the numbers of all lanes."""
        return kind if self.lanes == 1 else ir.VectorType(kind, self.lanes)

    def constant(self, value: float, kind: ir.Type = NUMBER) -> Value:
        """The same number in all lanes."""
        return ir.Constant(self.type(kind), value if self.lanes == 1 else [value] * self.lanes)

    def spread(self, number: Value) -> Value:
        """Put a number into all lanes."""
        if self.lanes == 1:
            return number
        none = ir.Constant(self.type(number.type), ir.Undefined)
        return self.build.shuffle_vector(
            self.build.insert_element(none, number, INT(0)), none, self.constant(0, INT)
        )

    def variable(self, value: Value) -> Value:
        """A variable for all lanes, with its first value; a compiler keeps it in a register."""
        return cgutils.alloca_once_value(self.build, value)

    def join(self, vector: Value, two: Formula) -> Value:
        """Join the lanes by two(build, a, b): the halves of the vector, the halves of the result,
        and so on.
        """
        lanes = self.lanes
        while lanes > 1:
            lanes //= 2
            places = (
                ir.Constant(ir.VectorType(INT, lanes), list(range(at, at + lanes)))
                for at in (0, lanes)
            )
            vector = two(
                self.build, *(self.build.shuffle_vector(vector, vector, half) for half in places)
            )
        return vector if self.lanes == 1 else self.build.extract_element(vector, INT(0))


def rowwise(formula: Formula, written: int = 1) -> Callable[[F], F]:
    """Compile a function of rows and numbers whose first `written` rows are written.

    The formula takes the `Run`, then the arguments: of rows their values there, of numbers as many
    copies. It returns the new values of the row that is written, or a list of those of several.
    """

    def step(run: Run, kinds: Any, *arguments: Any) -> None:
        values = (
            run.row(argument) if isinstance(kind, types.Array) else run.spread(argument)
            for kind, argument in zip(kinds, arguments, strict=True)
        )
        results = formula(run, *values)
        for row, result in zip(
            arguments[:written], results if written > 1 else [results], strict=True
        ):
            run.write(result, row)

    return _declare(
        types.void,
        lambda build, kinds, *opened: _runs(build, opened[0], LANES, step, kinds, *opened),
    )


def columnwise(step: Formula, most: int = 2 * LANES) -> Callable[[F], F]:
    """Compile a function of rows, tables and numbers by what it does at some places of all rows:
    step(run, *arguments).

    The first argument is a row, or a table of rows, of the length of all rows. Runs are up to
    `most` places long.
    """
    return _declare(
        types.void, lambda build, kinds, *opened: _runs(build, opened[0], most, step, *opened)
    )


def folded(
    term: Formula, two: Formula, nothing: float = 0.0, most: int = LANES
) -> Callable[[F], F]:
    """Compile a function of rows that joins terms of their numbers: term(run, *values), two(build,
    a, b).

    Of no numbers it is `nothing`. Runs of `most` numbers are joined lane by lane, then the halves
    of these lanes with each other, and last the rest, run by run: one order on every machine.
    """

    def code(build: Any, kinds: Any, *rows: Any) -> Value:
        all_lanes = Run(build, most, None, None)
        whole, rest = (
            all_lanes.variable(all_lanes.constant(nothing)),
            cgutils.alloca_once_value(build, NUMBER(nothing)),
        )

        def step(run: Run) -> None:
            value = term(run, *map(run.row, rows))
            into = whole if run.lanes == most else rest
            build.store(
                two(build, build.load(into), value if run.lanes == most else run.join(value, two)),
                into,
            )

        _runs(build, rows[0], most, step)
        return two(build, all_lanes.join(build.load(whole), two), build.load(rest))

    return _declare(types.float64, code)


def _declare(returns: Any, code: Formula) -> Callable[[F], F]:
    """Tell Numba the code of a function, which remains plain Python to others.

    The code takes the builder, Numba's types, and the arguments: arrays opened, integers as int64,
    other numbers as float64.
    """

    def cast(kind: Any) -> Any:
        if isinstance(kind, types.Array):
            if kind.layout != "C":
                raise TypingError(
                    "a row or table here is contiguous: its numbers are loaded one after the other"
                )
            return kind
        return types.int64 if isinstance(kind, types.Integer) else types.float64

    def lowered(context: Any, build: Any, signature: Any, arguments: Any) -> Value:
        opened = (
            fields_of(context, build, kind, value) if isinstance(kind, types.Array) else value
            for kind, value in zip(signature.args, arguments, strict=True)
        )
        result = code(build, signature.args, *opened)
        return context.get_dummy_value() if returns is types.void else result

    def declare(function: F) -> F:
        def types_of(*arguments: Any) -> Any:
            return signature(returns, *map(cast, arguments))

        types_of.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # where Numba reads the arguments' names
        type_callable(function)(lambda context: types_of)
        lower_builtin(function, types.VarArg(types.Any))(lowered)
        return function

    return declare


def _runs(build: Any, array: Any, most: int, step: Formula, *arguments: Any) -> None:
    """Call step(run, *arguments) for runs of `most` places, then at most once for each smaller
    power of two.
    """
    length = cgutils.unpack_tuple(build, array.shape)[-1]
    place = cgutils.alloca_once_value(build, length.type(0))

    def enough(lanes: int) -> Value:
        return build.icmp_signed("<=", build.add(build.load(place), length.type(lanes)), length)

    def run(lanes: int) -> None:
        first = build.load(place)
        step(Run(build, lanes, first, length), *arguments)
        build.store(build.add(first, length.type(lanes)), place)

    test, body, rest = (
        build.append_basic_block(f"lanes.{name}") for name in ("test", "body", "rest")
    )
    build.branch(test)
    build.position_at_end(test)
    build.cbranch(enough(most), body, rest)
    build.position_at_end(body)
    run(most)
    build.branch(test)
    build.position_at_end(rest)
    lanes = most // 2
    while lanes:
        with build.if_then(enough(lanes)):
            run(lanes)
        lanes //= 2
