"""The feature templates of a task on columns, by part group: on tokens, and perhaps on pairs of
neighbours.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from structopt.core.data.attribute_table import AttributeTable, Entries
from structopt.core.data.places import nonempty_offsets
from structopt.core.data.saved_state import SavedState
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.task.attribute_entries import selected_rows
from structopt.templates.column_templates import FeatureTemplates
from structopt.templates.template_learner import TemplateLearner

TOKENS, PAIRS = "label", "transition"
KEYS = {TOKENS: "features.templates", PAIRS: "features.transitions"}

log = logging.getLogger(__name__)


class TemplateGroups:
    """Templates with their vocabularies, by part group.

    Parameters
    ----------
    groups : mapping of str to FeatureTemplates
        ``label``, and perhaps ``transition``.
    """

    def __init__(self, groups: Mapping[str, FeatureTemplates]) -> None:
        self._groups = dict(groups)

    @classmethod
    def of(cls, features: Mapping[str, Any]) -> Self:
        """Make them of the keys of the config's node ``features``."""
        settings: dict[str, Any] = {key: features.get(key) for key in ("lists", "hash_bits")}
        settings["min_count"] = features.get("min_count", 1)
        groups = {TOKENS: FeatureTemplates(features.get("templates", ()), **settings)}
        if features.get("transitions"):
            groups[PAIRS] = FeatureTemplates(features["transitions"], **settings)
        used = {name for templates in groups.values() for name in templates.lists}
        for name in [name for name in features.get("lists") or () if name not in used]:
            log.warning(
                "features.lists: no template uses the list '%s'; add one to features.templates, "
                "such as 'list(word, %s)'.",
                name,
                name,
            )
        return cls(groups)

    def __iter__(self) -> Iterator[FeatureTemplates]:
        """The templates, group by group."""
        return iter(self._groups.values())

    @property
    def hashed(self) -> bool:
        """Whether attributes are hashed."""
        return any(templates.hashed for templates in self)

    @property
    def columns(self) -> list[str]:
        """The columns that they look at, in the order of first use."""
        return list(dict.fromkeys(column for templates in self for column in templates.columns))

    def drop(self, missing: Sequence[str], columns: Sequence[str]) -> None:
        """Leave out the templates that look at a `missing` column, and log them; none on
        transitions need be left.

        Raises
        ------
        ConfigError
            No template on tokens is left; it names the `columns` that there are.
        """
        for group, templates in list(self._groups.items()):
            kept, dropped = templates.without(missing)
            if not dropped:
                continue
            key, listed, absent = (
                KEYS[group],
                ", ".join(f"'{source}'" for source in dropped),
                " or ".join(missing),
            )
            if kept.templates:
                self._groups[group] = kept
            elif group == PAIRS:
                del self._groups[group]
            else:
                raise ConfigError(
                    f"{key}: no template is left, since there is no column {absent}: {listed}. "
                    f"Columns: {', '.join(columns)}; "
                    f"set templates on these, such as '{key}=[{columns[0]}]', or task.columns."
                )
            rest = "" if kept.templates else "; none is left, so that transitions have no features"
            log.warning(
                "%s: there is no column %s, so these templates are left out: %s%s.",
                key,
                absent,
                listed,
                rest,
            )

    def fit(
        self, cells: Mapping[str, list[str]], offsets: Array, earlier: TemplateGroups | None
    ) -> dict[str, AttributeTable]:
        """Learn the attributes of tokens beside those of `earlier` ones, and return the tables."""
        known = {} if earlier is None else earlier._groups
        offsets = nonempty_offsets(offsets)
        return _of_pairs(
            {
                group: one.fit(cells, offsets, known.get(group))
                for group, one in self._groups.items()
            },
            offsets,
        )

    def learners(self, earlier: TemplateGroups | None) -> list[TemplateLearner]:
        """Return what learns the same in blocks."""
        known = {} if earlier is None else earlier._groups
        return [TemplateLearner(one, known.get(group)) for group, one in self._groups.items()]

    def transform(
        self, cells: Mapping[str, list[str]], offsets: Array
    ) -> dict[str, AttributeTable]:
        """Return the tables of the attributes that are known; columns may be missing."""
        offsets = nonempty_offsets(offsets)
        tables = {
            group: one.transform(
                cells, offsets, [column for column in one.columns if column not in cells]
            )
            for group, one in self._groups.items()
        }
        return _of_pairs(tables, offsets)

    def entries(
        self, cells: Mapping[str, list[str]], starts: list[int], missing: Collection[str]
    ) -> Entries | None:
        """Return the known attributes of sentences, given the first token of each; None if
        transitions have attributes, or if a column is absent that may not be `missing`.
        """
        templates = self._groups[TOKENS]
        lacking = [name for name in templates.columns if name not in cells]
        if len(self._groups) > 1 or not all(name in missing for name in lacking):
            return None
        offsets = np.array(list(dict.fromkeys(starts)))  # without empty sentences
        table = templates.transform(cells, offsets, lacking)
        counts = table.offsets[1:] - table.offsets[:-1]
        return Entries(table.ids, table.values, counts, starts)

    def names(self, group: str) -> list[str]:
        """Return readable names of all attributes of a part group."""
        templates = self._groups.get(group)
        return [] if templates is None else templates.describe(range(templates.size))

    def values(self, column: str) -> Iterator[Any]:
        """The values of a column that each group has seen; None where none of its templates looks
        at it.
        """
        return (templates.values(column) for templates in self)

    def pruned(self, kept: Mapping[str, Array]) -> tuple[TemplateGroups, dict[str, Array]]:
        """Return the same without attributes that are not `kept`, and which rows are left; rows
        behind their attributes stay.
        """
        masks, groups = dict[str, Array](), dict(self._groups)
        for group, mask in kept.items():
            if group in groups:
                own = groups[group].size
                masks[group] = np.concatenate([mask[:own], np.ones(len(mask) - own, bool)])
                groups[group] = groups[group].pruned(mask[:own])
        return TemplateGroups(groups), masks

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all of them with their vocabularies, as JSON values and arrays."""
        values: dict[str, Any] = {}
        arrays: dict[str, Array] = {}
        for group, templates in self._groups.items():
            values[group], state = templates.state()
            arrays |= {f"{group}.{key}": array for key, array in state.items()}
        return {"templates": values}, arrays

    @classmethod
    def restored(cls, state: SavedState) -> Self:
        """Undo `state`."""
        groups = state.within("templates")
        if TOKENS not in groups.values or not groups.values.keys() <= KEYS.keys():
            state.refuse(
                "templates",
                f"a mapping with the key label, and perhaps {' and '.join(list(KEYS)[1:])}",
            )
        return cls(
            {
                group: FeatureTemplates.restore(groups.within(group, f"{group}."))
                for group in groups.values
            }
        )


def _of_pairs(tables: dict[str, AttributeTable], offsets: Array) -> dict[str, AttributeTable]:
    """The tables, that of transitions without the first token of every sentence: its rows are pairs
    of neighbours.
    """
    if PAIRS not in tables:
        return tables
    keep = np.ones(len(tables[PAIRS].offsets) - 1, bool)
    keep[offsets[:-1]] = False
    return tables | {PAIRS: selected_rows(tables[PAIRS], keep)}
