"""Threads that share the visits of a batch: one leads, the others help.

All of them run compiled loops over the same arrays. The leader announces how many visits the
threads may begin; every thread claims the next visit that nobody has claimed; the leader waits for
all visits, and computes the step of the batch. A call of Python per batch would take longer than
the inference on ten short sentences.

The counters of a team are changed atomically, by these functions in compiled code and by Python's
lock elsewhere. Whatever a thread wrote before it changed a counter is seen by threads that read the
new value.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, inlined
from structopt.kernels.waist.views import fields_of

TEAM = LONGS
LINE = 8  # counters of different use are in different lines of the cache
BUSY, LIMIT, CLAIMED, DONE, OVER = (LINE * number for number in range(5))
"""Indices: whether a thread is in the part that only one may be in; the end of the visits that may
be claimed; visits claimed, and done; whether the work is over.
"""
SPINS, YIELDS = 64, 512  # turns of waiting without a call, and with a call that takes no time
PAUSE = 50  # microseconds of each later turn
WORD = ir.IntType(64)

_lock = threading.Lock()
_sched_yield = types.ExternalFunction("sched_yield", types.int32())
_usleep = types.ExternalFunction("usleep", types.int32(types.uint32))


def new_team() -> Array:
    """Return the counters of a team whose visits have not begun."""
    return np.zeros(5 * LINE, np.int64)


def read(team, index):
    """Return a counter."""
    return int(team[index])


def write(team, index, value):
    """Set a counter."""
    team[index] = value


def add(team, index, value):
    """Add to a counter; return its value before."""
    with _lock:
        before = int(team[index])
        team[index] += value
        return before


def exchange(team, index, expected, value):
    """Set a counter if it has the expected value; return whether it had."""
    with _lock:
        if team[index] != expected:
            return False
        team[index] = value
        return True


def relax(turn):
    """Let other threads work, as the turn-th turn of waiting; later turns take longer."""
    time.sleep(0.0 if turn < YIELDS else PAUSE * 1e-6)


@inlined
def claim(team):
    """Claim the next visit that is announced; return its index, or -1 if there is none."""
    while True:
        j = read(team, CLAIMED)
        if j >= read(team, LIMIT):
            return -1
        if exchange(team, CLAIMED, j, j + 1):
            return j


@inlined
def wait_and_claim(team):
    """Claim the next visit, and wait for it; return -1 once the work is over."""
    turn = 0
    while read(team, OVER) == 0 and not halted():
        j = claim(team)
        if j >= 0:
            return j
        relax(turn)
        turn += 1
    return -1


@inlined
def announce(team, end):
    """Let all threads claim the visits before `end`."""
    write(team, LIMIT, end)


@inlined
def report(team):
    """Count a visit as done."""
    add(team, DONE, 1)


@inlined
def wait_for_all(team, end):
    """Wait until all visits before `end` are done, or the work has to end early."""
    turn = 0
    while read(team, DONE) < end and read(team, OVER) == 0 and not halted():
        relax(turn)
        turn += 1


@inlined
def enter(team):
    """Begin the part that only one thread may be in."""
    turn = 0
    while not exchange(team, BUSY, 0, 1):
        relax(turn)
        turn += 1


@inlined
def leave(team):
    """End the part that only one thread may be in."""
    write(team, BUSY, 0)


def end(team: Array) -> None:
    """End the work of all threads of a team."""
    write(team, OVER, 1)


def _counter(context: Any, builder: Any, kind: Any, team: Any, index: Any) -> Any:
    return builder.gep(fields_of(context, builder, kind, team).data, [index])


@intrinsic
def _read(typingctx, team, index):  # type: ignore[no-untyped-def]
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _counter(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(address, "acquire", 8)

    return types.int64(LONGS, types.intp), generate


@intrinsic
def _write(typingctx, team, index, value):  # type: ignore[no-untyped-def]
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _counter(context, builder, signature.args[0], *arguments[:2])
        builder.store_atomic(arguments[2], address, "release", 8)
        return context.get_dummy_value()

    return types.void(LONGS, types.intp, types.int64), generate


@intrinsic
def _add(typingctx, team, index, value):  # type: ignore[no-untyped-def]
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _counter(context, builder, signature.args[0], *arguments[:2])
        return builder.atomic_rmw("add", address, arguments[2], "acq_rel")

    return types.int64(LONGS, types.intp, types.int64), generate


@intrinsic
def _exchange(typingctx, team, index, expected, value):  # type: ignore[no-untyped-def]
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _counter(context, builder, signature.args[0], *arguments[:2])
        result = builder.cmpxchg(address, *arguments[2:], "acq_rel", "acquire")
        return builder.extract_value(result, 1)

    return types.boolean(LONGS, types.intp, types.int64, types.int64), generate


@overload(read)
def _compiled_read(team, index):  # type: ignore[no-untyped-def]
    return lambda team, index: _read(team, index)


@overload(write)
def _compiled_write(team, index, value):  # type: ignore[no-untyped-def]
    return lambda team, index, value: _write(team, index, value)


@overload(add)
def _compiled_add(team, index, value):  # type: ignore[no-untyped-def]
    return lambda team, index, value: _add(team, index, value)


@overload(exchange)
def _compiled_exchange(team, index, expected, value):  # type: ignore[no-untyped-def]
    return lambda team, index, expected, value: _exchange(team, index, expected, value)


@overload(relax)
def _compiled_relax(turn):  # type: ignore[no-untyped-def]
    def wait(turn):  # type: ignore[no-untyped-def]
        if turn >= YIELDS:
            _usleep(PAUSE)
        elif turn >= SPINS:
            _sched_yield()

    return wait
