"""The errors a user can mend. Each message says what is wrong, where, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


class StructoptError(Exception):
    """Something the user can mend: the command ends with exit code 2 and this message, without a traceback."""


class ConfigError(StructoptError):
    """An unknown component or key, an ill-typed value, or a value outside its range."""


class CompatibilityError(StructoptError):
    """Two components were chosen that cannot work together."""


class ModelError(StructoptError):
    """A saved model or checkpoint that is missing, truncated, altered, or of another version."""


class NumericalError(StructoptError):
    """Numbers of a run that overflowed: an objective, a loss, a weight or a dual that is not finite."""


class MemoryShortage(StructoptError):
    """An allocation that failed: a run that needs more memory than is free."""


class DataError(StructoptError):
    """A file that cannot be read as what it should be; the message begins with ``file:line:``.

    Parameters
    ----------
    path : str or Path
        The file.
    line : int or None
        The line, counted from 1; None where the whole file is meant.
    message : str
        What is wrong and what to do.
    """

    def __init__(self, path: str | Path, line: int | None, message: str) -> None:
        self.path, self.line = path, line
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {message}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the closest known name, or the empty string."""
    close = get_close_matches(name.replace("-", "_"), list(known), n=1, cutoff=0.5)
    return f" Did you mean '{close[0]}'?" if close else ""
