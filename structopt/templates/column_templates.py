"""Feature templates: strings such as ``word[-1] & word`` evaluated on whole columns into an attribute table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.errors import ConfigError, did_you_mean
from structopt.formats.string_arrays import pack_strings, unpack_strings
from structopt.kernels.waist.record import Array
from structopt.templates.syntax import BIAS, Template, View, parse
from structopt.templates.word_functions import NONE, PADDING, POSITIONS, ColumnViews, Phrases, Vocabulary, apply, read_list

LARGEST_KEY = 1 << 62
"""Bound on the mixed-radix key of a conjunction; a conjunction that would exceed it has its first terms renumbered."""
DENSE = 1 << 21
"""Keys below this are counted and looked up in an array over all of them, larger ones by sorting and bisection."""
BLOCK = 4096
"""Tokens whose attributes are gathered at a time, so that they stay in the cache."""


@dataclass
class _Table:
    """What one template has learnt: the keys of its attributes, sorted, and the keys of prefixes that were renumbered."""

    keys: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    prefixes: dict[int, Array] = field(default_factory=dict)


class FeatureTemplates:
    """Templates of indicator attributes over the columns of a corpus.

    Parameters
    ----------
    templates : sequence of str
        Each is ``bias``, or terms joined by ``&``. A term is a view at an offset: ``word``, ``word[-1]``, ``pos[-2..2]``. A view
        is a column or a function of a view: ``lower(word)``, ``prefix(word, 1..4)``, ``suffix(word, 3)``, ``shape(word)``,
        ``collapsed(word)``, ``length(word)``, ``digits(word)``, ``kind(word)``, ``list(word, cities)``. A range stands for one
        template a number. Beyond the sentence a view has a padding value; a word list has none there.
    lists : mapping of str to str, optional
        Word lists by name: paths of text files, plain or .gz, with one entry a line. Entries of several tokens match
        phrases. They are seen through the same functions as the words: ``list(lower(word), cities)`` ignores case.
    min_count : int
        Attributes seen fewer times in training are left out.

    Raises
    ------
    ConfigError
        If a template breaks the syntax, or asks for a function or a list that there is not.
    DataError
        If a word list cannot be read.
    """

    def __init__(self, templates: Sequence[str], lists: Mapping[str, str] | None = None, min_count: int = 1) -> None:
        if min_count < 1:
            raise ConfigError(f"min_count is {min_count}; it must be at least 1.")
        names = self._prepare(templates, min_count, lists or {})
        self._use_lists({name: read_list((lists or {})[name]) for name in names})

    def _prepare(self, templates: Sequence[str], min_count: int, lists: Collection[str]) -> list[str]:
        """Expand the templates; return the names of the word lists that they use."""
        self._sources, self._min_count = tuple(templates), min_count
        self._origin: dict[Template, str] = {}
        for source in templates:
            for template in parse(source):
                self._origin.setdefault(template, source)
        self.templates: tuple[Template, ...] = tuple(self._origin)
        self._views = tuple(dict.fromkeys(term.view for template in self.templates for term in template))
        self._vocabularies: dict[View, Vocabulary] = {}
        self._learnt: list[_Table] = []
        self._starts = np.zeros(1, dtype=np.int64)
        names = dict.fromkeys(view.word_list for view in self._views)
        return [_known_list(name, lists, self._origin) for name in names if name is not None]

    def _use_lists(self, entries: Mapping[str, list[str]]) -> None:
        self._entries = dict(entries)
        self._phrases = {view: _phrases(view, entries[view.word_list]) for view in self._views if view.word_list is not None}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the templates look at."""
        return tuple(dict.fromkeys(view.column for view in self._views))

    @property
    def size(self) -> int:
        """Number of attributes; 0 before `fit`."""
        return int(self._starts[-1])

    def without(self, missing: Collection[str]) -> tuple[FeatureTemplates, list[str]]:
        """The templates that look at none of the `missing` columns, and the others as they were written; before `fit`."""
        touched = {s for template, s in self._origin.items() if any(term.view.column in missing for term in template)}
        made = type(self).__new__(type(self))
        names = made._prepare([source for source in self._sources if source not in touched], self._min_count, self._entries)
        made._use_lists({name: self._entries[name] for name in names})
        return made, [source for source in self._sources if source in touched]

    def values(self, column: str) -> Collection[str] | None:
        """Values of a column in training; None where no template looks at the plain column, so that they are not kept."""
        vocabulary = self._vocabularies.get(View(column))
        return None if vocabulary is None else vocabulary.values

    def fit(
        self, columns: Mapping[str, Sequence[str]], offsets: Array, earlier: FeatureTemplates | None = None
    ) -> AttributeTable:
        """Number the attributes of a training corpus.

        Parameters
        ----------
        columns : mapping of str to sequence of str
            Columns over all tokens.
        offsets : int64, shape (sentences + 1,)
            Where the sentences begin.
        earlier : FeatureTemplates, optional
            Fitted templates, whose attributes are kept beside those of the corpus: of all templates that both have, however
            rare they are here.

        Returns
        -------
        AttributeTable
            One row a token, in the order of the templates.

        Raises
        ------
        ConfigError
            If a template asks for a column that there is not.
        """
        self._check_columns(columns, ())
        corpus = ColumnViews(columns, offsets)
        self._vocabularies = {view: self._learn_values(view, corpus, earlier) for view in self._views}
        codes = self._codes(corpus)
        self._learnt, ids, first = [], np.empty((len(self.templates), corpus.tokens), dtype=np.int32), 0
        for row, template in zip(ids, self.templates, strict=True):
            kept = earlier._codes_of(template) if earlier is not None else None
            table, keys, radix = self._learn(template, corpus, codes, kept)
            row[:] = _numbers(keys, table.keys, radix, first)
            self._learnt.append(table)
            first += len(table.keys)
        self._number()
        return _compress(ids, self.size)

    def transform(self, columns: Mapping[str, Sequence[str]], offsets: Array, missing: Collection[str] = ()) -> AttributeTable:
        """Find the attributes of another corpus; those that `fit` has not seen are left out.

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
            If a column is neither given nor said to be missing.
        """
        self._check_columns(columns, missing)
        corpus = ColumnViews(columns, offsets, missing)
        codes = self._codes(corpus)
        ids = np.empty((len(self.templates), corpus.tokens), dtype=np.int32)
        for row, template, table, first in zip(ids, self.templates, self._learnt, self._starts.tolist(), strict=False):
            keys, radix = self._keys(template, _terms(template, corpus, codes), corpus.tokens, table.prefixes)
            row[:] = _numbers(keys, table.keys, radix, first)
        return _compress(ids, self.size)

    def describe(self, ids: Iterable[int]) -> list[str]:
        """Readable names of attributes, such as ``word[-1]=the & word[0]=cat``."""
        names = []
        for number in ids:
            at = int(np.searchsorted(self._starts, number, side="right")) - 1
            table, template = self._learnt[at], self.templates[at]
            values = self._values(template, table.prefixes, int(table.keys[number - self._starts[at]]))
            names.append(" & ".join(f"{term}={value}" for term, value in zip(template, values, strict=True)) or BIAS)
        return names

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What `restore` needs: values fit for JSON, and arrays of numbers (strings as UTF-8 bytes and offsets)."""
        vocabularies = [self._vocabularies[view].values for view in self._views]
        prefixes = [(row, term, keys) for row, table in enumerate(self._learnt) for term, keys in table.prefixes.items()]
        values = {
            "templates": list(self._sources),
            "min_count": self._min_count,
            "lists": {name: len(entries) for name, entries in self._entries.items()},
            "vocabularies": [len(strings) for strings in vocabularies],
            "prefixes": [[row, term, len(keys)] for row, term, keys in prefixes],
        }
        arrays = {"starts": self._starts, "keys": _joined([table.keys for table in self._learnt])}
        arrays["prefix_keys"] = _joined([keys for _, _, keys in prefixes])
        strings = [string for part in (*vocabularies, *self._entries.values()) for string in part]
        arrays["string_bytes"], arrays["string_offsets"] = pack_strings(strings)
        return values, arrays

    @classmethod
    def restore(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> FeatureTemplates:
        """Rebuild fitted templates from what `state` returned; no word list is read again."""
        made = cls.__new__(cls)
        made._prepare(values["templates"], values["min_count"], values["lists"])
        strings = iter(unpack_strings(arrays["string_bytes"], arrays["string_offsets"]))
        for view, count in zip(made._views, values["vocabularies"], strict=True):
            made._vocabularies[view] = Vocabulary(next(strings) for _ in range(count))
        made._use_lists({name: [next(strings) for _ in range(count)] for name, count in values["lists"].items()})
        made._learnt = [_Table(keys) for keys in np.split(arrays["keys"], arrays["starts"][1:-1])] if made.templates else []
        first = 0
        for row, term, count in values["prefixes"]:
            made._learnt[row].prefixes[term] = arrays["prefix_keys"][first : first + count]
            first += count
        made._number()
        return made

    def _check_columns(self, columns: Collection[str], missing: Collection[str]) -> None:
        for template, source in self._origin.items():
            for column in (term.view.column for term in template):
                if column not in columns and column not in missing:
                    known = ", ".join(columns)
                    hint = did_you_mean(column, columns)
                    raise ConfigError(f"template '{source}': unknown column '{column}'; the columns are {known}.{hint}")

    def _learn_values(self, view: View, corpus: ColumnViews, earlier: FeatureTemplates | None) -> Vocabulary:
        """The values of a view, those of earlier templates first, so that they keep their codes."""
        if view in self._phrases:
            return Vocabulary(POSITIONS)
        known = earlier._vocabularies[view].values if earlier is not None and view in earlier._vocabularies else []
        return Vocabulary([*known, *corpus.derived(view)])

    def _codes_of(self, template: Template) -> list[Array] | None:
        """Codes of the terms of all attributes of a template, one array a term; None where it is not among these templates.

        The bias, which has no terms, gives one array of zeros.
        """
        if template not in self.templates:
            return None
        table = self._learnt[self.templates.index(template)]
        keys, codes = table.keys, []
        for place in range(len(template) - 1, 0, -1):
            keys, own = np.divmod(keys, len(self._vocabularies[template[place].view]))
            codes.append(own.astype(np.int32))
            if place in table.prefixes:
                keys = table.prefixes[place][keys]
        return [keys.astype(np.int32), *codes[::-1]]

    def _codes(self, corpus: ColumnViews) -> dict[View, Array]:
        return {view: corpus.codes(view, self._vocabularies[view], self._phrases.get(view)) for view in self._views}

    def _learn(
        self, template: Template, corpus: ColumnViews, codes: Mapping[View, Array], kept: list[Array] | None
    ) -> tuple[_Table, Array, int]:
        """Learn a template, with the attributes of the kept codes; return also its keys at all tokens, and their bound."""
        table, terms, rows = _Table(), _terms(template, corpus, codes), corpus.tokens
        if kept is not None:
            terms = (np.concatenate(pair) for pair in zip(terms, kept, strict=False))
            rows += len(kept[0])
        keys, radix = self._keys(template, terms, rows, table.prefixes, learn=True)
        table.keys = _distinct(keys[: corpus.tokens], radix, self._min_count)
        if kept is not None:
            table.keys = np.union1d(table.keys, keys[corpus.tokens :])
        return table, keys[: corpus.tokens], radix

    def _keys(
        self, template: Template, terms: Iterator[Array], rows: int, prefixes: dict[int, Array], learn: bool = False
    ) -> tuple[Array, int]:
        """Mixed-radix keys of the codes of a template's terms in all rows (-1 where a term has none), and their bound."""
        if not template:
            return np.zeros(rows, dtype=np.int64), 1
        keys, radix = next(terms), len(self._vocabularies[template[0].view])
        for place, term in enumerate(template[1:], 1):
            width = len(self._vocabularies[term.view])
            if learn and radix * width > LARGEST_KEY:
                prefixes[place] = _distinct(keys, radix, 1)
            if place in prefixes:
                keys, radix = _numbers(keys, prefixes[place], radix, 0), len(prefixes[place])
            there = next(terms)
            none = (keys < 0) | (there < 0)
            keys = keys.astype(np.int64) * width + there
            keys[none] = NONE
            radix *= width
        return keys, radix

    def _values(self, template: Template, prefixes: Mapping[int, Array], key: int) -> list[str]:
        """Values of the terms of a template, from the key of an attribute."""
        values = []
        for place in range(len(template) - 1, -1, -1):
            vocabulary = self._vocabularies[template[place].view]
            key, code = divmod(key, len(vocabulary)) if place else (0, key)
            values.append("<padding>" if code == PADDING else vocabulary.values[code - 1])
            if place in prefixes:
                key = int(prefixes[place][key])
        return values[::-1]

    def _number(self) -> None:
        """Number the attributes template after template."""
        self._starts = np.cumsum([0, *(len(table.keys) for table in self._learnt)], dtype=np.int64)


def _known_list(name: str, lists: Collection[str], origin: Mapping[Template, str]) -> str:
    if name in lists:
        return name
    source = next(source for template, source in origin.items() if any(term.view.word_list == name for term in template))
    known = f"the lists are {', '.join(lists)}" if lists else "no lists are given"
    raise ConfigError(
        f"template '{source}': unknown list '{name}'; {known}; add its path under 'lists'.{did_you_mean(name, lists)}"
    )


def _phrases(view: View, entries: Iterable[str]) -> Phrases:
    """The entries of a list as phrases, their tokens seen through the functions that `view` applies to the words."""
    split = [entry.split(" ") for entry in entries]
    seen: list[str | None] = [token for tokens in split for token in tokens]
    for function, argument in view.inner.steps:
        seen = apply(function, argument, seen)
    flat = iter(seen)
    mapped = ([next(flat) for _ in tokens] for tokens in split)
    return Phrases([token for token in tokens if token is not None] for tokens in mapped if None not in tokens)


def _terms(template: Template, corpus: ColumnViews, codes: Mapping[View, Array]) -> Iterator[Array]:
    """Codes of the terms of a template at all tokens, one after another."""
    return (codes[term.view].take(corpus.positions(term.offset)) for term in template)


def _distinct(keys: Array, radix: int, min_count: int) -> Array:
    """The keys (other than -1) that occur at least `min_count` times, sorted; int64."""
    if radix <= DENSE:
        return np.flatnonzero(np.bincount(keys + 1, minlength=radix + 1)[1:] >= min_count)
    keys = np.sort(keys[keys >= 0])
    last = np.flatnonzero(np.append(keys[1:] != keys[:-1], len(keys) > 0))
    return keys[last[np.diff(last, prepend=-1) >= min_count]]


def _numbers(keys: Array, known: Array, radix: int, first: int) -> Array:
    """The places of keys among the `known` ones, counted from `first`; -1 where a key is not known. int64."""
    if radix <= DENSE:
        table = np.full(radix + 1, NONE, dtype=np.int64)
        table[known] = np.arange(first, first + len(known))
        return table.take(keys, mode="wrap")
    if not len(known):
        return np.full(len(keys), NONE, dtype=np.int64)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[at] == keys, at + first, NONE)


def _compress(ids: Array, size: int) -> AttributeTable:
    """Rows of attributes from ids of shape (templates, tokens), without the -1."""
    tokens = ids.shape[1]
    offsets = np.zeros(tokens + 1, dtype=np.int64)
    np.cumsum((ids >= 0).sum(axis=0), out=offsets[1:])
    packed = np.empty(int(offsets[-1]), dtype=np.int32)
    for begin in range(0, tokens, BLOCK):
        end = min(begin + BLOCK, tokens)
        rows = ids[:, begin:end].T.ravel()
        packed[offsets[begin] : offsets[end]] = rows[rows >= 0]
    return AttributeTable(offsets, packed, None, size)


def _joined(parts: Sequence[Array]) -> Array:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])
