"""The contracts of scorers: part scores of the weights and their gradient; and sparse features,
which are linear.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from structopt.core.component import Component
from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.memory import NUMBER
from structopt.core.weights.coordinates import Coordinate, Named, Names, Occurring
from structopt.errors import ConfigError
from structopt.kernels.waist.record import EMPTY, Array, Record


class FeatureKernels(NamedTuple):
    """The kernels of a feature block (signatures in `structopt.kernels.waist.signatures`).

    The last two may be None: `listed_scores` for `scores`, where `spans` notes nothing; `prefetch`
    where visits do not wait for memory.
    """

    scores: Any
    pullback: Any
    add: Any
    add_both: Any
    dot: Any
    flatten: Any
    accumulate: Any
    spans: Any
    listed_scores: Any = None
    prefetch: Any = None


class FeatureScratch(NamedTuple):
    """Scratch of one thread for the features of any instance of a corpus.

    Attributes
    ----------
    gradient : Record
        An empty sparse gradient, with room for what the features note of the instance last scored.
    runs : int
        The most runs of weights that `SPANS` lists.
    coordinates : int
        The most coordinates that `FLATTEN` writes.
    """

    gradient: Record
    runs: int
    coordinates: int


class BatchMap(Protocol):
    """The features of a corpus for evaluations over all its instances, read through `record` and
    `widened`.

    Attributes
    ----------
    record : Record
        What the kernel `scores` opens together with widened weights.
    coordinates : int64 vector, or None
        Indices, among the weights that may move, of those that features of the corpus have,
        ascending; None for all.
    """

    record: Record

    @property
    def coordinates(self) -> Array | None:
        """See above."""

    def widened(self, moving: Array) -> AbstractContextManager[Array]:
        """Lend weights as `record` reads them, given all those that may move."""

    def gradient(self, residuals: Array) -> Array:
        """sum_i F_i r_i at the `coordinates`, given residuals over the parts of all instances."""


class Matches(Protocol):
    """The attributes and labels of two models that have equal names.

    Attributes
    ----------
    keeps_codes : bool
        Whether every value that the earlier model knows by a code has the same code in the new one.
    """

    keeps_codes: bool

    def attributes(self, group: str, earlier: int, size: int) -> tuple[Array, Array]:
        """Numbers of the shared attributes of a part group in the earlier and in the new model, of
        so many each.
        """

    def configurations(self, group: str, earlier: int, width: int) -> tuple[Array, Array]:
        """Numbers of the shared configurations of its parts in the earlier and in the new model, of
        so many each.
        """


class Scorer(Component):
    """Part scores s(theta, x) of instances, as a function of the weights that need not be linear,
    and its gradient.

    The class is made of its parameters in the config, before any data are read; `fit` lays out the
    weights, and gives a scorer that nothing changes afterwards. Scores depend on weights and
    instance alone, so that runs can go on to the same bits.

    Attributes
    ----------
    kernel_modules : tuple of str
        Modules of its kernels that a first run compiles at the same time, those first that take
        longest.
    cheap : bool
        Whether scores of a whole corpus take little time and memory.
    dimension : int
        Number of weights; 0 before `fit`.
    support : bool, shape (dimension,), or None
        Which weights may move; None when all may.
    note : str
        What a user should know of how the weights were laid out, such as collisions of hashes; or
        the empty string.
    """

    kind_of_component: ClassVar[str] = "features"

    kernel_modules: ClassVar[tuple[str, ...]] = ()
    cheap: ClassVar[bool] = False
    dimension: int = 0
    support: Array | None = None
    note: str = ""

    @abstractmethod
    def fit(self, encoded: Encoded, structure: Structure, gold: SparseVectors) -> Self:
        """Lay out the weights for a training corpus, its graphs and its gold parts.

        Raises `ConfigError` for a corpus of which it cannot make features.
        """

    def dense_groups(self, structure: Structure) -> Collection[str]:
        """Names of the dense tables of a corpus (`structopt.core.data.encoded.Encoded.dense`) that
        it reads; by default none.
        """
        return ()

    def row_places(self, encoded: Encoded, structure: Structure) -> Sequence[Any] | None:
        """Return where the weights of each part group begin
        (`structopt.features.row_places.Places`); None if scores are not sums of rows of weights.
        """
        return None

    def initial(self, seed: int) -> Array:
        """Weights at which training begins, shape (dimension,): the same for equal seeds; zeros,
        where a scorer is linear.
        """
        return np.zeros(self.dimension)

    @abstractmethod
    def prepare(self, encoded: Encoded, structure: Structure) -> Any:
        """What `scores` and `pullback` read of a corpus; made once, and read by several threads."""

    @abstractmethod
    def scores(self, theta: Array, prepared: Any, instances: Array) -> Array:
        """Part scores (nats) of some instances, given by their numbers, one after the other in one
        float64 vector.
        """

    @abstractmethod
    def pullback(self, theta: Array, prepared: Any, instances: Array, residuals: Array) -> Array:
        """Gradient sum_i (ds_i / dtheta)^T r_i at theta, shape (dimension,), given residuals laid
        out as `scores` are.
        """

    def training(
        self, theta: Array, prepared: Any, instances: Array, noise: Sequence[int]
    ) -> tuple[Array, Callable[[Array], Array]]:
        """Part scores of a batch in training, and the function that takes residuals to their
        gradient at theta.

        By default `scores` and `pullback`. A scorer that has noise in training, such as units that
        drop out, draws it from a generator seeded with `noise`: whole numbers that differ from
        batch to batch, and are the same when a run is resumed. One that keeps what it computed for
        the scores saves itself the time to compute it again.
        """
        return self.scores(theta, prepared, instances), lambda residuals: self.pullback(
            theta, prepared, instances, residuals
        )

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """All that a saved model must know beside the weights: JSON values, and arrays by names
        without dots.
        """

    @classmethod
    @abstractmethod
    def restore(cls, layout: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """Undo `state`."""

    @property
    def count(self) -> int:
        """Number of weights that may move."""
        return self.dimension

    def compress(self, weights: Array) -> Array:
        """Keep the weights that may move."""
        return weights

    def batch_bytes(self, encoded: Encoded, structure: Structure) -> int:
        """Bytes that evaluations over all these instances keep for them, which are not allocated
        yet; the weights by default.
        """
        return NUMBER * self.dimension

    def covers(self, array: Array) -> bool:
        """Whether `compress` loses nothing."""
        return array.shape == (self.dimension,)

    def expand(self, compressed: Array, out: Array | None = None) -> Array:
        """Undo `compress`, in `out` if it is given."""
        if out is None:
            return compressed
        out[:] = compressed
        return out

    def carried(self, earlier: Scorer, matches: Matches, array: Array) -> Array:
        """An array over an earlier scorer's weights as one over these: numbers at the weights of
        the same names, else zeros.

        Raises `ConfigError` where the two have nothing in common.
        """
        raise ConfigError(
            f"the weights of {type(self).__name__} have no names by which those of an earlier "
            "model could be carried over.",
            where="warm_start",
            remedy="Leave warm_start out, or take features that have, such as AttributeRows().",
        )

    def widened(self, earlier: Scorer, matches: Matches, weights: Array) -> Self:
        """The same scorer, where what an earlier one could move, or has moved to these weights, may
        move too.
        """
        return self

    def pruned(self, weights: Array, kept: Mapping[str, Array]) -> tuple[Self, Array]:
        """The same scorer without weights that are 0, and the others: equal scores of less. By
        default it leaves out nothing.

        Parameters
        ----------
        weights : float64, shape (dimension,)
        kept : mapping of part group name to bool array
            Which of the attributes in `SparseFeatures.tables_of` corpora still have; the rows of
            the others are left out.
        """
        return self, weights


class SparseFeatures(Scorer):
    """A linear operator from weights to part scores, with one sparse column per part, never
    materialised.

    Compiled passes visit instance by instance through its kernels; the methods of all scorers are
    made of these.
    """

    @property
    @abstractmethod
    def kernels(self) -> FeatureKernels:
        """The compiled operations."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of weights that may move."""

    @abstractmethod
    def record(self, encoded: Encoded, structure: Structure) -> Record:
        """Pack what the kernels read of a corpus."""

    def scores_record(self, encoded: Encoded, structure: Structure) -> Record:
        """Pack the fields that the kernel `scores` reads; by default the whole `record`."""
        return self.record(encoded, structure)

    def rewrite(self, record: Record, encoded: Encoded) -> bool:
        """Write the features of a corpus into the `scores_record` of another one with an equal
        structure; return whether that is possible, which it is not by default.
        """
        return False

    @abstractmethod
    def scratch(self, encoded: Encoded, structure: Structure) -> FeatureScratch:
        """Allocate what one thread needs."""

    @abstractmethod
    def batch(self, encoded: Encoded, structure: Structure) -> BatchMap:
        """Make the features of a corpus for evaluations over all its instances."""

    @abstractmethod
    def carried(self, earlier: Scorer, matches: Matches, array: Array) -> Array:
        """See `Scorer`."""

    @abstractmethod
    def widened(self, earlier: Scorer, matches: Matches, weights: Array) -> Self:
        """See `Scorer`."""

    @abstractmethod
    def compress(self, weights: Array) -> Array:
        """See `Scorer`."""

    @abstractmethod
    def covers(self, array: Array) -> bool:
        """See `Scorer`."""

    @abstractmethod
    def expand(self, compressed: Array, out: Array | None = None) -> Array:
        """See `Scorer`."""

    def tables_of(self, array: Array, absent: float = 0) -> dict[str, Array] | None:
        """An array over the weights by part group, shape (attributes, configurations), to be read;
        None where weights are shared.

        A table has `absent` where there is no weight, since none may move there.
        """
        return None

    def vector_of(self, tables: Mapping[str, Array]) -> Array:
        """Undo `tables_of`, of those groups that are given: zeros at the weights of the others;
        what has no weight is lost.
        """
        raise NotImplementedError(f"{type(self).__name__} has no tables of weights")

    def named(self, indices: Array, names: Names, occurring: Occurring | None = None) -> Named:
        """Names of weights, given their indices: the rows and columns of `tables_of`; none where
        weights are shared.

        A scorer that stores no names, since it hashes them, looks for the weights among the
        features of the `occurring` parts.
        """
        found: Named = {int(index): [] for index in indices}
        wanted = np.zeros(self.dimension + 1, bool)  # the last entry is for places without a weight
        wanted[indices] = True
        for group, table in (self.tables_of(np.arange(self.dimension), absent=-1) or {}).items():
            rows, columns = np.nonzero(wanted[table])
            if len(rows):
                attributes, configurations = (
                    names.attributes(group, len(table)),
                    names.configurations(group, table.shape[1]),
                )
                for index, row, column in zip(
                    table[rows, columns].tolist(), rows.tolist(), columns.tolist(), strict=True
                ):
                    found[index] = [Coordinate(group, attributes[row], configurations[column])]
        return found

    def prepare(self, encoded: Encoded, structure: Structure) -> Any:
        """The record that the kernels open, and where the parts of the instances begin."""
        return self.record(encoded, structure), structure.parts

    def scores(self, theta: Array, prepared: Any, instances: Array) -> Array:
        """F^T theta, instance by instance."""
        record, parts = prepared
        bounds = np.concatenate([[0], np.cumsum(np.diff(parts)[instances])])
        flat = np.zeros(int(bounds[-1]))
        for i, first, end in zip(instances, bounds[:-1], bounds[1:], strict=True):
            self.kernels.scores(record, theta, int(i), flat[first:end], EMPTY)
        return flat

    def pullback(self, theta: Array, prepared: Any, instances: Array, residuals: Array) -> Array:
        """sum_i F_i r_i, whatever theta is."""
        record, parts = prepared
        bounds = np.concatenate([[0], np.cumsum(np.diff(parts)[instances])])
        dense = np.zeros(self.dimension)
        for i, first, end in zip(instances, bounds[:-1], bounds[1:], strict=True):
            self.kernels.accumulate(record, int(i), residuals[first:end], dense)
        return dense if self.support is None else dense * self.support
