"""Martins et al. (2010), Learning Structured Classifiers with Dual Coordinate Ascent: Table 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean

from structopt.experiment.report import Claim, Report, Table
from structopt.experiment.runs import SMALL, cannot_tell, grouped, instances, mean, several_seeds
from structopt.run.records import RunRecord

Member = tuple[float, float]
"""β and γ."""
CRF, SVM = (1.0, 0.0), (inf, 1.0)
MEMBERS: tuple[Member, ...] = (CRF, (1.0, 1.0), (1.0, 3.0), (1.0, 5.0), (3.0, 1.0), (5.0, 1.0), SVM)


@dataclass(frozen=True)
class Theirs:
    """Half of the paper's Table 1: the best C and its score, in percent, member by member.

    Attributes
    ----------
    task, score : str
    metric : str
        Our metric, which is compared with it.
    noise : float
        Points of a lead that count as none, since another seed may change a score by as much.
    """

    task: str
    score: str
    metric: str
    noise: float
    best: Mapping[Member, tuple[float, float]]


NER = Theirs("Named entities", "F1", "dev.f1", 0.1, dict(zip(MEMBERS, (
    (1.0, 85.48), (10.0, 85.54), (1.0, 85.65), (1.0, 85.72), (1.0, 85.55), (1.0, 85.48), (1.0, 85.41),
), strict=True)))  # fmt: skip
PARSING = Theirs("Dependency parsing", "UAS", "dev.uas_nopunct", 0.15, dict(zip(MEMBERS, (
    (0.1, 90.76), (0.01, 90.95), (0.01, 91.04), (0.01, 91.01), (0.01, 90.94), (0.01, 90.91), (0.1, 90.75),
), strict=True)))  # fmt: skip

CONSTITUENTS = Theirs("Constituency parsing", "F1", "dev.bracket_f1_40", 0.2, {})

Scores = dict[Member, dict[float, float]]
"""The scores of every member at every C, in percent."""


def table1_ner(records: Sequence[RunRecord], scale: str) -> Report:
    """Table 1, upper half: entity F1 for seven members of the loss family."""
    return _table1(NER, records, scale, (
        "CoNLL-2003 English, as in the paper. Its scores are of the test split, with C chosen on the dev split; there is no "
        "test split here, so that C is chosen and the score taken on the same split (testa): some five points "
        "higher, as in all work on this data.",
        "The paper has 50 passes and gazetteers; here are as many passes as below, and the shipped templates without gazetteers.",
        _grid_note(records, "its caption says {0.001, 0.01, 0.1, 1}, though its best C is 10 in one column"),
    ))  # fmt: skip


def table1_parsing(records: Sequence[RunRecord], scale: str) -> Report:
    """Table 1, lower half: unlabeled attachment for seven members of the loss family."""
    return _table1(PARSING, records, scale, (
        "The paper parses the English of CoNLL-2008 (39,279 sentences) with TurboParser's features and pruning. Here it is "
        f"English EWT of Universal Dependencies, {instances(records)} of its 12,544 sentences, so that the whole takes minutes "
        "(task.limit=null takes all). Scores are of the dev split, on which C is chosen too, without punctuation as there.",
        "C = 1/(λm): on a smaller m the same λ is a larger C.",
        _grid_note(records, "the paper's has 0.001 as well"),
    ))  # fmt: skip


def constituents(records: Sequence[RunRecord], scale: str) -> Report:
    """The table that the paper does not have: bracket F1 for seven members of the loss family."""
    return _table1(CONSTITUENTS, records, scale, (
        "The paper has no constituents: there are no numbers to compare with, and its claims on entities and dependency trees "
        f"are asked of trees of constituents. {instances(records)} sentences of the freely available tenth of the Penn Treebank, "
        "with the tags of the trees, by the sparse span model; dev sentences of up to 40 words.",
        "The cost counts wrong rules (loss.cost=rules). " + _grid_note(records, "the paper's goes from 0.001 to 10"),
    ))  # fmt: skip


def _grid_note(records: Sequence[RunRecord], theirs: str) -> str:
    grid = sorted({float(record.setting("optimizer.C")) for record in records})
    passes = sorted({int(record.setting("optimizer.epochs")) for record in records})
    return f"C is from {{{', '.join(f'{one:g}' for one in grid)}}} ({theirs}); passes: {', '.join(map(str, passes))}."


def _table1(theirs: Theirs, records: Sequence[RunRecord], scale: str, notes: tuple[str, ...]) -> Report:
    scores = _scores(theirs, records)
    noise = f"A lead below {theirs.noise:g} points counts as none (with seed=0,1,2 typed, numbers are means)."
    return Report(
        f"{theirs.task}, losses between CRF and SVM",
        "Martins et al. (2010), Table 1 and section 5; all by dual coordinate ascent",
        (_table(theirs, scores),),
        _claims(theirs, scores),
        ((SMALL,) if scale == "small" else ()) + (*several_seeds(records), *notes, noise),
    )


def _scores(theirs: Theirs, records: Sequence[RunRecord]) -> Scores:
    scores: Scores = {}
    for member, runs in grouped(records, _member).items():
        cells = {C: mean(same, theirs.metric, 100.0) for C, same in grouped(runs, _C).items()}
        known = {C: score for C, score in sorted(cells.items()) if score is not None}
        if known:
            scores[member] = known
    return dict(sorted(scores.items(), key=lambda one: MEMBERS.index(one[0]) if one[0] in MEMBERS else len(MEMBERS)))


def _member(record: RunRecord) -> Member:
    return float(record.setting("loss.beta")), float(record.setting("loss.gamma"))


def _C(record: RunRecord) -> float:
    return float(record.setting("optimizer.C"))


def _table(theirs: Theirs, scores: Scores) -> Table:
    grid = sorted({C for cells in scores.values() for C in cells})
    columns = ("β, γ", *(f"C = {C:g}" for C in grid), "best", "theirs: best C", f"theirs: {theirs.score}")
    rows = []
    for member, cells in scores.items():
        C, score = theirs.best.get(member, (None, None))
        rows.append((name_of(member), *(cells.get(one) for one in grid), max(cells.values()), C and f"{C:g}", score))
    return Table(columns, tuple(rows), f"{theirs.score} in percent (ours: dev split)")


def name_of(member: Member) -> str:
    """Return β and γ, and the name where the member has one."""
    beta = "∞" if member[0] == inf else f"{member[0]:g}"
    return f"{beta}, {member[1]:g}" + {CRF: " (CRF)", SVM: " (SVM)"}.get(member, "")


def _claims(theirs: Theirs, scores: Scores) -> tuple[Claim, ...]:
    best = {member: max(cells.values()) for member, cells in scores.items()}
    between = {member: score for member, score in best.items() if member not in (CRF, SVM)}
    neither = "Neither the CRF nor the SVM is optimal"
    higher = "The higher scores are obtained for losses between SVMs and CRFs"
    last = "(by its numbers) Every loss between scores at least as high as the CRF and the SVM"
    steady = "(by its numbers) Over all losses the best scores differ by less than a third of a point"
    if CRF not in best or SVM not in best or not between:
        return tuple(cannot_tell(text, "CRF, SVM or loss between") for text in (neither, higher, last, steady))
    top, ends = max(between, key=lambda member: between[member]), max(best[CRF], best[SVM])
    both_ends = f"CRF {best[CRF]:.2f}, SVM {best[SVM]:.2f}"
    behind = [name_of(member) for member, score in between.items() if score < ends]
    spread = max(best.values()) - min(best.values())
    middle = fmean(between.values())
    return (
        Claim(neither, between[top] > ends + theirs.noise, f"β, γ = {name_of(top)}: {between[top]:.2f}; {both_ends}"),
        Claim(higher, middle > ends + theirs.noise / 2, f"mean of those between {middle:.2f}; {both_ends}"),
        Claim(last, not behind, f"below one of the two: {'; '.join(behind) or 'none'}"),
        Claim(steady, spread < 1 / 3, f"{spread:.2f} points from the lowest to the highest"),
    )
