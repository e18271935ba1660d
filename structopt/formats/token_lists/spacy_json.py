"""spaCy's training data of version 2: documents of paragraphs of sentences of tokens, with entities
as BILUO or IOB tags.

    [{"id": 0, "paragraphs": [{"sentences": [{"tokens": [{"orth": "Ann", "tag": "NNP", "ner":
    "U-PER"}]}]}]}]

BILUO is BIOES with other letters (L for E, U for S), and is read as that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from structopt.core.data.file_sets import check_one_file
from structopt.errors import DataError
from structopt.formats.json_objects import kind, reason
from structopt.formats.tag_schemes import from_spans, spans
from structopt.formats.text_files import read_text, write_text
from structopt.formats.token_lists.fields import Fields, own_name
from structopt.formats.token_lists.predicted_lists import PredictedLists
from structopt.formats.token_lists.token_lists import Gathering, TokenLists

KEYS = {"orth": "tokens", "tag": "pos_tags", "ner": "ner_tags"}
"""Keys of a token, and the names under which files of other formats have the same."""
NER = "ner"
TO_BIOES, TO_BILUO = {"L-": "E-", "U-": "S-"}, {"E-": "L-", "S-": "U-"}
FORM = '[{"paragraphs": [{"sentences": [{"tokens": [{"orth": "Ann", "ner": "U-PER"}]}]}]}]'
SPACE = " \t\n\r"


def read(path: str, fields: Fields, limit: int | None, encoding: str) -> TokenLists:
    """Read the sentences of a file, or the first `limit` of them; which columns there are, the
    first token says.

    Raises
    ------
    DataError
        With the line in which a document begins: no JSON, a list or an object that is missing, a
        token that lacks a key.
    """
    check_one_file(path, "spaCy's JSON")
    sentences, keys = Gathering(path, {fields.word: "orth"}), dict[str, str]()
    for line, document in documents(path, read_text(path, encoding)):
        for tokens in sentences_of(path, line, document):
            if tokens and not keys:
                keys = _columns(path, line, fields, tokens[0])
                sentences = Gathering(path, keys)
            lists = {
                column: [_cell(path, line, token, key) for token in tokens]
                for column, key in keys.items()
            }
            if lists:
                sentences.add(line, lists)
            if len(sentences) == limit:
                return sentences.result()
    return sentences.result()


def documents(path: str, text: str) -> Iterator[tuple[int, Any]]:
    """Yield the documents of a list, and the line in which each begins.

    Raises
    ------
    DataError
        No list, or no JSON.
    """
    decoder, place, line, counted, due = json.JSONDecoder(), _after_space(text, 0), 1, 0, "["
    while text[place : place + 1] == due:
        place = _after_space(text, place + 1)
        if due == "[" and text[place : place + 1] == "]":
            break
        line, counted = line + text.count("\n", counted, place), place
        try:
            document, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            at = error.lineno if isinstance(error, json.JSONDecodeError) else line
            raise DataError(
                path,
                at,
                f"this is no JSON ({reason(error)})",
                remedy=f"write {FORM}.",
            ) from None
        yield line, document
        place, due = _after_space(text, place), ","
    if text[place : place + 1] != "]" or _after_space(text, place + 1) < len(text):
        at = text.count("\n", 0, place) + 1
        raise DataError(
            path,
            at,
            "this is no list of documents, or one that is cut off",
            remedy=f"write {FORM}.",
        )


def sentences_of(path: str, line: int, document: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the tokens of every sentence of a document."""
    for paragraph in _list_in(path, line, document, "paragraphs"):
        for sentence in _list_in(path, line, paragraph, "sentences"):
            tokens = _list_in(path, line, sentence, "tokens")
            for token in tokens:
                if not isinstance(token, dict):
                    raise DataError(
                        path,
                        line,
                        f"the document that begins here has {kind(token)} for a token",
                        remedy=f"write {FORM}.",
                    )
            yield tokens


def write(
    path: str, target: str, _fields: Fields, predicted: PredictedLists, encoding: str
) -> None:
    """Write a file again, value for value, with labels added to its tokens; entities are tags of
    BILUO.
    """
    rows = [document for _, document in documents(path, read_text(path, encoding))]
    sentences = [tokens for document in rows for tokens in sentences_of(path, 1, document)]
    for tokens, added in zip(
        sentences, predicted.rows(path, list(map(len, sentences))), strict=True
    ):
        for name, labels in added.items():
            key = own_name(name, KEYS)
            for token, cell in zip(tokens, _as_biluo(key, labels), strict=True):
                token[key] = cell
    write_text(target, json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding)


def biluo(labels: Sequence[str]) -> list[str]:
    """Tags of entities, of any scheme, as BILUO."""
    tags = from_spans(spans(labels), len(labels), "bioes")
    return [TO_BILUO.get(tag[:2], tag[:2]) + tag[2:] for tag in tags]


def _as_biluo(key: str, labels: Sequence[str]) -> Sequence[str]:
    """Labels as they are written under a key: tags of entities as BILUO; other labels,
    probabilities, and ``-`` as they are.
    """
    entities = key.removeprefix("predicted_").partition("_")[::2]
    if entities[0] != NER or entities[1] == "probabilities" or "-" in labels:
        return labels
    return biluo(labels)


def _columns(path: str, line: int, fields: Fields, token: dict[str, Any]) -> dict[str, str]:
    """The key of every column that tokens have."""
    back = {KEYS.get(key, key): key for key in token}
    return {column: back[name] for column, name in fields.of(path, line, back).items()}


def _cell(path: str, line: int, token: dict[str, Any], key: str) -> Any:
    if key not in token:
        message = f'a token of the document that begins here has no "{key}", as the first one has'
        raise DataError(
            path,
            line,
            message,
            remedy=f"write {FORM}.",
        )
    cell = token[key]
    if key != NER or not isinstance(cell, str):
        return cell
    return None if cell in ("-", "") else TO_BIOES.get(cell[:2], cell[:2]) + cell[2:]


def _list_in(path: str, line: int, value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, list):
        what = (
            f'has no list "{key}"'
            if isinstance(value, dict)
            else f'has {kind(value)} where an object with "{key}" is due'
        )
        raise DataError(
            path,
            line,
            f"the document that begins here {what}",
            remedy=f"write {FORM}.",
        )
    return found


def _after_space(text: str, place: int) -> int:
    while place < len(text) and text[place] in SPACE:
        place += 1
    return place
