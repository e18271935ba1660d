"""Documents and reference summaries as JSON, an object a line.

    {"name": "d1", "sentences": ["One sentence.", "Another."], "references": ["A summary.", ["Of
    two", "sentences."]]}

References alone have no ``sentences``. For ``name`` a line may say ``doc`` or ``id``; for
``references`` it may have ``summaries``, objects with ``text`` and ``by``: those that are not by a
person (``human``, ``human1``, ...) are left out.
"""

from __future__ import annotations

from typing import Any

from structopt.errors import DataError
from structopt.formats import json_objects
from structopt.formats.json_objects import keys, kind
from structopt.formats.summaries.texts import Summary

NAMES = ("name", "doc", "id")
HUMAN = "human"


def objects(path: str, text: str) -> list[tuple[int, dict[str, Any]]]:
    """Return the objects of a file and the lines that they stand in: see
    `structopt.formats.json_objects.objects`.
    """
    return json_objects.objects(path, text, '{"sentences": ["..."]}')


def name_of(path: str, line: int, row: dict[str, Any]) -> str:
    """Return the name of a document, or the number of its line."""
    for key in NAMES:
        if key in row:
            if not isinstance(row[key], str) or not row[key].strip():
                raise DataError(
                    path,
                    line,
                    f'"{key}" is {kind(row[key])}',
                    remedy="give the document's name, a text.",
                )
            return str(row[key])
    return str(line)


def sentences_of(path: str, line: int, row: dict[str, Any]) -> list[str]:
    """Return the sentences of a document."""
    if "sentences" not in row:
        raise DataError(
            path,
            line,
            f'this object has no "sentences", but {keys(row)}',
            remedy='write {"sentences": ["..."]}.',
        )
    return _listed(path, line, "sentences", row["sentences"])


def references_of(path: str, line: int, row: dict[str, Any]) -> list[Summary] | None:
    """Return the reference summaries of a document; None where the object has no key for them."""
    if "references" in row:
        rows = row["references"]
        if not isinstance(rows, list):
            raise DataError(
                path,
                line,
                f'"references" is {kind(rows)}',
                remedy="give a list of summaries.",
            )
    elif "summaries" in row:
        rows = row["summaries"]
        if not isinstance(rows, list) or not all(
            isinstance(one, dict) and "text" in one for one in rows
        ):
            raise DataError(
                path,
                line,
                '"summaries" is no list of objects with "text"',
                remedy='write [{"by": "human", "text": "..."}].',
            )
        rows = [one["text"] for one in rows if str(one.get("by", HUMAN)).startswith(HUMAN)]
    else:
        return None
    found = [_summary(path, line, one) for one in rows]
    if not found:
        raise DataError(
            path,
            line,
            "there is no reference summary",
            remedy="give one by a person, or leave the document out.",
        )
    return found


def _summary(path: str, line: int, value: Any) -> Summary:
    """A summary: a text with a sentence a line, or a list of sentences."""
    sentences = _listed(
        path, line, "references", value.split("\n") if isinstance(value, str) else value
    )
    if not sentences:
        raise DataError(
            path,
            line,
            "a reference summary is empty",
            remedy="remove it.",
        )
    return sentences


def _listed(path: str, line: int, key: str, value: Any) -> list[str]:
    """The texts of a list that are not empty."""
    if not isinstance(value, list):
        raise DataError(
            path,
            line,
            f'"{key}" is {kind(value)}',
            remedy="give a list of sentences.",
        )
    for one in value:
        if not isinstance(one, str):
            raise DataError(
                path,
                line,
                f'"{key}" has {kind(one)} in it',
                remedy="give sentences, which are texts.",
            )
    return [" ".join(one.split()) for one in value if one.strip()]
