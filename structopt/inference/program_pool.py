"""A pool of programs over the local polytopes of many graphs: those of the same shape share
models.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from structopt.inference.compact_polytope import CompactPolytope, compact_polytope
from structopt.inference.highs_program import Program
from structopt.kernels.loopy.factors import FACTORS, Factors
from structopt.kernels.waist.record import Record

ROOM = 1_000_000
"""Coefficients of the models that are kept for further visits; some 100 bytes each."""


class Programs:
    """Programs of many graphs; those of the same shape share models.

    Parameters
    ----------
    make : callable
        Makes a program of a polytope.
    room : int
        Coefficients of the models that are kept; the least recently used go first.
    """

    def __init__(
        self, make: Callable[[CompactPolytope], Program] = Program, room: int = ROOM
    ) -> None:
        self._make, self._room, self._lock = make, room, Lock()
        self._idle: OrderedDict[tuple[Any, ...], list[Program]] = OrderedDict()
        self._size = 0

    @contextmanager
    def program(self, structure: Record, i: int, parts: int) -> Iterator[Program]:
        """Lend the program of instance i, which has `parts` parts, to this thread."""
        key = _shape(FACTORS.open(structure), i, parts)
        with self._lock:
            waiting = self._idle.get(key)
            program = waiting.pop() if waiting else None
            self._size -= program.size if program else 0
        program = program or self._make(compact_polytope(structure, i, parts))
        yield program
        with self._lock:  # a program that failed is not kept
            self._idle.setdefault(key, []).append(program)
            self._idle.move_to_end(key)
            self._size += program.size
            while self._size > self._room:
                _, dropped = self._idle.popitem(last=False)
                self._size -= sum(one.size for one in dropped)


def _shape(f: Factors, i: int, parts: int) -> tuple[Any, ...]:
    """What the polytope of an instance depends on."""
    v, w, a, b = f.variables[i], f.variables[i + 1], f.factors[i], f.factors[i + 1]
    rows = [
        f.widths[v:w],
        f.starts[v:w],
        f.kinds[a:b],
        *(offsets[a : b + 1] - offsets[a] for offsets in (f.links, f.privates, f.extras)),
        f.linked[f.links[a] : f.links[b]],
        f.extra[f.extras[a] : f.extras[b]],
    ]
    return (parts, int(f.shared[i]), *(row.tobytes() for row in rows))
