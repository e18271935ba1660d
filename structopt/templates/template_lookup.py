"""The known attributes of a corpus by fitted templates, in one compiled call."""

from __future__ import annotations

import threading
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
MOST_KEPT = 1 << 20
"""Most codes that are kept."""


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


class ValueCodes(threading.local):
    """The codes of views of values, kept for the next sentences of a thread.

    Parameters
    ----------
    vocabularies : mapping of str to mapping of View to Vocabulary
        For each column its views, except views of word lists.

    Attributes
    ----------
    codes : int32
        The codes of each value, one per view of its column, in the order of the views.
    """

    def __init__(self, vocabularies: Mapping[str, Mapping[View, Vocabulary]]) -> None:
        self._vocabularies = dict(vocabularies)
        self._clear()

    def __reduce__(self) -> tuple[type[Self], tuple[Mapping[str, Mapping[View, Vocabulary]]]]:
        """Copies and pickles begin without codes."""
        return type(self), (self._vocabularies,)

    def rows(self, corpus: ColumnViews, matches: Sequence[Array]) -> Array:
        """Return where the codes of the values begin, int64, shape (columns + lists, tokens); a
        column that is missing has the padding.

        Parameters
        ----------
        corpus : ColumnViews
        matches : sequence of int32 vectors, shape (tokens,)
            Codes of the tokens in word lists, which `codes` has until the next call.
        """
        try:
            known = self._rows(corpus)
        except KeyError:
            self._learn(corpus)
            known = self._rows(corpus)
        rows = np.array(known, np.int64).reshape(len(known), corpus.tokens)
        if not matches:
            return rows
        size = len(matches) * corpus.tokens
        self._reserve(self._end + size)
        self.codes[self._end : self._end + size] = np.concatenate(matches)
        own = np.arange(self._end, self._end + size).reshape(len(matches), corpus.tokens)
        return np.concatenate([rows, own])

    def _clear(self) -> None:
        self._known: dict[str, dict[str, int]] = {name: {} for name in self._vocabularies}
        # the padding comes first
        self._end = max(map(len, self._vocabularies.values()), default=0)
        self.codes = np.full(max(MOST_KEPT // 64, self._end), PADDING, np.int32)

    def _reserve(self, size: int) -> None:
        if size > len(self.codes):
            self.codes = np.resize(self.codes, 2 * size)

    def _rows(self, corpus: ColumnViews) -> list[list[int]]:
        columns, missing = corpus.columns, [0] * corpus.tokens
        return [
            missing if name in corpus.missing else [begins[value] for value in columns[name]]
            for name, begins in self._known.items()
        ]

    def _learn(self, corpus: ColumnViews) -> None:
        """Add the values of a corpus that have no codes."""
        columns = {name: corpus.columns[name] for name in self._known if name not in corpus.missing}
        size = sum(len(self._vocabularies[name]) * len(set(columns[name])) for name in columns)
        if self._end + size > MOST_KEPT:
            self._clear()
        for name, values in columns.items():
            known = self._known[name]
            self._add(name, [value for value in dict.fromkeys(values) if value not in known])

    def _add(self, name: str, values: list[str]) -> None:
        """Add the codes of values of a column that have none."""
        views = self._vocabularies[name]
        end = self._end + len(views) * len(values)
        corpus = ColumnViews({name: values}, np.array([0, len(values)]))
        codes = [corpus.values(*of, None)[1] for of in views.items()]
        self._reserve(end)
        self.codes[self._end : end] = np.array(codes, np.int32).T.ravel()
        self._known[name].update(zip(values, range(self._end, end, len(views)), strict=True))
        self._end = end


@dataclass(frozen=True)
class Lookup:
    """Fitted templates, made ready to look up attributes.

    Attributes
    ----------
    views : sequence of View
        The views of the terms.
    vocabularies, phrases : mappings by view
        Codes of values; entries of word lists.
    codes : ValueCodes
    columns, outside : int32, shape (views,)
        The index of the column of each view, or of its word list, which come after the columns;
        codes beyond the sentence.
    places : int64, shape (views,)
        The index of each view among the views of its column.
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
    codes: ValueCodes
    columns: Array
    outside: Array
    places: Array
    templates: Record
    count: int
    size: int


def attributes_of(corpus: ColumnViews, known: Lookup) -> AttributeTable:
    """Return the known attributes of each token, in the order of the templates."""
    from structopt.kernels.text.template_ids import attributes

    coded: tuple[Array, ...]
    if corpus.tokens <= FEW and len(known.columns):
        matches = [
            corpus.codes(view, known.vocabularies[view], phrases)[:-1]
            for view, phrases in known.phrases.items()
        ]
        rows = known.codes.rows(corpus, matches)
        coded = rows, known.codes.codes, known.places, known.columns, known.outside
    else:
        coded = _codes(corpus, known)
    ids = np.empty(known.count * corpus.tokens, np.int32)
    ends = np.empty(corpus.tokens + 1, np.int64)
    found = attributes(*known.templates, np.array(corpus.offsets), *coded, ids, ends)
    return AttributeTable(ends, ids[:found], None, known.size)


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
