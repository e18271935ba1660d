"""Pairs of labels that no sequence has: the hard constraints that a user names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from structopt.errors import ConfigError, StructoptError, did_you_mean, first_few

Pair = tuple[str | None, str | None]
"""(A, B): no label B after A; (None, B): none at the start; (A, None): none at the end."""
SUCH_AS = ", such as {}. {} is the start as the first label, and the end as the second."
IN_PYTHON = "[('O', 'I-PER'), (None, 'I-PER'), ('B-PER', None)]", "None"
IN_YAML = "[[O, I-PER], [null, I-PER], [B-PER, null]]", "null"


def checked_pairs(
    name: str,
    pairs: Any,
    error: type[StructoptError],
    convert: Callable[[Any], Any] = lambda label: label,
) -> tuple[Pair, ...]:
    """Return pairs of labels; one of the two may be None.

    Parameters
    ----------
    name : str
        The argument that has the pairs.
    pairs : collection
    error : class
        Raised for anything else.
    convert : callable
        Returns the text of a label.
    """
    such_as = SUCH_AS.format(*(IN_YAML if issubclass(error, ConfigError) else IN_PYTHON))
    if isinstance(pairs, (str, Mapping)) or not isinstance(pairs, Collection):
        raise error(f"must be a list of pairs of labels{such_as}", parameter=name, value=pairs)
    checked = list[Pair]()
    for index, pair in enumerate(pairs):
        two = isinstance(pair, (tuple, list)) and len(pair) == 2
        first, second = (None if one is None else convert(one) for one in pair) if two else (0, 0)
        known = all(one is None or isinstance(one, str) for one in (first, second))
        if not known or first is second is None:
            text = f"must be a pair of labels{such_as}"
            raise error(text, parameter=name, value=pair, where=f"index {index}")
        checked.append((first, second))  # type: ignore[arg-type]
    return tuple(checked)


def unknown_warning(pairs: Sequence[Pair], labels: Sequence[str]) -> str:
    """Return a warning of pairs with labels that are not among `labels`; empty if there is none."""
    names = dict.fromkeys(one for pair in pairs for one in pair if one is not None)
    unknown = [one for one in names if one not in labels]
    if not unknown:
        return ""
    return (
        "Forbidden pairs name labels that the training data do not have: "
        f"{first_few(unknown)}.{did_you_mean(unknown[0], labels)}"
    )


def numbered(
    pairs: Sequence[Pair], labels: Sequence[str]
) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Return starts, pairs and ends as indices; pairs with other labels are left out."""
    indices = {label: index for index, label in enumerate(labels)}
    starts, both, ends = set[int](), set[tuple[int, int]](), set[int]()
    for first, second in pairs:
        i, j = (None if one is None else indices.get(one, -1) for one in (first, second))
        if -1 in (i, j):
            continue
        if i is None and j is not None:
            starts.add(j)
        elif j is None and i is not None:
            ends.add(i)
        elif i is not None and j is not None:
            both.add((i, j))
    return tuple(sorted(starts)), tuple(sorted(both)), tuple(sorted(ends))
