"""AdamW by PyTorch, with a schedule of its steps."""

from __future__ import annotations

from contextlib import nullcontext
from math import cos, pi
from typing import Any, Literal

import numpy as np
import torch

from structopt.plugin import (
    Array,
    ConfigError,
    FactorGraph,
    Footprint,
    Loss,
    Needs,
    Objective,
    Optimizer,
    Plan,
    ProblemSizes,
    Report,
    State,
)
from structopt_torch.devices import threads_at
from structopt_torch.modules import on
from structopt_torch.scorer import TorchScorer


class TorchAdamW(Optimizer):
    """Steps along the mean of gradients, over the root of the mean of their squares; weights decay
    beside them.

    With g the mean gradient of a batch's losses, shortened to the norm `clip`, in step t of T:

        m <- beta1 m + (1 - beta1) g,    v <- beta2 v + (1 - beta2) g^2
        theta <- theta - r_t (weight_decay theta + (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) +
        epsilon)) r_t = lr min(1, t / (warmup T)) f((t - warmup T) / (T - warmup T))

    f is 1 (constant), 1 - u (linear) or (1 + cos(pi u)) / 2 (cosine), and 1 before the end of the
    warm-up. T counts the steps of all `epochs`, so that a run which is resumed with more of them
    has other steps from there on, unless warmup=0 and schedule=constant.

    Parameters
    ----------
    C, epochs
        See `structopt.config.fit_settings.FitSettings`.
    lr : float, from 1e-12 to 1e12
        Length of steps, after the warm-up.
    batch_size : int
        Instances a step.
    schedule : str
        ``constant``, or ``linear`` or ``cosine``: falling to zero over the passes.
    warmup : float
        Share of the steps in which their length rises, in [0, 1].
    clip : float or None
        Largest norm of a gradient; None: any.
    weight_decay : float or None
        Of the weights; None: lambda, that of P.
    beta1, beta2 : float
        Decay of the means, in [0, 1).
    epsilon : float, from 1e-12 to 1e12
        Added to the root of the mean of squares.
    average : bool
        Return the mean of all iterates (before each update, one a visit) instead of the last one.

    Notes
    -----
    Loshchilov and Hutter (2019), Algorithm 2; weights that may not move have no gradient, and stay.
    """

    def __init__(
        self,
        C: float = 1.0,
        epochs: int = 12,
        lr: float = 2e-3,
        batch_size: int = 32,
        schedule: Literal["constant", "linear", "cosine"] = "linear",
        warmup: float = 0.05,
        clip: float | None = 5.0,
        weight_decay: float | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        average: bool = False,
        threads: int = 1,
    ) -> None:
        for name, value in {
            "C": C,
            "lr": lr,
            "epsilon": epsilon,
            "clip": 1.0 if clip is None else clip,
        }.items():
            if not 1e-12 <= value <= 1e12:
                raise ConfigError(
                    f"optimizer.{name}={value} must be greater than 0 and finite: from 1e-12 to "
                    "1e12."
                )
        for name, value, least in (
            ("epochs", epochs, 0),
            ("batch_size", batch_size, 1),
            ("weight_decay", weight_decay or 0, 0),
        ):
            if not least <= value <= 1e12:
                raise ConfigError(f"optimizer.{name}={value} must be at least {least}.")
        for name, value in {"beta1": beta1, "beta2": beta2}.items():
            if not 0 <= value < 1:
                raise ConfigError(f"optimizer.{name}={value} must be at least 0 and below 1.")
        if not 0 <= warmup <= 1:
            raise ConfigError(f"optimizer.warmup={warmup} must be from 0 to 1.")
        self.C, self.epochs, self.lr, self.batch_size = float(C), epochs, float(lr), batch_size
        self.schedule, self.warmup, self.clip, self.weight_decay = (
            schedule,
            float(warmup),
            clip,
            weight_decay,
        )
        self.betas, self.epsilon, self.average = (
            (float(beta1), float(beta2)),
            float(epsilon),
            average,
        )
        self.threads = max(1, int(threads))

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """A (sub)gradient of any scorer."""
        return Needs(features="any")

    @property
    def plan(self) -> Plan:
        """Steps on batches."""
        return Plan(
            "minibatch",
            kernel_modules=("structopt.kernels.passes.minibatches",),
            weights=("theta", "total", "gradients", "squares"),
            bound="its rates follow a schedule that ends with the run",
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Beside the weights and their mean, the means of gradients and of their squares; in a
        step, a gradient and its mean.
        """
        means = {"means of gradients": sizes.weight_vector, "means of squares": sizes.weight_vector}
        mean = {"their mean": sizes.weight_vector} if self.average else {}
        return Footprint(
            {"weights": sizes.weight_vector} | mean | means, step=2 * sizes.weight_vector
        )

    def init(self, problem: Objective, weights: Array) -> State:
        """Start from the given weights."""
        means = {"gradients": np.zeros(problem.dimension), "squares": np.zeros(problem.dimension)}
        total = np.zeros(problem.dimension if self.average else 0)
        return {"theta": weights.copy(), "total": total, **means, "visits": 0.0, "epoch": 0}

    def step(self, problem: Objective, state: State) -> tuple[State, Report]:
        """Make an epoch in a random order that depends only on the seed and the epoch.

        Weights, gradients and their means stay on the device of a network until the end, unless it
        has sparse features.
        """
        order, theta, losses = problem.order(state["epoch"]), state["theta"], 0.0
        batches = range(0, len(order), self.batch_size)
        done = state["epoch"] * len(batches)
        scorer = problem.scorer
        with scorer.resident(theta) if isinstance(scorer, TorchScorer) else nullcontext() as own:
            point = own.point if own else torch.nn.Parameter(torch.from_numpy(theta))
            moved = {name: on(state[name], point) for name in ("total", "gradients", "squares")}
            adamw = self._adamw(problem, point, moved, done)
            for number, first in enumerate(batches, 1):
                batch = order[first : first + self.batch_size]
                loss, gradient = problem.minibatch(theta, batch, (state["epoch"], first))
                losses += loss
                if len(moved["total"]):
                    moved["total"] += len(batch) * point.detach()
                rate = self.rate(done + number, len(batches) * self.epochs)
                slope = own.gradient if own else torch.from_numpy(gradient)
                self._move(adamw, point, slope / len(batch), rate)
                if own:
                    own.follow()
                state["visits"] += float(len(batch))
            for name, tensor in {"theta": point.detach(), **moved}.items():
                torch.from_numpy(state[name]).copy_(tensor)
        return state | {"epoch": state["epoch"] + 1}, Report(loss=losses)

    def _adamw(
        self, problem: Objective, point: torch.Tensor, moved: dict[str, torch.Tensor], done: int
    ) -> torch.optim.AdamW:
        """Return PyTorch's optimizer, which moves `point` and the means of the state."""
        decay = problem.regularization if self.weight_decay is None else self.weight_decay
        adamw = torch.optim.AdamW([point], self.lr, self.betas, self.epsilon, decay, fused=True)
        adamw.state[point] = {
            "step": torch.tensor(float(done), device=point.device),
            "exp_avg": moved["gradients"],
            "exp_avg_sq": moved["squares"],
        }
        return adamw

    def _move(self, adamw: Any, point: torch.Tensor, gradient: torch.Tensor, rate: float) -> None:
        """Make one step, in place."""
        with threads_at(self.threads):
            point.grad = gradient
            if self.clip is not None:
                torch.nn.utils.clip_grad_norm_([point], self.clip)
            adamw.param_groups[0]["lr"] = rate
            adamw.step()

    def rate(self, step: int, steps: int) -> float:
        """r_t of step t, from 1, of so many."""
        warm = self.warmup * steps
        rate = self.lr * min(1.0, step / warm) if warm else self.lr
        u = max(0.0, (step - 1 - warm) / (steps - warm)) if steps > warm else 0.0
        return (
            rate
            * {"constant": 1.0, "linear": 1.0 - u, "cosine": (1.0 + cos(pi * u)) / 2.0}[
                self.schedule
            ]
        )

    def weights(self, state: State) -> Array:
        """Return theta, or the mean of the iterates."""
        return (
            state["total"] / state["visits"]
            if len(state["total"]) and state["visits"]
            else state["theta"]
        )
