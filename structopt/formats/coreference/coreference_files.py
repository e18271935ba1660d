"""Reading files of documents with mentions, and writing them again with predicted entities: CoNLL
columns, CoNLL-U.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from structopt.errors import DataError, line_name
from structopt.formats.coreference import conll_columns, conllu_entities
from structopt.formats.coreference.conllu_entities import Copied, Discontinuous
from structopt.formats.coreference.documents import Documents
from structopt.formats.text_files import BYTE_ORDER_MARK, check_limit, read_verbatim, write_text
from structopt.formats.trees.tree_rows import TAB, is_blank, plain_lines
from structopt.kernels.waist.record import Array

Format = Literal["auto", "conll", "conllu"]
CONLLU_NAME = re.compile(r".*\.conllu(\.gz)?", re.DOTALL)
CONLLU_TABS = 9


def read(
    path: str | Path,
    format: Format = "auto",
    limit: int | None = None,
    labelled: bool = True,
    encoding: str = "utf8",
    discontinuous: Discontinuous = "refuse",
) -> Documents:
    """Read a file, plain or gzip, or several, or the first `limit` documents; O(characters).

    Parameters
    ----------
    path : str or Path
        A set of files (see `structopt.core.data.file_sets`) is read as one corpus.
    format : {"auto", "conll", "conllu"}
        ``auto``: see `detect_format`.
    limit : int or None
    labelled : bool
        Whether the documents must have mentions, and their entities are kept. Otherwise mentions
        are read where there are some.
    encoding : str
    discontinuous : {"refuse", "hull"}
        Whether discontinuous mentions of CoNLL-U are refused, or read from their first word to
        their last.

    Raises
    ------
    DataError
        A file that cannot be read, or has no sentences, or no mentions where they are needed; rows
        that break the format; brackets without their other ones; a mention that reaches beyond its
        sentence; two mentions of the same words.
    ConfigError
        A limit below 1, or an unknown encoding.
    """
    check_limit(limit, "documents")
    text = read_verbatim(path, encoding)
    form = detect_format(path, plain_lines(text)) if format == "auto" else format
    if form == "conllu":
        corpus = conllu_entities.read(path, text, limit, labelled, discontinuous)
    else:
        corpus = conll_columns.read(path, text, limit, labelled)
    if labelled and not len(corpus.mentions):
        where = "Entity= of MISC" if form == "conllu" else "the last column"
        number = f"the {len(corpus)} documents" if len(corpus) > 1 else "the document"
        message = (
            f"{number} read have no mention: {where} has no brackets. Give documents with "
            "coreference, or set task.format."
        )
        raise DataError(path, None, message.replace("document read have", "document read has"))
    return corpus


def detect_format(path: str | Path, lines: Sequence[str]) -> Format:
    """Return the format of a file, given its lines.

    It is ``conllu`` where the file is named so, or where the first row has ten columns separated by
    tabs and no line begins with ``#begin document``; else ``conll``.
    """
    if CONLLU_NAME.fullmatch(str(path)):
        return "conllu"
    first = next((line for line in lines if line[:1] != "#" and not is_blank(line)), "")
    if first.count(TAB) == CONLLU_TABS and not any(
        line.startswith("#begin document") for line in lines
    ):
        return "conllu"
    return "conll"


def write(
    corpus: Documents, target: str | Path, clusters: Array, encoding: str = "utf8"
) -> list[str]:
    """Write the file of a corpus again with the entity of every mention; all else is copied to the
    byte. Return messages to the user.

    The written file has the same mentions and entities if it is read. One exception has a message:
    the second of two mentions that cross within an entity gets an entity of its own. Documents
    beyond the limit of reading are copied. To write other mentions, give the corpus with its
    `mentions` and `offsets` replaced. Another message counts the markup of CoNLL-U that is copied:
    see `structopt.formats.coreference.conllu_entities.Copied`. The target is replaced at once.

    Parameters
    ----------
    corpus : Documents
        Read from a file.
    target : str or Path
    clusters : int, shape (mentions,)
        The number of each mention's entity within its document, from 0.
    encoding : str

    Raises
    ------
    DataError
        Another number of clusters than mentions; the target cannot be written.
    """
    if len(clusters) != len(corpus.mentions):
        message = (
            f"{len(clusters)} predicted entity numbers for {len(corpus.mentions)} mentions: "
            "predict this file."
        )
        raise DataError(corpus.path, None, message)
    mark = BYTE_ORDER_MARK if corpus.text.startswith(BYTE_ORDER_MARK) else ""
    lines = corpus.text.removeprefix(mark).split("\n")
    copied = Copied()
    if corpus.format == "conllu":
        copied = conllu_entities.fill(lines, corpus, clusters)
        separated = copied.separated
    else:
        separated = conll_columns.fill(lines, corpus, clusters)
    write_text(target, mark + "\n".join(lines), encoding)
    return [*_of_copied(corpus, copied), *_of_separated(corpus, separated)]


def _of_copied(corpus: Documents, copied: Copied) -> list[str]:
    """Return the message that counts copied markup."""
    counts = [f"{count} {key}" for key, count in sorted(copied.items.items())]
    if copied.mentions:
        counts.insert(0, f"{copied.mentions} mentions without words of their own")
    if copied.with_fields:
        names = ", ".join(copied.fields)
        counts.append(
            f"the fields {names} of {copied.with_fields} mentions"
            if names
            else f"further fields of {copied.with_fields} mentions"
        )
    if not counts:
        return []
    return [f"{corpus.path}: not predicted, but copied from the input: {'; '.join(counts)}."]


def _of_separated(corpus: Documents, separated: list[tuple[int, int]]) -> list[str]:
    """Return the message for mentions of one entity that cross."""
    if not separated:
        return []
    line, second = separated[0]
    error = DataError(
        corpus.path,
        line,
        f"the mentions that begin here and in line {line_name(corpus.path, second, line)} cross, "
        "and were predicted to be of one entity, which brackets cannot say: the second is written "
        f"as an entity of its own ({len(separated)} such pairs here)",
        remedy="remove one of the two from the input.",
    )
    return [str(error)]
