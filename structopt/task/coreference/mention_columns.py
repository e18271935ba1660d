"""The columns of mentions that templates look at: words at their places, their tags, length, type
and text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structopt.formats.coreference.documents import Documents
from structopt.formats.trees.dependency_trees import EMPTY
from structopt.kernels.waist.record import Array

COLUMNS = (
    "first",
    "last",
    "head",
    "before",
    "after",
    "first_tag",
    "last_tag",
    "head_tag",
    "before_tag",
    "after_tag",
    "length",
    "type",
    "gender",
    "text",
    "content",
    "speaker",
)
PRONOUNS = {
    "i": "i me my mine myself",
    "you": "you your yours yourself yourselves thou thee thy thine thyself ye",
    "he": "he him his himself",
    "she": "she her hers herself",
    "it": "it its itself",
    "we": "we us our ours ourselves",
    "they": "they them their theirs themselves themself",
    "one": "one oneself",
    "this": "this that these those",
    "who": "who whom whose which what whoever whomever",
    "some": "some someone somebody something any anyone anybody anything",
    "none": "none nobody nothing no-one",
    "all": "all everyone everybody everything each both either neither",
    "here": "here there",
}
"""Canonical forms of pronouns, and the pronouns of each."""
CANONICAL = {pronoun: form for form, pronouns in PRONOUNS.items() for pronoun in pronouns.split()}
GENDERS = {
    "he": "male",
    "she": "female",
    "it": "thing",
    "they": "several",
    "we": "several",
    "i": "person",
    "you": "person",
}
TITLES = {
    "male": "mr mister sir lord king prince duke count baron monsieur father uncle brother son "
    "husband man boy gentleman",
    "female": "mrs miss ms lady madam madame queen princess duchess countess mother aunt sister "
    "daughter wife woman girl",
}
"""Words that tell the gender of the mention they are in."""
_GENDER_OF = {word: gender for gender, words in TITLES.items() for word in words.split()}
NAMES = ("NNP", "NNPS", "PROPN", "NP", "NPS")
NOUNS = (*NAMES, "NN", "NNS", "NOUN")
BREAKS = """, ; : ( ) -- - . of in on at to from for with by about under over between who whom whose which that where when as
than into upon among without within"""
"""Words before which the head of a phrase stands, where neither tags nor dependencies tell it."""
PROPER, NOMINAL = "PROPER", "NOMINAL"
STOP = "the a an this that these those my your his her its our their some any"
"""Words that the column ``content`` leaves out."""


def mention_cells(documents: Documents) -> dict[str, list[str]]:
    """Return the columns, a cell a mention; `EMPTY` where there is none, as for the words of
    pronouns, which their type names.
    """
    words, tags = documents.cells["form"], _tags(documents)
    lower = [word.lower() for word in words]
    heads = head_words(documents)
    first, last = documents.mentions[:, 0].tolist(), (documents.mentions[:, 1] - 1).tolist()
    begins, ends = _bounds(documents)
    types = mention_types(documents, heads, tags)
    pronoun = [one in PRONOUNS for one in types]

    def named(cells: Sequence[str], places: Sequence[int]) -> list[str]:
        return [
            EMPTY if alone else cells[place] for place, alone in zip(places, pronoun, strict=True)
        ]

    def beside(cells: Sequence[str], places: Sequence[int]) -> list[str]:
        return [
            cells[place] if begin <= place < end else "<edge>"
            for place, begin, end in zip(places, begins, ends, strict=True)
        ]

    before, after = [place - 1 for place in first], [place + 1 for place in last]
    texts = [" ".join(lower[a : b + 1]) for a, b in zip(first, last, strict=True)]
    left_out = {*STOP.split()}
    speakers = documents.cells.get("speaker")
    return {
        "first": named(lower, first),
        "last": named(lower, last),
        "head": named(lower, heads),
        "before": beside(lower, before),
        "after": beside(lower, after),
        "first_tag": named(tags, first),
        "last_tag": named(tags, last),
        "head_tag": named(tags, heads),
        "before_tag": beside(tags, before),
        "after_tag": beside(tags, after),
        "length": [str(min(b - a + 1, 10)) for a, b in zip(first, last, strict=True)],
        "type": types,
        "gender": [
            _gender(one, lower[a : b + 1]) for one, a, b in zip(types, first, last, strict=True)
        ],
        "text": texts,
        "content": [
            " ".join(word for word in text.split() if word not in left_out) or text
            for text in texts
        ],
        "speaker": [EMPTY] * len(first) if speakers is None else [speakers[a] for a in first],
    }


def mention_types(documents: Documents, heads: Sequence[int], tags: Sequence[str]) -> list[str]:
    """Return the type of every mention: the canonical form of a pronoun, or PROPER, or NOMINAL.

    A name is what is tagged so; without tags, what has a head in capitals that is not the first
    word of its sentence, or one that is seen in capitals elsewhere and never in small letters.
    """
    words, types = documents.cells["form"], []
    starts = {*documents.sentences[:-1].tolist()}
    small = {word for word in words if word[:1].islower()}
    for (first, end), head in zip(documents.mentions.tolist(), heads, strict=True):
        word = words[head]
        if end - first == 1 and word.lower() in CANONICAL:
            types.append(CANONICAL[word.lower()])
        elif tags[head] != EMPTY:
            types.append(PROPER if tags[head] in NAMES else NOMINAL)
        else:
            capital = word[:1].isupper() and (head not in starts or word.lower() not in small)
            types.append(PROPER if capital else NOMINAL)
    return types


def head_words(documents: Documents) -> list[int]:
    """Return the head of every mention, counted over the words of the file.

    By dependencies the first word whose head is outside; else the last noun before a preposition, a
    comma or the like; else the last word before one.
    """
    words, tags, breaks, found = documents.cells["form"], _tags(documents), {*BREAKS.split()}, []
    sentence = np.repeat(documents.sentences[:-1], np.diff(documents.sentences))
    for first, end in documents.mentions.tolist():
        if documents.heads is not None:
            own = documents.heads[first:end]
            governors = np.where(own > 0, sentence[first:end] + own - 1, -1)
            outside = np.flatnonzero((governors < first) | (governors >= end))
            if len(outside):
                found.append(first + int(outside[0]))
                continue
        stop = next(
            (place for place in range(first + 1, end) if words[place].lower() in breaks), end
        )
        nouns = [place for place in range(first, stop) if tags[place] in NOUNS]
        found.append(nouns[-1] if nouns else stop - 1)
    return found


def numbered(cells: Sequence[str]) -> Array:
    """Numbers of the values of a column, the same for equal ones; -1 for `EMPTY`."""
    numbers = {cell: number for number, cell in enumerate(dict.fromkeys(cells))}
    return np.array([-1 if cell == EMPTY else numbers[cell] for cell in cells], np.int32)


def _tags(documents: Documents) -> Sequence[str]:
    """The tags of the words: those of the language, else universal ones, else none."""
    return (
        documents.cells.get("xpos")
        or documents.cells.get("upos")
        or [EMPTY] * len(documents.cells["form"])
    )


def _bounds(documents: Documents) -> tuple[list[int], list[int]]:
    """The first word of every mention's sentence, and the one after its last."""
    at = np.searchsorted(documents.sentences, documents.mentions[:, 0], side="right") - 1
    return documents.sentences[at].tolist(), documents.sentences[at + 1].tolist()


def _gender(kind: str, words: Sequence[str]) -> str:
    """Gender of a mention, as its pronoun or a word in it tells."""
    if kind in PRONOUNS:
        return GENDERS.get(kind, EMPTY)
    return next(
        (_GENDER_OF[word.rstrip(".")] for word in words if word.rstrip(".") in _GENDER_OF), EMPTY
    )
