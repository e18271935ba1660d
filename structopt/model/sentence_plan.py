"""Plans: everything that predictions of sentences by a first-order chain need, packed once.

A general prediction makes a corpus, its graphs and the records of both, and calls a driver in an
interruptible thread. For one sentence that takes many times longer than the inference.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from structopt.core.data.attribute_table import (
    AttributeTable,
    Entries,
    EntryBuffers,
    EntryReader,
    Size,
)
from structopt.core.data.encoded import Encoded
from structopt.core.data.structure import Structure
from structopt.core.factor_graph import FactorGraph
from structopt.core.scorer import Scorer
from structopt.kernels.waist import interruptible
from structopt.kernels.waist.record import Array, Record
from structopt.objective import scoring

BLOCK = 16
"""Sentences of one compiled call."""
POSITIONS = 1024
"""Positions of the sentences that a plan takes at once."""
ATTRIBUTES = 32
"""Attributes of a position, on average over these sentences."""
MOST_LISTED = 64
"""Most labellings that a plan lists; the general prediction checks the memory of longer lists."""
STEPS = 1 << 24
"""Most pairs of labels at all positions of a call: it bounds how long an interrupt waits."""


Solve = Callable[["SentencePlan", list[int], bool], list[Any] | None]
"""Solves for the sentences that a plan has read, given their first positions, and whether a value
is not 1.
"""


class SentencePlan:
    """The memory and the constants of predictions of a few sentences; of one thread.

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
        from structopt.kernels.chain.sentence import SENTENCE, label_sentences
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
            given_ids=entries,
            given_values=entries,
            given_counts=n,
            starts=n + 1,
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
            maxima=n,
            labels=n,
            probabilities=n * len(encoded.labels),
        )
        opened = SENTENCE.open(record)
        self.structure, self.names = structure, encoded.labels
        self._given = EntryBuffers(
            opened.given_ids, opened.given_values, opened.given_counts, opened.starts
        )
        self._labels, self._probabilities = opened.labels, opened.probabilities
        self._maxima = opened.maxima
        self._record, self._label_sentences = tuple(record), label_sentences

    def write(self, entries: Entries) -> Size:
        """Write the attributes of sentences."""
        return self._given.write(entries)

    def starts(self, count: int, size: Size) -> list[int] | None:
        """Return the first position of each of `count` sentences that were read, with the end; None
        if the plan is too small for them, or if a sentence has no position.
        """
        if count >= len(self._given.starts) or not self._given.hold(size):
            return None
        starts: list[int] = self._given.starts[: count + 1].tolist()
        return starts if len(set(starts)) > count else None

    def solve(
        self, weights: Array, starts: list[int], valued: bool, temperature: float
    ) -> list[Any] | None:
        """Return the labels of the positions of each sentence that was read, or above temperature 0
        their marginals, shape (positions, labels); None if the hard constraints allow no labelling.
        """
        if not self._solved(weights, starts, valued, temperature):
            return None
        count = starts[-1]
        if temperature == 0.0:
            return _divided(self._named(self._labels[:count]), starts)
        labels = len(self.names)
        marginals = self._probabilities[: count * labels].reshape(count, labels)
        return [marginals[first:last].copy() for first, last in pairwise(starts)]

    def k_best(
        self, weights: Array, starts: list[int], valued: bool, k: int, temperature: float
    ) -> list[tuple[list[list[str]], list[float], float | None]] | None:
        """Return labels and scores of the k best labellings of each sentence, of fewer if there are
        fewer, and above temperature 0 T log sum_y exp(s(y) / T); None if the hard constraints allow
        no labelling, or if k is above `MOST_LISTED`.
        """
        if k > MOST_LISTED:
            return None
        gibbs, found = temperature > 0.0, []
        if gibbs:
            self._solved(weights, starts, valued, temperature)
        maxima = self._maxima[: len(starts) - 1].tolist()
        for q, (first, last) in enumerate(pairwise(starts)):
            n = last - first
            values, labels = np.zeros(k), np.zeros(k * n, np.int32)
            count = self._list_sentence(weights, *self._record, q, valued, values, labels)
            interruptible.obey()
            if not count:
                return None
            named = _divided(self._named(labels[: count * n]), range(0, count * n + 1, n))
            found.append((named, values[:count].tolist(), maxima[q] if gibbs else None))
        return found

    @cached_property
    def _solve_sentences(self) -> Any:
        """The kernel of marginals: larger than that of labels, and loaded when it is needed."""
        from structopt.kernels.chain.sentence_marginals import solve_sentences

        return solve_sentences

    @cached_property
    def _list_sentence(self) -> Any:
        """The kernel of lists, loaded when it is needed."""
        from structopt.kernels.chain.sentence_lists import list_sentence

        return list_sentence

    def _solved(self, weights: Array, starts: list[int], valued: bool, temperature: float) -> bool:
        """Solve for the attributes in the record; return whether each sentence has a labelling."""
        sentences = weights, *self._record, len(starts) - 1, valued
        if temperature == 0.0:
            solved = self._label_sentences(*sentences)
        else:
            solved = self._solve_sentences(*sentences, temperature)
        interruptible.obey()
        return bool(solved)

    def _named(self, labels: Array) -> list[str]:
        return list(map(self.names.__getitem__, labels.tolist()))

    def solve_each(
        self,
        reader: EntryReader,
        instances: Sequence[Any],
        solve: Solve,
    ) -> Solved | None:
        """Return the result of a method for each of several sentences, by one call per block.

        Parameters
        ----------
        reader : callable
            `Task.entry_reader` of the model's task.
        instances : sequence
        solve : callable
            A method of plans, with its arguments.

        Returns
        -------
        Solved, or None
            None if `reader` returns None for a sentence, or the method no result: then the
            general prediction knows why.
        """
        solved = Solved(self, [], [], [])
        for first in range(0, len(instances), BLOCK):
            block = instances[first : first + BLOCK]
            if not self._add(solved, first, block, reader, solve):
                return None
        return solved

    def _add(
        self,
        solved: Solved,
        first: int,
        block: Sequence[Any],
        reader: EntryReader,
        solve: Solve,
    ) -> bool:
        """Add the results of a block, whose first sentence has the index `first`; one by one if the
        sentences have several forms, or are too many. Returns whether there are results.
        """
        size = reader(block, self._given)
        starts = None if size is None else self.starts(len(block), size)
        if size is not None and starts is not None:
            results = solve(self, starts, size[2])
            solved.found.extend(results or ())
            return results is not None
        if len(block) > 1:
            return all(
                self._add(solved, place, [one], reader, solve)
                for place, one in enumerate(block, first)
            )
        if size is not None:
            solved.rest.extend(block)
            solved.places.append(first)
        return size is not None

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


def _divided(listed: list[Any], bounds: Iterable[int]) -> list[list[Any]]:
    """Divide a list at the bounds."""
    return [listed[first:last] for first, last in pairwise(bounds)]


class Plans(threading.local):
    """The plan of a model in each thread, once it has been made.

    Attributes
    ----------
    reader : EntryReader or None
        `Task.entry_reader` of the model's task.
    plan : object
    made : bool
        Whether `plan` is known, which is None for models that have no plan.
    """

    reader: EntryReader | None = None
    plan: Any = None
    made = False

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        """Copies and pickles of a model make plans of their own."""
        return type(self), ()

    def get(self, make: Callable[[], Any]) -> Any:
        """Return the plan, which `make` returns if it is not known."""
        if not self.made:
            self.plan, self.made = make(), True
        return self.plan


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
