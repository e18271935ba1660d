"""The base of scorers that are networks: flat weights, part scores and their gradient by
PyTorch.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from structopt.plugin import Array, SparseVectors, Structure
from structopt.plugin.provisional import Encoded, SavedState, Scorer, SparseFeatures
from structopt_torch.beside import sparse_class
from structopt_torch.chunks import bounds_of, chunks
from structopt_torch.corpus import Corpus
from structopt_torch.devices import device_of, precision_of, seeded, threads_at
from structopt_torch.parameters import filled, slope
from structopt_torch.resident import Resident
from structopt_torch.saved_options import checked_options


class TorchScorer(Scorer):
    """Part scores by a network with parameters theta_N, and, where asked for, linear scores of
    sparse features beside it.

        s(x) = N(x; theta_N) + F(x)^T theta_F,    theta = (theta_N, theta_F)

    theta is float64; the network computes in `precision`. A subclass has the methods `learn`,
    `build`, `read` and `part_scores`, and may have `start`. Its constructor hands on:

    Parameters
    ----------
    options : mapping of str to JSON value
        Parameters of the subclass's constructor that a saved model needs; `restore` gives them to
        it again.
    sparse : mapping or None
        Parameters of the sparse features `beside_name`; None: there are none.
    precision : str
        ``float32`` or ``float64``, of the network.
    device : str
        ``cpu``, ``cuda``, or ``auto``: CUDA where there is one.
    threads : int
        Threads of PyTorch's operations; with several, sums may have other last bits.

    Attributes
    ----------
    sizes : dict
        JSON values that `learn` found, of which `build` makes the network.
    arrays : dict of str to array
        What `learn` found beside; names without dots.
    layout : list of (str, tuple of int)
        Names and shapes of the network's parameters, in the order in which they stand in theta.
    network : int
        How many numbers they have together.
    beside : SparseFeatures or None
    rate : float
        The network's parameters are its weights times this.
    """

    beside_name: ClassVar[str] = "attribute_rows"
    rate = 1.0

    def __init__(
        self,
        options: Mapping[str, Any],
        sparse: Mapping[str, Any] | None,
        precision: str,
        device: str,
        threads: int,
    ) -> None:
        self.options = {**options, "precision": precision, "device": device}
        self.dtype, self.device, self.threads = (
            precision_of(precision),
            device_of(device),
            max(1, int(threads)),
        )
        self.sizes: dict[str, Any] = {}
        self.arrays: dict[str, Array] = {}
        self.layout: list[tuple[str, tuple[int, ...]]] = []
        self.network = 0
        self._residents: dict[int, Resident] = {}
        self.beside: SparseFeatures | None = (
            None if sparse is None else sparse_class(self.beside_name)(**sparse)
        )

    @abstractmethod
    def learn(
        self, encoded: Encoded, structure: Structure
    ) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return `sizes` (vocabularies and all else that the network's shape depends on) and
        `arrays` of a training corpus.

        Raises `ConfigError` for a corpus that the network cannot read.
        """

    @abstractmethod
    def build(self) -> nn.Module:
        """Make the network of `sizes` and the options: without buffers, and with parameters whose
        numbers do not count.
        """

    @abstractmethod
    def read(self, encoded: Encoded, structure: Structure) -> Any:
        """What `part_scores` reads of a corpus; made once, and read by several threads."""

    @abstractmethod
    def part_scores(self, module: nn.Module, corpus: Any, instances: Array) -> Tensor:
        """Part scores of some instances (at least one), one after the other in a vector that can be
        differentiated.

        They must not depend on the other instances. In training `module.training` is True, and
        PyTorch's generators are seeded.
        """

    def dense_groups(self, structure: Structure) -> Collection[str]:
        """The dense numbers of labelled tokens, and of the words of trees."""
        return ("label", "word")

    def start(self, name: str, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Initial numbers of a parameter: biases are zero, others uniform with variance 2 / (inputs
        + outputs).
        """
        if "bias" in name or len(shape) < 2:
            return np.zeros(shape)
        bound = np.sqrt(6.0 / (shape[0] + np.prod(shape[1:])))
        return generator.uniform(-bound, bound, shape)

    def fit(self, encoded: Encoded, structure: Structure, gold: SparseVectors) -> Self:
        """Learn vocabularies and sizes from a training corpus, and lay out the weights."""
        sizes, arrays = self.learn(encoded, structure)
        beside = None if self.beside is None else self.beside.fit(encoded, structure, gold)
        return self._laid_out(sizes, arrays, beside)

    def _laid_out(
        self, sizes: dict[str, Any], arrays: dict[str, Array], beside: SparseFeatures | None
    ) -> Self:
        """A copy of this scorer with weights for such a network, and such sparse features beside
        it.
        """
        scorer = copy(self)
        scorer._residents = {}
        scorer.sizes, scorer.arrays, scorer.beside = sizes, arrays, beside
        with torch.device("meta"):  # it has shapes and no numbers
            scorer.skeleton = scorer.build()
        scorer.layout = [
            (name, tuple(one.shape)) for name, one in scorer.skeleton.named_parameters()
        ]
        scorer.network = sum(one.numel() for one in scorer.skeleton.parameters())
        scorer.dimension = scorer.network
        if beside is not None:
            scorer.dimension += beside.dimension
            scorer.note = beside.note
            if beside.support is not None:
                scorer.support = np.concatenate([np.ones(scorer.network, bool), beside.support])
        return scorer

    def initial(self, seed: int) -> Array:
        """Random numbers for the network, by the seed alone; what sparse features begin at, for the
        others.
        """
        generator = np.random.default_rng([seed, self.network])
        pieces = [np.ravel(self.start(name, shape, generator)) for name, shape in self.layout]
        return np.concatenate(
            [np.zeros(0), *pieces, *([] if self.beside is None else [self.beside.initial(seed)])]
        )

    def prepare(self, encoded: Encoded, structure: Structure) -> Corpus:
        """Make what the network and the sparse features read of a corpus."""
        beside = None if self.beside is None else self.beside.prepare(encoded, structure)
        return Corpus(self.read(encoded, structure), beside, structure.parts)

    def scores(self, theta: Array, prepared: Corpus, instances: Array) -> Array:
        """Part scores without noise, computed in chunks of instances of like size."""
        sizes = np.diff(prepared.parts)[instances]
        bounds, flat = bounds_of(sizes), np.zeros(int(sizes.sum()))
        with threads_at(self.threads), torch.no_grad():
            module = self.module(theta, False).eval()
            for chunk in chunks(sizes):
                values = (
                    self.part_scores(module, prepared.network, instances[chunk])
                    .cpu()
                    .double()
                    .numpy()
                )
                for k, own in zip(
                    chunk, np.split(values, bounds_of(sizes[chunk])[1:-1]), strict=True
                ):
                    flat[bounds[k] : bounds[k + 1]] = own
        if self.beside is not None:
            flat += self.beside.scores(theta[self.network :], prepared.beside, instances)
        return flat

    def pullback(self, theta: Array, prepared: Corpus, instances: Array, residuals: Array) -> Array:
        """The scores' gradient without noise: computed again, chunk by chunk, and
        differentiated.
        """
        sizes = np.diff(prepared.parts)[instances]
        bounds, gradient = bounds_of(sizes), np.zeros(self.network)
        with threads_at(self.threads):
            module = self.module(theta, True).eval()
            for chunk in chunks(sizes):
                values = self.part_scores(module, prepared.network, instances[chunk])
                own = np.concatenate([residuals[bounds[k] : bounds[k + 1]] for k in chunk])
                gradient += slope(module, values, own).cpu().numpy()
        return self._with_beside(gradient * self.rate, theta, prepared, instances, residuals)

    def training(
        self, theta: Array, prepared: Corpus, instances: Array, noise: Sequence[int]
    ) -> tuple[Array, Callable[[Array], Array]]:
        """Part scores with what drops out in training, drawn by `noise` alone; their graph is kept
        for the gradient.
        """
        if not len(instances):
            return super().training(theta, prepared, instances, noise)
        resident = self._residents.get(id(theta))
        with threads_at(self.threads), seeded(noise, self.device):
            module = (resident.module if resident else self.module(theta, True)).train()
            values = self.part_scores(module, prepared.network, instances)
        flat = values.detach().cpu().double().numpy()
        if self.beside is not None:
            flat = flat + self.beside.scores(theta[self.network :], prepared.beside, instances)

        def pullback(residuals: Array) -> Array:
            with threads_at(self.threads):
                gradient = slope(module, values, residuals) * self.rate
            if resident:
                resident.gradient = gradient
                return resident.nothing
            return self._with_beside(gradient.cpu().numpy(), theta, prepared, instances, residuals)

        return flat, pullback

    @contextmanager
    def resident(self, theta: Array) -> Iterator[Resident | None]:
        """Keep these weights on the device, and leave the gradients of `training` there.

        Scores of training are computed at `Resident.point`, which may change. None if there are
        sparse features, whose kernels read the weights on the CPU.
        """
        if self.beside is not None:
            yield None
            return
        self._residents[id(theta)] = own = Resident(self, theta)
        try:
            yield own
        finally:
            del self._residents[id(theta)]

    def module(self, theta: Array, differentiable: bool) -> nn.Module:
        """A network of its own with the parameters that theta holds."""
        weights = theta[: self.network] * self.rate
        flat = torch.tensor(weights, dtype=self.dtype, device=self.device)
        return filled(self.skeleton, self.layout, flat, differentiable)

    def _with_beside(
        self, gradient: Array, theta: Array, prepared: Corpus, instances: Array, residuals: Array
    ) -> Array:
        if self.beside is None:
            return gradient
        more = self.beside.pullback(theta[self.network :], prepared.beside, instances, residuals)
        return np.concatenate([gradient, more])

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Options and sizes as JSON values, and the same of the sparse features; arrays of both."""
        values: dict[str, Any] = {"options": self.options, "sizes": self.sizes}
        arrays = dict(self.arrays)
        if self.beside is not None:
            values["beside"], more = self.beside.state()
            arrays |= {f"beside_{name}": array for name, array in more.items()}
        return values, arrays

    @classmethod
    def restore(cls, layout: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """Undo `state`; a model that was made on CUDA is computed on the CPU where there is
        none.
        """
        state = SavedState(layout, arrays)
        scorer, beside = cls(**checked_options(cls, state.within("options"))), None
        if "beside" in layout:
            more = state.within("beside", "beside_")
            beside = sparse_class(cls.beside_name).restore(more.values, more.arrays)
        own = {name: array for name, array in arrays.items() if not name.startswith("beside_")}
        scorer.check_saved(state)
        return scorer._laid_out(dict(state.within("sizes").values), own, beside)

    def check_saved(self, state: SavedState) -> None:
        """Raise `ModelError` where the values ``sizes`` or the arrays of a saved model are not as
        `learn` makes them.
        """

    @property
    def count(self) -> int:
        """Number of weights that may move: all of the network, and those of the sparse features."""
        return self.network + (0 if self.beside is None else self.beside.count)

    def compress(self, weights: Array) -> Array:
        """Keep the weights that may move."""
        if self.beside is None:
            return weights
        return np.concatenate(
            [weights[: self.network], self.beside.compress(weights[self.network :])]
        )

    def covers(self, array: Array) -> bool:
        """Whether `compress` loses nothing."""
        if self.beside is None or array.shape != (self.dimension,):
            return array.shape == (self.dimension,)
        return self.beside.covers(array[self.network :])

    def expand(self, compressed: Array, out: Array | None = None) -> Array:
        """Undo `compress`, in `out` if it is given."""
        if self.beside is None:
            return super().expand(compressed, out)
        weights = np.empty(self.dimension) if out is None else out
        weights[: self.network] = compressed[: self.network]
        weights[self.network :] = self.beside.expand(compressed[self.network :])
        return weights
