"""Martins et al. (2010), Figure 4: learning curves of DCA and SGD on dependency trees, first and
second order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from structopt.experiment.curves import Curve, Panel, draw
from structopt.experiment.noise import (
    LEAST,
    Difference,
    Sample,
    Verdict,
    at_least,
    difference,
    every,
    some,
)
from structopt.experiment.report import Cell, Claim, Report, Table
from structopt.experiment.runs import (
    SMALL,
    Groups,
    Parts,
    at_passes,
    cannot_tell,
    grouped,
    sample,
    sample_of,
    setting_of,
    several_seeds,
    with_curve,
)
from structopt.run.plots import COLOURS
from structopt.run.records import RunRecord, mean_curve

UAS = "uas_nopunct"
NEGATIVE = 0.15
"""Footnote 9: share of the training instances whose loss under loopy propagation was negative
(Danish and English).
"""
ORDERS, METHODS = ("first", "second"), ("DCA", "SGD", "DCA-TRW")
STYLES = {"first": "--", "second": "-"}
EARLY = 2


def figure4(records: Sequence[RunRecord], scale: str) -> Report:
    """Figure 4: dev attachment of DCA and SGD while they learn, first and second order."""
    groups, parts = with_curve(grouped(records, setting_of), f"dev.{UAS}"), Parts.of(records)
    key = parts.curve(UAS, [run for runs in groups.values() for run in runs])
    notes = [
        "The paper has Arabic and Danish of CoNLL-X and English of CoNLL-2008, and gives only "
        "curves (with η = 0.01 for SGD). These runs use Universal Dependencies (English is EWT) "
        "and the shipped templates. Punctuation is not scored, as in the paper.",
        "As in the paper, the epochs in which SGD tries its learning rates are not counted.",
        "DCA-TRW is not in the paper's figure. Footnote 9 proposes it: an upper bound on the "
        "log-partition function.",
    ]
    return Report(
        "Learning curves on dependency trees, CRF",
        "Martins et al. (2010), Figure 4 and footnote 9",
        (_table(groups, key, parts.place(key)),),
        _claims(groups, key),
        ((SMALL,) if scale == "small" else ()) + (*several_seeds(records), parts.note, *notes),
        partial(draw, _panels(groups, key)),
    )


def _table(groups: Groups, key: str, place: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, runs in groups.items():
        share = _negative(runs) if " second DCA" in name else None
        shown = None if share is None else f"{share.text(1)} %"
        passes, seconds = int(runs[0].curve(key)[0][-1]), sample(runs, "train.seconds_per_epoch")
        rows.append(
            (name, *(at_passes(runs, key, one) for one in (1, 2, 4, None)), passes, shown, seconds)
        )
    columns = (
        "",
        "epoch 1",
        "epoch 2",
        "epoch 4",
        "last epoch",
        "epochs",
        "negative losses",
        "seconds per epoch",
    )
    return Table(
        columns,
        tuple(rows),
        f"UAS in percent, without punctuation, on {place}",
    )


def _negative(runs: Sequence[RunRecord]) -> Sample | None:
    """The share of visits that met a negative loss, percent."""

    def share(run: RunRecord) -> float | None:
        count, passes, size = (
            run.metric(f"train.{name}") for name in ("negative_losses", "epochs", "instances")
        )
        return 100 * count / (passes * size) if count is not None and passes and size else None

    return sample_of(runs, share)


def _languages(groups: Groups) -> list[str]:
    return list(dict.fromkeys(name.split()[0] for name in groups))


def _panels(groups: Groups, key: str) -> list[Panel]:
    panels = []
    for language in _languages(groups):
        curves = [
            Curve(*points, f"{method}, {order}", COLOURS[METHODS.index(method)], STYLES[order])
            for order in ORDERS
            for method in METHODS
            if (
                points := mean_curve(
                    groups.get(f"{language} {order} {method}", []), key, times=100.0
                )
            )[0]
        ]
        panels.append(Panel(curves, "epochs", f"UAS on {key.partition('.')[0]}, %", language))
    return panels


def _claims(groups: Groups, key: str) -> tuple[Claim, ...]:
    return (
        _first_order(groups, key),
        _second_order(groups, key),
        _negative_share(groups),
        _repaired(groups, key),
    )


def _leads(
    groups: Groups, key: str, order: str, methods: tuple[str, str], epoch: int | None
) -> dict[str, Difference]:
    """The lead of a method over another after a pass, in points, by language."""
    leads = {}
    for language in _languages(groups):
        names = [f"{language} {order} {one}" for one in methods]
        if all(name in groups for name in names):
            shared = min(len(groups[name][0].curve(key)[0]) for name in names)
            first, second = (
                at_passes(groups[name], key, None if epoch is None else min(epoch, shared))
                for name in names
            )
            if first is not None and second is not None:
                leads[language] = difference(first, second, LEAST)
    return leads


def _listed(leads: dict[str, Difference]) -> str:
    return ", ".join(f"{language} {lead}" for language, lead in leads.items())


def _first_order(groups: Groups, key: str) -> Claim:
    text = "Arc-factored, the learning curve of DCA leads faster to an accurate model"
    leads = _leads(groups, key, "first", ("DCA", "SGD"), EARLY)
    if not leads:
        return cannot_tell(text, "arc-factored DCA and SGD")
    verdict = every(lead.above() for lead in leads.values())
    return Claim(text, verdict, f"DCA minus SGD at epoch {EARLY}, points: {_listed(leads)}")


def _second_order(groups: Groups, key: str) -> Claim:
    text = "Second order, DCA did not perform as well as SGD in two of three languages"
    leads = _leads(groups, key, "second", ("DCA", "SGD"), None)
    if not leads:
        return cannot_tell(text, "second-order DCA and SGD")
    verdict = at_least(-(-2 * len(leads) // 3), (~lead.above() for lead in leads.values()))
    return Claim(text, verdict, f"DCA minus SGD at the last epoch, points: {_listed(leads)}")


def _negative_share(groups: Groups) -> Claim:
    text = (
        f"Loopy propagation gives about {NEGATIVE:.0%} of the training instances a negative loss, "
        "whose steps are left out"
    )
    shares = {
        name.split()[0]: _negative(runs)
        for name, runs in groups.items()
        if name.endswith("second DCA")
    }
    known = {language: share for language, share in shares.items() if share is not None}
    if not known:
        return cannot_tell(text, "second-order DCA")
    listed = ", ".join(f"{language} {share.text(1)} %" for language, share in known.items())
    alike = [
        difference(share, share.constant(0.0)).within(50 * NEGATIVE, 200 * NEGATIVE)
        for share in known.values()
    ]
    return Claim(
        text,
        some(alike),
        f"of the visits of all epochs: {listed}; criterion: half to twice as many in a language",
    )


def _repaired(groups: Groups, key: str) -> Claim:
    """Judge the language with the largest share of negative losses, where there is most to
    repair.
    """
    text = (
        "A way to fix this is a technique that guarantees upper bounds on the log-partition "
        "function"
    )
    shares = [_negative(runs) for name, runs in groups.items() if name.endswith("DCA-TRW")]
    gains = _leads(groups, key, "second", ("DCA-TRW", "DCA"), None)
    if not gains or None in shares:
        return cannot_tell(text, "run of inference=trw_bp")
    none = not any(share.mean for share in shares if share is not None)
    loopy = {language: _negative(groups[f"{language} second DCA"]) for language in gains}
    worst = max(gains, key=lambda language: share.mean if (share := loopy[language]) else 0.0)
    met = "none" if none else "some"
    evidence = (
        f"negative losses under trw_bp: {met}; points over loopy propagation: {_listed(gains)}; "
        f"{worst} had most of them"
    )
    return Claim(text, gains[worst].above() if none else Verdict.FAILS, evidence)
