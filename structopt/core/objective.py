"""The training problem as optimizers see it: P over a corpus or a block of it, and certificates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.data.targets import Targets
from structopt.core.factor_graph import Calculus
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.scorer import Scorer
from structopt.core.storage.arrays import Storage
from structopt.core.weights.penalty import Penalty
from structopt.kernels.waist.record import Array

if TYPE_CHECKING:  # they compile
    from structopt.kernels.waist.drivers import Driver, P, Result
    from structopt.kernels.waist.signatures import Data, Kernels, Space

ROUNDING = 1e-6
"""A dual that comes out above the objective by at most this share of it does so by rounding."""
LOSS_KERNELS = "structopt.kernels.passes.losses"
"""The module of the kernels that evaluate P."""
OUTPUT_KERNELS = "structopt.kernels.passes.outputs"
"""The module of the kernels that decode."""


class Certificate(NamedTuple):
    """P at some weights, and a lower bound D on the minimum of P (nats); None: it is not known."""

    primal: float
    dual: float | None

    @property
    def gap(self) -> float | None:
        """P - D, at least the distance of P from its minimum (`certified_gap`); None: not known."""
        return None if self.dual is None else certified_gap(self.primal, self.dual)


def certified_gap(primal: float, dual: float) -> float | None:
    """How far P is from its minimum at most: P - D.

    In exact arithmetic D <= P. A dual that is above P by at most 1e-6 |P| is rounding, and gives 0.
    One that is farther above is a numerical failure, of D or of P, and proves nothing.

    Parameters
    ----------
    primal, dual : float
        P and D, finite (nats).

    Returns
    -------
    float or None
        At least 0; None where nothing is proved.
    """
    gap = primal - dual
    if gap < -ROUNDING * abs(primal):
        return None
    return max(gap, 0.0)


class Objective(Protocol):
    """P(theta) = R(theta) + (1/m) sum_i L_i(theta) over the m instances that it holds.

    R is the `penalty` of the problem, lambda/2 ||theta||^2 for most; lambda = 1/(C m), or 1/(C
    (before + m)) where training goes on after other instances.

    It is a protocol and no base class: there is one implementation for the whole corpus, for a
    shard and for a block of a stream, and optimizers know no more of it than these attributes and
    methods.

    Attributes
    ----------
    m : int
        Instances.
    before : float
        How many instances the run has beside these: seen before, where it goes on, and held by the
        other shards; 0 in most.
    dimension : int
        Weights.
    C : float
    seed : int
        Of the order of the instances.
    loss : Loss
    inference : Inference
        By which optimizers step.
    structure : Structure
    targets : Targets
        Gold outputs, or sets of allowed outputs.
    cost : SparseVectors
        Costs p_i over the parts.
    scorer : Scorer
    calculus : Calculus or None
        Closed forms of the marginals of the structure, where it is positional and its graph knows
        them.
    kernels, data : Kernels, Data
        What compiled drivers are composed of, and what they read.
    """

    m: int
    dimension: int
    C: float
    seed: int
    loss: Loss
    inference: Inference
    structure: Structure
    targets: Targets
    cost: SparseVectors
    scorer: Scorer
    calculus: Calculus | None
    kernels: Kernels
    data: Data

    @property
    def before(self) -> float:
        """See above."""

    @property
    def regularization(self) -> float:
        """lambda."""

    @property
    def penalty(self) -> Penalty:
        """What R is made of, in units of lambda."""

    @property
    def convex(self) -> bool:
        """Whether P is convex: the loss is, scores are linear in the weights, and all gold outputs
        are known in full.
        """

    @property
    def sparse(self) -> bool:
        """Whether the scorer is `SparseFeatures`: then compiled passes run, and scores are linear
        in the weights.
        """

    @property
    def list_kernels(self) -> Kernels:
        """`kernels` with the one that lists the k best outputs, which others lack because it
        compiles for long.
        """

    @property
    def space(self) -> Space:
        """Scratch of the optimizer's thread."""

    @property
    def examples(self) -> Any:
        """The corpus: encoded, with graphs and features."""

    @property
    def messages(self) -> Array:
        """What the inference keeps between visits, of all instances; empty where it keeps
        nothing.
        """

    def with_loss(self, loss: Loss) -> Objective:
        """The same instances with another loss, whose costs are the same."""

    def run(self, driver: Driver[P, Result], *arguments: P.args, **named: P.kwargs) -> Result:
        """Call a driver on the kernels and the data, in this thread; compiled or not, as the
        kernels are.
        """

    def threads(self, most: int) -> int:
        """Return the number of threads that share `most` visits at the same weights: at most the
        executor's workers; 1 if these are other processes.
        """

    def run_together(
        self,
        driver: Driver[..., Result],
        helper: Callable[[], Driver[..., None]],
        threads: int,
        shared: Sequence[Any],
        *arguments: Any,
    ) -> Result:
        """Call a driver in this thread, and a helper in so many others, until the driver ends.

        Parameters
        ----------
        driver : compiled driver
            Takes kernels, data and scratch; `shared`; the counters of the team
            (`structopt.kernels.waist.team`); and `arguments`.
        helper : callable
            Returns the compiled driver of the other threads, which takes what `driver` takes
            without `arguments`. It is called if there are other threads.
        threads : int
        shared : sequence
            Arrays that all threads read and write.

        Raises
        ------
        Exception
            The error of one thread; the other threads then end early.
        """

    @property
    def steps(self) -> int:
        """Steps of the optimizer that a pass consists of: more than one only where its plan is
        divisible.
        """

    def order(self, epoch: int) -> Array:
        """Order of the instances in a step: a permutation of all of them that depends on the seed
        and the pass alone.

        Where a pass has several `steps`, of those in the window that the step visits.
        """

    @property
    def storage(self) -> Storage:
        """Where arrays as long as the corpus are kept."""

    def part_vector(self, name: str) -> Array:
        """Return zeros over the parts of all instances, or raise `ConfigError` where they do not
        fit into memory.
        """

    def minibatch(
        self, weights: Array, instances: Array, noise: Sequence[int] = ()
    ) -> tuple[float, Array]:
        """Sum of L_i of some instances, given by their numbers, and its (sub)gradient by the
        weights, for any scorer.

        `noise` is whole numbers that tell the batch from all others of a run:
        `structopt.core.scorer.Scorer.training`.
        """

    def losses(self, weights: Array) -> float:
        """Sum of L_i at the given weights."""

    def objective(self, weights: Array) -> float:
        """P at the given weights."""

    def judge(self, weights: Array) -> float:
        """Score of some weights, higher is better, by which trials are compared: a dev score where
        there is one, else -P.
        """

    def ridge(self, weights: Array) -> float:
        """lambda/2 ||theta||^2."""

    def gradient(self, weights: Array, out: Array | None = None) -> tuple[float, Array]:
        """Sum of L_i at the given weights, and its (sub)gradient sum_i F_i (z_bar_i - z_i), written
        to `out` if given.
        """

    def sum_gradients(self, residuals: Array, out: Array) -> None:
        """Fill `out` with sum_i F_i r_i, given residuals over the parts of all instances."""

    def certificate(self, weights: Array) -> Certificate:
        """P at the given weights, and the best lower bound on its minimum that one evaluation
        gives.
        """

    def bound(self, slope: float, norm: float) -> float:
        """max over 0 <= t <= 1 of t * slope - t^2 * norm / (2 lambda)."""
