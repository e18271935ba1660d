"""The contract of feature maps: a linear operator from weights to part scores, and its transpose."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from structopt.core.component import Component
from structopt.core.data import Encoded, SparseVectors, Structure
from structopt.kernels.record import Array, Record


class FeatureKernels(NamedTuple):
    """The kernels of a feature block (signatures in `structopt.kernels.signatures`)."""

    scores: Any
    pullback: Any
    add: Any
    add_both: Any
    dot: Any
    flatten: Any
    accumulate: Any
    spans: Any


class FeatureScratch(NamedTuple):
    """What one thread needs for the features of any instance of a corpus.

    Attributes
    ----------
    gradient : Record
        An empty sparse gradient.
    runs : int
        The most runs of weights that `SPANS` lists.
    coordinates : int
        The most coordinates that `FLATTEN` writes.
    """

    gradient: Record
    runs: int
    coordinates: int


class BatchMap(Protocol):
    """The features of a corpus for evaluations over all its instances, read through `record` and `widened`.

    Attributes
    ----------
    record : Record
        What the block's `scores` opens, given widened weights.
    coordinates : int64 vector, or None
        Which of the weights that may move the corpus has to do with, ascending, numbered among themselves; None for all.
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
    """Which attributes and labels of two models bear the same names.

    Attributes
    ----------
    keeps_codes : bool
        Whether every value that the earlier model knows by a code has the same code in the new one.
    """

    keeps_codes: bool

    def attributes(self, group: str, earlier: int, size: int) -> tuple[Array, Array]:
        """Numbers of the shared attributes of a part group in the earlier and in the new model, of so many each."""

    def configurations(self, group: str, earlier: int, width: int) -> tuple[Array, Array]:
        """Numbers of the shared configurations of its parts in the earlier and in the new model, of so many each."""


class SparseFeatures(Component):
    """A linear operator from weights to part scores, with one sparse column per part, never materialised.

    Attributes
    ----------
    dimension : int
        Number of weights.
    support : bool, shape (dimension,), or None
        Which weights may move; None when all may.
    note : str
        What a user should know of how the features were laid out, such as collisions of hashes; or the empty string.
    """

    kind_of_component: ClassVar[str] = "features"

    dimension: int
    support: Array | None
    note: str = ""

    @classmethod
    @abstractmethod
    def fit(cls, encoded: Encoded, structure: Structure, gold: SparseVectors, options: Mapping[str, Any] | None = None) -> Self:
        """Lay out the weights for a training corpus; `options` is the config's node ``features``."""

    @classmethod
    @abstractmethod
    def restore(cls, layout: Mapping[str, Any], bits: Array) -> Self:
        """Undo `state`."""

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], Array]:
        """Layout as JSON values, its ``block`` among them, and the support as packed bits (empty when all may move)."""

    @property
    @abstractmethod
    def kernels(self) -> FeatureKernels:
        """The compiled operations of the block."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of weights that may move."""

    @abstractmethod
    def record(self, encoded: Encoded, structure: Structure) -> Record:
        """Pack what the kernels read of a corpus."""

    @abstractmethod
    def scratch(self, encoded: Encoded, structure: Structure) -> FeatureScratch:
        """Allocate what one thread needs."""

    @abstractmethod
    def batch(self, encoded: Encoded, structure: Structure) -> BatchMap:
        """Make the features of a corpus for evaluations over all its instances."""

    @abstractmethod
    def carried(self, earlier: SparseFeatures, matches: Matches, array: Array) -> Array:
        """An array over an earlier map's weights as one over these: each number at the weight of the same name, zeros elsewhere.

        Raises `ConfigError` where the two have nothing in common.
        """

    @abstractmethod
    def widened(self, more: Array) -> Self:
        """The same features, where the weights that the mask names may move too."""

    @abstractmethod
    def compress(self, weights: Array) -> Array:
        """Keep the weights that may move."""

    @abstractmethod
    def covers(self, array: Array) -> bool:
        """Whether `compress` loses nothing."""

    @abstractmethod
    def expand(self, compressed: Array, out: Array | None = None) -> Array:
        """Undo `compress`, in `out` if it is given."""
