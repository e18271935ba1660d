"""The header of an ARFF file, and the quotes, commas and comments that its rows have too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from structopt.errors import DataError

QUOTED = r"'(?:\\.|[^'\\])*+'|\"(?:\\.|[^\"\\])*+\""
STRING = re.compile(QUOTED)
KIND = re.compile(r"(\w+)\s*+(?:%.*)?")
REST = re.compile(r"\s*+(?:%.*)?")
MEKA = re.compile(r":(?:.*\s)?\s*-C\s+([-+]?[0-9]{1,9})(?!\S)", re.DOTALL)
"""The option of MEKA that says how many columns are labels, in the name of the relation."""
NUMERIC = ("numeric", "real", "integer")


class Attribute(NamedTuple):
    """An attribute: its name, its values (None: numbers), and the line that declares it."""

    name: str
    values: tuple[str, ...] | None
    line: int


class LabelCount(NamedTuple):
    """How many of the first columns are labels, or if negative of the last; and the line."""

    number: int
    line: int


class Header(NamedTuple):
    """The attributes in the order of their columns, the line of ``@data``, and MEKA's count of
    labels.
    """

    attributes: list[Attribute]
    data: int
    labels: LabelCount | None


def is_row(text: str) -> bool:
    """Whether a line after ``@data`` is a row: neither blank nor a comment."""
    text = text.lstrip()
    return bool(text) and text[0] != "%"


def header(path: str | Path, lines: Sequence[str]) -> Header:
    """Read the lines up to ``@data``.

    Raises
    ------
    DataError
        There is no ``@data``, or no attribute before it; a line that cannot be read; an attribute
        that is neither numeric nor nominal, or that is declared twice.
    """
    attributes: dict[str, Attribute] = {}
    labels: LabelCount | None = None
    for line, text in enumerate(lines, 1):
        text = text.strip()
        keyword = text.split(None, 1)[0].lower() if is_row(text) else ""
        if keyword == "@data":
            if not attributes:
                raise DataError(
                    path, line, "no @attribute stands before @data: declare every column."
                )
            return Header(list(attributes.values()), line, labels)
        if keyword == "@attribute":
            attribute = _declared(path, line, text)
            if attribute.name in attributes:
                first = attributes[attribute.name].line
                raise DataError(
                    path,
                    line,
                    f"the attribute {attribute.name!r} is declared in line {first} too",
                    remedy="rename one.",
                )
            attributes[attribute.name] = attribute
        elif keyword == "@relation":
            match = MEKA.search(unquoted(text[len(keyword) :]))
            labels = LabelCount(int(match[1]), line) if match else None
        elif keyword:
            message = (
                f"{text[:30]!r} is neither @relation, @attribute, @data nor a comment: is this "
                "ARFF, and is @data there?"
            )
            raise DataError(path, line, message)
    raise DataError(path, None, "there is no line @data: the file is truncated, or is not ARFF.")


def _declared(path: str | Path, line: int, text: str) -> Attribute:
    declaration = text[len("@attribute") :].lstrip()
    string, word = STRING.match(declaration), declaration.split(None, 1)[:1]
    name, kind = "", None
    for written in ([string[0]] if string else []) + word:
        kind = kind or _kind(declaration[len(written) :].lstrip())
        name = name or (written if kind else "")
    if kind is None:
        raise DataError(
            path,
            line,
            f"{text[:60]!r} cannot be read",
            remedy="write @attribute NAME numeric, or @attribute NAME {0,1}.",
        )
    name = unquoted(name)
    if kind[0] == "{":
        values = tuple(unquoted(value) for value in split(kind[1:-1]))
        if "" in values or len(set(values)) < len(values):
            raise DataError(
                path,
                line,
                f"the values of {name!r} are not all different words",
                remedy="write {a,b,c}.",
            )
        return Attribute(name, values, line)
    if kind.lower() not in NUMERIC:
        raise DataError(
            path,
            line,
            f"the attribute {name!r} is of type {kind}, neither numeric nor nominal",
            remedy="remove it, or make numbers of it.",
        )
    return Attribute(name, None, line)


def _kind(text: str) -> str | None:
    """The word or the values in braces that a text is, but for a comment; None where it is neither.
    O(characters).
    """
    if text.startswith("{"):
        end = next(outside_quotes(text, "}"), None)
        return text[: end + 1] if end is not None and REST.fullmatch(text, end + 1) else None
    match = KIND.fullmatch(text)
    return match[1] if match else None


def outside_quotes(text: str, mark: str) -> Iterator[int]:
    """Indices of a mark in a text, but for those in quoted strings; a quote that is never closed is
    a character.
    """
    marks, unclosed = re.compile(f"['\"{re.escape(mark)}]"), ""
    place = 0
    while found := marks.search(text, place):
        place = found.end()
        if found[0] == mark:
            yield found.start()
        elif found[0] not in unclosed:
            string = STRING.match(text, found.start())
            place = string.end() if string else place
            unclosed += "" if string else found[0]  # nor is one of its kind behind it ever closed


def split(text: str) -> list[str]:
    """Return the cells between commas, stripped, with their quotes; a comma in quotes belongs to
    its cell.
    """
    if "'" not in text and '"' not in text:
        return [cell.strip() for cell in text.split(",")]
    commas = [*outside_quotes(text, ","), len(text)]
    return [
        text[begin:end].strip()
        for begin, end in zip([0, *(comma + 1 for comma in commas)], commas, strict=False)
    ]


def unquoted(text: str) -> str:
    """Return a name or value without its quotes, and without the backslashes in them."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def quoted(name: str) -> str:
    """Return a name as ARFF writes it, in quotes where it needs them."""
    if re.fullmatch(r"[^\s,{}%'\"\\?]+", name):
        return name
    return "'" + re.sub(r"(['\\])", r"\\\1", name) + "'"


def without_comment(text: str) -> str:
    """Return a row without a comment at its end."""
    if "%" in text:
        text = text[: next(outside_quotes(text, "%"), len(text))]
    return text.strip()
