"""Complete graphs of variables with several states, drawn from a random pairwise model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from structopt.core import checks
from structopt.core.data import ranges
from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import EncodedGraphs
from structopt.core.data.splits import SPLITS, SplitPath, split_of
from structopt.core.data.table_schema import Column, Schema
from structopt.datasets.random_graphs import RandomModel
from structopt.errors import ConfigError, DataError
from structopt.formats.in_memory.instances import MEMORY, Form, shown
from structopt.formats.npz import ranked_columns, write_arrays
from structopt.kernels.waist.record import Array
from structopt.metrics.instance_counts import InstanceCounts
from structopt.task.configuration_names import of_edges
from structopt.task.outputs_in_memory import GIVEN, GOLD, kept_states, label_number
from structopt.task.split_files import checked_paths
from structopt.task.whole_outputs import WholeOutputs

FORM = Form(
    "sample", "Give a list of samples, each a row of numbers, one a variable: [[0.5, -0.25, ...]]."
)


@dataclass(frozen=True)
class Samples:
    """Samples of a split, or in memory.

    Attributes
    ----------
    path : str
        Name of the split.
    x : float64, shape (samples, variables)
    y : int32, shape (samples, variables), or None
    """

    path: str
    x: Array
    y: Array | None

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.x)

    def subset(self, first: int, last: int) -> Samples:
        """Return the samples first <= i < last."""
        return Samples(
            self.path, self.x[first:last], None if self.y is None else self.y[first:last]
        )


class Synthetic(WholeOutputs):
    r"""Complete graphs whose outputs y are local maxima of a random model.

        sum_i w_i(y_i) x_i + sum_{i<j} w_ij(y_i, y_j)

    is the score that no variable alone can raise (`structopt.datasets.random_graphs` draws them).
    The model that is learnt has the same form: a weight for every variable and state, whose feature
    has the value x_i, and one for every edge and pair of states. The seed determines all data,
    which are the same on every machine.

    There are no files: instead of `input=FILE` set input=train, dev or test.

    Parameters
    ----------
    variables, states : int
        Of every sample.
    samples : int
        Training samples.
    held_out : int
        Samples for dev, and as many for test, from the same weights; 0: none.
    coupling : float, from 0 to 1e12
        Scale of the weights of edges; 0: independent variables.
    noise : float
        Share of the variables whose state is drawn anew, at random.
    data_seed : int
        Seed of the weights and samples.
    limit : int or None
        Number of training samples to take.
    default_C : float
        C for optimizers that are not given one.
    default_C_by : mapping or None
        The same for kinds of optimizers: ``optimum`` (those that reach it), ``gradient``. A kind
        that is left out takes `default_C`.

    Notes
    -----
    Meshi et al. (2010), Figure 1(d): 20 variables with 4 states, 100 samples.
    """

    columns = ("x",)
    input_schema = Schema((Column("x", "double", 1),))
    output_schema = Schema((Column("labels", "long", 1, like="x"),))
    main_metric = "accuracy"
    unit = "variables"
    instance = "sample"

    def __init__(
        self,
        variables: int = 20,
        states: int = 4,
        samples: int = 100,
        held_out: int = 100,
        coupling: float = 1.0,
        noise: float = 0.0,
        data_seed: int = 0,
        limit: int | None = None,
        default_C: float = 1.0,
        default_C_by: Mapping[str, float] | None = None,
    ) -> None:
        checked_paths(None, None, None, limit)
        for name, value, least in (
            ("variables", variables, 1),
            ("states", states, 2),
            ("samples", samples, 1),
        ):
            if value < least:
                raise ConfigError(
                    f"must be at least {least}.", parameter=f"task.{name}", value=value
                )
        if held_out < 0:
            raise ConfigError(
                "must be at least 1, or 0 for no dev and test splits.",
                parameter="task.held_out",
                value=held_out,
            )
        ranges.check_at_least("coupling", coupling)
        if not 0 <= noise <= 1:
            raise ConfigError("must be from 0 to 1.", parameter="task.noise", value=noise)
        self.variables = variables
        self.model = RandomModel(data_seed, variables, states, coupling, noise)
        self.sizes = {"train": samples, "dev": held_out, "test": held_out}
        self.limit, self.default_C = limit, default_C
        self.default_C_by = dict(default_C_by or {})
        self.labels: tuple[str, ...] = tuple(map(str, range(states)))

    @property
    def files(self) -> dict[str, SplitPath]:
        """The splits that are generated, by name."""
        return {split: SplitPath(split) for split in SPLITS if self.sizes[split]}

    def read(
        self, path: str | os.PathLike[str], limit: int | None = None, labelled: bool = True
    ) -> Samples:
        """Generate a split: train, dev or test."""
        named = split_of(path)
        if named is None or named.source is not None or not self.sizes[named.split]:
            raise DataError(
                os.fspath(path),
                None,
                "reads no files, but generates its splits",
                parameter="task",
                value="synthetic",
                remedy=f"give one of {', '.join(self.files)}.",
            )
        count = min(self.sizes[named.split], limit or self.sizes[named.split])
        x, y = self.model.samples(named.split, count)
        return Samples(named.split, x, y if labelled else None)

    def subset(self, corpus: Samples, first: int, last: int) -> Samples:
        """Return the instances first <= i < last of a corpus."""
        return corpus.subset(first, last)

    def corpus(self, instances: Sequence[Any]) -> Samples:
        """Make an unlabelled corpus of rows of values x, one a sample; DataError where a row is
        anything else.
        """
        rows = [
            self._row(sample, number) for number, sample in enumerate(FORM.listed(instances), 1)
        ]
        return Samples(MEMORY, np.array(rows, np.float64).reshape(len(rows), self.variables), None)

    def labelled(self, instances: Sequence[Any], outputs: Sequence[Any]) -> Samples:
        """Make a corpus of samples, as `corpus` takes them, and their states: a list of a state for
        every variable.
        """
        corpus = self.corpus(instances)
        states = [
            self._state(state, number)
            for number, output in enumerate(GOLD.listed(outputs, len(corpus), "[[0, 1, ...]]"), 1)
            for state in GOLD.cells(output, self.variables, number, "variables")
        ]
        return replace(corpus, y=np.array(states, np.int32).reshape(len(corpus), self.variables))

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Return the samples of a table: rows of values."""
        return list(table["x"])

    def input_example(self) -> dict[str, list[Any]]:
        """Return a sample."""
        return {"x": [[0.5] * self.variables]}

    def fit(self, corpus: Samples, earlier: Synthetic | None = None) -> EncodedGraphs:
        """Encode the training samples; there is nothing to learn, nor to keep of an `earlier`
        task.
        """
        return self.encode(corpus)

    def encode(self, corpus: Samples, given: Sequence[int | None] | None = None) -> EncodedGraphs:
        """Give variable i the attribute i with the value x_i; the edges, with weights of their own,
        are the factor graph's.

        The `given` states are kept.
        """
        m, d = corpus.x.shape
        ids = np.tile(np.arange(d, dtype=np.int32), m)
        return EncodedGraphs(
            np.arange(m + 1, dtype=np.int64) * d,
            {
                "label": AttributeTable(
                    np.arange(m * d + 1, dtype=np.int64), ids, corpus.x.ravel(), d
                )
            },
            self.labels,
            None if corpus.y is None else corpus.y.ravel().astype(np.int32),
            None if given is None else kept_states(given, len(self.labels)),
            edges=(np.zeros(m + 1, np.int64), np.zeros((0, 2), np.int32)),
            wide=True,
        )

    def kept_outputs(self, corpus: Samples, outputs: Sequence[Any]) -> list[int | None]:
        """Return the states of all variables, of rows of states, None where they are open."""
        states: list[int | None] = []
        for number, output in enumerate(
            GIVEN.listed(outputs, len(corpus), "[[0, None, ...], None]"), 1
        ):
            cells = GIVEN.cells(output, self.variables, number, "variables")
            place = checks.in_instance(number - 1)
            states.extend(
                None if state is None else label_number(state, self.labels, place((variable,)))
                for variable, state in enumerate(cells)
            )
        return states

    def decode(self, encoded: EncodedGraphs, view: Array) -> list[Array]:
        """Return the states of the variables of every sample."""
        return list(np.asarray(view).reshape(len(encoded), -1))

    def outcomes(self, corpus: Samples, predicted: Sequence[Array]) -> InstanceCounts:
        """Return the counts of every sample: 1, its variables, those that are right, and whether
        all are.
        """
        right = np.array(predicted).reshape(len(corpus), -1) == _gold(corpus)
        ones = np.ones(len(corpus))
        columns = [ones, ones * self.variables, right.sum(axis=1), right.all(axis=1)]
        return InstanceCounts.of_table(np.stack(columns, axis=1), _scores)

    def report(self, corpus: Samples, predicted: Sequence[Array]) -> str:
        """Return the scores as text, in per cent."""
        scores = self.evaluate(corpus, predicted)
        return (
            f"{len(predicted)} samples; accuracy: {100 * scores['accuracy']:.2f}%; wholly right: "
            f"{100 * scores['exact']:.2f}%\n"
        )

    def write_outputs(
        self,
        corpus: Samples,
        target: str | Path,
        outputs: Sequence[Array],
        probabilities: Sequence[Array] | None = None,
        ranked: Sequence[Sequence[tuple[float, Array]]] | None = None,
        k_best: int = 1,
    ) -> None:
        """Write an npz: ``y``, shape (samples, variables); with probabilities ``probabilities``,
        (samples, variables, states).

        ``ranked``, shape (samples, variables, k), has the states in the 1st to kth best output, -1
        where there are fewer.
        """
        arrays: dict[str, Array] = {"y": np.array(outputs, np.int32).reshape(len(outputs), -1)}
        if probabilities is not None:
            arrays["probabilities"] = np.array(probabilities)
        if ranked is not None:
            arrays["ranked"] = np.array(ranked_columns([[y for _, y in best] for best in ranked]))
        write_arrays(target, arrays)

    def output_table(self, outputs: Sequence[Array]) -> dict[str, list[Any]]:
        """Return the states of every sample as a list."""
        return {"labels": [np.asarray(states).tolist() for states in outputs]}

    def vocabulary(self) -> dict[str, list[str]]:
        """Return the states."""
        return {"labels": list(self.labels)}

    def attribute_names(self, group: str = "label") -> list[str]:
        """Return the names of the values x_i, by the variable's number."""
        return [f"x{i}" for i in range(self.variables)] if group == "label" else []

    def configuration_names(self, group: str = "label") -> list[Any]:
        """Return names of the configurations of a part group: the states of any variable, or those
        of each pair of variables.
        """
        variables = list(map(str, range(self.variables)))
        return of_edges(variables, self.labels) if group == "edge" else list(self.labels)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return nothing: the constructor's parameters say all."""
        return {}, {}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Restore nothing: `state` returns nothing."""

    def _row(self, sample: Any, number: int) -> list[float]:
        """Values of a sample in memory."""
        if isinstance(sample, Mapping):
            raise FORM.refused(number, f"a sample is one mapping, {shown(sample)}")
        values = FORM.elements(number, sample)
        if len(values) != self.variables:
            raise FORM.refused(
                number,
                f"a sample has {len(values)} values, but there are {self.variables} variables",
            )
        return [FORM.number(number, f"x{i}", value) for i, value in enumerate(values)]

    def _state(self, state: Any, number: int) -> int:
        """The number of a state of a sample in memory."""
        if isinstance(state, bool) or str(state) not in self.labels:
            message = (
                f"{shown(state)} is no state. Give whole numbers from 0 to "
                f"{len(self.labels) - 1}, or more task.states."
            )
            raise GOLD.refused(number, message)
        return self.labels.index(str(state))


def _scores(totals: Array) -> dict[str, float]:
    samples, variables, right, all_right = totals.tolist()
    accuracy = right / variables
    return {"accuracy": accuracy, "hamming_loss": 1.0 - accuracy, "exact": all_right / samples}


def _gold(corpus: Samples) -> Array:
    if corpus.y is None:
        raise DataError(corpus.path, None, "has no states to compare with.")
    return np.asarray(corpus.y)
