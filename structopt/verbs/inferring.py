r"""Values and marginals of scores: log-partition functions, entropies, divergences, covariances.

For scores s over the parts of an instance, outputs y with indicators z, and a temperature T > 0::

    V(s) = T log sum_y exp(s^T z_y / T)      the value
    mu(s) = sum_y p(y) z_y                   its gradient, the marginals; p(y) ~ exp(s^T z_y / T)

At T = 0 the value is max_y s^T z_y, and a best output takes the place of the marginals.
"""

from __future__ import annotations

from functools import partial
from math import inf

import numpy as np

from structopt.core import checks
from structopt.core.ability import Ability
from structopt.core.inference import Inference
from structopt.core.parts.batch import Batch
from structopt.core.parts.differences import marginal_slope
from structopt.core.parts.inferred import Inferred, guarantee_of
from structopt.core.parts.parts import Parts
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array
from structopt.verbs.given_scores import solver_of


def infer(
    scores: Parts,
    inference: Inference | None = None,
    *,
    temperature: float,
    threads: int = 1,
) -> Inferred:
    """Return V(s) and mu(s).

    Parameters
    ----------
    scores : Parts
    inference : Inference or None
        None: exact inference.
    temperature : float
        At least 0.
    threads : int
        The instances are divided among at most so many threads, and at most one per core. Bits do
        not depend on it. A call with less than about a millisecond of work remains in one thread.

    Raises
    ------
    ArgumentError
        If the inference gives no marginals on the graph, or if the graph has no exact inference.
    InfeasibleError
        If scores of -inf leave an instance without an output.
    """
    batch = scores_batch(scores)
    T = _temperature(temperature)
    solver = solver_of(batch, inference, Ability.MARGINALS if T > 0 else Ability.MAP)
    values, found = solver.infer(scores, T, threads)
    return Inferred(values, found, guarantee_of(solver.provides))


def log_partition(
    scores: Parts,
    inference: Inference | None = None,
    temperature: float = 1.0,
    *,
    threads: int = 1,
) -> Array:
    """Return T log sum_y exp(s^T z_y / T), nats, shape (instances,)."""
    return infer(scores, inference, temperature=positive(temperature), threads=threads).value


def marginals(
    scores: Parts,
    inference: Inference | None = None,
    temperature: float = 1.0,
    *,
    threads: int = 1,
) -> Parts:
    """Return the probability of each part, and the expected counts of tied parts."""
    return infer(scores, inference, temperature=positive(temperature), threads=threads).marginals


def entropy(
    scores: Parts,
    inference: Inference | None = None,
    temperature: float = 1.0,
    *,
    threads: int = 1,
) -> Array:
    """Return the entropy H(p) = (V(s) - s^T mu(s)) / T, nats, shape (instances,)."""
    T = positive(temperature)
    found = infer(scores, inference, temperature=T, threads=threads)
    return (found.value - scores @ found.marginals) / T


def kl(
    scores: Parts, other: Parts, inference: Inference | None = None, *, threads: int = 1
) -> Array:
    """Return the divergence KL(p_s || p_r) = (s - r)^T mu(s) - V(s) + V(r), shape (instances,).

    It is +inf if r forbids an output that s allows.
    """
    scores.batch.check_same(other)
    found = infer(scores, inference, temperature=1.0, threads=threads)
    own, others = scores @ found.marginals, other @ found.marginals
    return own - others - found.value + log_partition(other, inference, threads=threads)


def covariance_product(
    scores: Parts,
    direction: Parts,
    inference: Inference | None = None,
    temperature: float = 1.0,
    *,
    threads: int = 1,
) -> Parts:
    """Return Cov(z) v / T, the derivative of the marginals in a direction v, by central
    differences (`marginal_slope`).
    """
    scores.batch.check_same(direction)
    if not np.isfinite(direction.flat).all():
        raise ArgumentError("must be finite.", parameter="direction")
    differentiated = partial(infer, inference=inference, threads=threads)
    return marginal_slope(differentiated, scores, direction, positive(temperature))


def scores_batch(scores: object) -> Batch:
    """Return the batch of scores.

    Raises
    ------
    ArgumentError
        For anything but parts, and for NaN and +inf.
    """
    if not isinstance(scores, Parts):
        raise ArgumentError(
            "must be scores of a batch.",
            parameter="scores",
            value=scores,
            remedy="Make them by batch.scores(label=...).",
        )
    if not scores.flat.max(initial=-np.inf) < np.inf:  # one traversal; NaN is not below it
        part = int(np.argmax(~(scores.flat < np.inf)))
        instance = int(np.searchsorted(scores.batch.offsets, part, side="right")) - 1
        raise ArgumentError(
            "has NaN or +inf.", parameter="scores", where=f"instance {instance}, part {part}"
        )
    return scores.batch


def _temperature(temperature: float) -> float:
    if type(temperature) is float and 0.0 <= temperature < inf:  # most are
        return temperature
    return float(checks.floats("temperature", temperature, (), least=0.0))


def positive(temperature: float) -> float:
    """Return a temperature above 0, or refuse it."""
    T = _temperature(temperature)
    if T == 0.0:
        raise ArgumentError("must be above 0.", parameter="temperature", value=temperature)
    return T
