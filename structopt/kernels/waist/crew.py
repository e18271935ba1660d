"""Threads that a compiled call starts, to divide its instances, and waits for.

A pool of Python's threads takes about 2 ms more per batch, because its threads wait for the
interpreter's lock before and after each call. Therefore one call leads: it starts a thread of
the system, which starts the next, while there are instances that nobody has claimed
(`team.claim`). All of them read the same arguments, which the leader stores in memory. No thread
needs the interpreter.

A call with less than `WORTH` of work has one thread: the leader begins, and starts another one when
the time of its first instances shows that the rest takes longer.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from structopt.kernels.waist.record import Array, Record
from structopt.kernels.waist.signatures import (
    DATA,
    FROZEN,
    KERNELS,
    LONGS,
    SPACE,
    VECTOR,
    Data,
    Space,
    driven,
    inlined,
)
from structopt.kernels.waist.team import LIMIT, LINE, WORD, add, new_team
from structopt.kernels.waist.views import fields_of, part

CREW = LONGS
WORTH = 1e6  # nanoseconds
MEMORY = 512  # words for the arguments
STARTED, ARRIVED, ENTRY, THREADS, TIME = (LINE * number for number in range(5, 10))
HANDLES = 10 * LINE
"""Indices of a crew, after the counters of its team: threads that were started, and that have begun
their work; the address of the helpers' function; the most threads; two words for the clock; a
handle per thread. The arguments follow.
"""
TILED = ("scores", "residual", "answer", "direction", "second_scores", "second_answer")
"""Vectors of a `Space` that are divided among threads."""
ARGUMENTS: Any = types.Tuple(
    [KERNELS, DATA, SPACE, types.boolean, types.float64, FROZEN, VECTOR, VECTOR, CREW]
)
"""Types of the arguments of `structopt.kernels.passes.together.visit_together`."""
CLOCK = getattr(time, "CLOCK_MONOTONIC", 1)

_create = types.ExternalFunction(
    "pthread_create", types.int32(types.intp, types.intp, types.intp, types.intp)
)
_join = types.ExternalFunction("pthread_join", types.int32(types.intp, types.intp))
_clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.intp))


def new_crew(helper: Any, instances: int, threads: int) -> Array:
    """Return the counters and the memory of a call that divides instances among threads.

    Parameters
    ----------
    helper : compiled function
        Its function of other threads, made by `structopt.kernels.waist.signatures.thread`.
    instances, threads : int
    """
    crew = np.zeros(HANDLES + threads + MEMORY, np.int64)
    crew[: 5 * LINE] = new_team()
    crew[LIMIT], crew[THREADS] = instances, threads
    (result,) = helper.overloads.values()
    crew[ENTRY] = result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)
    return crew


def tiled(space: Space, threads: int) -> Space:
    """Return scratch for so many threads; `own` views the piece of each."""
    ints, longs, floats = (np.concatenate([one] * threads) for one in space.work[:3])
    work = Record(ints, longs, floats, space.work.at)
    vectors: dict[str, Any] = {
        name: np.zeros(threads * len(getattr(space, name))) for name in TILED
    }
    return space._replace(work=work, **vectors)


@inlined
def piece(buffer, number, count):
    """View a piece of a buffer of `count` pieces of equal length."""
    width = len(buffer) // count
    return part(buffer, number * width, (number + 1) * width)


@inlined
def record_piece(record, number, count):
    """View a piece of each buffer of a record."""
    return Record(
        piece(record.ints, number, count),
        piece(record.longs, number, count),
        piece(record.floats, number, count),
        piece(record.at, 0, 1),
    )


@driven
def unowned(data):
    """View the data without owners: kernels would count references to them, and threads would wait
    for each other's counts.
    """
    return Data(
        record_piece(data.features, 0, 1),
        record_piece(data.structure, 0, 1),
        record_piece(data.target, 0, 1),
        piece(data.parameters, 0, 1),
        piece(data.parts, 0, 1),
        piece(data.memory, 0, 1),
        piece(data.messages, 0, 1),
        piece(data.weights, 0, 1),
    )


@driven
def own(space, number, count):
    """View the scratch of one of `count` threads."""
    work = record_piece(space.work, number, count)
    return Space(
        piece(space.scores, number, count),
        piece(space.residual, number, count),
        piece(space.answer, number, count),
        piece(space.direction, number, count),
        piece(space.second_scores, number, count),
        piece(space.second_answer, number, count),
        work,
        space.gradient,
        space.starts,
        space.widths,
        space.indices,
        space.values,
    )


@inlined
def now(crew):
    """Return the time in nanoseconds."""
    _clock_gettime(CLOCK, _address(crew, TIME))
    return crew[TIME] * 1_000_000_000 + crew[TIME + 1]


@inlined
def is_worth_it(begin, time, done, instances):
    """Whether the rest of the instances takes longer than `WORTH`, at the pace of the first."""
    return (time - begin) * (instances - done) > WORTH * done


@inlined
def start(crew):
    """Start another thread, unless there are enough; return its number, or 0 for none."""
    number = add(crew, STARTED, 1) + 1
    if number >= crew[THREADS]:
        return 0
    arguments = _address(crew, HANDLES + crew[THREADS])
    failed = _create(_address(crew, HANDLES + number), 0, crew[ENTRY], arguments)
    return 0 if failed != 0 else number


@inlined
def wait_for(crew, number):
    """Wait for the end of a thread; 0: there is none."""
    if number > 0:
        _join(crew[HANDLES + number], 0)


@intrinsic
def _address(typingctx, array, index):  # type: ignore[no-untyped-def]
    """Return the address of an entry."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = fields_of(context, builder, signature.args[0], arguments[0]).data
        return builder.ptrtoint(builder.gep(data, [arguments[1]]), WORD)

    return types.intp(LONGS, types.intp), generate


@intrinsic
def _hand_over(typingctx, crew, arguments):  # type: ignore[no-untyped-def]
    """Store the arguments for the other threads."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = context.get_value_type(ARGUMENTS)
        assert context.get_abi_sizeof(kind) <= MEMORY * 8
        counters = fields_of(context, builder, signature.args[0], values[0]).data
        threads = builder.load(builder.gep(counters, [WORD(THREADS)]))
        first = builder.gep(counters, [builder.add(threads, WORD(HANDLES))])
        builder.store(values[1], builder.bitcast(first, kind.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(LONGS, ARGUMENTS), generate


@intrinsic
def _handed_over(typingctx, address):  # type: ignore[no-untyped-def]
    """Return the arguments that the leader has stored."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = context.get_value_type(ARGUMENTS)
        return builder.load(builder.inttoptr(values[0], kind.as_pointer()), align=8)

    return ARGUMENTS(types.intp), generate


hand_over: Any = _hand_over
handed_over: Any = _handed_over
