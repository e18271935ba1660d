"""The optimizers side by side on one attribute file: seconds a pass, share of inference,
certificates, dual objectives.

pytest tests/benchmarks/test_optimizers.py -s
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from structopt.objective.decoding import best_outputs
from tests.benchmarks.attribute_file import component, dev_f1, problem, timed

pytestmark = pytest.mark.benchmark

ONLINE = {
    "perceptron": ("perceptron", {}),
    "mira": ("svm", {}),
    "online_cutting_plane": ("svm", {}),
    "adagrad": ("svm", {"batch_size": 10, "eta": 0.1}),
    "pegasos": ("svm", {}),
    "sgd": ("crf", {"eta": 0.1}),
    "dca": ("crf", {}),
}


def run(
    name: str, loss: str, passes: int, C: float, **parameters: Any
) -> tuple[list[float], Any, Any, Any]:
    """Seconds of every pass, the problem, the optimizer and its last state."""
    optimizer = component("optimizer", name, C=C, epochs=passes, **parameters)
    made = problem(loss, C, optimizer)
    state, seconds = optimizer.init(made, np.zeros(made.dimension)), []
    for _ in range(passes):
        started = time.perf_counter()
        state, _ = optimizer.step(made, state)
        seconds.append(time.perf_counter() - started)
    return seconds, made, optimizer, state


def test_seconds_a_pass_relative_to_the_perceptron() -> None:
    """Kummerfeld et al. (2015), Table 1, on this file: ten passes each; decoding is one pass of
    scores and Viterbi.
    """
    means: dict[str, float] = {}
    print()
    for name, (loss, parameters) in ONLINE.items():
        seconds, made, optimizer, state = run(name, loss, 10, 0.1, **parameters)
        means[name] = float(np.mean(seconds))
        weights = optimizer.weights(state)
        decoding = min(
            timed(lambda m=made, w=weights: best_outputs(m.examples, m.kernels, w, m.executor))
            for _ in range(3)
        )  # type: ignore[misc]
        ratio, share = means[name] / means["perceptron"], decoding / means[name]
        print(
            f"{name:22} {means[name]:6.3f} s a pass, {ratio:5.2f} of the perceptron's; decoding "
            f"{share:.2f} of it; ",
            end="",
        )
        print(f"dev F1 {dev_f1(made, weights):.4f}")
    seconds, made, optimizer, state = run("cutting_plane", "svm", 10, 0.1)
    mean, f1 = float(np.mean(seconds)), dev_f1(made, optimizer.weights(state))
    print(
        f"{'cutting_plane':22} {mean:6.3f} s a round, {mean / means['perceptron']:5.2f} of the "
        f"perceptron's; dev F1 {f1:.4f}"
    )


@pytest.mark.parametrize("C", [1.0])
def test_certified_crf(C: float) -> None:
    """Passes and seconds until the certified gap of sdca is 1e-3, and until L-BFGS is within 1e-3
    of the optimum.
    """
    optimizer = component("optimizer", "sdca", C=C, sampling="gap")
    made = problem("crf", C, optimizer)
    state, seconds, best = optimizer.init(made, np.zeros(made.dimension)), 0.0, 0.0
    print()
    for epoch in range(1, 61):
        started = time.perf_counter()
        state, report = optimizer.step(made, state)
        seconds += time.perf_counter() - started
        primal, best = made.objective(optimizer.weights(state)), max(best, report.dual)
        gap = (primal - report.dual) / primal
        print(
            f"sdca pass {epoch}: {seconds:.2f} s, primal {primal:.6f}, dual {report.dual:.6f}, "
            f"relative gap {gap:.2e}"
        )
        if gap <= 1e-3:
            break
    optimizer = component("optimizer", "lbfgs", C=C, epochs=400)
    made = problem("crf", C, optimizer)
    state, seconds, curve = optimizer.init(made, np.zeros(made.dimension)), 0.0, []
    for _epoch in range(400):
        started = time.perf_counter()
        state, report = optimizer.step(made, state)
        seconds += time.perf_counter() - started
        curve.append((report.primal, seconds, len(report.evaluations)))
        if report.finished or (
            report.dual is not None and report.primal - report.dual <= 1e-5 * report.primal
        ):
            break
    optimum = curve[-1][0]
    within = next(q for q, (primal, _, _) in enumerate(curve) if primal <= optimum * (1 + 1e-3))
    evaluations = sum(count for _, _, count in curve[: within + 1])
    seconds = curve[within][1]
    print(
        f"lbfgs: within 1e-3 of {optimum:.6f} after {within + 1} iterations, {evaluations} "
        f"evaluations, {seconds:.2f} s"
    )


def test_lazy_adagrad() -> None:
    """A pass of the lazy updates against the same one with eager updates, over the first 200
    instances (batch size 1).
    """
    from tests.benchmarks.eager_adagrad import adagrad_eager_pass

    optimizer = component("optimizer", "adagrad", C=0.1, eta=0.1)
    made = problem("svm", 0.1, optimizer)
    state = optimizer.init(made, np.zeros(made.dimension))
    whole = timed(lambda: optimizer.step(made, state))
    theta, squares, dense = (np.zeros(made.dimension) for _ in range(3))
    order = made.order(0)[:200]
    rest = (1, theta, squares, dense, 0.1, made.regularization, False)
    eager = timed(lambda: made.run(adagrad_eager_pass, order, *rest)) / len(order)
    lazy = whole / made.m
    print(
        f"\nadagrad: {1e6 * lazy:.0f} us a visit lazily, {1e6 * eager:.0f} us eagerly: ratio "
        f"{eager / lazy:.0f}"
    )
