"""Attributes of templates learnt from a corpus in blocks: the same numbers as of the corpus as a
whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.templates.column_templates import FeatureTemplates, terms_of
from structopt.templates.column_views import ColumnViews
from structopt.templates.key_counts import KeyCounts
from structopt.templates.numbering import Occurrences
from structopt.templates.syntax import View
from structopt.templates.template_keys import LARGEST_KEY, TemplateKeys
from structopt.templates.vocabulary import Vocabulary
from structopt.templates.word_lists import BEGIN_INSIDE

Values = dict[View, dict[str | None, None]]
"""Values of every view, in the order in which they occur."""


class TemplateLearner:
    """Learns the attributes of a corpus in blocks: first the values of all blocks, then the keys of
    all blocks.

    Parameters
    ----------
    templates : FeatureTemplates
    earlier : FeatureTemplates or None
        Fitted templates, whose attributes are kept, as `FeatureTemplates.fit` keeps them.
    """

    def __init__(
        self, templates: FeatureTemplates, earlier: FeatureTemplates | None = None
    ) -> None:
        self.templates, self.earlier = templates, earlier
        known = {} if earlier is None else earlier._vocabularies
        self._values: Values = {
            view: dict.fromkeys(known[view].values if view in known else ())
            for view in templates._views
        }
        self._tables: list[tuple[TemplateKeys, KeyCounts]] = []

    def no_values(self) -> Values:
        """Return no values, of every view; a dict keeps the order in which they occur."""
        return {view: {} for view in self._values}

    def values(self, found: Values, columns: Mapping[str, Sequence[str]], offsets: Array) -> None:
        """Add the values of a block to those `found`."""
        own = self.templates
        own._check_columns(columns, ())
        corpus = ColumnViews(columns, offsets)
        for view, values in found.items():
            if own._hash_bits is None and view not in own._phrases:
                values.update(dict.fromkeys(corpus.derived(view)))

    def take_values(self, found: Values) -> None:
        """Take up the values of some blocks."""
        for view, values in found.items():
            self._values[view].update(values)

    def number_values(self) -> None:
        """Number the values of all blocks; `ConfigError` where their keys are too large to be
        counted so.
        """
        own = self.templates
        if own._hash_bits is not None:
            return
        own._vocabularies = {
            view: Vocabulary(BEGIN_INSIDE if view in own._phrases else values)
            for view, values in self._values.items()
        }
        self._tables = [
            (TemplateKeys(own._widths(template)), KeyCounts()) for template in own.templates
        ]
        for template, (table, _) in zip(own.templates, self._tables, strict=True):
            if max(table.bounds().values()) > LARGEST_KEY:
                raise ConfigError(
                    f"template '{own._origin[template]}': its values have too many "
                    "combinations to be counted in blocks of the data, as storage=disk "
                    "does.",
                    remedy="Set features.hash_bits=20, or leave it out.",
                )

    def no_keys(self) -> list[KeyCounts]:
        """Return counts of no keys, of every template; hashed ones count none."""
        return [KeyCounts() for _ in self._tables]

    def keys(
        self, found: Sequence[KeyCounts], columns: Mapping[str, Sequence[str]], offsets: Array
    ) -> None:
        """Count the keys of a block, beside those `found`."""
        own = self.templates
        if not self._tables:
            return
        corpus = ColumnViews(columns, offsets)
        codes = own._codes(corpus)
        for template, (table, _), counts in zip(own.templates, self._tables, found, strict=True):
            counts.add(table.joined(terms_of(template, corpus, codes), corpus.tokens)[0])

    def take_keys(self, found: Sequence[KeyCounts]) -> None:
        """Take up the keys of some blocks."""
        for (_, counts), more in zip(self._tables, found, strict=True):
            counts.merge(more)

    def finish(self) -> None:
        """Number the attributes."""
        own, found = self.templates, []
        # hashed ones have no tables
        for template, (table, counts) in zip(own.templates, self._tables, strict=False):
            kept = None if self.earlier is None else self.earlier._codes_of(template)
            table.keys = counts.frequent(own._min_count)
            if kept is not None:
                table.keys = np.union1d(table.keys, table.joined(iter(kept), len(kept[0]))[0])
            found.append(counts.occurrences(table.keys))
        own._learnt = [table for table, _ in self._tables]
        own._numbers = Occurrences.joined(found).numbers()
