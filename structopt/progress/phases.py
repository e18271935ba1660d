"""The phases of a command: what it is doing, since when, and how far it has come. They know no
terminal.

Reading, featurising, training, evaluating and recording are entered one after the other, perhaps
one within another, by those who do the work. A display (`structopt.progress.display`) looks at them
now and then from a thread of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from structopt.kernels.waist import compiling, halting


@dataclass
class Phase:
    """A phase under way.

    Attributes
    ----------
    name : str
        A participle: reading, training.
    what : str
        What is read, or trained; may be empty.
    visits : int
        How many visits of instances it makes; 0 where it makes none, or nobody knows how many.
    line : callable or None
        Gives the whole text of a line on a terminal, instead of name, share and time.
    remark : callable or None
        Gives more words on how far it has come.
    lasting : bool
        Whether a line of it stays on the terminal when it has ended.
    """

    name: str
    what: str = ""
    visits: int = 0
    line: Callable[[], str] | None = None
    remark: Callable[[], str] | None = None
    lasting: bool = True
    clock: compiling.Stopwatch = field(default_factory=compiling.Stopwatch)
    first_visit: int = field(default_factory=halting.visits)
    compiled: int = field(default_factory=lambda: compiling.STATE.compiled)
    compiling_seconds: float = field(default_factory=lambda: compiling.STATE.seconds)

    @property
    def title(self) -> str:
        """Name and object."""
        return f"{self.name} {self.what}".rstrip()

    @property
    def share(self) -> float | None:
        """How much of its visits is made, from 0 to 1; None where nobody knows."""
        return (
            min(1.0, (halting.visits() - self.first_visit) / self.visits) if self.visits else None
        )

    def __enter__(self) -> Phase:
        """Show the phase."""
        if threading.current_thread() is threading.main_thread():
            _under_way.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        """Report to the listeners that the phase has ended."""
        if threading.current_thread() is threading.main_thread():
            _under_way.remove(self)
            for listener in _listeners:
                listener.left(self)


class Listener(Protocol):
    """Who is told of phases that end."""

    def left(self, phase: Phase) -> None:
        """A phase has ended, well or not."""


_under_way: list[Phase] = []
_listeners: list[Listener] = []


def phase(
    name: str,
    what: object = "",
    visits: int = 0,
    line: Callable[[], str] | None = None,
    remark: Callable[[], str] | None = None,
    lasting: bool = True,
) -> Phase:
    """Return a phase with the parameters of `Phase`, which a ``with`` statement enters, and leaves
    however the work ends.

    Other threads than the main one get a phase that no display shows.
    """
    return Phase(name, str(what), visits, line, remark, lasting)


def under_way() -> tuple[Phase, ...]:
    """Return the phases under way, the outermost first."""
    return tuple(_under_way)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell a listener of the phases that are left."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
