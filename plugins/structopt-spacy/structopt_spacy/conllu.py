"""Files of documents (DocBin) as CoNLL-U, which the tasks of structopt read and write.

Entities are IOB2 tags in MISC (``NER=B-PER``), `_` if they are unknown. A comment ``# newdoc``
begins a document. Tokens of white space are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import spacy
from spacy.attrs import intify_attr
from spacy.tokens import Doc, DocBin, Token
from spacy.vocab import Vocab

from structopt.plugin import DataError
from structopt.plugin.provisional import FileFormat
from structopt_spacy.annotations import set_arcs, set_attribute, set_entities
from structopt_spacy.sentences import sentences

EMPTY = "_"
ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)
ATTRIBUTES = ("TAG", "POS", "HEAD", "DEP", "ENT_IOB", "ENT_TYPE", "SENT_START")
"""The attributes that a file needs for predictions."""

Rows = Sequence[list[str]]
"""The cells of the tokens of a sentence."""


class DocBinFormat(FileFormat):
    """Reads and writes files of the ending ``.spacy``."""

    def to_conllu(self, data: bytes, path: str) -> str:
        """Return the sentences of all documents.

        Raises
        ------
        DataError
            If the file is not a DocBin, or a cell has a character that separates cells.
        """
        blocks: list[str] = []
        docs = _documents(data, path)[1]
        has_entities = any(doc.has_annotation("ENT_IOB") for doc in docs)
        for number, doc in enumerate(docs, 1):
            blocks.append("# newdoc\n")
            for tokens in sentences(doc):
                rows = _rows(tokens, has_entities)
                _check_cells(rows, f"{path}, document {number}")
                blocks += ["\n".join(map("\t".join, rows)), "\n\n"]
        return "".join(blocks)

    def annotated(self, data: bytes, conllu: str, path: str) -> bytes:
        """Return the documents with the annotations that changed; all else is kept.

        Raises
        ------
        DataError
            For several outputs per sentence, and for items of MISC that documents cannot have,
            such as probabilities.
        """
        source, docs = _documents(data, path)
        lines = conllu.split("\n")  # words may have other line breaks of Unicode
        if any(line.startswith("# k_best") for line in lines):
            raise _refused(path, "k_best=K")
        rows = iter([line.split("\t") for line in lines if line[:1].isdecimal()])
        for number, doc in enumerate(docs, 1):
            groups = sentences(doc)
            old = [_predicted(_rows(tokens), path) for tokens in groups]
            new = [_predicted([next(rows) for _ in tokens], path) for tokens in groups]
            try:
                _annotate(doc, groups, old, new)
            except ValueError as error:
                place = f"{path}, document {number}"
                raise DataError(place, None, f"spaCy refuses a prediction ({error})") from error
        attributes = {*source.attrs, *map(intify_attr, ATTRIBUTES)}
        written = DocBin(attributes, store_user_data=True, docs=docs)
        return bytes(written.to_bytes())


@cache
def _vocab() -> Vocab:
    """Return a vocabulary that recognises white space, in any language."""
    return spacy.blank("xx").vocab


def _documents(data: bytes, path: str) -> tuple[DocBin, list[Doc]]:
    """Return the content of a file."""
    try:
        stored = DocBin(store_user_data=True).from_bytes(data)
        return stored, list(stored.get_docs(_vocab()))
    except Exception as error:
        raise DataError(
            path, None, f"this is not a DocBin ({error})", remedy="name a file that spaCy wrote."
        ) from error


def _rows(tokens: Sequence[Token], has_entities: bool = True) -> Rows:
    """Return the cells of a sentence."""
    number = {token.i: n for n, token in enumerate(tokens, 1)}
    rows: list[list[str]] = []
    for token in tokens:
        head = EMPTY
        if token.has_head():
            head = "0" if token.head.i == token.i else str(number.get(token.head.i, 0))
        misc = [] if token.whitespace_ else ["SpaceAfter=No"]
        if has_entities:
            kind = f"-{token.ent_type_}" if token.ent_type_ else ""
            misc.append(f"NER={token.ent_iob_ + kind or EMPTY}")
        cells = [str(len(rows) + 1), token.text, token.lemma_, token.pos_, token.tag_]
        cells += [str(token.morph), head, token.dep_, "", "|".join(misc)]
        rows.append([cell or EMPTY for cell in cells])
    return rows


def _check_cells(rows: Rows, place: str) -> None:
    """Refuse cells that rows of CoNLL-U cannot have."""
    for row in rows:
        for cell in row:
            if not cell.isprintable() and any(one in cell for one in "\t\n\r"):
                raise DataError(
                    place,
                    None,
                    f"the token {row[FORM]!r} has {cell!r}, with a tab or a line break",
                    remedy="replace the character.",
                )


def _predicted(rows: Rows, path: str) -> Rows:
    """Return rows in which predicted values have replaced others."""
    for row in rows:
        items = dict(item.split("=", 1) for item in row[MISC].split("|") if "=" in item)
        kept = {key: items.pop(key) for key in ("SpaceAfter", "NER") if key in items}
        row[UPOS], row[XPOS] = (
            items.pop(f"predicted_{name}", row[column])
            for name, column in (("UPOS", UPOS), ("XPOS", XPOS))
        )
        kept["NER"] = items.pop("predicted_NER", kept.get("NER", EMPTY))
        if items:
            raise _refused(path, f"the item {next(iter(items))} of MISC")
        row[MISC] = kept["NER"]
    return rows


def _refused(path: str, content: str) -> DataError:
    return DataError(
        path,
        None,
        f"a DocBin has no place for {content}",
        remedy="write a file of the ending .conllu.",
    )


def _annotate(
    doc: Doc, groups: Sequence[Sequence[Token]], old: Sequence[Rows], new: Sequence[Rows]
) -> None:
    """Set the annotations of a document whose cells differ."""

    def column(rows: Sequence[Rows], number: int) -> list[list[str]]:
        return [[row[number] for row in sentence] for sentence in rows]

    def changed(*numbers: int) -> bool:
        return any(column(old, number) != column(new, number) for number in numbers)

    if changed(MISC):
        set_entities(doc, groups, column(new, MISC))
    for number, name in ((UPOS, "pos"), (XPOS, "tag")):
        if changed(number):
            set_attribute(doc, groups, column(new, number), name)
    if changed(HEAD, DEPREL):
        arcs = [
            [(int(row[HEAD]), None if row[DEPREL] == EMPTY else row[DEPREL]) for row in sentence]
            for sentence in new
        ]
        set_arcs(doc, groups, arcs)
