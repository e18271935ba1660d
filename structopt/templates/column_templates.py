"""Feature templates, such as ``word[-1] & word``, evaluated on whole columns into an attribute
table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any

import numba
import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.saved_state import LARGEST_SIZE, SavedState
from structopt.errors import ConfigError, did_you_mean
from structopt.formats.string_arrays import pack_strings, restored_strings
from structopt.kernels.waist.record import Array
from structopt.templates.attribute_hashes import LEAST, MOST, check_bits, slot_names
from structopt.templates.column_views import ColumnViews
from structopt.templates.hashing import hashed_attributes
from structopt.templates.numbering import Occurrences
from structopt.templates.syntax import BIAS, Template, View, parse
from structopt.templates.template_keys import (
    TemplateKeys,
    numbers_at,
    restored_keys,
    restored_numbers,
)
from structopt.templates.template_lookup import Lookup, ValueCodes, attributes_of, packed_templates
from structopt.templates.vocabulary import NONE, PADDING, Vocabulary
from structopt.templates.word_functions import apply
from structopt.templates.word_lists import BEGIN_INSIDE, Phrases, read_list

BLOCK = 4096
"""Tokens whose attributes are gathered at a time, so that they stay in the cache."""


class FeatureTemplates:
    """Templates of indicator attributes over the columns of a corpus.

    Parameters
    ----------
    templates : sequence of str
        Each is ``bias``, or terms joined by ``&``. A term is a view at an offset: ``word``,
        ``word[-1]``, ``pos[-2..2]``. A view is a column or a function of a view: ``lower(word)``,
        ``prefix(word, 1..4)``, ``suffix(word, 3)``, ``shape(word)``, ``collapsed(word)``,
        ``length(word)``, ``digits(word)``, ``kind(word)``, ``list(word, cities)``. A range means
        one template for each of its numbers. Beyond the sentence a view has a padding value; a word
        list has none there.
    lists : mapping of str to str, optional
        Word lists by name: paths of text files, plain or .gz, with one entry a line. Entries of
        several tokens match phrases. The functions of the words are applied to the entries too:
        ``list(lower(word), cities)`` ignores case.
    min_count : int
        Attributes seen fewer times in training are left out.
    hash_bits : int, optional
        Attributes are hashed into 2^hash_bits slots, and nothing is learnt; None: they are
        numbered.

    Raises
    ------
    ConfigError
        If a template breaks the syntax, or has an unknown function or list.
    DataError
        If a word list cannot be read.
    """

    def __init__(
        self,
        templates: Sequence[str],
        lists: Mapping[str, str] | None = None,
        min_count: int = 1,
        hash_bits: int | None = None,
    ) -> None:
        if min_count < 1:
            raise ConfigError(
                "must be at least 1.", parameter="features.min_count", value=min_count
            )
        check_bits(hash_bits, min_count)
        names = self._prepare(templates, min_count, lists or {}, hash_bits)
        self._use_lists({name: read_list((lists or {})[name]) for name in names})

    def _prepare(
        self,
        templates: Sequence[str],
        min_count: int,
        lists: Collection[str],
        hash_bits: int | None,
    ) -> list[str]:
        """Expand the templates; return the names of the word lists that they use."""
        self._sources, self._min_count, self._hash_bits = tuple(templates), min_count, hash_bits
        self._origin: dict[Template, str] = {}
        for source in templates:
            for template in parse(source):
                self._origin.setdefault(template, source)
        self.templates: tuple[Template, ...] = tuple(self._origin)
        self._views = tuple(
            dict.fromkeys(term.view for template in self.templates for term in template)
        )
        self._vocabularies: dict[View, Vocabulary] = {}
        self._learnt: list[TemplateKeys] = []
        # of the attributes of all keys, one template after another
        self._numbers = np.zeros(0, np.int32)
        # the keys that were made ready, and the result
        self._made: tuple[list[TemplateKeys], Lookup] | None = None
        names = dict.fromkeys(view.word_list for view in self._views)
        return [_known_list(name, lists, self._origin) for name in names if name is not None]

    def _use_lists(self, entries: Mapping[str, list[str]]) -> None:
        self._entries = dict(entries)
        self._phrases = {
            view: _phrases(view, entries[view.word_list])
            for view in self._views
            if view.word_list is not None
        }

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the templates look at."""
        return tuple(dict.fromkeys(view.column for view in self._views))

    @property
    def lists(self) -> Collection[str]:
        """Names of the word lists that the templates use."""
        return self._entries.keys()

    @property
    def size(self) -> int:
        """Number of attributes; 0 before `fit`, unless they are hashed."""
        return len(self._numbers) if self._hash_bits is None else 1 << self._hash_bits

    @property
    def hashed(self) -> bool:
        """Whether attributes are hashed, and have no names."""
        return self._hash_bits is not None

    def without(self, missing: Collection[str]) -> tuple[FeatureTemplates, list[str]]:
        """Return the templates that look at none of the `missing` columns, and the others as text;
        before `fit`.
        """
        dropped = {
            s
            for template, s in self._origin.items()
            if any(term.view.column in missing for term in template)
        }
        others = type(self).__new__(type(self))
        kept = [source for source in self._sources if source not in dropped]
        names = others._prepare(kept, self._min_count, self._entries, self._hash_bits)
        others._use_lists({name: self._entries[name] for name in names})
        return others, [source for source in self._sources if source in dropped]

    def values(self, column: str) -> Collection[str] | None:
        """Return the values of a column in training; None if no template looks at the plain column:
        they are not kept then.
        """
        vocabulary = self._vocabularies.get(View(column))
        return None if vocabulary is None else vocabulary.values

    def fit(
        self,
        columns: Mapping[str, Sequence[str]],
        offsets: Array,
        earlier: FeatureTemplates | None = None,
    ) -> AttributeTable:
        """Number the attributes of a training corpus.

        Parameters
        ----------
        columns : mapping of str to sequence of str
            Columns over all tokens.
        offsets : int64, shape (sentences + 1,)
            Where the sentences begin.
        earlier : FeatureTemplates, optional
            Fitted templates, whose attributes are kept beside those of the corpus: of all templates
            that both have, however rare they are here.

        Returns
        -------
        AttributeTable
            One row a token, in the order of the templates.

        Raises
        ------
        ConfigError
            If a template looks at an unknown column.
        """
        if self._hash_bits is not None:
            return self.transform(columns, offsets)
        self._check_columns(columns, ())
        corpus = ColumnViews(columns, offsets)
        self._vocabularies = {
            view: self._learn_values(view, corpus, earlier) for view in self._views
        }
        codes = self._codes(corpus)
        self._learnt, ids, first = (
            [],
            np.empty((len(self.templates), corpus.tokens), dtype=np.int32),
            0,
        )
        for row, template in zip(ids, self.templates, strict=True):
            kept = earlier._codes_of(template) if earlier is not None else None
            table = TemplateKeys(self._widths(template))
            keys, radix = table.learn(
                terms_of(template, corpus, codes), corpus.tokens, self._min_count, kept
            )
            row[:] = numbers_at(keys, table.keys, radix, np.arange(first, first + len(table.keys)))
            self._learnt.append(table)
            first += len(table.keys)
        self._numbers = Occurrences.of(ids, self._bounds()).numbers()
        numbers = np.append(self._numbers, NONE)
        for row in ids:
            row[:] = numbers[row]
        return _compress(ids, self.size)

    def transform(
        self, columns: Mapping[str, Sequence[str]], offsets: Array, missing: Collection[str] = ()
    ) -> AttributeTable:
        """Return the attributes of another corpus; those that the training data lack are left out.

        Parameters
        ----------
        columns, offsets
            As in `fit`.
        missing : collection of str
            Columns that this corpus lacks: they count as padding everywhere.

        Returns
        -------
        AttributeTable
            One row a token; its size is the number of attributes of the training corpus.

        Raises
        ------
        ConfigError
            If a template looks at a column that is neither in `columns` nor in `missing`.
        """
        self._check_columns(columns, missing)
        corpus = ColumnViews(columns, offsets, missing)
        if self._hash_bits is not None:
            return hashed_attributes(self.templates, corpus, self._phrases, self._hash_bits)
        # as Python the compiled call takes minutes
        if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
            return self._transformed(corpus)
        return attributes_of(corpus, self._lookup())

    def _transformed(self, corpus: ColumnViews) -> AttributeTable:
        """Return what `attributes_of` does, by arrays over all tokens, template by template."""
        codes = self._codes(corpus)
        ids = np.empty((len(self.templates), corpus.tokens), dtype=np.int32)
        numbers = np.split(self._numbers, self._bounds()[1:-1])
        for row, template, table, own in zip(
            ids, self.templates, self._learnt, numbers, strict=False
        ):
            keys, radix = table.joined(terms_of(template, corpus, codes), corpus.tokens)
            row[:] = numbers_at(keys, table.keys, radix, own)
        return _compress(ids, self.size)

    def _lookup(self) -> Lookup:
        """Return the fitted templates ready to look up attributes; they are made ready once."""
        if self._made is None or self._made[0] is not self._learnt:
            of = self.templates, self._views, self._learnt, self._numbers
            words = [view for view in self._views if view not in self._phrases]
            of_columns: dict[str, dict[View, Vocabulary]] = {}
            for view in words:
                of_columns.setdefault(view.column, {})[view] = self._vocabularies[view]
            rows = [*of_columns, *self._phrases]
            columns = [
                rows.index(view if view in self._phrases else view.column) for view in self._views
            ]
            places = [columns[:at].count(column) for at, column in enumerate(columns)]
            outside = [NONE if view in self._phrases else PADDING for view in self._views]
            self._made = (
                self._learnt,
                Lookup(
                    self._views,
                    self._vocabularies,
                    self._phrases,
                    ValueCodes(of_columns),
                    np.array(columns, np.int32),
                    np.array(outside, np.int32),
                    np.array(places, np.int64),
                    packed_templates(*of),
                    len(self.templates),
                    self.size,
                ),
            )
        return self._made[1]

    def describe(self, ids: Sequence[int] | Array) -> list[str]:
        """Return readable names of attributes, such as ``word[-1]=the & word[0]=cat``; of hashed
        ones, of their slots.
        """
        if self._hash_bits is not None:
            slots = slot_names(self._hash_bits)
            return [slots[number] for number in ids]
        names, bounds, places = [], self._bounds(), np.argsort(self._numbers)
        for place in places[np.asarray(ids, np.int64)]:
            index = int(np.searchsorted(bounds, place, side="right")) - 1
            table, template = self._learnt[index], self.templates[index]
            codes = table.codes_of(int(table.keys[place - bounds[index]]))
            vocabularies = [self._vocabularies[term.view] for term in template]
            values = [
                "<padding>" if y == PADDING else v.values[y - 1]
                for v, y in zip(vocabularies, codes, strict=True)
            ]
            names.append(
                " & ".join(f"{term}={value}" for term, value in zip(template, values, strict=True))
                or BIAS
            )
        return names

    def pruned(self, kept: Array) -> FeatureTemplates:
        """The same fitted templates with the attributes that a mask names; values of views keep
        their codes.
        """
        fitted = copy(self)
        mask, left = kept[self._numbers], np.cumsum(kept, dtype=np.int32) - 1
        masks = np.split(mask, self._bounds()[1:-1])
        fitted._learnt = [
            replace(table, keys=table.keys[own])
            for table, own in zip(self._learnt, masks, strict=True)
        ]
        fitted._numbers = left[self._numbers[mask]]
        return fitted

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what `restore` needs: JSON values, and arrays of numbers (strings as UTF-8 bytes
        and offsets).
        """
        hashed = self._hash_bits is not None
        vocabularies = [[] if hashed else self._vocabularies[view].values for view in self._views]
        prefixes = [
            (row, term, keys)
            for row, table in enumerate(self._learnt)
            for term, keys in table.prefixes.items()
        ]
        values = {
            "templates": list(self._sources),
            "min_count": self._min_count,
            "lists": {name: len(entries) for name, entries in self._entries.items()},
            "vocabularies": [len(strings) for strings in vocabularies],
            "prefixes": [[row, term, len(keys)] for row, term, keys in prefixes],
            **({"hash_bits": self._hash_bits} if hashed else {}),
        }
        arrays = {
            "starts": self._bounds(),
            "keys": _joined([table.keys for table in self._learnt]),
            "numbers": self._numbers,
        }
        arrays["prefix_keys"] = _joined([keys for _, _, keys in prefixes])
        strings = [string for group in (*vocabularies, *self._entries.values()) for string in group]
        arrays["string_bytes"], arrays["string_offsets"] = pack_strings(strings)
        return values, arrays

    @classmethod
    def restore(cls, state: SavedState) -> FeatureTemplates:
        """Make fitted templates of what `state` returned; no word list is read again."""
        fitted = cls.__new__(cls)
        lists = state.numbered("lists", 0, LARGEST_SIZE)
        bits = state.whole("hash_bits", LEAST, MOST) if "hash_bits" in state.values else None
        fitted._prepare(
            state.strings("templates", distinct=False), state.whole("min_count", 1), lists, bits
        )
        fitted._restore_strings(state, lists)
        if bits is not None:
            return fitted
        fitted._learnt = restored_keys(
            state, [fitted._widths(template) for template in fitted.templates]
        )
        fitted._numbers = restored_numbers(state, int(fitted._bounds()[-1]))
        return fitted

    def _restore_strings(self, state: SavedState, lists: Mapping[str, int]) -> None:
        """Restore the vocabularies of the views, and the entries of the word lists."""
        strings, counts = (
            restored_strings(state, "string_", distinct=False),
            state.wholes("vocabularies"),
        )
        if len(counts) != len(self._views):
            state.refuse("vocabularies", f"{len(self._views)} numbers, one a view of the templates")
        if sum(counts) + sum(lists.values()) != len(strings):
            state.refuse_array(
                "string_offsets", "of as many strings as vocabularies and lists have together"
            )
        rest = iter(strings)
        for view, count in zip(self._views, counts, strict=True):
            self._vocabularies[view] = Vocabulary(islice(rest, count))
            if len(self._vocabularies[view].values) < count:
                state.refuse_array("string_bytes", f"distinct strings in the vocabulary of {view}")
        self._use_lists({name: list(islice(rest, count)) for name, count in lists.items()})

    def _check_columns(self, columns: Collection[str], missing: Collection[str]) -> None:
        if all(name in columns or name in missing for name in self.columns):
            return
        for template, source in self._origin.items():
            for column in (term.view.column for term in template):
                if column not in columns and column not in missing:
                    known = ", ".join(columns)
                    hint = did_you_mean(column, columns)
                    raise ConfigError(
                        f"template '{source}': unknown column '{column}'; the columns are "
                        f"{known}.{hint}"
                    )

    def _learn_values(
        self, view: View, corpus: ColumnViews, earlier: FeatureTemplates | None
    ) -> Vocabulary:
        """The values of a view, those of earlier templates first, so that they keep their codes."""
        if view in self._phrases:
            return Vocabulary(BEGIN_INSIDE)
        known = (
            earlier._vocabularies[view].values
            if earlier is not None and view in earlier._vocabularies
            else []
        )
        return Vocabulary([*known, *corpus.derived(view)])

    def _codes_of(self, template: Template) -> list[Array] | None:
        """Codes of the terms of all attributes of a template, one array a term; None where it is
        not among these templates.
        """
        return (
            self._learnt[self.templates.index(template)].codes()
            if template in self.templates
            else None
        )

    def _widths(self, template: Template) -> list[int]:
        """Number of codes of each term."""
        return [len(self._vocabularies[term.view]) for term in template]

    def _codes(self, corpus: ColumnViews) -> dict[View, Array]:
        return {
            view: corpus.codes(view, self._vocabularies[view], self._phrases.get(view))
            for view in self._views
        }

    def _bounds(self) -> Array:
        """Where the keys of each template begin among all keys, one template after another, and
        where the last one's end.
        """
        return np.cumsum([0, *(len(table.keys) for table in self._learnt)], dtype=np.int64)


def _known_list(name: str, lists: Collection[str], origin: Mapping[Template, str]) -> str:
    if name in lists:
        return name
    source = next(
        source
        for template, source in origin.items()
        if any(term.view.word_list == name for term in template)
    )
    known = f"the lists are {', '.join(lists)}" if lists else "no lists are given"
    raise ConfigError(
        f"template '{source}': unknown list '{name}'; {known}; add its path under "
        f"'lists'.{did_you_mean(name, lists)}"
    )


def _phrases(view: View, entries: Iterable[str]) -> Phrases:
    """The entries of a list as phrases; the functions that `view` applies to the words are applied
    to their tokens.
    """
    split = [entry.split(" ") for entry in entries]
    values: list[str | None] = [token for tokens in split for token in tokens]
    for function, argument in view.inner.steps:
        values = apply(function, argument, values)
    flat = iter(values)
    mapped = ([next(flat) for _ in tokens] for tokens in split)
    return Phrases(
        [token for token in tokens if token is not None] for tokens in mapped if None not in tokens
    )


def terms_of(
    template: Template, corpus: ColumnViews, codes: Mapping[View, Array]
) -> Iterator[Array]:
    """Codes of the terms of a template at all tokens, one after another."""
    return (codes[term.view].take(corpus.shifted(term.offset)) for term in template)


def _compress(ids: Array, size: int) -> AttributeTable:
    """The attribute table of ids of shape (templates, tokens), without the -1."""
    tokens = ids.shape[1]
    offsets = np.zeros(tokens + 1, dtype=np.int64)
    np.cumsum((ids >= 0).sum(axis=0), out=offsets[1:])
    packed = np.empty(int(offsets[-1]), dtype=np.int32)
    for begin in range(0, tokens, BLOCK):
        end = min(begin + BLOCK, tokens)
        rows = ids[:, begin:end].T.ravel()
        packed[offsets[begin] : offsets[end]] = rows[rows >= 0]
    return AttributeTable(offsets, packed, None, size)


def _joined(arrays: Sequence[Array]) -> Array:
    return np.concatenate([np.empty(0, dtype=np.int64), *arrays])
