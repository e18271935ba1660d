"""The known attributes of a corpus by fitted templates, in one compiled call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.kernels.waist.record import Array, Record
from structopt.templates.column_views import ColumnViews
from structopt.templates.syntax import Template, View
from structopt.templates.template_keys import TemplateKeys
from structopt.templates.vocabulary import NONE, PADDING, Vocabulary
from structopt.templates.word_lists import Phrases


def packed_templates(
    templates: Sequence[Template],
    views: Sequence[View],
    tables: Sequence[TemplateKeys],
    numbers: Array,
) -> Record:
    """Pack fitted templates for `attributes_of`.

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


def attributes_of(
    corpus: ColumnViews,
    views: Sequence[View],
    vocabularies: Mapping[View, Vocabulary],
    phrases: Mapping[View, Phrases],
    templates: Record,
    count: int,
    size: int,
) -> AttributeTable:
    """Return the known attributes of each token, in the order of the templates.

    Parameters
    ----------
    corpus : ColumnViews
    views : sequence of View
        As in `packed_templates`.
    vocabularies, phrases : mappings by view
        Codes of values; entries of word lists.
    templates : Record
    count : int
        Number of templates.
    size : int
        Number of attributes.
    """
    from structopt.kernels.text.template_ids import attributes

    rows, codes = dict[View | str, Array](), list[Array | list[int]]()
    columns, outside = list[int](), list[int]()
    for view in views:
        row, own = corpus.values(view, vocabularies[view], phrases.get(view))
        key = view if view in phrases else view.column
        rows.setdefault(key, row)
        columns.append(list(rows).index(key))
        codes.append(own)
        outside.append(NONE if view in phrases else PADDING)
    ids = np.empty(count * corpus.tokens, np.int32)
    ends = np.empty(corpus.tokens + 1, np.int64)
    found = attributes(
        *templates,
        np.array(corpus.offsets),
        np.array(list(rows.values()), np.int64).reshape(len(rows), corpus.tokens),
        np.array(list(chain.from_iterable(codes)), np.int32),
        _begins(codes),
        np.array(columns, np.int32),
        np.array(outside, np.int32),
        ids,
        ends,
    )
    return AttributeTable(ends, ids[:found], None, size)


def _begins(parts: Sequence[Sequence[object] | Array]) -> Array:
    """Return where each of several parts begins if they are joined, and where the last one ends."""
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)
