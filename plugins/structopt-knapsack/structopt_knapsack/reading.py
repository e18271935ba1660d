"""Reads and checks items, weights and budgets from JSON lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structopt.plugin import DataError
from structopt.plugin.provisional import read_text

MEMORY = "<memory>"


@dataclass(frozen=True)
class Knapsack:
    """One instance.

    Attributes
    ----------
    features : tuple of mappings from attribute to value, one an item
    weights : tuple of int
    budget : int
    selected : tuple of int, or None
        Numbers of the selected items, from 0, ascending; None if unknown.
    source : mapping
        The JSON object of the file.
    """

    features: tuple[dict[str, float], ...]
    weights: tuple[int, ...]
    budget: int
    selected: tuple[int, ...] | None
    source: Mapping[str, Any]


@dataclass(frozen=True)
class Corpus:
    """Instances, and the path of their file."""

    path: str
    instances: tuple[Knapsack, ...]

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.instances)

    def subset(self, first: int, last: int) -> Corpus:
        """Return the instances first <= i < last."""
        return Corpus(self.path, self.instances[first:last])


def read(path: str | Path, limit: int | None, labelled: bool, encoding: str) -> Corpus:
    """Read a file with one JSON object a line; empty lines are skipped.

    Raises
    ------
    DataError
        With file and line: for lines that are not JSON objects, and for objects of another form
        than ``{"items": [{"features": {...}, "weight": 3}, ...], "budget": 10, "selected": [0,
        2]}``.
    """
    instances = []
    for number, line in enumerate(read_text(path, encoding).splitlines(), 1):
        if limit is not None and len(instances) == limit:
            break
        if line.strip():
            try:
                value = json.loads(line)
            except json.JSONDecodeError as error:
                message = (
                    f"this is no JSON ({error.msg}, column {error.colno}). Write one object a line."
                )
                raise DataError(path, number, message) from None
            instances.append(_Line(path, number).instance(value, labelled))
    return Corpus(str(path), tuple(instances))


def of_memory(instances: Sequence[Any], selections: Sequence[Any] | None = None) -> Corpus:
    """Make a corpus of such objects in memory, with the items to select of each; errors have the
    number of the instance.
    """
    rows = list(instances)
    if selections is None:
        return Corpus(
            MEMORY,
            tuple(_Line(MEMORY, number).instance(one, False) for number, one in enumerate(rows, 1)),
        )
    chosen = list(selections)
    if len(chosen) != len(rows):
        raise DataError(
            MEMORY,
            None,
            f"there are {len(chosen)} selections for {len(rows)} instances. Give one for each: "
            "[[0, 2]].",
        )
    pairs = [
        {**one, "selected": selected} if isinstance(one, Mapping) else one
        for one, selected in zip(rows, chosen, strict=True)
    ]
    return Corpus(
        MEMORY,
        tuple(_Line(MEMORY, number).instance(one, True) for number, one in enumerate(pairs, 1)),
    )


class _Line:
    """Checks one line; its errors have file and line."""

    def __init__(self, path: str | Path, line: int) -> None:
        self.path, self.line = path, line

    def instance(self, source: Any, labelled: bool) -> Knapsack:
        """Check one object."""
        if not isinstance(source, Mapping):
            raise self._refused('is no object. Write {"items": [...], "budget": 10}.')
        items = source.get("items")
        if not isinstance(items, Sequence) or isinstance(items, str) or not items:
            raise self._refused(
                '"items" must be a list of at least one object with "weight" and "features".'
            )
        features = tuple(self._features(number, item) for number, item in enumerate(items))
        weights = tuple(
            self._number(f'"weight" of item {number}', item.get("weight"))
            for number, item in enumerate(items)
        )
        budget = self._number('"budget"', source.get("budget"))
        selected = self._selected(source, len(items)) if labelled else None
        if selected is not None and sum(weights[j] for j in selected) > budget:
            weight = sum(weights[j] for j in selected)
            raise self._refused(
                f'the items in "selected" weigh {weight}, over the budget of {budget}. Correct '
                "one of them."
            )
        return Knapsack(features, weights, budget, selected, source)

    def _selected(self, source: Mapping[str, Any], items: int) -> tuple[int, ...]:
        """The gold selection."""
        selected = source.get("selected")
        whole = isinstance(selected, list) and all(
            type(j) is int and 0 <= j < items for j in selected
        )
        if not whole or len(set(selected)) < len(selected):
            raise self._refused(
                f'"selected" must be a list of different item numbers from 0 to {items - 1}.'
            )
        return tuple(sorted(selected))

    def _features(self, number: int, item: Any) -> dict[str, float]:
        """Attributes of one item: a number is the value of its name, true is 1, a word makes the
        attribute ``name=word``.
        """
        if not isinstance(item, Mapping):
            raise self._refused(
                f'item {number} is no object. Write {{"features": {{...}}, "weight": 3}}.'
            )
        features = item.get("features", {})
        if not isinstance(features, Mapping):
            raise self._refused(
                f'"features" of item {number} must be an object, {{"name": value}}.'
            )
        attributes = {}
        for name, value in features.items():
            if isinstance(value, str):
                attributes[f"{name}={value}"] = 1.0
            elif isinstance(value, bool | int | float) and abs(value) < float("inf"):
                attributes[str(name)] = float(value)
            else:
                raise self._refused(
                    f'"{name}" of item {number} must be a finite number, true, false or a word, '
                    f"not {value!r}."
                )
        return attributes

    def _number(self, what: str, value: Any) -> int:
        if type(value) is not int or not 0 <= value < 2**31:
            raise self._refused(
                f"{what} must be a whole number from 0 to 2147483647, not {value!r}."
            )
        return value

    def _refused(self, message: str) -> DataError:
        return DataError(self.path, self.line, message)
