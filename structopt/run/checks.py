"""Comparison of a problem's inference, loss and steps with slow, obvious computations, for
``check=true``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structopt.config import registry
from structopt.core.optimizer import Optimizer
from structopt.core.optimizer_state import State
from structopt.core.structure_kind import TooManyOutputs
from structopt.errors import StructoptError, full_installation
from structopt.kernels.waist.record import Array
from structopt.objective.problem import Problem

MOST_OUTPUTS = 20_000
STEP = 1e-5  # of the finite differences, in nats


def check_inference(
    problem: Problem, weights: Array, seed: int, sample: int = 8, tolerance: float = 1e-6
) -> str:
    """Compare value and marginals with a listing of all outputs, or with finite differences where
    there are too many.

    Parameters
    ----------
    problem : Problem
    weights : float64, shape (dimension,)
    seed : int
        Of the sample and of the directions of the differences.
    sample : int
        How many instances to look at; short ones are preferred.
    tolerance : float
        Largest difference that is let pass, relative to values above 1.

    Returns
    -------
    str
        What was compared, as a sentence.

    Raises
    ------
    StructoptError
        At a larger difference.
    """
    generator = np.random.default_rng([seed, problem.m])
    chosen = _sample(problem, generator, sample)
    listed, largest = 0, 0.0
    for i in chosen:
        s = _scores(problem, weights, i)
        reference = _listing(problem, i)
        if reference is None:
            difference = _from_differences(problem, i, s, generator)
        else:
            listed += 1
            difference = _from_listing(problem, reference, i, s)
        if not difference <= tolerance:
            raise StructoptError(
                "inference does not agree with the reference: on training instance "
                f"{i + 1} they differ by {difference:.2g} (allowed: {tolerance:g}).",
                remedy="Use another inference, or leave out check=true if this one is approximate.",
            )
        largest = max(largest, difference)
    rest = (
        "" if listed == len(chosen) else f", {len(chosen) - listed} of them by finite differences"
    )
    return (
        f"inference agrees with the reference on {len(chosen)} instances{rest} (largest "
        f"difference {largest:.0e})"
    )


def check_gradient(
    problem: Problem, weights: Array, seed: int, sample: int = 8, tolerance: float = 1e-6
) -> str:
    """Compare the gradient of the loss with finite differences along random directions of the part
    scores.

    The loss of a maximum (beta = inf) has no derivative where two outputs are best. An instance is
    skipped if its subgradient changes within the finite difference.

    Parameters
    ----------
    problem : Problem
    weights : float64, shape (dimension,)
    seed : int
        Seeds the sample and the directions.
    sample : int
        Number of instances; short ones are preferred.
    tolerance : float
        Largest allowed difference, relative to losses above 1.

    Returns
    -------
    str
        The result, as a sentence.

    Raises
    ------
    StructoptError
        At a larger difference.
    """
    generator = np.random.default_rng([seed, problem.m, 2])
    compared, skipped, largest = 0, 0, 0.0
    for i in _sample(problem, generator, sample):
        s = _scores(problem, weights, i)
        direction = generator.normal(size=len(s))
        direction /= np.linalg.norm(direction)
        (ahead, one), (loss, gradient), (behind, other) = (
            problem.loss_at(i, s + sign * STEP * direction) for sign in (1, 0, -1)
        )
        if problem.loss.temperature == 0.0 and not (
            np.array_equal(one, gradient) and np.array_equal(gradient, other)
        ):
            skipped += 1
            continue
        slope = (ahead - behind) / (2 * STEP)
        difference = abs(slope - float(gradient @ direction)) / max(1.0, abs(loss))
        if not difference <= tolerance:
            raise StructoptError(
                "the gradient of the loss does not agree with finite differences: on training "
                f"instance {i + 1} they differ by {difference:.2g} (allowed: {tolerance:g}).",
                remedy="Correct the kernel of the loss, or leave out check=true if the inference "
                "is approximate.",
            )
        compared, largest = compared + 1, max(largest, difference)
    ties = f"; {skipped} instances skipped, on which two outputs are best" if skipped else ""
    if not compared:
        return f"the gradient of the loss was not compared{ties}"
    return (
        f"the gradient of the loss agrees with finite differences on {compared} instances "
        f"(largest difference {largest:.0e}){ties}"
    )


def check_steps(
    problem: Problem,
    optimizer: Optimizer,
    state: State,
    seed: int,
    sample: int = 32,
    tolerance: float = 1e-4,
) -> str:
    """Compare steps of an optimizer that solves quadratic programs with cvxpy's solutions of the
    same programs.

    Parameters
    ----------
    problem : Problem
    optimizer : Optimizer
        Whose `verify` gives the largest relative difference, or None where it solves no programs.
    state : State
        Its state, from which the steps are made; it is left as it is.
    seed : int
        Of the sample.
    sample : int
        How many instances to look at; short ones are preferred.
    tolerance : float
        Largest difference that is let pass.

    Returns
    -------
    str
        What was compared, as a sentence; the empty string where there is nothing to compare.

    Raises
    ------
    StructoptError
        At a larger difference.
    """
    chosen = _sample(problem, np.random.default_rng([seed, problem.m, 1]), sample)
    with full_installation("A check of steps"):
        difference = optimizer.verify(problem, state, chosen)
    if difference is None:
        return ""
    if not difference <= tolerance:
        raise StructoptError(
            f"the optimizer's steps do not agree with the reference: on {len(chosen)} instances "
            f"they differ by {difference:.2g} "
            f"(allowed: {tolerance:g}). This is a defect, or data of extreme scale; the model of "
            "the run is kept."
        )
    return (
        f"steps agree with the reference on {len(chosen)} instances (largest difference "
        f"{difference:.0e})"
    )


def _sample(problem: Problem, generator: np.random.Generator, size: int) -> list[int]:
    """Random instances, three quarters of them from the shorter half of a larger sample."""
    drawn = generator.permutation(problem.m)[: 50 * size]
    drawn = drawn[np.argsort(np.diff(problem.structure.parts)[drawn], kind="stable")]
    short = min(len(drawn), size - size // 4)
    rest = generator.permutation(drawn[short:])[: size - short]
    return [int(i) for i in (*drawn[:short], *rest)]


def _scores(problem: Problem, weights: Array, i: int) -> Array:
    parts = problem.structure.parts
    s = np.zeros(int(parts[i + 1] - parts[i]))
    data, theta = problem.examples.scored(problem.data, weights, (i, i + 1))
    problem.kernels.scores(data.features, theta, i, s, problem.space.gradient)
    return s


def _listing(problem: Problem, i: int) -> Any:
    """Return the listing's kernel; None where there are too many outputs, or they cannot be
    listed.
    """
    structure = problem.structure
    if structure.kind.vertices is None:
        return None
    try:
        structure.kind.vertices(structure.record, i, int(np.diff(structure.parts)[i]), MOST_OUTPUTS)
    except TooManyOutputs:
        return None
    return registry.create("inference", {"name": "enumeration"}).kernels(structure.kind).solve


def _solve(problem: Problem, solve: Any, i: int, s: Array) -> tuple[float, Array]:
    structure, z = problem.structure, np.zeros(len(s))
    memory = np.zeros(int(structure.memory[i + 1] - structure.memory[i]))
    temperature = float(problem.data.parameters[0])
    return float(
        solve(structure.record, i, s.copy(), temperature, z, memory, problem.space.work)
    ), z


def _from_listing(problem: Problem, reference: Any, i: int, s: Array) -> float:
    """Difference of the values, and of the marginals (at temperature 0: of the score of the
    maximiser).
    """
    value, z = _solve(problem, problem.kernels.solve, i, s)
    expected, marginals = _solve(problem, reference, i, s)
    scale = max(1.0, abs(expected))
    if problem.data.parameters[0] == 0.0:
        return max(abs(value - expected), abs(float(s @ z) - expected)) / scale
    return max(abs(value - expected) / scale, float(np.abs(z - marginals).max()))


def _from_differences(problem: Problem, i: int, s: Array, generator: np.random.Generator) -> float:
    """Difference of the marginals' slope and the value's, along a random direction; ties at
    temperature 0 have none.
    """
    direction = generator.normal(size=len(s))
    direction /= np.linalg.norm(direction)
    solve = problem.kernels.solve
    value, z = _solve(problem, solve, i, s)
    ahead, behind = (_solve(problem, solve, i, s + sign * STEP * direction) for sign in (1, -1))
    if problem.data.parameters[0] == 0.0:
        best = max(float(s @ vertex) for vertex in (z, ahead[1], behind[1]))
        return abs(value - best) / max(1.0, abs(value))
    slope = (ahead[0] - behind[0]) / (2 * STEP)
    return abs(slope - float(z @ direction)) / max(1.0, abs(value))
