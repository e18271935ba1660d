"""Martins et al. (2010), Figure 3: learning curves of DCA, SGD and L-BFGS on named entities."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import le

from structopt.experiment.curves import Curve, Panel, draw
from structopt.experiment.martins2010 import word_lists
from structopt.experiment.noise import Arrival, every, higher, settled, sooner
from structopt.experiment.report import Claim, Report, Table
from structopt.experiment.runs import (
    SMALL,
    Groups,
    Parts,
    arrival,
    at_passes,
    cannot_tell,
    grouped,
    highest,
    sample,
    sample_of,
    setting_of,
    several_seeds,
    with_curve,
)
from structopt.run.plots import COLOURS
from structopt.run.records import RunRecord, mean_curve

F1 = "f1"
LBFGS_DEV, LBFGS_TEST, LBFGS_PASSES = 90.53, 85.31, 121
"""Caption of Figure 3: "L-BFGS ultimately converges after 121 iterations to an F1 of" so much on
dev and on test.
"""
CLOSE = 0.1
"""Points below the lower of two best scores at which speed is compared."""


def figure3(records: Sequence[RunRecord], scale: str) -> Report:
    """Figure 3: dev F1 of DCA, SGD and L-BFGS while they learn."""
    named = grouped(
        records, lambda record: f"{setting_of(record)} C={float(record.setting('optimizer.C')):g}"
    )
    groups, parts = with_curve(named, f"dev.{F1}"), Parts.of(records)
    key = parts.curve(F1, [run for runs in groups.values() for run in runs])
    notes = [
        f"The paper gives only curves and, for L-BFGS after {LBFGS_PASSES} iterations, "
        f"{LBFGS_DEV} on eng.testa and {LBFGS_TEST} on eng.testb. Its features include "
        f"gazetteers. {word_lists(records)}",
        "As in the paper, the epochs in which SGD tries its learning rates are not counted.",
    ]
    return Report(
        "Learning curves on named entities, CRF",
        "Martins et al. (2010), Figure 3; CoNLL-2003 English",
        (_table(groups, key, parts.place(key)),),
        _claims(groups, parts, key),
        ((SMALL,) if scale == "small" else ()) + (*several_seeds(records), parts.note, *notes),
        partial(draw, _panels(groups, key)),
    )


def _table(groups: Groups, key: str, place: str) -> Table:
    rows = []
    for name, runs in groups.items():
        scores = [at_passes(runs, key, one) for one in (1, 5, 10, None)]
        passes, seconds = int(runs[0].curve(key)[0][-1]), sample(runs, "train.seconds_per_epoch")
        rows.append(
            (name, *scores, passes, seconds, LBFGS_DEV if name.startswith("L-BFGS") else None)
        )
    columns = (
        "",
        "epoch 1",
        "epoch 5",
        "epoch 10",
        "last epoch",
        "epochs",
        "seconds per epoch",
        f"paper: F1 on eng.testa (development), epoch {LBFGS_PASSES}",
    )
    return Table(columns, tuple(rows), f"F1 in percent on {place}")


def _panels(groups: Groups, key: str) -> list[Panel]:
    best = max(
        (max(mean_curve(runs, key, times=100.0)[1]) for runs in groups.values()), default=100.0
    )
    panels = []
    for against, x in (("epoch", "epochs"), ("seconds", "seconds of training")):
        curves = [
            Curve(*mean_curve(runs, key, against, 100.0), name, COLOURS[number % len(COLOURS)])
            for number, (name, runs) in enumerate(groups.items())
        ]
        panels.append(
            Panel(
                curves,
                x,
                f"F1 on {key.partition('.')[0]}, %",
                low=_floor(curves, best),
                high=best + 0.5,
            )
        )
    return panels


def _floor(curves: Sequence[Curve], best: float) -> float:
    """Return the lower end of the y axis: with first passes far below the rest, the last ones could
    not be told apart.
    """
    return max(min((min(curve.y) for curve in curves), default=0.0), best - 12.0)


def _claims(groups: Groups, parts: Parts, key: str) -> tuple[Claim, ...]:
    better = "DCA reaches better-performing models than the baselines"
    fast = "DCA converges to accurate models at least as fast as SGD"
    lower = (
        "SGD at C = 10 is lower than the others: dev-set validation chose a suboptimal learning "
        "rate"
    )
    late = (
        "(by its curves) L-BFGS takes many more epochs to a model as good as DCA's after its fifth"
    )
    best = {
        name: score
        for name, runs in groups.items()
        if (score := sample_of(runs, lambda run: parts.best(run, F1)))
    }
    chosen = {
        name: one.mean
        for name in best
        if (one := sample_of(groups[name], lambda run: highest(run, F1)))
    }
    dca = [name for name in best if name.split()[0] == "DCA"]
    others = [name for name in best if name not in dca]
    if not dca or not others:
        return tuple(
            cannot_tell(text, "DCA or no baseline") for text in (better, fast, lower, late)
        )
    listed = ", ".join(f"{name} {score}" for name, score in best.items())
    ours, theirs = (max(names, key=lambda name: chosen[name]) for names in (dca, others))
    verdict, reason = settled(
        higher(best[ours], best[theirs]), holds=_one_value(others), fails=_one_value(dca)
    )
    return (
        Claim(
            better,
            verdict,
            f"at the epoch with the best tuning score: {listed}; best by it: {ours}, {theirs}",
            reason,
        ),
        _fast(fast, groups, key),
        _lower(lower, groups, key),
        _late(late, groups, key),
    )


def _one_value(names: Sequence[str]) -> list[str]:
    """Name the methods that ran with one value of C only."""
    methods = [name.split()[0] for name in names]
    return [
        f"{method} has one untuned setting ({name.split()[1]})"
        for method, name in zip(methods, names, strict=True)
        if methods.count(method) == 1
    ]


def _fast(text: str, groups: Groups, key: str) -> Claim:
    """Compare, at every C that both methods have, the passes to nearly the lower of their best
    scores.
    """
    verdicts, listed = [], []
    for name in [name for name in groups if name.startswith("DCA")]:
        other = name.replace("DCA", "SGD", 1)
        if other in groups:
            level = (
                min(max(mean_curve(groups[one], key, times=100.0)[1]) for one in (name, other))
                - CLOSE
            )
            dca, sgd = (
                arrival(groups[one], key, partial(le, level / 100)) for one in (name, other)
            )
            if dca is not None and sgd is not None:
                verdicts.append(~sooner(sgd, dca))
                listed.append(
                    f"{name.split()[-1]}: {level:.2f} at epoch {dca.text(1, '')}, SGD "
                    f"{sgd.text(1, '')}"
                )
    return Claim(text, every(verdicts), "; ".join(listed)) if verdicts else cannot_tell(text, "SGD")


def _lower(text: str, groups: Groups, key: str) -> Claim:
    last = {name: score for name, runs in groups.items() if (score := at_passes(runs, key, None))}
    if "SGD C=10" not in last or len(last) < 3:
        return cannot_tell(text, "SGD at C = 10")
    rest = {name: score for name, score in last.items() if name != "SGD C=10"}
    lowest = min(rest, key=lambda name: rest[name].mean)
    evidence = f"last epoch: {last['SGD C=10']}; lowest of the others {lowest} {rest[lowest]}"
    return Claim(text, higher(rest[lowest], last["SGD C=10"]), evidence)


def _late(text: str, groups: Groups, key: str) -> Claim:
    """Judge whether it takes more than twice as many passes."""
    pairs = [
        name
        for name in groups
        if name.startswith("L-BFGS") and name.replace("L-BFGS", "DCA", 1) in groups
    ]
    level = at_passes(groups[pairs[0].replace("L-BFGS", "DCA", 1)], key, 5) if pairs else None
    if level is None:
        return cannot_tell(text, "fifth epoch of DCA and L-BFGS at the same C")
    there = arrival(groups[pairs[0]], key, lambda score: 100 * score >= level.mean)
    if there is None:
        return cannot_tell(text, "scores of L-BFGS")
    five = Arrival(there.at.constant(5.0), True)
    reached = f"{'there after ' if there.arrived else ''}{there.text(0, '')}"
    return Claim(text, sooner(five, there, 2.0), f"DCA {level} after 5; L-BFGS {reached}")
