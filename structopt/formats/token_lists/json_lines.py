"""Sentences as JSON, an object a line, as HuggingFace's data sets are exported.

    {"id": "0", "tokens": ["Ann", "slept"], "pos_tags": ["NNP", "VBD"], "ner_tags": ["B-PER", "O"]}

Labels are strings, or integers that have names (`structopt.formats.token_lists.class_names`);
``null`` is a missing label, or a sentence without labels.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from structopt.errors import DataError
from structopt.formats.conll_layouts import TAG
from structopt.formats.json_objects import kind, objects
from structopt.formats.text_files import read_text, read_verbatim, write_text
from structopt.formats.token_lists.fields import Fields
from structopt.formats.token_lists.predicted_lists import PredictedLists
from structopt.formats.token_lists.token_lists import Gathering, TokenLists

EXAMPLE = '{"tokens": ["Ann", "slept"]}'


def read(path: str, fields: Fields, limit: int | None, encoding: str) -> TokenLists:
    """Read the sentences of a file, or the first `limit` of them; which columns there are, the
    first object says.

    Raises
    ------
    DataError
        With file and line: no JSON, an object without a field of the first one, what is no list,
        lists of different lengths.
    """
    rows = objects(path, read_text(path, encoding), EXAMPLE)
    if not rows:
        raise DataError(
            path,
            None,
            "the file has no sentences",
            remedy="check the path, or make the file again.",
        )
    chosen = fields.of(path, rows[0][0], rows[0][1])
    sentences = Gathering(path, chosen)
    for line, row in rows:
        sentences.add(
            line,
            {
                column: None
                if column == TAG and field in row and row[field] is None
                else listed(path, line, row, field)
                for column, field in chosen.items()
            },
        )
        if len(sentences) == limit:
            break
    return sentences.result()


def listed(path: str, line: int, row: Mapping[str, Any], field: str) -> list[Any]:
    """The list that an object has in a field; DataError where it has none."""
    value = row.get(field)
    if not isinstance(value, list):
        what = (
            f'"{field}" is {kind(value)}'
            if field in row
            else f'this object has no "{field}", as the first one has'
        )
        raise DataError(
            path,
            line,
            what,
            remedy=f"give a list with an entry a token, as in {EXAMPLE}.",
        )
    return value


def write(path: str, target: str, fields: Fields, predicted: PredictedLists, encoding: str) -> None:
    """Write a file again with fields added at the end of every object; its other text stays as it
    is, byte for byte.

    Objects that have such a field already are written anew, with equal values.
    """
    text = read_verbatim(path, encoding)
    lines, rows = text.split("\n"), objects(path, text.removeprefix("\ufeff"), EXAMPLE)
    word = fields.of(path, rows[0][0], rows[0][1])[fields.word]
    lengths = [len(row[word]) for _, row in rows]
    for (line, row), added in zip(rows, predicted.rows(path, lengths), strict=True):
        lines[line - 1] = extended(lines[line - 1], row, added)
    write_text(target, "\n".join(lines), encoding)


def extended(line: str, row: Mapping[str, Any], added: Mapping[str, Any]) -> str:
    """A line with fields added to its object."""
    if not added.keys().isdisjoint(row):
        return json.dumps({**row, **added}, ensure_ascii=False) + (
            "\r" if line.endswith("\r") else ""
        )
    head, brace, end = line.rpartition("}")
    between = ", " if row else ""
    return (
        f"{head.rstrip()}{between}{json.dumps(dict(added), ensure_ascii=False)[1:-1]}{brace}{end}"
    )
