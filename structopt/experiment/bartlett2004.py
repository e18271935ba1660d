"""Bartlett et al. (2004), Exponentiated Gradient Algorithms for Large-Margin Structured Classification."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from structopt.experiment.curves import Curve, Panel, draw
from structopt.experiment.report import Claim, Report, Table
from structopt.experiment.runs import SMALL, Points, at, at_pass, cannot_tell, grouped, setting_of, several_seeds
from structopt.run.plots import COLOURS
from structopt.run.records import RunRecord

SMO, HYBRID, OPTIMUM = "SMO", "EG after SMO", "optimum (SDCA)"
PASSES = (1, 5, 10, 20, 40, 60, 100)
LEAD = 0.10
"""Section 5: EG "achieves a larger than 10% increase in the value of the objective"."""
CLOSE = 0.01
"""Dual objectives that differ by less than this share count as equal."""
AT_START, STALLED = 5, 0.03
DIP = 0.02
"""Share by which the dual may fall where EG takes over from SMO: a little of the uniform distribution is mixed in there."""

Duals = dict[str, Points]


PAPER = "Bartlett, Collins, Taskar and McAllester (2004)"
NOTES = (
    "An initial θ is here the potential of every part that is not gold, the gold ones having 0. A visit of EG never lowers "
    "the dual: its step is halved instead, which the paper's is not.",
    "SDCA with gap sampling is not in the paper. It shows where all curves must end.",
)


def figure4(records: Sequence[RunRecord], scale: str) -> Report:
    """Figure 4: the dual objective after each pass over the data."""
    source = f"{PAPER}, Figure 4 and section 5; the first 1000 sentences of CoNLL-2003 English"
    notes = (
        "The dual objective is m times the `dual` of the history; at C = 1 it is the paper's F. The paper gives its figure only: "
        "its curves end between 11 and 14.",
        "The paper does not say its C, and used features of its own; here are C = 1 and the shipped templates. Levels cannot be "
        "compared with the paper's, shapes can.",
    )
    return _report("Dual objective against passes, SMO and exponentiated gradient", source, records, scale, notes)


def grammar(records: Sequence[RunRecord], scale: str) -> Report:
    """Example 2, weighted context-free grammars, as Figure 4 has it for tags."""
    source = f"{PAPER}, example 2; trees of up to 10 words"
    notes = (
        "The paper describes the case and gives no numbers for it: the claims are those of its section 5, on tags.",
        "Parts are rules and steps at their places in charts that relative frequencies prune (e^-9); the cost counts wrong ones.",
    )
    return _report("Dual objective against passes, SMO and exponentiated gradient on grammars", source, records, scale, notes)


def _report(title: str, source: str, records: Sequence[RunRecord], scale: str, notes: Sequence[str]) -> Report:
    """Table, claims and picture of dual objectives."""
    duals = {name: _dual(runs) for name, runs in grouped(records, setting_of).items()}
    small = (SMALL,) if scale == "small" else ()
    notes = (*small, *several_seeds(records), *notes, *NOTES)
    return Report(title, source, (_table(duals),), _claims(duals), notes, partial(draw, _panels(duals)))


def _dual(runs: Sequence[RunRecord]) -> Points:
    """The sum over instances, as the paper has it, after each pass: the history holds the mean."""
    curves = [run.curve("dual") for run in runs]
    sizes = [run.metric("train.instances") or 0.0 for run in runs]
    totals = zip(*([size * value for value in ys] for size, (_, ys) in zip(sizes, curves, strict=True)), strict=False)
    means = [sum(column) / len(runs) for column in totals]
    return curves[0][0][: len(means)], means


def _table(duals: Duals) -> Table:
    last = max((int(max(xs)) for xs, _ in duals.values() if xs), default=0)
    passes = [*(one for one in PASSES if one < last), last]
    rows = tuple((name, *(at_pass(points, one) for one in passes)) for name, points in duals.items())
    return Table(("", *(f"pass {one}" for one in passes)), rows, "Dual objective")


def _panels(duals: Duals) -> list[Panel]:
    """As in the paper, step lengths on the left and initial values on the right."""
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(duals)}
    highest = max((max(ys) for _, ys in duals.values() if ys), default=1.0)
    panels = (
        ("(a) step lengths, θ = -3", lambda name: not name.startswith("EG η") or name.endswith("θ=-3")),
        ("(b) initial values, η = 1", lambda name: not name.startswith("EG η") or "η=1 " in name),
    )
    return [
        Panel(
            [
                Curve(*points, name, colours[name], "--" if name == OPTIMUM else "-")
                for name, points in duals.items()
                if shown(name)
            ],
            "passes", "dual objective", title, 0.0, 1.05 * highest,
        )
        for title, shown in panels
    ]  # fmt: skip


def _claims(duals: Duals) -> tuple[Claim, ...]:
    started, stalled = "SMO starts up very quickly", "SMO slows down in a suboptimal region"
    lags, overtakes = "EG lags at the start", "EG overtakes SMO"
    lead = f"EG achieves a larger than {LEAD:.0%} increase in the value of the objective"
    hybrid = "Several SMO updates and then EG get the benefits of both"
    plain = {name: points for name, points in duals.items() if name.startswith("EG η")}
    if not duals.get(SMO, ([], []))[1] or not plain:
        return tuple(cannot_tell(text, "SMO or no EG") for text in (started, stalled, lags, overtakes, lead, hybrid))
    smo, best = duals[SMO], max(plain, key=lambda name: plain[name][1][-1])
    early = {name: at(points, AT_START) or 0.0 for name, points in plain.items()}
    begun, end, top = at(smo, AT_START) or 0.0, smo[1][-1], plain[best][1][-1]
    starts = ", ".join(f"{name} {value:.2f}" for name, value in early.items())
    crossing = next((int(x) for x, y in zip(*plain[best], strict=True) if y > (1 + CLOSE) * (at(smo, x) or 0.0)), None)
    passed = f"from pass {crossing} on" if top > (1 + CLOSE) * end and crossing else "never"
    return (
        Claim(started, begun >= 0.75 * end, f"{begun:.2f} after {AT_START} passes, {begun / end:.0%} of its last value"),
        _stalled(stalled, duals, smo),
        Claim(lags, max(early.values()) < begun, f"pass {AT_START}: SMO {begun:.2f}, {starts}"),
        Claim(overtakes, top > (1 + CLOSE) * end, f"{best} by more than {CLOSE:.0%}: {passed}"),
        Claim(lead, top > (1 + LEAD) * end, f"{best} {top:.2f}, SMO {end:.2f}: {top / end - 1:+.1%}"),
        _hybrid(hybrid, duals, top),
    )


def _stalled(text: str, duals: Duals, smo: Points) -> Claim:
    if not duals.get(OPTIMUM, ([], []))[1]:
        return cannot_tell(text, OPTIMUM)
    optimum, end, half = max(duals[OPTIMUM][1]), smo[1][-1], at(smo, smo[0][-1] / 2) or smo[1][0]
    short, gained = 1 - end / optimum, end / half - 1
    evidence = f"the second half of its passes brought {gained:.1%}; {short:.1%} are missing"
    return Claim(text, short > STALLED and gained < STALLED, evidence)


def _hybrid(text: str, duals: Duals, best: float) -> Claim:
    if not duals.get(HYBRID, ([], []))[1]:
        return cannot_tell(text, HYBRID)
    smo, both = duals[SMO], duals[HYBRID]
    behind = max(1 - y / (at(smo, x) or y) for x, y in zip(*both, strict=True))
    reached = both[1][-1] / best
    evidence = f"at most {max(behind, 0.0):.1%} behind SMO at any pass, at the end {reached:.1%} of the best EG"
    return Claim(text, behind <= DIP and reached >= 1 - CLOSE, evidence)
