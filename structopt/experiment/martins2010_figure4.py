"""Martins et al. (2010), Figure 4: learning curves of DCA and SGD on dependency trees, first and second order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from structopt.experiment.curves import Curve, Panel, draw
from structopt.experiment.report import Cell, Claim, Report, Table
from structopt.experiment.runs import (
    SMALL,
    Groups,
    at_pass,
    cannot_tell,
    grouped,
    mean,
    setting_of,
    several_seeds,
    with_curve,
)
from structopt.run.plots import COLOURS
from structopt.run.records import RunRecord, mean_curve

UAS = "dev.uas_nopunct"
NEGATIVE = 0.15
"""Footnote 9: share of the training instances whose loss under loopy propagation was negative (Danish and English)."""
NOISE = 0.3
"""Points of a lead that count as none, since another seed may change a score by as much."""
ORDERS, METHODS = ("first", "second"), ("DCA", "SGD", "DCA-TRW")
STYLES = {"first": "--", "second": "-"}
EARLY = 2


def figure4(records: Sequence[RunRecord], scale: str) -> Report:
    """Figure 4: dev attachment of DCA and SGD while they learn, first and second order."""
    groups = with_curve(grouped(records, setting_of), UAS)
    notes = [
        "The paper has Arabic and Danish of CoNLL-X and English of CoNLL-2008, and gives its curves only (SGD there with "
        "η = 0.01). Here are Universal Dependencies with the shipped templates; scores without punctuation, as in the paper.",
        "As in the paper, passes do not count those in which SGD tries its learning rates.",
        "DCA-TRW is not in the paper's figure: it is what footnote 9 proposes, a bound on the log-partition function from above.",
    ]
    return Report(
        "Learning curves on dependency trees, CRF", "Martins et al. (2010), Figure 4 and footnote 9",
        (_table(groups),), _claims(groups),
        ((SMALL,) if scale == "small" else ()) + (*several_seeds(records), *notes), partial(draw, _panels(groups)),
    )  # fmt: skip


def _table(groups: Groups) -> Table:
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


def _panels(groups: Groups) -> list[Panel]:
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


def _claims(groups: Groups) -> tuple[Claim, ...]:
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
    return Claim(text, all(lead > NOISE for lead in leads.values()), f"DCA before SGD at pass {EARLY}, points: {listed}")


def _second_order(groups: Groups) -> Claim:
    text = "Second order, DCA did not perform as well as SGD in two of three languages"
    pairs = _pairs(groups, "second", "DCA", "SGD")
    if not pairs:
        return cannot_tell(text, "second-order DCA and SGD")
    leads = {language: dca[-1] - sgd[-1] for language, dca, sgd in pairs}
    listed = ", ".join(f"{language} {lead:+.2f}" for language, lead in leads.items())
    behind = sum(lead < -NOISE for lead in leads.values())
    evidence = f"DCA before SGD at the last pass, points: {listed}; a lead below {NOISE:g} is none"
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
    return Claim(text, none and gains[worst] > NOISE, evidence)
