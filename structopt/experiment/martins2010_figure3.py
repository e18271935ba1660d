"""Martins et al. (2010), Figure 3: learning curves of DCA, SGD and L-BFGS on named entities."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from structopt.experiment.curves import Curve, Panel, draw
from structopt.experiment.report import Claim, Report, Table
from structopt.experiment.runs import (
    SMALL,
    Groups,
    at_pass,
    cannot_tell,
    first_reaching,
    grouped,
    mean,
    setting_of,
    several_seeds,
    with_curve,
)
from structopt.run.plots import COLOURS
from structopt.run.records import RunRecord, mean_curve

F1 = "dev.f1"
LBFGS_DEV, LBFGS_TEST, LBFGS_PASSES = 90.53, 85.31, 121
"""Caption of Figure 3: "L-BFGS ultimately converges after 121 iterations to an F1 of" so much on dev and on test."""
NOISE = 0.1
"""Points of a lead that count as none, since another seed may change a score by as much."""


def figure3(records: Sequence[RunRecord], scale: str) -> Report:
    """Figure 3: dev F1 of DCA, SGD and L-BFGS while they learn."""
    groups = with_curve(grouped(records, lambda record: f"{setting_of(record)} C={float(record.setting('optimizer.C')):g}"), F1)
    notes = [
        f"The paper gives its curves only, and of L-BFGS {LBFGS_DEV} on dev and {LBFGS_TEST} on test after {LBFGS_PASSES} "
        "iterations. Its features have gazetteers; here are the shipped templates.",
        "As in the paper, neither axis counts the passes in which SGD tries its learning rates.",
        "Seconds are of this machine, and only comparable where nothing else ran on it.",
    ]
    return Report(
        "Learning curves on named entities, CRF", "Martins et al. (2010), Figure 3; CoNLL-2003 English, dev split",
        (_table(groups),), _claims(groups),
        ((SMALL,) if scale == "small" else ()) + (*several_seeds(records), *notes), partial(draw, _panels(groups)),
    )  # fmt: skip


def _table(groups: Groups) -> Table:
    rows = []
    for name, runs in groups.items():
        points = mean_curve(runs, F1, times=100.0)
        scores = [at_pass(points, one) for one in (1, 5, 10)]
        seconds = mean(runs, "train.seconds_per_epoch")
        rows.append((name, *scores, points[1][-1], int(points[0][-1]), seconds, LBFGS_DEV if name.startswith("L-BFGS") else None))
    columns = ("", "pass 1", "pass 5", "pass 10", "last pass", "passes", "s a pass", f"theirs, pass {LBFGS_PASSES}")
    return Table(columns, tuple(rows), "F1 on the dev split, percent")


def _panels(groups: Groups) -> list[Panel]:
    best = max((max(mean_curve(runs, F1, times=100.0)[1]) for runs in groups.values()), default=100.0)
    panels = []
    for against, x in (("epoch", "passes"), ("seconds", "seconds of training")):
        curves = [
            Curve(*mean_curve(runs, F1, against, 100.0), name, COLOURS[number % len(COLOURS)])
            for number, (name, runs) in enumerate(groups.items())
        ]
        panels.append(Panel(curves, x, "F1 on dev, %", low=_floor(curves, best), high=best + 0.5))
    return panels


def _floor(curves: Sequence[Curve], best: float) -> float:
    """Return the lower end of the y axis: with first passes far below the rest, the last ones could not be told apart."""
    return max(min((min(curve.y) for curve in curves), default=0.0), best - 12.0)


def _claims(groups: Groups) -> tuple[Claim, ...]:
    better = "DCA reaches better-performing models than the baselines"
    fast = "DCA converges to accurate models at least as fast as SGD"
    lower = "SGD at C = 10 is lower than the others: dev-set validation chose a suboptimal learning rate"
    late = "(by its curves) L-BFGS takes many more passes to a model as good as DCA's after its fifth"
    best = {name: max(mean_curve(runs, F1, times=100.0)[1]) for name, runs in groups.items()}
    dca, others = _of(best, "DCA"), {name: score for name, score in best.items() if not name.startswith("DCA")}
    if not dca or not others:
        return tuple(cannot_tell(text, "DCA or no baseline") for text in (better, fast, lower, late))
    noise, top = NOISE, max(others, key=lambda name: others[name])
    listed = ", ".join(f"{name} {score:.2f}" for name, score in best.items())
    return (
        Claim(better, max(dca.values()) > others[top] + noise, f"best passes: {listed}; a lead below {noise:g} is none"),
        _fast(fast, groups),
        _lower(lower, groups),
        _late(late, groups),
    )


def _of(scores: dict[str, float], method: str) -> dict[str, float]:
    return {name: score for name, score in scores.items() if name.split()[0] == method}


def _fast(text: str, groups: Groups) -> Claim:
    """Compare, at every C that both methods have, the passes to the lower of their best scores less the noise."""
    held, listed = [], []
    for name in [name for name in groups if name.startswith("DCA")]:
        other = name.replace("DCA", "SGD", 1)
        if other not in groups:
            continue
        dca, sgd = (mean_curve(groups[one], F1, times=100.0) for one in (name, other))
        level = min(max(dca[1]), max(sgd[1])) - NOISE
        passes = first_reaching(dca, level) or 0.0, first_reaching(sgd, level) or 0.0
        held.append(passes[0] <= passes[1])
        listed.append(f"{name.split()[-1]}: {level:.2f} at pass {passes[0]:g}, SGD {passes[1]:g}")
    return Claim(text, all(held), "; ".join(listed)) if held else cannot_tell(text, "SGD")


def _lower(text: str, groups: Groups) -> Claim:
    last = {name: mean_curve(runs, F1, times=100.0)[1][-1] for name, runs in groups.items()}
    if "SGD C=10" not in last or len(last) < 3:
        return cannot_tell(text, "SGD at C = 10")
    rest = {name: score for name, score in last.items() if name != "SGD C=10"}
    lowest = min(rest, key=lambda name: rest[name])
    evidence = f"last pass: {last['SGD C=10']:.2f}; lowest of the others {lowest} {rest[lowest]:.2f}"
    return Claim(text, last["SGD C=10"] < rest[lowest] - NOISE, evidence)


def _late(text: str, groups: Groups) -> Claim:
    pairs = [name for name in groups if name.startswith("L-BFGS") and name.replace("L-BFGS", "DCA", 1) in groups]
    if not pairs:
        return cannot_tell(text, "DCA and L-BFGS at the same C")
    dca, batch = (mean_curve(groups[name], F1, times=100.0) for name in (pairs[0].replace("L-BFGS", "DCA", 1), pairs[0]))
    level = at_pass(dca, 5)
    if level is None:
        return cannot_tell(text, "fifth pass of DCA")
    reached = first_reaching(batch, level)
    there = f"there after {reached:g}" if reached else f"not there after {batch[0][-1]:g}"
    evidence = f"DCA {level:.2f} after 5; L-BFGS {there}"
    return Claim(text, reached is None or reached > 10, evidence)
