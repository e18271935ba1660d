"""Errors that the user can fix. Each one names the problem, the place and the remedy.

An error carries fields, and its text is rendered from them when it is shown (`StructoptError`).
Python code reads the fields. The command line may set `StructoptError.parameter` to the key that
the user knows, such as ``optimizer.C``, before it prints the text.
"""

from __future__ import annotations

import errno
import os
import pickle
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from enum import Enum
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

LONG_WORD, LONG_TEXT = 600, 3000
"""Characters: what is longer is cut in the middle where it is shown."""
COMPARED = 5000
"""The most names among which a close one is looked for."""
LONG_VALUE = 200
"""Characters: longer values are cut in the middle."""
WORD = re.compile(r"[^\W\d][\w./-]*")
"""A string that is shown without quotation marks, unless it is one of `OTHER_WORDS`."""
OTHER_WORDS = frozenset({"none", "null", "true", "false", "nan", "inf", "infinity"})
HIDDEN = "***"
"""Stands for a user and password, which no text shows."""
CREDENTIALS = re.compile(
    r"""
    (?<=://)                                     # of an address:
    (?: [^\s"<>/?#@:]*:(?!\d*(?:[/?#\s]|\Z))      # a user and a password (not host and port), in
        [^\s"<>@]*(?:@[^\s"<>/?#@]*)*             # which databases allow / and @,
      | [^\s"<>/?#]+ )                            # or a user
    (?=@)
    | (?<=[?&]user=)[^\s"'&]+ | (?<=[?&]username=)[^\s"'&]+ | (?<=[?&]uid=)[^\s"'&]+
    | (?<=[?&]password=)[^\s"'&]+ | (?<=[?&]passwd=)[^\s"'&]+ | (?<=[?&]pwd=)[^\s"'&]+
    | (?<=[?&]token=)[^\s"'&]+ | (?<=[?&]odbc_connect=)[^\s"'&]+
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""A user, a password or both in an address: ``https://USER:PASSWORD@host``."""


def redacted(text: str) -> str:
    """Return a text with ``***`` for the user and password of each address in it."""
    return CREDENTIALS.sub(HIDDEN, text) if "://" in text else text


def legible(text: str) -> str:
    r"""Return a text as a terminal can show it: long words cut, and the whole too; control
    characters as ``\x1b``, users and passwords of addresses as ``***``.
    """
    text = redacted(text)
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


class _Repr(reprlib.Repr):
    """Cuts collections before they are rendered, so that long ones cost nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = LONG_VALUE


def shown(value: object) -> str:
    """Return a value as messages show it: ``0.1``, ``lbfgs``, ``'two words'``, ``[1, 2]``.

    Strings that read as a word have no quotation marks, as on the command line; ``'3'``
    and ``'None'`` keep theirs. NumPy scalars look like Python's, and long values are cut.
    """
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        value = value.item()  # type: ignore[attr-defined]
    if type(value) is str and WORD.fullmatch(value) and value.lower() not in OTHER_WORDS:
        return _cut(value, LONG_VALUE)
    return " ".join(_Repr().repr(value).split())


class Missing(Enum):
    """The type of `NO_VALUE`, which differs from None: None may be the value that is wrong."""

    NO_VALUE = "no value"


NO_VALUE: Final = Missing.NO_VALUE
"""`StructoptError.value` of an error that is about no value in particular."""


class StructoptError(Exception):
    """An error that the user can fix; the command line prints it and exits with code 2.

    The text is rendered from the fields by one rule::

        where: parameter=value problem remedy

    Parts that are absent are left out with their signs. With a `parameter`, `problem` is the
    predicate of a sentence whose subject is ``parameter=value``, such as ``must be at least 0.``;
    without one it is a whole sentence, or the whole message. A colon precedes `remedy` if `problem`
    does not end with a punctuation mark. `shown` renders the value, and `legible` cuts the text.

    The fields may be set after construction: the text follows them. Errors pickle with all fields
    and notes. A value that cannot be pickled arrives as its text.

    Parameters
    ----------
    problem : str
        The problem: a predicate, a sentence or a whole message.
    parameter : str or None
        Name of the argument or setting, without its value.
    value : object
        Its value, or the element at `where`; `NO_VALUE` if the error is about no value.
    where : str or None
        The place: ``file:line``, or instance and position, which count from 0 as in Python.
    remedy : str or None
        How to fix it.
    kinds : mapping of str to str, optional
        Kind of component, such as ``optimizer``, of the arguments that the text names. The command
        line writes keys for those in `parameter`, for ```eta``` and ```eta=1``` in backquotes, and
        for ``eta=1`` in `remedy`.

    Attributes
    ----------
    problem, parameter, value, where, remedy, kinds
        The parameters.
    """

    problem: str
    parameter: str | None
    value: Any
    where: str | None
    remedy: str | None
    kinds: Mapping[str, str]

    def __new__(cls, *args: Any, **fields: Any) -> Self:
        """Create an error whose fields are empty, also if a subclass does not set them."""
        self = super().__new__(cls, *args)
        self.problem, self.parameter, self.value = "", None, NO_VALUE
        self.where, self.remedy, self.kinds = None, None, {}
        return self

    def __init__(
        self,
        problem: str = "",
        *,
        parameter: str | None = None,
        value: Any = NO_VALUE,
        where: str | None = None,
        remedy: str | None = None,
        kinds: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem, self.parameter, self.value = str(problem), parameter, value
        self.where, self.remedy, self.kinds = where, remedy, dict(kinds or {})

    @property
    def message(self) -> str:
        """The text without the place."""
        subject = self.parameter or ""
        if subject and self.value is not NO_VALUE:
            subject += f"={shown(self.value)}"
        text = " ".join(filter(None, (subject, self.problem)))
        if not self.remedy:
            return text
        return f"{text}{'' if not text or text[-1] in '.:;!?' else ':'} {self.remedy}".lstrip()

    def __str__(self) -> str:
        """Return the text, which may quote data, as a terminal can show it."""
        return legible(": ".join(filter(None, (self.where, self.message))))

    def __repr__(self) -> str:
        """Return the class and the text."""
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields without calling the constructor, which subclasses define freely."""
        state = dict(vars(self))
        try:
            pickle.dumps(self.value)
        except Exception:  # an object's own __reduce__ may raise anything
            state["value"] = shown(self.value)
        return _unfilled, (type(self), self.args), state


class ConfigError(StructoptError):
    """An unknown component or key, an ill-typed value, or a value outside its range."""


def _unfilled(cls: type[StructoptError], args: tuple[Any, ...]) -> StructoptError:
    """Create an error whose fields pickle then sets."""
    return cls.__new__(cls, *args)


class ArgumentError(StructoptError, ValueError):
    """An argument of a Python call whose value is refused.

    Parameters
    ----------
    problem : str
        The predicate of a sentence about the argument: ``must be at least 0.``
    parameter : str
        Name of the argument.
    value, where, remedy
        As of `StructoptError`. Of an array, `value` is the element at `where`.
    """

    parameter: str

    def __init__(
        self,
        problem: str,
        *,
        parameter: str,
        value: Any = NO_VALUE,
        where: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(problem, parameter=parameter, value=value, where=where, remedy=remedy)


OMITTED = {
    "cvxpy": "cvxpy",
    "hydra": "hydra-core",
    "matplotlib": "matplotlib",
    "mlflow": "mlflow",
    "pandas": "pandas",
}
"""Packages that ``requirements-predict.txt`` omits: distributions by the names of their modules."""


@contextmanager
def full_installation(purpose: str, module: str = "") -> Iterator[None]:
    """Explain the failed import of a package that an installation for prediction omits.

    Parameters
    ----------
    purpose : str
        What needs the package: the subject of the message.
    module : str
        A module that another process will import.

    Raises
    ------
    ConfigError
        Instead of a `ModuleNotFoundError` of one of these packages.
    """
    try:
        if module and find_spec(module) is None:
            raise ModuleNotFoundError(name=module)
        yield
    except ModuleNotFoundError as error:
        package = OMITTED.get((error.name or "").partition(".")[0])
        if package is None:
            raise
        raise ConfigError(
            f"{purpose} needs the package {package}, which is not installed.",
            remedy="Install all packages of structopt: pip install structopt-trainer",
        ) from error


class InfeasibleError(StructoptError):
    """Instances without a feasible output, for example because scores of -inf forbid all outputs.

    Parameters
    ----------
    problem : str
        Their problem, as of `StructoptError`.
    instances : sequence of int
        Their indices, from 0; `where` is rendered from them.
    parameter, value, remedy, kinds
        As of `StructoptError`.

    Attributes
    ----------
    instances : tuple of int
    """

    instances: tuple[int, ...]

    def __init__(
        self,
        problem: str = "no output is feasible.",
        *,
        instances: Sequence[int],
        parameter: str | None = None,
        value: Any = NO_VALUE,
        remedy: str | None = None,
        kinds: Mapping[str, str] | None = None,
    ) -> None:
        self.instances = tuple(map(int, instances))
        listing = first_few(list(map(str, self.instances[:11])))
        where = f"instance{'s' if len(self.instances) != 1 else ''} {listing}"
        super().__init__(
            problem, parameter=parameter, value=value, where=where, remedy=remedy, kinds=kinds
        )


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
    """A call that the operating system refused: a full disk, a folder that cannot be written to, a
    name that is too long.

    `where` names the files, and `problem` is the system's reason.

    Parameters
    ----------
    error : OSError
    resume : str
        The command that resumes the interrupted run; empty if there is none.
    remedy : str
        How to fix it; empty: chosen by the number of the error.
    """

    def __init__(self, error: OSError, resume: str = "", remedy: str = "") -> None:
        names = [
            os.fsdecode(name)
            for name in (error.filename, error.filename2)
            if isinstance(name, (str, bytes))
        ]
        remedy = remedy or REMEDIES.get(error.errno or 0, "correct that")
        super().__init__(
            error.strerror or str(error) or type(error).__name__,
            where=" -> ".join(names) or "standard output, or a file of a library",
            remedy=f"{remedy}, then resume with: {resume}" if resume else f"{remedy}.",
        )


REMEDIES = {
    errno.ENOSPC: "free disk space",
    errno.EDQUOT: "delete files, or raise the quota",
    errno.EFBIG: "raise the limit (ulimit -f), or write to another file system",
    errno.EROFS: "write to another folder",
    errno.EACCES: "change the permissions, or choose another folder",
    errno.EPERM: "change the permissions, or choose another folder",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOENT: "create the folder, or correct the path",
    errno.ENOTDIR: "a part of this path is a file; choose another name",
    errno.EEXIST: "this is a file, and a folder is needed; choose another name",
    errno.EISDIR: "this is a folder, and a file is needed; choose another name",
    errno.ELOOP: "delete this link",
    errno.EBADF: "standard output is closed; redirect it to a file",
    errno.EMFILE: "raise the limit (ulimit -n)",
    errno.ENOMEM: "end other programs, or use less data",
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
    """A file or table with invalid contents; `where` is ``file:line``.

    Parameters
    ----------
    path : str or Path
        The file.
    line : int or None
        The line, counted from 1; None for the whole file.
    problem : str
        The problem; without a `remedy` also how to fix it.
    parameter, value, remedy
        As of `StructoptError`.

    Attributes
    ----------
    path, line
        The file and the line in it; for a corpus of several files, the file that has the line.
    """

    path: str | Path
    line: int | None

    def __init__(
        self,
        path: str | Path,
        line: int | None,
        problem: str,
        *,
        parameter: str | None = None,
        value: Any = NO_VALUE,
        remedy: str | None = None,
    ) -> None:
        self.path, self.line = (path, None) if line is None else place_of(path, line)
        where = f"{self.path}" if self.line is None else f"{self.path}:{self.line}"
        super().__init__(problem, parameter=parameter, value=value, where=where, remedy=remedy)


def missing_file(path: str | Path, remedy: str = "check the path.") -> DataError:
    """Return the error for a file that does not exist."""
    return DataError(path, None, "there is no such file", remedy=remedy)


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
