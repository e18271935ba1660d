"""Plans: everything that the prediction of one sentence by a first-order chain needs, packed once.

A general prediction makes a corpus, its graphs and the records of both, and calls a driver in an
interruptible thread. For one sentence that takes many times longer than the inference.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np

from structopt.core.data.attribute_table import AttributeTable, Entries
from structopt.core.data.encoded import Encoded
from structopt.core.data.structure import Structure
from structopt.core.factor_graph import FactorGraph
from structopt.core.scorer import Scorer
from structopt.kernels.waist import interruptible
from structopt.kernels.waist.record import Array, Record
from structopt.objective import scoring

POSITIONS = 256
"""Positions of the longest sentence that a plan takes."""
ATTRIBUTES = 64
"""Attributes of a position, on average over the longest sentence."""
MOST_LISTED = 64
"""Most labellings that a plan lists; the general prediction checks the memory of longer lists."""
STEPS = 1 << 24
"""Most pairs of labels at all positions: it bounds the time in which an interrupt waits."""


class SentencePlan:
    """The memory and the constants of predictions of one sentence; of one thread.

    Use `plan_of`.

    Parameters
    ----------
    encoded : Encoded
        One instance of as many positions as the plan has room for, without attributes.
    structure : Structure
        Its chain.
    features : Record
        Its features.
    place : Places
        Where the rows of the label parts begin (`structopt.features.row_places`).
    """

    def __init__(
        self, encoded: Encoded, structure: Structure, features: Record, place: Any
    ) -> None:
        from structopt.kernels.chain.record import CHAIN, SCRATCH
        from structopt.kernels.chain.sentence import SENTENCE, solve_sentence
        from structopt.kernels.features.attributes.record import ROWS

        rows = ROWS.open(features)
        chain, scratch = CHAIN.open(structure.record), SCRATCH.open(structure.work)
        n, tables = int(encoded.offsets[-1]), len(rows.widths)
        entries, parts = n * ATTRIBUTES, int(structure.parts[-1])
        most = entries * max(1, place.most_singles)
        none = np.zeros(0, np.int32)
        record = SENTENCE.pack(
            scratch={name: len(table) for name, table in scratch._asdict().items()},
            rows={
                **rows._asdict(),
                "listed": entries + most + 1,
                "ids": entries + 2 * most + 1,
                "values": entries + 2 * most + 1,
                "offsets": n + 1 + 2 * (tables - 1),
                "positions": 2 * tables,
                "lists": 2 * tables,
                "support": 0,
            },
            chain=chain._asdict(),
            ids=entries,
            values=entries,
            ends=n + 1,
            row_begins=none if place.row_begins is None else place.row_begins,
            single_begins=place.single_begins if len(place.singles) else none,
            configurations=place.configurations,
            seen=np.full(len(place.singles), -1),
            chosen=most,
            chosen_ends=n + 1,
            chosen_values=most,
            bounds=6,
            scores=parts,
            marginals=parts,
            labels=n,
        )
        opened = SENTENCE.open(record)
        self.structure, self.names = structure, encoded.labels
        self._positions, self._entries = n, entries
        self._ids, self._values, self._ends = opened.ids, opened.values, opened.ends
        self._labels, self._marginals = opened.labels, opened.marginals
        self._record, self._call = tuple(record), solve_sentence

    def takes(self, entries: Entries) -> bool:
        """Whether the plan has room for a sentence, which has a position."""
        ids, _, ends = entries
        return 1 < len(ends) <= self._positions + 1 and len(ids) <= self._entries

    def solve(self, weights: Array, entries: Entries, temperature: float) -> Any:
        """Return the label of each position, or above temperature 0 their marginals, shape
        (positions, labels); None if the hard constraints allow no labelling.
        """
        n, value = self._value(weights, entries, temperature)
        if value == -inf:
            return None
        if temperature == 0.0:
            return self._named(self._labels[:n])
        labels = len(self.names)
        return self._marginals[: n * labels].reshape(n, labels).copy()

    def k_best(
        self, weights: Array, entries: Entries, k: int, temperature: float
    ) -> tuple[list[list[str]], list[float], float | None] | None:
        """Return labels and scores of the k best labellings, of fewer if there are fewer, and above
        temperature 0 T log sum_y exp(s(y) / T); None if the hard constraints allow no labelling, or
        if k is above `MOST_LISTED`.
        """
        from structopt.kernels.chain.sentence_lists import list_sentence

        if k > MOST_LISTED:
            return None
        n, valued = self._fill(entries)
        values, labels = np.zeros(k), np.zeros(k * n, np.int32)
        count = list_sentence(weights, *self._record, n, valued, values, labels)
        interruptible.obey()
        if not count:
            return None
        found = [self._named(labels[q * n : (q + 1) * n]) for q in range(count)]
        value = self._value(weights, entries, temperature)[1] if temperature > 0.0 else None
        return found, values[:count].tolist(), value

    def _value(self, weights: Array, entries: Entries, temperature: float) -> tuple[int, float]:
        """Return the number of positions, and the maximum of `solve_sentence`."""
        n, valued = self._fill(entries)
        value = self._call(weights, *self._record, n, valued, temperature)
        interruptible.obey()
        return n, value

    def _fill(self, entries: Entries) -> tuple[int, bool]:
        """Write the attributes; return the number of positions, and whether they have values."""
        ids, values, ends = entries
        n, count = len(ends) - 1, len(ids)
        self._ids[:count] = ids
        self._ends[: n + 1] = ends
        if values is not None:
            self._values[:count] = values
        return n, values is not None

    def _named(self, labels: Array) -> list[str]:
        return [self.names[label] for label in labels.tolist()]

    def solve_each(
        self,
        entries_of: Callable[[Any], Entries | None],
        instances: Iterable[Any],
        solve: Callable[[SentencePlan, Entries], Any],
    ) -> Solved | None:
        """Return the result of a method for each of several sentences.

        Parameters
        ----------
        entries_of : callable
            `Task.entries` of the model's task.
        instances : iterable
        solve : callable
            A method of plans, with its arguments.

        Returns
        -------
        Solved, or None
            None if `entries_of` returns None for a sentence, or the method no result: then the
            general prediction knows why.
        """
        found: list[Any] = []
        rest: list[Any] = []
        places: list[int] = []
        for place, instance in enumerate(instances):
            entries = entries_of(instance)
            if entries is None:
                return None
            if not self.takes(entries):
                rest.append(instance)
                places.append(place)
                continue
            result = solve(self, entries)
            if result is None:
                return None
            found.append(result)
        return Solved(self, found, rest, places)

    def encoded(self, length: int) -> Encoded:
        """Return a sentence without its attributes."""
        return Encoded(np.array([0, length]), {}, self.names)


class Solved(NamedTuple):
    """Results of `SentencePlan.solve_each`.

    Attributes
    ----------
    plan : SentencePlan
    found : list
        One result per sentence for which the plan has room.
    rest : list
        The other sentences, which are longer or empty.
    places : list of int
        Their indices.
    """

    plan: SentencePlan
    found: list[Any]
    rest: list[Any]
    places: list[int]

    def merged(self, found: list[Any], others: Iterable[Any]) -> list[Any]:
        """Return the results of all sentences, where `others` are the results of `rest`."""
        for place, result in zip(self.places, others, strict=True):
            found.insert(place, result)
        return found


class Plans(threading.local):
    """The plan of a model in each thread, once it has been made.

    Attributes
    ----------
    plan : SentencePlan or None
    made : bool
        Whether `plan` is known, which is None for models that have no plan.
    """

    plan: SentencePlan | None = None
    made = False

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        """Copies and pickles of a model make plans of their own."""
        return type(self), ()


def plan_of(
    config: Mapping[str, Any], encoded: Encoded, graph: FactorGraph, scorer: Scorer
) -> SentencePlan | None:
    """Return a plan for models of exact first-order chains with rows of weights; None for others.

    Parameters
    ----------
    config : mapping
        Names the graph and the inference of the model.
    encoded : Encoded
        Any corpus that the model's task has encoded.
    graph, scorer : components
    """
    names = [config[kind]["name"] for kind in ("factor_graph", "inference")]
    positions = min(POSITIONS, STEPS // max(1, len(encoded.labels)) ** 2)
    simple = set(encoded.tables) == {"label"} and not any(encoded.dense.values())
    if names != ["linear_chain", "exact"] or not simple or not positions:
        return None
    longest = _longest(encoded, positions)
    structure = graph.build(longest)
    places = scorer.row_places(longest, structure)
    if places is None or len(places) != 2 or not structure.groups[1].tied:
        return None
    if places[1].row_count != 1 or len(places[1].singles):
        return None
    features = scoring.record_of(scorer, longest, structure)
    return SentencePlan(longest, structure, features, places[0])


def _longest(encoded: Encoded, positions: int) -> Encoded:
    """Return a corpus of one sentence without attributes, with the labels of another corpus."""
    size = encoded.tables["label"].size
    none = np.zeros(0, np.int32)
    return replace(
        encoded,
        offsets=np.array([0, positions]),
        tables={"label": AttributeTable(np.zeros(positions + 1, np.int64), none, None, size)},
        gold=None,
        gold_sets=None,
        allowed=None,
        words=(),
        instance_weights=None,
    )
