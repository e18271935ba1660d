"""Texts with named entities as stretches of characters, an object a line, as spaCy, doccano and
other annotation tools write them.

    {"text": "Ann slept in Oslo.", "entities": [[0, 3, "PER"], [13, 17, "LOC"]]}

Tokens are words (`structopt.formats.unicode_words`) and single other characters except white space.
In scripts without spaces, each character is a word. Entities are from a character, counted from 0,
to the one after the last. They may also be objects: ``start``, ``end`` and ``label``, or
``start_offset``, ``end_offset`` and ``label``. Their field is named ``entities``, ``spans``,
``label`` or ``labels``, or has a name of the labels in ``task.fields``.
"""

from __future__ import annotations

import re
from typing import Any

from structopt.errors import DataError
from structopt.formats import unicode_words
from structopt.formats.conll_layouts import TAG
from structopt.formats.json_objects import kind, objects
from structopt.formats.tag_schemes import from_spans, spans
from structopt.formats.text_files import read_text, read_verbatim, write_text
from structopt.formats.token_lists.fields import Fields
from structopt.formats.token_lists.json_lines import extended
from structopt.formats.token_lists.predicted_lists import PredictedLists
from structopt.formats.token_lists.token_lists import Gathering, TokenLists

TEXT, ENTITIES, LABELS = "text", ("entities", "spans"), ("label", "labels")
OBJECTS = (("start", "end", "label"), ("start_offset", "end_offset", "label"))
"""The keys of an entity that is an object."""
EXAMPLE = '{"text": "Ann slept", "entities": [[0, 3, "PER"]]}'


def has_texts(path: str, encoding: str, fields: Fields) -> bool:
    """Whether the first object of a file has a text, and no field of words."""
    first = read_text(path, encoding).lstrip().partition("\n")[0]
    (_, row), *_ = objects(path, first, EXAMPLE) or [(0, {})]
    words = {name.casefold() for name in fields.names[fields.word]}
    return isinstance(row.get(TEXT), str) and words.isdisjoint(map(str.casefold, row))


def read(path: str, fields: Fields, limit: int | None, encoding: str) -> TokenLists:
    """Read the texts of a file, or the first `limit` of them, as tokens and tags of iob2.

    Raises
    ------
    DataError
        With file and line: no JSON, no text, entities of another form, that overlap, or that do not
        end where tokens end.
    """
    rows = objects(path, read_text(path, encoding), EXAMPLE)
    key = entities_key(rows, fields)
    sentences = Gathering(path, {fields.word: TEXT} | ({TAG: key} if key else {}))
    for line, row in rows:
        tokens = _tokens(path, line, row)
        words = {fields.word: [token[0] for token in tokens]}
        sentences.add(line, words | ({TAG: _tags(path, line, row, key, tokens)} if key else {}))
        if len(sentences) == limit:
            break
    return sentences.result()


def write(path: str, target: str, fields: Fields, predicted: PredictedLists, encoding: str) -> None:
    """Write a file again with ``entities`` added, or ``predicted_entities`` if it has some, in
    their form; probabilities and further outputs are not written.
    """
    text = read_verbatim(path, encoding)
    lines, rows = text.split("\n"), objects(path, text.removeprefix("\ufeff"), EXAMPLE)
    tokens, key = [_tokens(path, line, row) for line, row in rows], entities_key(rows, fields)
    keys = _object_keys(rows, key) if key else None
    name = f"predicted_{key}" if key else ENTITIES[0]
    for (line, row), own, added in zip(
        rows, tokens, predicted.rows(path, list(map(len, tokens))), strict=True
    ):
        found = spans(added[predicted.keys[0]])
        values = [(own[start].start(), own[end - 1].end(), label) for start, end, label in found]
        entities = [dict(zip(keys, one, strict=True)) if keys else list(one) for one in values]
        lines[line - 1] = extended(lines[line - 1], row, {name: entities})
    write_text(target, "\n".join(lines), encoding)


def entities_key(rows: list[tuple[int, dict[str, Any]]], fields: Fields) -> str | None:
    """The field of entities of the first object; None if it has none.

    Fields of labels may also hold classes of the text, which are not entities.
    """
    known = rows[0][1] if rows else {}
    own = (key for key in ENTITIES if key in known)
    labels = (key for key in (*LABELS, *fields.names[TAG]) if key in known)
    return next(own, None) or next((key for key in labels if _has_entities(rows, key)), None)


def _has_entities(rows: list[tuple[int, dict[str, Any]]], key: str) -> bool:
    """Whether the first value of a field that is not empty is a list of lists or objects."""
    value: Any = next((row[key] for _, row in rows if row.get(key)), [])
    return isinstance(value, list) and not (value and isinstance(value[0], str))


def _object_keys(rows: list[tuple[int, dict[str, Any]]], key: str) -> tuple[str, ...] | None:
    """The keys of the first entity; None if it is a list, or there is none."""
    first = next((entity for _, row in rows for entity in row.get(key) or ()), None)
    return next((keys for keys in OBJECTS if isinstance(first, dict) and keys[0] in first), None)


def _tokens(path: str, line: int, row: dict[str, Any]) -> list[re.Match[str]]:
    if not isinstance(row.get(TEXT), str):
        what = f'"{TEXT}" is {kind(row[TEXT])}' if TEXT in row else f'this object has no "{TEXT}"'
        raise DataError(
            path,
            line,
            what,
            remedy=f"write {EXAMPLE}.",
        )
    return list(unicode_words.tokens().finditer(row[TEXT]))


def _tags(
    path: str, line: int, row: dict[str, Any], key: str, tokens: list[re.Match[str]]
) -> list[str] | None:
    """The tags of tokens, of the entities of an object; None for null, which leaves all open."""
    if key in row and row[key] is None:
        return None
    if not isinstance(row.get(key), list):
        what = (
            f'"{key}" is {kind(row[key])}'
            if key in row
            else f'this object has no "{key}", as the first one has'
        )
        raise DataError(
            path,
            line,
            what,
            remedy=f"give a list, [] where there are none, as in {EXAMPLE}.",
        )
    starts = {token.start(): position for position, token in enumerate(tokens)}
    ends = {token.end(): position + 1 for position, token in enumerate(tokens)}
    entities: list[tuple[int, int, str]] = []
    for start, end, label in sorted(_entity(path, line, key, entity) for entity in row[key]):
        if start not in starts or end not in ends or start >= end:
            where = (
                f"{row[TEXT][max(start, 0) : max(end, 0)]!r}, from character {start} to {end}, "
                f"label {label}"
            )
            message = "does not begin and end where tokens do (words, and single other characters)"
            raise DataError(
                path,
                line,
                f"the entity {where}, {message}",
                remedy="let it begin and end at tokens, or give the tokens.",
            )
        if entities and starts[start] < entities[-1][1]:
            raise DataError(
                path,
                line,
                f"two entities overlap at character {start}",
                remedy="keep one of them.",
            )
        entities.append((starts[start], ends[end], label))
    return from_spans(entities, len(tokens), "iob2")


def _entity(path: str, line: int, key: str, entity: Any) -> tuple[int, int, str]:
    """Start, end and label of an entity."""
    parts = entity
    if isinstance(entity, dict):
        keys = next((keys for keys in OBJECTS if keys[0] in entity), OBJECTS[0])
        parts = [entity.get(name) for name in keys]
    if (
        isinstance(parts, list)
        and len(parts) == 3
        and type(parts[0]) is type(parts[1]) is int
        and isinstance(parts[2], str)
    ):
        return parts[0], parts[1], parts[2]
    raise DataError(
        path,
        line,
        f'"{key}" has an entry that is no entity',
        remedy='write [start, end, "label"], or an object with these keys, in characters from '
        f"0, as in {EXAMPLE}.",
    )
