"""Weights of an earlier model as the start of a new one, matched by the names of attributes and
labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from structopt.core.data.encoded import Encoded
from structopt.core.factor_graph import FactorGraph
from structopt.core.scorer import Matches, Scorer
from structopt.core.task import Task
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.model.configuration_names import configuration_names
from structopt.model.folder import find_model
from structopt.model.model import Model

COUNTS = "counts"
"""The name that stands for the model that learns nothing but counts, where others name an earlier
model.
"""


def asks_for_counts(node: Mapping[str, Any] | None) -> bool:
    """Whether the config's node ``warm_start`` asks for weights before any learning
    (`structopt.objective.unlearned_weights`).
    """
    return node is not None and node["model"] == COUNTS


class WarmStart:
    """An earlier model as a start.

    Parameters
    ----------
    address : str
        A run folder, a model folder, or an MLflow address.
    vocabulary : str
        ``union``: labels, attributes and values that only the earlier model knows are kept;
        ``new``: they are dropped.
    model : Model or None
        The model, where it is in memory.
    """

    def __init__(self, address: str, vocabulary: str = "union", model: Model | None = None) -> None:
        self.address, self.vocabulary = address, vocabulary
        self.model = Model.load(find_model(address)) if model is None else model
        self.counts = ""
        self._transfer: tuple[Scorer, _Names] | None = None

    @classmethod
    def of(cls, node: Mapping[str, Any] | None, model: Model | None = None) -> WarmStart | None:
        """The start that the config's node ``warm_start`` asks for; None where it names no
        model.
        """
        asked = node and node["model"] and not asks_for_counts(node)
        return cls(node["model"], node["vocabulary"], model) if node and asked else None

    def fit(self, task: Task, corpus: Any) -> Encoded:
        """Fit a task to its training corpus, and keep the vocabulary where that is asked for.

        Raises
        ------
        ConfigError
            If the model is another task's, whose vocabulary means something else.
        """
        kept = self.kept_task(task)
        return task.fit(corpus) if kept is None else task.fit(corpus, kept)

    def kept_task(self, task: Task) -> Task | None:
        """The earlier model's task, whose vocabulary is kept beside the new one; None where it is
        not. Errors as of `fit`.
        """
        if self.vocabulary == "new":
            return None
        if type(self.model.task) is not type(task):
            kinds = [type(one).__name__ for one in (self.model.task, task)]
            raise ConfigError(
                f"warm_start={self.address}: that model's task ({kinds[0]}) is not this "
                f"one ({kinds[1]}), so its vocabulary cannot be kept.",
                remedy="Give a model of the same task, or set warm_start.vocabulary=new.",
            )
        return self.model.task

    def kept_graph(self, graph: FactorGraph) -> list[FactorGraph]:
        """The earlier model's graph, where a new one of its class is to keep what it learnt; else
        nothing.
        """
        kept = self.vocabulary == "union" and type(self.model.graph) is type(graph)
        return [self.model.graph] if kept else []

    def transfer(self, task: Task, graph: FactorGraph, scorer: Scorer) -> tuple[Scorer, Array]:
        """Carry over every weight that the new model has too.

        Of attributes, those whose part group, name and labels exist there; hashed weights keep
        their indices, if the hashing is the same. Weights that could move in the earlier model can
        move in the new one.

        Parameters
        ----------
        task, graph : Task, FactorGraph
            Of the new model, fitted.
        scorer : Scorer
            Of the new one.

        Returns
        -------
        (Scorer, float64 array of shape (dimension,))
            The scorer with its support grown, and the weights.

        Raises
        ------
        ConfigError
            If the two models' features have nothing in common.
        """
        earlier, of_earlier = self.model.scorer, (self.model.task, self.model.graph)
        matches = _Names(of_earlier, (task, graph), self.vocabulary == "union")
        widened = scorer.widened(earlier, matches, self.model.weights)
        weights = widened.carried(earlier, matches, self.model.weights)
        count = int(np.count_nonzero(weights))
        lost = int(np.count_nonzero(self.model.weights)) - count
        self.counts = (
            f"{matches.counted()}; {count} weights carried "
            f"over{f', {lost} dropped' if lost else ''}"
        )
        self._transfer = widened, matches
        return widened, weights

    def carried(self, array: Array) -> Array:
        """An array over the earlier model's weights as one over the new model's, after `transfer`;
        zeros at new weights.
        """
        assert self._transfer is not None
        scorer, matches = self._transfer
        return scorer.carried(self.model.scorer, matches, array)

    @property
    def matches(self) -> Matches:
        """Which names the two models share, after `transfer`."""
        assert self._transfer is not None
        return self._transfer[1]


class _Names:
    """Matches by name: see `structopt.core.scorer.Matches`. Where the earlier vocabulary was kept,
    codes were too.
    """

    def __init__(
        self, earlier: tuple[Task, FactorGraph], own: tuple[Task, FactorGraph], kept: bool
    ) -> None:
        self.models, self.tasks = (earlier, own), (earlier[0], own[0])
        self._groups: dict[str, tuple[int, int, int]] = {}
        self.attributes = cache(self._attributes)
        self.configurations = cache(self._configurations)
        self._values = [dict(one.vocabulary()) for one in self.tasks]
        self.keeps_codes = kept or self._values[0].get("values") == self._values[1].get("values")

    def counted(self) -> str:
        """How many names of each kind came from the earlier model, are new, or were dropped."""
        counts = [
            _counts(kind, len(old), len(new), len({*old} & {*new}))
            for kind, (old, new) in self._kinds().items()
        ]
        if self._groups:
            counts.insert(
                0,
                _counts(
                    "attributes",
                    *(sum(column) for column in zip(*self._groups.values(), strict=True)),
                ),
            )
        return ", ".join(counts)

    def _kinds(self) -> dict[str, tuple[Sequence[str], Sequence[str]]]:
        old, new = self._values
        return {kind: (old.get(kind, ()), names) for kind, names in new.items()}

    def _attributes(self, group: str, earlier: int, size: int) -> tuple[Array, Array]:
        old, new = (
            _padded(task.attribute_names(group), n)
            for task, n in zip(self.tasks, (earlier, size), strict=True)
        )
        matches = _matches(old, new)
        named = [[isinstance(name, str) for name in names] for names in (old, new)]
        self._groups[group] = sum(named[0]), sum(named[1]), sum(named[0][i] for i in matches[0])
        return matches

    def _configurations(self, group: str, earlier: int, width: int) -> tuple[Array, Array]:
        old, new = (
            configuration_names(*model, group, n)
            for model, n in zip(self.models, (earlier, width), strict=True)
        )
        return _matches(old, new)


def _counts(kind: str, old: int, new: int, both: int) -> str:
    dropped = f", {old - both} dropped" if old > both else ""
    return f"{both} {kind} of the model and {new - both} new{dropped}"


def _padded(names: Sequence[str], size: int) -> list[Any]:
    """Attribute names of a group; those that the scorer adds itself come after the task's, and are
    numbered.
    """
    known: list[Any] = list(names)[:size]
    return known + [("constant", k) for k in range(size - len(known))]


def _matches(old: list[Any], new: list[Any]) -> tuple[Array, Array]:
    """Indices of the names that both lists have."""
    indices = {name: j for j, name in enumerate(new)}
    pairs = [(i, indices[name]) for i, name in enumerate(old) if name in indices]
    return np.array([i for i, _ in pairs], np.int64), np.array([j for _, j in pairs], np.int64)
