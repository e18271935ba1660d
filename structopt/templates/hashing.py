"""Attributes of templates hashed to slots, without a vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.kernels.waist.record import Array
from structopt.templates.attribute_hashes import (
    PADDING_VALUE,
    hash_of,
    hashed_table,
    hashes_of,
    mixed,
    slots_of,
)
from structopt.templates.column_views import ColumnViews
from structopt.templates.syntax import BIAS, Template, View
from structopt.templates.vocabulary import Vocabulary
from structopt.templates.word_lists import BEGIN_INSIDE, Phrases


def hashed_attributes(
    templates: Sequence[Template], corpus: ColumnViews, phrases: Mapping[View, Phrases], bits: int
) -> AttributeTable:
    """The attributes of all tokens of a corpus, as slots; one row a token.

    Parameters
    ----------
    templates : sequence of Template
    corpus : ColumnViews
    phrases : mapping of View to Phrases
        Of the views of word lists.
    bits : int
        There are 2^bits slots.
    """
    views = dict.fromkeys(term.view for template in templates for term in template)
    hashed = {view: _values(view, corpus, phrases.get(view)) for view in views}
    return hashed_table([_slots(template, corpus, hashed, bits) for template in templates], bits)


def _values(view: View, corpus: ColumnViews, phrases: Phrases | None) -> tuple[Array, Array]:
    """Codes of a view at all tokens, as `ColumnViews.codes` gives them, and the hash of the value
    of every code, uint64.
    """
    if view.column in corpus.missing:
        vocabulary = Vocabulary()
    else:
        vocabulary = Vocabulary(corpus.derived(view) if phrases is None else BEGIN_INSIDE)
    return corpus.codes(view, vocabulary, phrases), hashes_of([PADDING_VALUE, *vocabulary.values])


def _slots(
    template: Template, corpus: ColumnViews, hashed: Mapping[View, tuple[Array, Array]], bits: int
) -> Array:
    """The slot of a template at every token, int32; -1 where a term has no value."""
    hashes = np.full(corpus.tokens, hash_of(" & ".join(map(str, template)) or BIAS), np.uint64)
    none = np.zeros(corpus.tokens, bool)
    for term in template:
        codes, values = hashed[term.view]
        own = codes.take(corpus.shifted(term.offset))
        none |= own < 0
        hashes = mixed(hashes, values[own])
    slots = slots_of(hashes, bits)
    slots[none] = -1
    return slots
