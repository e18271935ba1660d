"""Documents as CoNLL-U, which the tasks of structopt read and write, and back.

Entities are IOB2 tags in MISC (``NER=B-PER``), `_` if they are unknown. A comment ``# newdoc``
begins a document. Tokens of white space are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from spacy.tokens import Doc, DocBin, Token
from spacy.vocab import Vocab

from structopt.plugin import DataError
from structopt.plugin.provisional import read_text, write_text
from structopt_spacy.sentences import sentences, spans

EMPTY, COLUMNS, DOCUMENT = "_", 10, "# newdoc"
ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, MISC = 0, 1, 2, 3, 4, 5, 6, 7, 9


def convert(source: str | Path, target: str | Path) -> None:
    """Write a DocBin as CoNLL-U, or CoNLL-U as a DocBin, by the end of the target's name.

    Raises
    ------
    DataError
        If the source is not a DocBin, or has no rows of CoNLL-U.
    """
    if Path(target).suffix == ".spacy":
        docs = from_conllu(read_text(source), Vocab(), str(source))
        DocBin(docs=docs).to_disk(target)
        return
    try:
        documents = list(DocBin().from_disk(source).get_docs(Vocab()))
    except Exception as error:
        raise DataError(
            source, None, f"this is not a DocBin ({error})", remedy="name a file that spaCy wrote."
        ) from error
    write_text(target, to_conllu(documents))


def to_conllu(docs: Sequence[Doc]) -> str:
    """Return the sentences of documents as CoNLL-U."""
    blocks, has_entities = list[str](), any(doc.has_annotation("ENT_IOB") for doc in docs)
    for doc in docs:
        for i, tokens in enumerate(sentences(doc)):
            rows = ["\t".join(_row(tokens, n, has_entities)) for n in range(len(tokens))]
            blocks.append("\n".join([*([DOCUMENT] if i == 0 else []), *rows, "\n"]))
    return "".join(blocks)


def _row(tokens: Sequence[Token], n: int, has_entities: bool) -> list[str]:
    """Return the cells of a token."""
    token = tokens[n]
    head = EMPTY
    if token.has_head():
        inside = [other.i for other in tokens]
        root = token.head.i == token.i or token.head.i not in inside
        head = "0" if root else str(inside.index(token.head.i) + 1)
    misc = [] if token.whitespace_ else ["SpaceAfter=No"]
    if has_entities:
        kind = f"-{token.ent_type_}" if token.ent_type_ else ""
        misc.append(f"NER={token.ent_iob_ + kind or EMPTY}")
    cells = [str(n + 1), token.text, token.lemma_, token.pos_, token.tag_, str(token.morph)]
    cells += [head, token.dep_, EMPTY, "|".join(misc)]
    return [cell or EMPTY for cell in cells]


def from_conllu(text: str, vocab: Vocab, path: str = "CoNLL-U") -> Iterator[Doc]:
    """Yield the documents of CoNLL-U; predicted entities and tags replace gold ones.

    If some word has an entity, words without the key are outside of entities.

    Raises
    ------
    DataError
        With the line: a row without ten columns, or a cell that spaCy refuses.
    """
    rows, starts, line, begins = list[list[str]](), list[bool](), 1, True
    outside = "O" if "NER=" in text else None
    for number, content in enumerate(text.splitlines(), 1):
        if content.startswith(DOCUMENT) and rows:
            yield _document(rows, starts, vocab, outside, (path, line))
            rows, starts, line = [], [], number
        begins = begins or not content.strip()
        if not content.strip() or content.startswith("#"):
            continue
        cells = content.split("\t")
        if len(cells) != COLUMNS:
            raise DataError(path, number, f"this row has {len(cells)} columns, not {COLUMNS}.")
        if cells[ID].isdecimal():
            rows.append(cells)
            starts.append(begins)
            begins = False
    if rows:
        yield _document(rows, starts, vocab, outside, (path, line))


def _document(
    rows: Sequence[list[str]],
    starts: Sequence[bool],
    vocab: Vocab,
    outside: str | None,
    place: tuple[str, int],
) -> Doc:
    """Return the document of some rows."""
    misc = [
        dict(item.split("=", 1) for item in row[MISC].split("|") if "=" in item) for row in rows
    ]
    entities = [one.get("predicted_NER", one.get("NER", outside)) for one in misc]
    try:
        heads = _heads(rows, starts)
        deps = [
            None
            if head is None
            else row[DEPREL]
            if row[DEPREL] != EMPTY
            else ("ROOT" if head == i else "dep")
            for i, (row, head) in enumerate(zip(rows, heads, strict=True))
        ]
        return Doc(
            vocab,
            words=[row[FORM] for row in rows],
            spaces=[one.get("SpaceAfter") != "No" for one in misc],
            lemmas=_cells([row[LEMMA] for row in rows]),
            pos=_cells(
                [one.get("predicted_UPOS", row[UPOS]) for row, one in zip(rows, misc, strict=True)]
            ),
            tags=_cells(
                [one.get("predicted_XPOS", row[XPOS]) for row, one in zip(rows, misc, strict=True)]
            ),
            morphs=_cells([row[FEATS] for row in rows]),
            heads=heads if any(deps) else None,
            deps=deps if any(deps) else None,
            sent_starts=starts,
            ents=_iob2(entities, starts) if any(entities) else None,
        )
    except (ValueError, IndexError) as error:
        raise DataError(
            *place,
            f"spaCy refuses the document that begins here ({error})",
            remedy="correct the cell.",
        ) from error


def _heads(rows: Sequence[list[str]], starts: Sequence[bool]) -> list[int | None]:
    """Return the index of the head of every token; None if it is unknown."""
    heads, first = list[int | None](), 0
    for i, row in enumerate(rows):
        first = i if starts[i] else first
        number = None if row[HEAD] == EMPTY else int(row[HEAD])
        heads.append(number and first + number - 1 if number != 0 else i)
    return heads


def _iob2(labels: Sequence[str], starts: Sequence[bool]) -> list[str | None]:
    """Return labels of any scheme as IOB2; None if a label is unknown."""
    tags = [None if label == EMPTY else label for label in labels]
    begins = [i for i, start in enumerate(starts) if start]
    for begin, end in pairwise([*begins, len(labels)]):
        for first, last, kind in spans(labels[begin:end]):
            inside = [f"I-{kind}"] * (last - first - 1)
            tags[begin + first : begin + last] = [f"B-{kind}", *inside]
    return tags


def _cells(column: Sequence[str]) -> list[str] | None:
    """Return a column with empty cells as empty text; None if all cells are empty."""
    cells = ["" if cell == EMPTY else cell for cell in column]
    return cells if any(cells) else None
