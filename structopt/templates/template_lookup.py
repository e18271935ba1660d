"""The known attributes of a corpus by fitted templates, in one compiled call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.kernels.waist.record import Array, Record
from structopt.templates.column_views import ColumnViews
from structopt.templates.syntax import Template, View
from structopt.templates.template_keys import TemplateKeys
from structopt.templates.vocabulary import NONE, PADDING, Vocabulary
from structopt.templates.word_lists import Phrases

FEW = 512
"""Most tokens of a corpus whose values are looked up in `ValueCodes`."""
MOST_KEPT = 1 << 16
"""Most values whose codes are kept."""


def packed_templates(
    templates: Sequence[Template],
    views: Sequence[View],
    tables: Sequence[TemplateKeys],
    numbers: Array,
) -> Record:
    """Pack fitted templates for the kernel.

    Parameters
    ----------
    templates : sequence of Template
    views : sequence of View
        The views of their terms.
    tables : sequence of TemplateKeys
        The keys of each template.
    numbers : int32, shape (keys,)
        The attribute of each key, one template after another.
    """
    from structopt.kernels.text.template_ids import TEMPLATES

    number_of = {view: number for number, view in enumerate(views)}
    lists = [keys for table in tables for keys in table.prefixes.values()]
    places = iter(range(len(lists)))
    of_terms = [
        [next(places) if term in table.prefixes else NONE for term in range(len(table.widths))]
        for table in tables
    ]
    return TEMPLATES.pack(
        terms=_begins(templates),
        views=[number_of[term.view] for template in templates for term in template],
        offsets=[term.offset for template in templates for term in template],
        widths=list(chain.from_iterable(table.widths for table in tables)),
        prefix_lists=list(chain.from_iterable(of_terms)),
        prefix_starts=_begins(lists),
        prefixes=np.concatenate([np.zeros(0, np.int64), *lists]),
        starts=_begins([table.keys for table in tables]),
        keys=np.concatenate([np.zeros(0, np.int64), *(table.keys for table in tables)]),
        numbers=numbers,
    )


class ValueCodes:
    """The codes of views of values of a column, kept for the next sentences.

    Parameters
    ----------
    vocabularies : mapping of View to Vocabulary
        The views of the column, but those of word lists.
    """

    def __init__(self, vocabularies: Mapping[View, Vocabulary]) -> None:
        self._vocabularies = dict(vocabularies)
        self._known: dict[str, tuple[int, ...]] = {}

    def __reduce__(self) -> tuple[type[Self], tuple[Mapping[View, Vocabulary]]]:
        """Copies and pickles begin without codes."""
        return type(self), (self._vocabularies,)

    def of(self, column: str, values: Sequence[str]) -> Array:
        """Return the codes of some values, int32, shape (values, views)."""
        known = self._known
        if fresh := [value for value in values if value not in known]:
            if len(known) + len(fresh) > MOST_KEPT:
                known, fresh = {}, list(values)
                self._known = known  # other threads may read the old ones
            corpus = ColumnViews({column: fresh}, np.array([0, len(fresh)]))
            codes = [corpus.values(*of, None)[1] for of in self._vocabularies.items()]
            known.update(zip(fresh, zip(*codes, strict=True), strict=True))
        shape = len(values), len(self._vocabularies)
        return np.array([known[value] for value in values], np.int32).reshape(shape)


@dataclass(frozen=True)
class Lookup:
    """Fitted templates, made ready to look up attributes.

    Attributes
    ----------
    views : sequence of View
        The views of the terms.
    vocabularies, phrases : mappings by view
        Codes of values; entries of word lists.
    codes : mapping of str to ValueCodes
        For each column.
    columns, outside : int32, shape (views,)
        The index in `codes` of the column of each view; codes beyond the sentence.
    places : int64, shape (views,)
        The index of each view among those of its column.
    templates : Record
        `packed_templates`.
    count : int
        Number of templates.
    size : int
        Number of attributes.
    """

    views: Sequence[View]
    vocabularies: Mapping[View, Vocabulary]
    phrases: Mapping[View, Phrases]
    codes: Mapping[str, ValueCodes]
    columns: Array
    outside: Array
    places: Array
    templates: Record
    count: int
    size: int


def attributes_of(corpus: ColumnViews, known: Lookup) -> AttributeTable:
    """Return the known attributes of each token, in the order of the templates."""
    from structopt.kernels.text.template_ids import attributes

    few = corpus.tokens <= FEW and known.codes and not (known.phrases or corpus.missing)
    coded = _kept_codes(corpus, known) if few else _codes(corpus, known)
    ids = np.empty(known.count * corpus.tokens, np.int32)
    ends = np.empty(corpus.tokens + 1, np.int64)
    found = attributes(*known.templates, np.array(corpus.offsets), *coded, ids, ends)
    return AttributeTable(ends, ids[:found], None, known.size)


def _kept_codes(corpus: ColumnViews, known: Lookup) -> tuple[Array, ...]:
    """Return `_codes` of a few tokens, by the codes that are kept."""
    rows = np.empty((len(known.codes), corpus.tokens), np.int64)
    begins, counts, codes, end = list[int](), list[int](), list[Array](), 0
    for row, (column, kept) in zip(rows, known.codes.items(), strict=True):
        values, row[:] = corpus.interned(column)
        codes.append(kept.of(column, values).T.ravel())
        begins.append(end)
        counts.append(len(values))
        end += len(codes[-1])
    if len(codes) == 1:
        return rows, codes[0], known.places * counts[0], known.columns, known.outside
    starts = np.array(begins)[known.columns] + known.places * np.array(counts)[known.columns]
    return rows, np.concatenate(codes), starts, known.columns, known.outside


def _codes(corpus: ColumnViews, known: Lookup) -> tuple[Array, ...]:
    """Return the values of tokens and the codes of views, as the kernel reads them."""
    rows, codes = dict[View | str, Array](), list[Array | list[int]]()
    columns, outside = list[int](), list[int]()
    for view in known.views:
        row, own = corpus.values(view, known.vocabularies[view], known.phrases.get(view))
        key = view if view in known.phrases else view.column
        rows.setdefault(key, row)
        columns.append(list(rows).index(key))
        codes.append(own)
        outside.append(NONE if view in known.phrases else PADDING)
    return (
        np.array(list(rows.values()), np.int64).reshape(len(rows), corpus.tokens),
        np.concatenate(codes, dtype=np.int32) if codes else np.zeros(0, np.int32),
        _begins(codes),
        np.array(columns, np.int32),
        np.array(outside, np.int32),
    )


def _begins(parts: Sequence[Sequence[object] | Array]) -> Array:
    """Return where each of several parts begins if they are joined, and where the last one ends."""
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)
