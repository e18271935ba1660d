"""Grammars that users give by names of symbols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from structopt.errors import ArgumentError
from structopt.factor_graph.grammar.constituents import TAG
from structopt.factor_graph.grammar.rules import Rules
from structopt.kernels.waist.record import Array

Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class GivenRules:
    """A grammar, and the order in which users give its rules and steps.

    Attributes
    ----------
    numbered : Rules
    tags : tuple of str
    rules, steps : tuple of tuples of str
        In the order of users. Steps that were not given come last: one that changes nothing for
        each symbol except the root.
    symbols : tuple of str
        With the names of users: the root, symbols of constituents in ascending order, tags.
    rule_order, step_order : int64
        Place, in the order of users, of each rule and step of `numbered`.
    """

    numbered: Rules
    tags: Names
    rules: tuple[Names, ...]
    steps: tuple[Names, ...]
    symbols: Names
    rule_order: Array
    step_order: Array

    @staticmethod
    def of(root: str, tags: Any, rules: Any, steps: Any) -> GivenRules:
        """Read the arguments of ``batch``.

        Raises
        ------
        ArgumentError
        """
        given = None if steps is None else _tuples("steps", steps)
        return _read(root, _names("tags", tags), _tuples("rules", rules), given)


@lru_cache(maxsize=16)
def _read(
    root: Any, tags: Names, rules: tuple[Names, ...], steps: tuple[Names, ...] | None
) -> GivenRules:
    _check_symbols(root, tags)
    inner = dict.fromkeys(symbol for rule in rules for symbol in rule)
    if steps is None:
        steps = tuple((root, symbol) for symbol in dict.fromkeys([*inner, *tags]))
    _check(root, tags, rules, steps)
    ends = dict.fromkeys(end for chain in steps for end in (chain[0], chain[-1]))
    known = {*steps, (root,)}
    every = dict.fromkeys([*inner, *ends, *tags])
    steps += tuple((symbol,) for symbol in every if (symbol,) not in known)
    own = [tuple(TAG + name if name in tags else name for name in one) for one in (*rules, *steps)]
    numbered = Rules.named(root, tags, own[: len(rules)], own[len(rules) :])  # type: ignore[arg-type]
    places = {one: place for place, one in enumerate(own[: len(rules)])}
    rule_order = np.array([places[pair] for pair in numbered.pairs], np.int64)
    places = {one: place for place, one in enumerate(own[len(rules) :])}
    step_order = np.array([places[chain] for chain in numbered.chains], np.int64)
    symbols = (*numbered.symbols[: numbered.first_tag], *tags)
    return GivenRules(numbered, tags, rules, steps, symbols, rule_order, step_order)


def _check_symbols(root: Any, tags: Names) -> None:
    """Refuse roots that are tags or no names, and tags that are missing or given twice."""
    if not isinstance(root, str) or root in tags:
        raise ArgumentError("must be a name, and not that of a tag.", parameter="root", value=root)
    if not tags or len({*tags}) < len(tags):
        raise ArgumentError("must be one name or more, each once.", parameter="tags", value=tags)


def _check(root: str, tags: Names, rules: tuple[Names, ...], steps: tuple[Names, ...]) -> None:
    """Refuse the first rule or step that is wrong, and steps that do not lead to the root."""
    for index, rule in enumerate(rules):
        if len(rule) != 3 or rule[0] in tags or root in rule:
            _refuse("rules", rule, index, "(above, left, right): no root, and no tag above")
    for index, chain in enumerate(steps):
        tagged = bool({*chain[:-1]} & {*tags})
        if not chain or root in chain[1:] or chain == (root,) or tagged:
            _refuse("steps", chain, index, "(above, ..., below): the root first, a tag last")
    for name, listed in (("rules", rules), ("steps", steps)):
        seen = set[Names]()
        for index, one in enumerate(listed):
            if one in seen:
                _refuse(name, one, index, "listed once")
            seen.add(one)
    if not any(chain[0] == root for chain in steps):
        raise ArgumentError(
            f"must have a step to the root {root!r}, such as ({root!r}, SYMBOL).",
            parameter="steps",
        )


def _names(name: str, value: Any) -> Names:
    """Return a tuple of names."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ArgumentError("must be a sequence of names.", parameter=name, value=value)
    if not all(isinstance(one, str) for one in value):
        raise ArgumentError("must have names only.", parameter=name, value=value)
    return tuple(value)


def _tuples(name: str, value: Any) -> tuple[Names, ...]:
    """Return a tuple of tuples of names."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ArgumentError("must be a sequence of tuples of names.", parameter=name, value=value)
    for index, one in enumerate(value):
        if isinstance(one, str) or not all(isinstance(symbol, str) for symbol in one):
            _refuse(name, one, index, "a tuple of names")
    return tuple(map(tuple, value))


def _refuse(name: str, value: Any, index: int, what: str) -> None:
    raise ArgumentError(f"must be {what}.", parameter=name, value=value, where=f"index {index}")
