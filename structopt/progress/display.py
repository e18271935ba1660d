"""Phases as people see them on stderr.

On a terminal there is one line, which is written over. Where a phase took a second or more, a line
of it stays. Elsewhere (a file, a pipe, the log of a batch system) nothing is said of short
commands, and then a line every ten seconds of work.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from structopt.kernels.waist import compiling
from structopt.progress import phases
from structopt.progress.phases import Phase
from structopt.progress.quiet import is_quiet

EVERY = 10.0
"""Seconds between two lines where stderr is no terminal."""
REFRESH = 0.25
"""Seconds between two looks on a terminal."""
WORTH_A_LINE = 1.0
"""Seconds of a phase whose line stays on a terminal."""
NOTICED = 1.0
"""Seconds after which one kernel is being compiled, and not read from the disk."""


class Display:
    """Shows the phases under way until it is closed.

    Attributes
    ----------
    silent : bool
        Whether to show nothing, as in jobs beside others; with ``quiet=true`` nothing is shown
        either.
    log : Path or None
        The log of the run, which lines name.
    """

    def __init__(self) -> None:
        self.silent = False
        self.log: Path | None = None
        self._lock, self._closed = threading.RLock(), threading.Event()
        self._shown = ""  # on a terminal, the present line
        self._began = self._last = time.monotonic()
        threading.Thread(target=self._watch, name="structopt-progress", daemon=True).start()

    def left(self, phase: Phase) -> None:
        """Leave a line of a long phase on a terminal."""
        if self.silent or is_quiet() or not _is_terminal():
            return
        kernels, seconds = (
            compiling.STATE.compiled - phase.compiled,
            compiling.STATE.seconds - phase.compiling_seconds,
        )
        nested = bool(phases.under_way())
        if kernels and seconds >= WORTH_A_LINE and not nested:
            self._leave(
                f"compiled {kernels} kernels in {seconds:.1f} s, once: the next runs read them "
                "from the disk"
            )
        if phase.lasting and phase.clock.seconds >= WORTH_A_LINE:
            self._leave(f"{phase.title}: {phase.clock.seconds:.1f} s")
        if phase.lasting or not nested:  # the evaluation of a short epoch must not erase the line
            self.clear()

    def clear(self) -> None:
        """Take the line away, so that other text can be written."""
        with self._lock:
            if self._shown:
                self._write("\r\x1b[K")
                self._shown = ""

    def close(self) -> None:
        """Take the line away for good: nothing is written afterwards."""
        with self._lock:
            self._closed.set()
            self.clear()

    def _watch(self) -> None:
        while not self._closed.wait(REFRESH):
            with suppress(Exception):  # what is shown never costs a run
                self._look()

    def _look(self) -> None:
        if self.silent or is_quiet():
            return
        if _is_terminal():
            self._show(terminal_line())
        elif time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            where = f"; log: {_shortest(self.log)}" if self.log else ""
            since = clock(self._last - self._began)
            line = f"structopt: {plain_line() or f'working, {since}'}{where}\n"
            with self._lock:
                if not self._closed.is_set():
                    self._write(line)

    def _show(self, line: str) -> None:
        with self._lock:
            if self._closed.is_set():
                return
            if not line:
                self.clear()
                return
            line = line[: max(20, shutil.get_terminal_size().columns - 1)]
            if line != self._shown:
                self._write(f"\r{line}\x1b[K")
                self._shown = line

    def _leave(self, line: str) -> None:
        with self._lock:
            self.clear()
            self._write(f"{line}\n")

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError, AttributeError):  # stderr may be closed, or full
            sys.stderr.write(text)
            sys.stderr.flush()


def terminal_line() -> str:
    """The phases under way as a line of a terminal: the innermost that has a line of its own, or
    else all of them.
    """
    if text := compiling_text():
        return text
    entered = phases.under_way()
    outer = [one.title for one in entered[:-1] if one.line is None]
    inner = entered[-1:]
    for at, one in enumerate(entered):
        if one.line is not None:
            outer, inner = [one.title for one in entered[:at] if one.line is None], (one,)
    return ": ".join([*outer, *(one.line() if one.line else _text(one) for one in inner)])


def plain_line() -> str:
    """The phases under way, from the outermost to the innermost, in words; empty where there is
    none.
    """
    return compiling_text() or ": ".join(_text(one) for one in phases.under_way())


def compiling_text() -> str:
    """What is said while kernels are compiled; empty where none is."""
    state, now = compiling.STATE, time.perf_counter()
    present = now - state.since if state.kernel else 0.0
    if not state.kernel or (present < NOTICED and not state.compiled):
        return ""
    return (
        f"compiling kernels, once (ahead: structopt compile): {state.compiled} so far, "
        f"{clock(state.seconds + present)}"
    )


def clock(seconds: float) -> str:
    """Minutes and seconds, after hours where there are any."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _text(phase: Phase) -> str:
    known = [phase.title]
    if phase.remark is not None:
        known.append(phase.remark())
    if phase.share is not None:
        known.append(f"{phase.share:.0%}")
    known.append(clock(phase.clock.seconds))
    return ", ".join(one for one in known if one)


def _shortest(path: Path) -> str:
    """The path from the current folder, where that is shorter."""
    with suppress(ValueError, OSError):
        return min(str(path), os.path.relpath(path), key=len)
    return str(path)


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):
        return False


_displays: list[Display] = []


@contextmanager
def shown() -> Iterator[Display]:
    """Show phases while this lasts; within another such context, by the display that there is."""
    if _displays or threading.current_thread() is not threading.main_thread():
        yield _displays[-1] if _displays else _hidden()
        return
    display = Display()
    _displays.append(display)
    compiling.STATE.shown = True
    try:
        with phases.listening(display):
            yield display
    finally:
        _displays.remove(display)
        compiling.STATE.shown = False
        display.close()


def clear() -> None:
    """Take the line of the display away, so that other text can be written."""
    for display in _displays:
        display.clear()


def _hidden() -> Display:
    """A display that shows nothing."""
    display = Display()
    display.silent = True
    display.close()
    return display
