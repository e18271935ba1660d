"""Reading texts to summarize and their references: JSON lines, a sentence a line, CoNLL-U."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Literal

from structopt.errors import DataError, did_you_mean
from structopt.formats.summaries import json_lines
from structopt.formats.summaries.texts import Summary, Texts, texts
from structopt.formats.text_files import AUTO, check_limit, read_each

Format = Literal["auto", "jsonl", "conllu", "text"]
JSONL_NAME = re.compile(r".*\.(jsonl|ndjson|json)(\.gz)?", re.DOTALL | re.IGNORECASE)
CONLLU_NAME = re.compile(r".*\.conllu(\.gz)?", re.DOTALL | re.IGNORECASE)
ENDINGS = (".gz", ".txt", ".data", ".gold", ".ref")
"""What follows the name of a document in the names of its files, once or several times."""


def read(
    path: str | Path,
    format: Format = "auto",
    limit: int | None = None,
    references: str | None = None,
    encoding: str = AUTO,
) -> Texts:
    """Read the documents of a file, or of several, or the first `limit` of them; O(characters).

    Parameters
    ----------
    path : str or Path
        A set of files (see `structopt.core.data.file_sets`) is read as one corpus.
    format : {"auto", "jsonl", "conllu", "text"}
        ``jsonl``: an object a line (`structopt.formats.summaries.json_lines`); ``conllu``:
        documents begin at ``# newdoc``; ``text``: every file is a document, with a sentence a line,
        and has the file's name. ``auto``: as each file is named, text where it is named otherwise.
    limit : int or None
    references : str or None
        Where the reference summaries are, if not beside the sentences: see `with_references`.
    encoding : str
        ``auto``: utf8 or cp1252, whichever each file is.

    Raises
    ------
    DataError
        A file that cannot be read or breaks the format; a document without a sentence, or two of
        one name; some documents with references and others without.
    ConfigError
        A limit below 1, or an unknown encoding.
    """
    check_limit(limit, "documents")
    names: list[str] = []
    places: list[tuple[str, int]] = []
    documents: list[list[str]] = []
    found: list[list[Summary] | None] = []
    for name, line, file, sentences, own in _documents(path, format, encoding):
        if len(names) == limit:
            break
        names.append(name)
        places.append((file, line))
        documents.append(sentences)
        found.append(own)
    corpus = texts(str(path), names, places, documents)
    if references is not None:
        return with_references(corpus, references, encoding)
    given = [own for own in found if own is not None]
    if given and len(given) < len(found):
        raise corpus.error(
            found.index(None),
            "it has no references, and others have: give them to all, or to none.",
        )
    return replace(corpus, references=given) if given else corpus


def with_references(corpus: Texts, path: str, encoding: str = AUTO) -> Texts:
    """Return a corpus with the reference summaries of a file or several.

    JSON lines name the document that they are of. A file of another kind is a summary, a sentence a
    line, of the document that its folder is named after, or it itself up to a number:
    ``NAME/NAME.1.gold``, ``NAME.1.txt`` and ``NAME.txt``.

    Raises
    ------
    DataError
        A document without references; no reference fits any document.
    """
    summaries: dict[str, list[Summary]] = {}
    known = set(corpus.names)
    seen: list[str] = []
    for file, text in read_each(path, encoding):
        if JSONL_NAME.fullmatch(file):
            for line, row in json_lines.objects(file, text):
                own = json_lines.references_of(file, line, row)
                if own is None:
                    raise DataError(
                        file,
                        line,
                        'this object has neither "references" nor "summaries"',
                        remedy="give the document's.",
                    )
                seen.append(json_lines.name_of(file, line, row))
                summaries.setdefault(seen[-1], []).extend(own)
            continue
        options = _document_names(file)
        seen.append(options[-1])
        name = next((one for one in options if one in known), None)
        sentences = _lines(text)
        if name is not None and not sentences:
            raise DataError(
                file,
                None,
                "this reference summary is empty",
                remedy="remove the file, or write it.",
            )
        if name is not None:
            summaries.setdefault(name, []).append(sentences)
    for number, name in enumerate(corpus.names):
        if name not in summaries:
            hint = did_you_mean(name, seen)
            raise corpus.error(number, f"{path} has no reference summary of this name.{hint}")
    return replace(corpus, references=[summaries[name] for name in corpus.names])


Document = tuple[str, int, str, list[str], list[Summary] | None]
"""The name, the line where it begins, the file, the sentences, and the references beside them."""


def _documents(path: str | Path, format: Format, encoding: str) -> Iterator[Document]:
    for file, text in read_each(path, encoding):
        form = _format_of(file) if format == "auto" else format
        if form == "jsonl":
            for line, row in json_lines.objects(file, text):
                sentences = json_lines.sentences_of(file, line, row)
                yield (
                    json_lines.name_of(file, line, row),
                    line,
                    file,
                    sentences,
                    json_lines.references_of(file, line, row),
                )
        elif form == "conllu":
            yield from _conllu(file, text)
        else:
            yield _document_names(file)[-1], 1, file, _lines(text), None


def _format_of(file: str) -> Format:
    if JSONL_NAME.fullmatch(file):
        return "jsonl"
    return "conllu" if CONLLU_NAME.fullmatch(file) else "text"


def _lines(text: str) -> list[str]:
    """The lines of a text that are not empty, with single blanks between words."""
    return [" ".join(line.split()) for line in text.split("\n") if line.strip()]


def _document_names(file: str) -> tuple[str, ...]:
    """The names that the document of a file may have: its folder's, the file's, and that without a
    number at its end.
    """
    path = PurePosixPath(file.replace(":", "/"))
    name = path.name
    while ending := next(
        (one for one in ENDINGS if name.lower().endswith(one) and len(name) > len(one)), None
    ):
        name = name[: -len(ending)]
    return path.parent.name, re.sub(r"\.\d+$", "", name), name


def _conllu(file: str, text: str) -> Iterator[Document]:
    """The documents of a file in CoNLL-U: sentences by their ``# text``, or by their words where
    they have none.
    """
    name, begin, sentences = _document_names(file)[-1], 1, list[str]()
    text_of_sentence: str | None = None
    words: list[str] = []
    opened = False
    for line, row in enumerate([*text.split("\n"), ""], 1):
        if row.startswith("# newdoc"):
            if opened or sentences:
                yield name, begin, file, sentences, None
            _, _, own = row.partition("=")
            name, begin, sentences, opened = (
                own.strip() or f"{_document_names(file)[-1]}:{line}",
                line,
                [],
                True,
            )
        elif row.startswith("# text ="):
            text_of_sentence = " ".join(row.partition("=")[2].split())
        elif row.strip() and not row.startswith("#"):
            cells = row.split("\t")
            if len(cells) != 10:
                message = (
                    f"this row has {len(cells)} columns, and CoNLL-U has 10, separated by tabs"
                )
                raise DataError(
                    file,
                    line,
                    message,
                    remedy="correct it, or set task.format.",
                )
            if cells[0].isdigit():
                words.append(cells[1])
        elif not row.strip() and words:
            sentences.append(text_of_sentence or " ".join(words))
            text_of_sentence, words = None, []
    if opened or sentences:
        yield name, begin, file, sentences, None
