"""What reaches the terminal beside results: the messages of structopt and its plugins, and none of
the libraries they stand on.

Warnings of libraries go to the log of the run, where there is one.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from structopt.progress import credentials, display
from structopt.progress.quiet import is_quiet, quietly

LOG = "structopt.log"
"""The log in a run's folder."""
_tidied: list[bool] = []


class Ours(logging.Filter):
    """Lets messages of structopt and its plugins through; of these, with ``quiet=true``, errors
    alone.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is shown; the line of the display makes room for it."""
        passes = record.name.partition(".")[0] in packages() and (
            not is_quiet() or record.levelno >= logging.ERROR
        )
        if passes:
            display.clear()
        return passes


class Discreet(logging.Filter):
    """Removes users and passwords of tracking stores from messages and tracebacks."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let each record through, with ``***`` for users and passwords."""
        text = record.getMessage()
        if (clean := credentials.hidden(text)) != text:
            record.msg, record.args = clean, None
        if record.exc_info and not record.exc_text:
            record.exc_text = credentials.hidden(
                logging.Formatter().formatException(record.exc_info)
            )
        return True


@cache
def packages() -> frozenset[str]:
    """The packages of all installed components."""
    groups = entry_points()
    ours = {
        point.value.partition(".")[0].partition(":")[0]
        for name in groups.groups
        if name.startswith("structopt.")
        for point in groups.select(group=name)
    }
    return frozenset(ours | {"structopt", "__main__"})


@contextmanager
def tidy() -> Iterator[None]:
    """Keep warnings of libraries from the terminal while this lasts, unless Python was started with
    options about warnings.
    """
    if _tidied:
        yield
        return
    _tidied.append(True)
    if not sys.warnoptions:
        logging.captureWarnings(True)
    try:
        with quietly(), tidy_fallback():
            yield
    finally:
        _tidied.clear()
        if not sys.warnoptions:
            logging.captureWarnings(False)


@contextmanager
def tidy_fallback() -> Iterator[None]:
    """Filter what Python shows on stderr in programs that have set up no logging, while this
    lasts.
    """
    filtered, last_resort = Ours(), logging.lastResort
    if last_resort is not None:
        last_resort.addFilter(filtered)
    try:
        yield
    finally:
        if last_resort is not None:
            last_resort.removeFilter(filtered)


class _Once(logging.Filter):
    """Lets every kind of message through once."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[tuple[str, object]] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether no message of this kind came before."""
        kind = (record.name, record.msg if record.msg != "%s" else record.lineno)
        new = kind not in self._said
        self._said.add(kind)
        return new


@contextmanager
def said_once() -> Iterator[None]:
    """Show messages that differ in their numbers only, or in the places that they are about, once
    while this lasts.
    """
    once, last_resort = _Once(), logging.lastResort
    handlers = [*logging.getLogger().handlers, *([last_resort] if last_resort is not None else [])]
    for handler in handlers:
        handler.addFilter(once)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(once)


def say(text: str, error: bool = False) -> None:
    """Print a line that is neither a result nor an error, unless ``quiet=true``."""
    if is_quiet():
        return
    display.clear()
    stream = sys.stderr if error else sys.stdout
    beside = "\r\x1b[K" if stream.isatty() else ""  # another process may show a line there
    encoding = getattr(stream, "encoding", None) or "utf8"
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    print(f"{beside}{text}", file=stream, flush=True)


def log_file() -> Path | None:
    """Return the file that messages go to, where there is one."""
    files = [
        one.baseFilename
        for one in logging.getLogger().handlers
        if isinstance(one, logging.FileHandler)
    ]
    return Path(files[0]) if files else None


@contextmanager
def logged_in(folder: Path) -> Iterator[None]:
    """Log into a run's folder, and warnings on stderr too, where nobody has set up logging: as
    Hydra does for new runs.
    """
    root = logging.getLogger()
    if root.handlers:
        yield
        return
    level, stream, file = (
        root.level,
        logging.StreamHandler(sys.stderr),
        logging.FileHandler(folder / LOG, encoding="utf8"),
    )
    stream.setLevel(logging.WARNING)
    stream.addFilter(Ours())
    file.setFormatter(logging.Formatter("[%(asctime)s][%(name)s][%(levelname)s] - %(message)s"))
    root.setLevel(logging.INFO)
    for handler in (stream, file):
        handler.addFilter(Discreet())
        root.addHandler(handler)
    try:
        yield
    finally:
        root.setLevel(level)
        for handler in (stream, file):
            root.removeHandler(handler)
        file.close()
