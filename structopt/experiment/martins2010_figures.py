"""Martins et al. (2010), Figures 3 and 4: learning curves of DCA, SGD and L-BFGS."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from structopt.experiment.curves import COLOURS, Curve, Panel, draw
from structopt.experiment.report import Cell, Claim, Report, Table
from structopt.experiment.runs import (
    SMALL,
    at_pass,
    cannot_tell,
    first_reaching,
    grouped,
    mean,
    mean_curve,
    setting_of,
    several_seeds,
)
from structopt.run.records import RunRecord

F1, UAS = "dev.f1", "dev.uas_nopunct"
SOURCE = "Martins et al. (2010)"
LBFGS_DEV, LBFGS_TEST, LBFGS_PASSES = 90.53, 85.31, 121
"""Caption of Figure 3: "L-BFGS ultimately converges after 121 iterations to an F1 of" so much on dev and on test."""
NEGATIVE = 0.15
"""Footnote 9: share of the training instances whose loss under loopy propagation was negative (Danish and English)."""
NOISE = {F1: 0.1, UAS: 0.3}
"""Points of a lead that count as none, since another seed may change a score by as much."""
ORDERS, METHODS = ("first", "second"), ("DCA", "SGD", "DCA-TRW")
STYLES = {"first": "--", "second": "-"}
EARLY = 2

Groups = dict[str, list[RunRecord]]


def figure3(records: Sequence[RunRecord], scale: str) -> Report:
    """Figure 3: dev F1 of DCA, SGD and L-BFGS while they learn."""
    groups = _learning(grouped(records, lambda record: f"{setting_of(record)} C={float(record.setting('optimizer.C')):g}"), F1)
    notes = [
        f"The paper gives its curves only, and of L-BFGS {LBFGS_DEV} on dev and {LBFGS_TEST} on test after {LBFGS_PASSES} "
        "iterations. Its features have gazetteers; here are the shipped templates.",
        "As in the paper, neither axis counts the passes in which SGD tries its learning rates.",
        "Seconds are of this machine, and only comparable where nothing else ran on it.",
    ]
    return Report(
        "Learning curves on named entities, CRF", f"{SOURCE}, Figure 3; CoNLL-2003 English, dev split",
        (_table3(groups),), _claims3(groups),
        ((SMALL,) if scale == "small" else ()) + (*several_seeds(records), *notes), partial(draw, _panels3(groups)),
    )  # fmt: skip


def _learning(groups: Groups, metric: str) -> Groups:
    """Return the groups of runs that have a curve of the metric."""
    return {name: runs for name, runs in groups.items() if mean_curve(runs, metric)[0]}


def _table3(groups: Groups) -> Table:
    rows = []
    for name, runs in groups.items():
        points = mean_curve(runs, F1, times=100.0)
        scores = [at_pass(points, one) for one in (1, 5, 10)]
        seconds = mean(runs, "train.seconds_per_epoch")
        rows.append((name, *scores, points[1][-1], int(points[0][-1]), seconds, LBFGS_DEV if name.startswith("L-BFGS") else None))
    columns = ("", "pass 1", "pass 5", "pass 10", "last pass", "passes", "s a pass", f"theirs, pass {LBFGS_PASSES}")
    return Table(columns, tuple(rows), "F1 on the dev split, percent")


def _panels3(groups: Groups) -> list[Panel]:
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


def _claims3(groups: Groups) -> tuple[Claim, ...]:
    better = "DCA reaches better-performing models than the baselines"
    fast = "DCA converges to accurate models at least as fast as SGD"
    lower = "SGD at C = 10 is lower than the others: dev-set validation chose a suboptimal learning rate"
    late = "(by its curves) L-BFGS takes many more passes to a model as good as DCA's after its fifth"
    best = {name: max(mean_curve(runs, F1, times=100.0)[1]) for name, runs in groups.items()}
    dca, others = _of(best, "DCA"), {name: score for name, score in best.items() if not name.startswith("DCA")}
    if not dca or not others:
        return tuple(cannot_tell(text, "DCA or no baseline") for text in (better, fast, lower, late))
    noise, top = NOISE[F1], max(others, key=lambda name: others[name])
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
        level = min(max(dca[1]), max(sgd[1])) - NOISE[F1]
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
    return Claim(text, last["SGD C=10"] < rest[lowest] - NOISE[F1], evidence)


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


def figure4(records: Sequence[RunRecord], scale: str) -> Report:
    """Figure 4: dev attachment of DCA and SGD while they learn, first and second order."""
    groups = _learning(grouped(records, setting_of), UAS)
    notes = [
        "The paper has Arabic and Danish of CoNLL-X and English of CoNLL-2008, and gives its curves only (SGD there with "
        "η = 0.01). Here are Universal Dependencies with the shipped templates; scores without punctuation, as in the paper.",
        "As in the paper, passes do not count those in which SGD tries its learning rates.",
        "DCA-TRW is not in the paper's figure: it is what footnote 9 proposes, a bound on the log-partition function from above.",
    ]
    return Report(
        "Learning curves on dependency trees, CRF", f"{SOURCE}, Figure 4 and footnote 9",
        (_table4(groups),), _claims4(groups),
        ((SMALL,) if scale == "small" else ()) + (*several_seeds(records), *notes), partial(draw, _panels4(groups)),
    )  # fmt: skip


def _table4(groups: Groups) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, runs in groups.items():
        points = mean_curve(runs, UAS, times=100.0)
        share = _negative(runs) if " second DCA" in name else None
        shown = None if share is None else f"{100 * share:.1f} %"
        seconds = mean(runs, "train.seconds_per_epoch")
        rows.append((name, *(at_pass(points, one) for one in (1, 2, 4)), points[1][-1], int(points[0][-1]), shown, seconds))
    columns = ("", "pass 1", "pass 2", "pass 4", "last pass", "passes", "negative losses", "s a pass")
    return Table(columns, tuple(rows), "UAS on the dev split without punctuation, percent")


def _negative(runs: Sequence[RunRecord]) -> float | None:
    """The share of visits that met a negative loss."""
    count, passes, size = (mean(runs, f"train.{key}") for key in ("negative_losses", "epochs", "instances"))
    return count / (passes * size) if count is not None and passes and size else None


def _languages(groups: Groups) -> list[str]:
    return list(dict.fromkeys(name.split()[0] for name in groups))


def _panels4(groups: Groups) -> list[Panel]:
    panels = []
    for language in _languages(groups):
        curves = [
            Curve(*points, f"{method}, {order}", COLOURS[METHODS.index(method)], STYLES[order])
            for order in ORDERS
            for method in METHODS
            if (points := mean_curve(groups.get(f"{language} {order} {method}", []), UAS, times=100.0))[0]
        ]
        panels.append(Panel(curves, "passes", "UAS on dev, %", language))
    return panels


def _claims4(groups: Groups) -> tuple[Claim, ...]:
    return (
        _first_order(groups),
        _second_order(groups),
        _negative_share(groups),
        _repaired(groups),
    )


def _pairs(groups: Groups, order: str, method: str, other: str) -> list[tuple[str, list[float], list[float]]]:
    """Scores of two methods, language by language."""
    pairs = []
    for language in _languages(groups):
        names = [f"{language} {order} {one}" for one in (method, other)]
        if all(name in groups for name in names):
            first, second = (mean_curve(groups[name], UAS, times=100.0)[1] for name in names)
            pairs.append((language, first, second))
    return pairs


def _first_order(groups: Groups) -> Claim:
    text = "Arc-factored, the learning curve of DCA leads faster to an accurate model"
    pairs = _pairs(groups, "first", "DCA", "SGD")
    if not pairs:
        return cannot_tell(text, "arc-factored DCA and SGD")
    leads = {language: dca[:EARLY][-1] - sgd[:EARLY][-1] for language, dca, sgd in pairs}
    listed = ", ".join(f"{language} {lead:+.2f}" for language, lead in leads.items())
    return Claim(text, all(lead > NOISE[UAS] for lead in leads.values()), f"DCA before SGD at pass {EARLY}, points: {listed}")


def _second_order(groups: Groups) -> Claim:
    text = "Second order, DCA did not perform as well as SGD in two of three languages"
    pairs = _pairs(groups, "second", "DCA", "SGD")
    if not pairs:
        return cannot_tell(text, "second-order DCA and SGD")
    leads = {language: dca[-1] - sgd[-1] for language, dca, sgd in pairs}
    listed = ", ".join(f"{language} {lead:+.2f}" for language, lead in leads.items())
    behind = sum(lead < -NOISE[UAS] for lead in leads.values())
    evidence = f"DCA before SGD at the last pass, points: {listed}; a lead below {NOISE[UAS]:g} is none"
    return Claim(text, behind >= 2 * len(leads) / 3, evidence)


def _negative_share(groups: Groups) -> Claim:
    text = f"Loopy propagation gives some {NEGATIVE:.0%} of the training instances a negative loss, whose steps are left out"
    shares = {name.split()[0]: _negative(runs) for name, runs in groups.items() if name.endswith("second DCA")}
    known = {language: share for language, share in shares.items() if share is not None}
    if not known:
        return cannot_tell(text, "second-order DCA")
    listed = ", ".join(f"{language} {share:.1%}" for language, share in known.items())
    alike = any(NEGATIVE / 2 <= share <= 2 * NEGATIVE for share in known.values())
    return Claim(text, alike, f"of the visits of all passes: {listed}")


def _repaired(groups: Groups) -> Claim:
    """Judge the language with the largest share of negative losses, where there is most to repair."""
    text = "A way to fix this is a technique that guarantees upper bounds on the log-partition function"
    shares = [_negative(runs) for name, runs in groups.items() if name.endswith("DCA-TRW")]
    pairs = _pairs(groups, "second", "DCA-TRW", "DCA")
    if not pairs or None in shares:
        return cannot_tell(text, "run of inference=trw_bp")
    none = not any(shares)
    gains = {language: bound[-1] - loopy[-1] for language, bound, loopy in pairs}
    worst = max(gains, key=lambda language: _negative(groups[f"{language} second DCA"]) or 0.0)
    listed = ", ".join(f"{language} {gain:+.2f}" for language, gain in gains.items())
    met = "none" if none else "some"
    evidence = f"negative losses under trw_bp: {met}; points over loopy propagation: {listed}; {worst} had most of them"
    return Claim(text, none and gains[worst] > NOISE[UAS], evidence)
