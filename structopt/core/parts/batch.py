"""Batches: the structures of some instances of given sizes, without features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.data.targets import Targets
from structopt.core.parts.layouts import GroupLayout
from structopt.core.parts.parts import Parts
from structopt.core.parts.ragged import ends_of
from structopt.core.parts.sizes import Sizes, numbers_within
from structopt.errors import ArgumentError, did_you_mean
from structopt.kernels.waist.record import Array

if TYPE_CHECKING:
    from structopt.core.factor_graph import FactorGraph


@dataclass(frozen=True, eq=False)
class Batch:
    """Instances of given sizes, and the parts of their outputs.

    Graphs make them: ``LinearChain().batch(lengths=[5, 7], labels=3)``.

    Attributes
    ----------
    graph : FactorGraph
    encoded : Encoded
        The instances that are not empty, as the graph reads them; without gold.
    sizes : Sizes
    options : mapping
        The other arguments of the graph's ``batch_of``; lists have an entry per instance.
    lay_out : callable
        Returns the `layouts` of the batch; a function of a module, so that batches can be pickled.
    positional : bool
        Whether every factor has parts of its own.
    """

    graph: FactorGraph
    encoded: Encoded
    sizes: Sizes
    options: Mapping[str, Any]
    lay_out: Callable[[Any], Mapping[str, GroupLayout]]
    positional: bool = False

    @cached_property
    def structure(self) -> Structure:
        """Factor graphs of the instances that are not empty, built at the first use."""
        return self.graph.build(self.encoded, self.positional)

    @cached_property
    def layouts(self) -> Mapping[str, GroupLayout]:
        """Layouts of all instances, by the names of part groups."""
        return self.lay_out(self)

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.sizes.lengths)

    @property
    def lengths(self) -> Array:
        """Variables of each instance, int64, shape (instances,)."""
        return self.sizes.lengths

    @property
    def view_lengths(self) -> Array:
        """Rows of the views of each instance, int64, shape (instances,)."""
        return self.lengths

    @property
    def kept(self) -> Array:
        """The instances that are not empty, int64."""
        return self.sizes.kept

    @cached_property
    def offsets(self) -> Array:
        """Begin of each instance in a vector over all parts, int64, shape (instances + 1,)."""
        return ends_of(self.spread(np.diff(self.structure.parts), 0))

    def scores(self, **groups: Any) -> Parts:
        """Return scores of parts, nats.

        Parameters
        ----------
        **groups : array-like, by group
            Real numbers; -inf forbids a part. Groups that are left out score 0. `GroupLayout` has
            the shapes.

        Raises
        ------
        ArgumentError
            For unknown groups, other shapes, NaN and +inf.
        """
        flat = np.zeros(int(self.offsets[-1]))
        for name, value in groups.items():
            layout = self.layout(name)
            layout.put(flat, layout.read(value))
        return Parts(self, flat, -np.inf)

    def zeros(self) -> Parts:
        """Return a vector of zeros."""
        return Parts(self, np.zeros(int(self.offsets[-1])))

    def positions(self, group: str) -> Array:
        """Return the variables that each position of a group joins, int64, shape (positions, d).

        Variables are counted within their instance. Of arcs they are the row and the column of
        their table.
        """
        layout = self.layout(group)
        return layout.coordinates if layout.joined is None else layout.joined

    def index(self, group: str) -> Array:
        """Return the index in `Parts.flat` of each part of a group, int64, shape (positions,
        ...).
        """
        return self.layout(group).taken(np.arange(int(self.offsets[-1])))

    def layout(self, group: str) -> GroupLayout:
        """Return the layout of a group.

        Raises
        ------
        ArgumentError
            For an unknown group.
        """
        if group not in self.layouts:
            raise ArgumentError(
                f"is not a group of parts.{did_you_mean(group, self.layouts)}",
                parameter="group",
                value=group,
                remedy=f"Choose one of: {', '.join(self.layouts)}.",
            )
        return self.layouts[group]

    def instance_index(self, index: int) -> int:
        """Return an index from 0, given one that may be negative."""
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"there are {count} instances, and no instance {index}")
        return int(index) % count

    def constrained(self, scores: Parts) -> Parts:
        """Return scores with -inf at the parts that the batch forbids."""
        return scores

    def check_same(self, other: Any) -> None:
        """Refuse parts of another batch.

        Raises
        ------
        ArgumentError
        """
        if not isinstance(other, Parts) or other.batch is not self:
            raise ArgumentError(
                "must be parts of the same batch.",
                parameter="other",
                remedy="Make both by methods of one batch.",
            )

    def dense(self, vectors: SparseVectors) -> Parts:
        """Return sparse vectors of the instances that are not empty as parts."""
        flat = np.zeros(int(self.offsets[-1]))
        begins = self.structure.parts[:-1]
        flat[np.repeat(begins, np.diff(vectors.offsets)) + vectors.parts] = vectors.values
        return Parts(self, flat)

    def sums(self, numbers: Array) -> Array:
        """Return the sums over the parts of each instance, float64, shape (instances,)."""
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return np.bincount(owner, numbers, len(self))

    def spread(self, numbers: Array, empty: float) -> Array:
        """Return a number per instance, given the numbers of instances that are not empty."""
        everywhere = np.full(len(self), empty, numbers.dtype)
        everywhere[self.kept] = numbers
        return everywhere

    @property
    def variables(self) -> Variables:
        """Ranges of parts: each output has exactly one part of each range.

        The parts of a variable are a row of the group that outputs are read from.

        Raises
        ------
        ArgumentError
            If outputs of the graph are not chosen by variables.
        """
        if self.graph.traits.covers:
            raise ArgumentError(
                "must be scores of a graph whose outputs are chosen variable by variable, and not "
                f"of {type(self.graph).__name__}.",
                parameter="scores",
            )
        layout, offsets = self._view_layout, ends_of(self.lengths)
        width = int(np.prod(layout.cells))
        variable = offsets[layout.instances] + layout.coordinates[:, 0]
        first = np.searchsorted(variable, np.arange(int(offsets[-1]) + 1))
        starts = layout.indices.reshape(layout.positions, width)[first[:-1], 0]
        return Variables(offsets, starts, starts + np.diff(first) * width)

    @property
    def variable_layout(self) -> GroupLayout:
        """Layout of a number per variable, as outputs have it."""
        return replace(
            self._view_layout,
            cells=(),
            offsets=ends_of(self.lengths),
            coordinates=numbers_within(self.lengths)[:, None],
            padded_coordinates=self.sizes.columns[:, None],
            extents=self.lengths[:, None],
            sides=(self.sizes.width,),
        )

    @property
    def _view_layout(self) -> GroupLayout:
        """Layout of the part group that outputs are read from."""
        return self.layout(next(iter(self.graph.views.values())))

    def repeated(self, times: int) -> Batch:
        """Return a batch with each instance so many times, one copy of the batch after another."""
        options = {
            name: value * times if isinstance(value, list) else value
            for name, value in self.options.items()
        }
        return self.graph.batch_of(self.sizes.repeated(times), **options)

    def draw(
        self,
        scores: Parts,
        k: int,
        marginals: Callable[[Parts], Parts],
        best: Callable[[Parts], Parts],
        generator: np.random.Generator,
    ) -> Parts:
        """Return the indicators of k random outputs of each instance, on `repeated` copies.

        Parameters
        ----------
        scores : Parts
        k : int
        marginals : callable
            Returns the marginals of scores, also of other batches.
        best : callable
            Returns the indicators of the best outputs.
        generator : numpy.random.Generator

        Raises
        ------
        ArgumentError
            If outputs of the graph are not chosen by variables.
        """
        copies, flat = self.repeated(k), np.tile(scores.flat, k)
        variables = copies.variables
        counts = np.diff(variables.offsets)
        for step in range(int(counts.max(initial=0))):
            z = marginals(Parts(copies, flat.copy())).flat
            for variable in (variables.offsets[:-1] + step)[counts > step].tolist():
                start, end = int(variables.starts[variable]), int(variables.ends[variable])
                cumulated = np.cumsum(np.maximum(z[start:end], 0.0))
                drawn = int(np.searchsorted(cumulated, generator.random() * cumulated[-1], "right"))
                part = min(start + drawn, end - 1)
                flat[start:part] = flat[part + 1 : end] = -np.inf
        return best(Parts(copies, flat))

    def views(self, outputs: SparseVectors) -> dict[str, Array]:
        """Return the outputs of the instances that are not empty, by the names of their views: a
        number per variable, int64.
        """
        (name,) = self.graph.views
        view = self.graph.view(name, self.encoded, self.structure, outputs)
        return {name: np.asarray(view, np.int64)}

    def of_instance(self, views: Mapping[str, Array], instance: int) -> Any:
        """Return the output of one instance, as `gold` takes it: an array, or one per view."""
        begin, end = ends_of(self.view_lengths)[instance : instance + 2].tolist()
        arrays = tuple(view[begin:end] for view in views.values())
        return arrays if len(arrays) > 1 else arrays[0]


class Variables(NamedTuple):
    """Variables of a batch, one instance after the other.

    Attributes
    ----------
    offsets : int64, shape (instances + 1,)
        Begin of the variables of each instance.
    starts, ends : int64, shape (variables,)
        Each output has exactly one of the parts start <= r < end, counted over the batch.
    """

    offsets: Array
    starts: Array
    ends: Array


@dataclass(frozen=True, eq=False)
class Gold:
    """Gold outputs of a batch: one per instance, or a set of outputs that are all right.

    Attributes
    ----------
    batch : Batch
    encoded : Encoded
        With the gold outputs.
    targets : Targets
    """

    batch: Batch
    encoded: Encoded
    targets: Targets

    @property
    def open(self) -> Array:
        """Whether the output of each instance is known in part only, bool, shape (instances,)."""
        return self.batch.spread(self.targets.sets, False)

    @property
    def parts(self) -> Parts:
        """The indicators of the gold outputs, and counts in tied groups.

        Raises
        ------
        ArgumentError
            If an instance is open.
        """
        if self.open.any():
            raise ArgumentError(
                "is known in part only, so that several outputs are right.",
                parameter="gold",
                where=f"instance {int(np.argmax(self.open))}",
            )
        return self.batch.dense(self.targets.points)
