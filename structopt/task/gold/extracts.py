"""Gold summaries in memory: for every document its references, or the numbers of the sentences of
an extract.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structopt.formats.in_memory.instances import shown
from structopt.formats.summaries.texts import Summary
from structopt.task.gold.lists import gold_elements
from structopt.task.outputs_in_memory import GOLD

FORM = "[['A reference summary.', ['Another,', 'of two sentences.']], [1, 4]]"
ADVICE = (
    "Write its references, texts or lists of sentences, or the numbers of the sentences of an "
    f"extract: {FORM}."
)


def gold_references(documents: Sequence[Sequence[str]], outputs: Any) -> list[list[Summary]]:
    """Return the references of every document, at least one each; of an extract, its sentences.

    Parameters
    ----------
    documents : sequence of list of str
        The sentences of every document.
    outputs : sequence
        One a document: a list of references, each a text with a sentence a line or a list of
        sentences; or a list of the numbers of sentences, from 1, as predictions are.

    Raises
    ------
    DataError
        What is no such list; a document without a reference, an empty one; numbers of sentences
        that there are not, or twice.
    """
    entries = enumerate(zip(documents, GOLD.listed(outputs, len(documents), FORM), strict=True), 1)
    return [_references(sentences, output, number) for number, (sentences, output) in entries]


def _references(sentences: Sequence[str], output: Any, number: int) -> list[Summary]:
    """The references of a document."""
    found = gold_elements(output, number, "references", ADVICE)
    if not found:
        raise GOLD.refused(number, f"the document has no reference summary. {ADVICE}")
    if all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in found):
        return [_extract(sentences, [int(one) for one in found], number)]
    return [_summary(one, number) for one in found]


def _extract(sentences: Sequence[str], extract: Sequence[int], number: int) -> Summary:
    """The sentences of an extract, in their order."""
    for one in extract:
        if not 1 <= one <= len(sentences):
            raise GOLD.refused(
                number,
                f"there is no sentence {one} for an extract: the document has {len(sentences)}, "
                "counted from 1.",
            )
    if len(set(extract)) < len(extract):
        raise GOLD.refused(
            number,
            f"a sentence stands twice in the extract {shown(list(extract))}. Keep one of them.",
        )
    return [sentences[one - 1] for one in sorted(extract)]


def _summary(reference: Any, number: int) -> Summary:
    """The sentences of a reference."""
    sentences = (
        reference.split("\n")
        if isinstance(reference, str)
        else gold_elements(reference, number, "sentences", ADVICE)
    )
    if wrong := [one for one in sentences if not isinstance(one, str)]:
        raise GOLD.refused(number, f"{shown(wrong[0])} in a reference summary is no text. {ADVICE}")
    kept = [" ".join(one.split()) for one in sentences if one.strip()]
    if not kept:
        raise GOLD.refused(number, f"a reference summary is empty. {ADVICE}")
    return kept
