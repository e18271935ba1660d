"""The errors a user can mend. Each message says what is wrong, where, and what to do next."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

LONG_WORD, LONG_TEXT = 600, 3000
"""Characters: what is longer is cut in the middle where it is shown."""
COMPARED = 5000
"""The most names among which a close one is looked for."""


def legible(text: str) -> str:
    r"""Return a text as a terminal can show it: long words cut, and the whole too; control
    characters as ``\x1b``.
    """
    text = re.sub(rf"\S{{{LONG_WORD + 1},}}", lambda word: _cut(word[0], LONG_WORD), text)
    text = _cut(text, LONG_TEXT)
    if text.replace("\n", "").isprintable():
        return text
    return _cut(
        "".join(
            c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
        ),
        LONG_TEXT,
    )


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length * 3 // 4]}...{text[-length // 8 :]}"


class StructoptError(Exception):
    """Something the user can mend: the command ends with exit code 2 and this message, without a
    traceback.
    """

    def __str__(self) -> str:
        """Return the message, which may quote data, as a terminal can show it."""
        return legible(super().__str__())


class ConfigError(StructoptError):
    """An unknown component or key, an ill-typed value, or a value outside its range."""


class CompatibilityError(StructoptError):
    """Two components were chosen that cannot work together."""


class ModelError(StructoptError):
    """A saved model or checkpoint that is missing, truncated, altered, or of another version."""


class FolderInUseError(StructoptError):
    """A run's or sweep's folder in which another process is training."""


class NumericalError(StructoptError):
    """Numbers of a run that overflowed: an objective, a loss, a weight or a dual that is not
    finite.
    """


class MemoryShortage(StructoptError):
    """An allocation that failed: a run that needs more memory than is free."""


class SystemRefusal(StructoptError):
    """What the operating system refused: a full disk, a folder that cannot be written to, a name
    that is too long.

    Parameters
    ----------
    error : OSError
    resume : str
        The command that goes on with what was broken off; empty where there is none.
    remedy : str
        What to do; empty: by the number of the error.
    """

    def __init__(self, error: OSError, resume: str = "", remedy: str = "") -> None:
        names = [
            os.fsdecode(name)
            for name in (error.filename, error.filename2)
            if isinstance(name, (str, bytes))
        ]
        reason = error.strerror or str(error) or type(error).__name__
        what = " -> ".join(names) or "standard output, or a file of a library"
        remedy = remedy or REMEDIES.get(error.errno or 0, "mend that")
        after = f", then go on with: {resume}" if resume else "."
        super().__init__(f"{what}: {reason}: {remedy}{after}")


REMEDIES = {
    errno.ENOSPC: "free some",
    errno.EDQUOT: "delete something, or ask for more",
    errno.EFBIG: "raise the limit (ulimit -f), or write to another file system",
    errno.EROFS: "write to another folder",
    errno.EACCES: "change the permissions, or take another folder",
    errno.EPERM: "change the permissions, or take another folder",
    errno.ENAMETOOLONG: "take a shorter name",
    errno.ENOENT: "make the folder, or correct the path",
    errno.ENOTDIR: "a part of this path is a file; take another name",
    errno.EEXIST: "this is a file where a folder is due; take another name",
    errno.EISDIR: "this is a folder where a file is due; take another name",
    errno.EMFILE: "raise the limit (ulimit -n)",
    errno.ENOMEM: "end other programs, or take less data",
    errno.EIO: "check the disk or the terminal",
}
"""What to do, by the number of the error."""


_places: dict[str, Callable[[int], tuple[str, int]]] = {}
"""Of corpora of several files, by their names: where a line of the corpus is from."""


def name_lines(path: str | os.PathLike[str], place: Callable[[int], tuple[str, int]]) -> None:
    """Let errors in a corpus of several files name the file and the line in it, which `place` tells
    of a line of the corpus.
    """
    _places[os.fspath(path)] = place


def place_of(path: str | Path, line: int) -> tuple[str | Path, int]:
    """Return the file and the line that a line is: of a corpus of several files, the one in which
    it stands.
    """
    place = _places.get(os.fspath(path))
    return place(line) if place else (path, line)


def line_name(path: str | Path, line: int, beside: int) -> str:
    """Return a line as an error at the line `beside` writes it: its number, after its file where
    that is another one.
    """
    (file, number), (other, _) = place_of(path, line), place_of(path, beside)
    return str(number) if file == other else f"{file}:{number}"


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
        path, line = (path, None) if line is None else place_of(path, line)
        self.path, self.line, self.message = path, line, message
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {message}")

    def __reduce__(self) -> tuple[type[DataError], tuple[str | Path, int | None, str]]:
        """Errors of workers are sent to the process that asked them."""
        return type(self), (self.path, self.line, self.message)


def did_you_mean(name: str, known: Iterable[str], inside: str = "") -> str:
    """Return ``" Did you mean 'x'?"`` for the known names that are near, or the empty string;
    `inside` goes before each.
    """
    return meaning([inside + one for one in near(name, known)])


def meaning(names: Sequence[str]) -> str:
    """Return ``" Did you mean 'x' or 'y'?"``, or the empty string where there are no names."""
    quoted = [f"'{name}'" for name in names]
    return f" Did you mean {' or '.join(quoted)}?" if names else ""


def first_few(names: Sequence[str]) -> str:
    """The first ten of some names, for a message."""
    return ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")


def near(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that a misspelt one may stand for, at most three.

    They are those that differ in case and signs only, else those that begin with it or have it as a
    word, else the closest.
    """
    if len(name) > LONG_WORD // 4:
        return []
    forms: dict[str, str] = {}
    for one in islice(known, COMPARED):
        if len(one) <= LONG_WORD:
            forms.setdefault(form_of(one), one)
    form = form_of(name)
    if form in forms:
        return [forms[form]]
    longer = [
        one
        for other, one in forms.items()
        if len(form) > 1 and (other.startswith(form) or form in _words(one))
    ]
    closest = get_close_matches(form, forms, n=1, cutoff=0.6 if len(form) > 2 else 0.5)
    return sorted(longer, key=len)[:3] or [forms[other] for other in closest]


def form_of(name: str) -> str:
    """Return a name without what people write differently: case, hyphens, underscores, spaces."""
    return re.sub(r"[-_\s]", "", name).casefold()


def _words(name: str) -> list[str]:
    return re.split(r"[-_\s.]", name.casefold())
