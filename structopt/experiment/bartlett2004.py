"""Bartlett et al. (2004), Exponentiated Gradient Algorithms for Large-Margin Structured
Classification.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from structopt.experiment.curves import Curve, Panel, draw
from structopt.experiment.noise import Sample, Verdict, difference, every, larger
from structopt.experiment.report import Claim, Report, Table
from structopt.experiment.runs import (
    SMALL,
    Points,
    at,
    at_pass,
    cannot_tell,
    grouped,
    setting_of,
    several_seeds,
)
from structopt.run.plots import COLOURS
from structopt.run.records import RunRecord

SMO, HYBRID, OPTIMUM = "SMO", "EG after SMO", "optimum (SDCA)"
PASSES = (1, 5, 10, 20, 40, 60, 100)
LEAD = 0.10
"""Section 5: EG "achieves a larger than 10% increase in the value of the objective"."""
CLOSE = 0.01
"""Dual objectives that differ by less than this share count as equal."""
AT_START, STALLED = 5, 0.03
EDGES = " with edge features"
"""How the names of settings with features of pairs of tags end."""
DIP = 0.02
"""Share by which the dual may fall where EG takes over from SMO: a little of the uniform
distribution is mixed in there.
"""


@dataclass(frozen=True)
class Dual:
    """The dual objective of a run after each pass."""

    seed: int
    points: Points

    @property
    def last(self) -> float:
        """After the last pass."""
        return self.points[1][-1]

    def after(self, epoch: float) -> float:
        """After a pass, or the last one before it; 0 where there is none."""
        return at(self.points, epoch) or 0.0


Duals = dict[str, list[Dual]]
"""Of every setting, one a seed."""

PAPER = "Bartlett, Collins, Taskar and McAllester (2004)"
NOTES = (
    "The initial θ of a run is the potential of every part that is not gold; gold parts have 0. "
    "If a step of EG would lower the dual, the step is halved; the paper does not do this.",
    "SDCA with gap sampling is not in the paper. It shows where all curves must end.",
)


def figure4(records: Sequence[RunRecord], scale: str) -> Report:
    """Figure 4: the dual objective after each pass over the data."""
    source = f"{PAPER}, Figure 4 and section 5; the first 1000 sentences of CoNLL-2003 English"
    notes = (
        "The dual objective is m times `dual` of the history; with C = 1 it is the paper's F. "
        "The paper gives only a figure, whose curves end between 11 and 14.",
        "The paper does not report its C and uses other features; these runs use C = 1 and the "
        "shipped templates. The shapes of the curves can be compared with the paper's, their "
        "levels cannot.",
        "Pairs of tags have one weight each, except in the settings with edge features. Their "
        "attributes are both words and their features, and a word on each side, as in the paper.",
    )
    return _report(
        "Dual objective against epochs, SMO and exponentiated gradient",
        source,
        records,
        scale,
        notes,
    )


def grammar(records: Sequence[RunRecord], scale: str) -> Report:
    """Example 2, weighted context-free grammars, as Figure 4 has it for tags."""
    source = f"{PAPER}, example 2; trees of up to 10 words"
    notes = (
        "The paper describes this case without numbers. The claims come from its section 5, "
        "which is about tagging.",
        "Parts are rules and unary chains at their positions in charts, which relative "
        "frequencies prune (e^-9). The cost is that of the paper: the constituents that the gold "
        "tree does not have.",
    )
    return _report(
        "Dual objective against epochs, SMO and exponentiated gradient on grammars",
        source,
        records,
        scale,
        notes,
    )


def _report(
    title: str, source: str, records: Sequence[RunRecord], scale: str, notes: Sequence[str]
) -> Report:
    """Table, claims and picture of dual objectives."""
    groups = {
        name: [_dual(run) for run in runs] for name, runs in grouped(records, setting_of).items()
    }
    duals = {
        name: known
        for name, runs in groups.items()
        if (known := [run for run in runs if run.points[1]])
    }
    small = (SMALL,) if scale == "small" else ()
    notes = (*small, *several_seeds(records), *notes, *NOTES)
    plain = {name: runs for name, runs in duals.items() if not name.endswith(EDGES)}
    edges = {name.removesuffix(EDGES): duals[name] for name in duals if name not in plain}
    claims = _claims(plain)
    if edges:
        claims += tuple(
            replace(claim, text=f"{claim.text}, with edge features") for claim in _claims(edges)
        )
    panels = _panels(plain) + ([_panel(edges, "(c) edge features")] if edges else [])
    return Report(title, source, (_table(duals),), claims, notes, partial(draw, panels))


def _dual(run: RunRecord) -> Dual:
    """The sum over instances, as the paper has it, after each pass: the history holds the mean."""
    size, (passes, values) = run.metric("train.instances") or 0.0, run.curve("dual")
    return Dual(int(run.setting("seed") or 0), (passes, [size * value for value in values]))


def _sample(runs: Sequence[Dual], value: Callable[[Dual], float | None]) -> Sample | None:
    known = {run.seed: number for run in runs if (number := value(run)) is not None}
    return Sample(known) if known else None


def _table(duals: Duals) -> Table:
    last = max((int(max(run.points[0])) for runs in duals.values() for run in runs), default=0)
    passes = [*(one for one in PASSES if one < last), last]
    rows = tuple(
        (name, *(_sample(runs, lambda run, one=one: at_pass(run.points, one)) for one in passes))  # type: ignore[misc]
        for name, runs in duals.items()
    )
    return Table(("", *(f"epoch {one}" for one in passes)), rows, "Dual objective")


def _mean(runs: Sequence[Dual]) -> Points:
    """The mean over seeds, as far as all runs go."""
    values = [fmean(column) for column in zip(*(run.points[1] for run in runs), strict=False)]
    return runs[0].points[0][: len(values)], values


def _panels(duals: Duals) -> list[Panel]:
    """As in the paper, step lengths on the left and initial values on the right."""
    panels = (
        (
            "(a) step lengths, θ = -3",
            lambda name: not name.startswith("EG η") or name.endswith("θ=-3"),
        ),
        ("(b) initial values, η = 1", lambda name: not name.startswith("EG η") or "η=1 " in name),
    )
    return [_panel(duals, title, shown) for title, shown in panels]


def _panel(duals: Duals, title: str, shown: Callable[[str], bool] | None = None) -> Panel:
    """The curves of some settings."""
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(duals)}
    means = {name: _mean(runs) for name, runs in duals.items()}
    highest = max((max(ys) for _, ys in means.values()), default=1.0)
    curves = [
        Curve(*points, name, colours[name], "--" if name == OPTIMUM else "-")
        for name, points in means.items()
        if shown is None or shown(name)
    ]
    return Panel(curves, "epochs", "dual objective", title, 0.0, 1.05 * highest)


def _claims(duals: Duals) -> tuple[Claim, ...]:
    started, stalled = "SMO starts up very quickly", "SMO slows down in a suboptimal region"
    lags, overtakes = "EG lags at the start", "EG overtakes SMO"
    lead = f"EG achieves a larger than {LEAD:.0%} increase in the value of the objective"
    hybrid = "Several SMO updates and then EG get the benefits of both"
    plain = {name: runs for name, runs in duals.items() if name.startswith("EG η")}
    if SMO not in duals or not plain:
        return tuple(
            cannot_tell(text, "SMO or no EG")
            for text in (started, stalled, lags, overtakes, lead, hybrid)
        )
    smo, best = duals[SMO], max(plain, key=lambda name: fmean(run.last for run in plain[name]))
    early = {name: _of(runs, lambda run: run.after(AT_START)) for name, runs in plain.items()}
    end, top = _of(smo, lambda run: run.last), _of(plain[best], lambda run: run.last)
    begun = _of(smo, lambda run: run.after(AT_START))
    share = _of(smo, lambda run: run.after(AT_START) / run.last)
    starts = ", ".join(f"{name} {value}" for name, value in early.items())
    means = _mean(smo), _mean(plain[best])
    crossing = next(
        (
            int(x)
            for x, y in zip(*means[1], strict=True)
            if y > (1 + CLOSE) * (at(means[0], x) or 0.0)
        ),
        None,
    )
    overtaken = larger(top, end, 1 + CLOSE)
    passed = f"from epoch {crossing} on" if overtaken is Verdict.HOLDS and crossing else "never"
    return (
        Claim(
            started,
            _above(share, 0.75),
            f"{begun} after {AT_START} epochs, {share.mean:.0%} of its last value",
        ),
        _stalled(stalled, duals),
        Claim(
            lags,
            every(difference(begun, one).above() for one in early.values()),
            f"epoch {AT_START}: SMO {begun}, {starts}",
        ),
        Claim(overtakes, overtaken, f"{best} by more than {CLOSE:.0%}: {passed}"),
        Claim(
            lead,
            larger(top, end, 1 + LEAD),
            f"{best} {top}, SMO {end}: {top.mean / end.mean - 1:+.1%}",
        ),
        _hybrid(hybrid, duals, plain[best]),
    )


def _of(runs: Sequence[Dual], value: Callable[[Dual], float]) -> Sample:
    return Sample({run.seed: value(run) for run in runs})


def _above(share: Sample, bound: float) -> Verdict:
    return difference(share, share.constant(bound)).above()


def _stalled(text: str, duals: Duals) -> Claim:
    if OPTIMUM not in duals:
        return cannot_tell(text, OPTIMUM)
    optimum = max(max(run.points[1]) for run in duals[OPTIMUM])
    short = _of(duals[SMO], lambda run: 1 - run.last / optimum)
    gained = _of(
        duals[SMO],
        lambda run: run.last / (at(run.points, run.points[0][-1] / 2) or run.points[1][0]) - 1,
    )
    evidence = (
        f"the second half of its epochs adds {gained.mean:.1%}; it ends {short.mean:.1%} below the "
        "optimum"
    )
    return Claim(text, every([_above(short, STALLED), ~_above(gained, STALLED)]), evidence)


def _hybrid(text: str, duals: Duals, plain: Sequence[Dual]) -> Claim:
    if HYBRID not in duals:
        return cannot_tell(text, HYBRID)
    smo, best = _mean(duals[SMO]), fmean(run.last for run in plain)
    behind = _of(
        duals[HYBRID],
        lambda run: max(1 - y / (at(smo, x) or y) for x, y in zip(*run.points, strict=True)),
    )
    reached = _of(duals[HYBRID], lambda run: run.last / best)
    evidence = (
        f"at most {max(behind.mean, 0.0):.1%} behind SMO at any epoch, at the end "
        f"{reached.mean:.1%} of the best EG"
    )
    return Claim(text, every([~_above(behind, DIP), _above(reached, 1 - CLOSE)]), evidence)
