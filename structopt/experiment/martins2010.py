"""Martins et al. (2010), Learning Structured Classifiers with Dual Coordinate Ascent: Table 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from structopt.experiment.noise import Sample, average, every, higher
from structopt.experiment.report import Cell, Claim, Report, Table
from structopt.experiment.runs import (
    SMALL,
    Key,
    Parts,
    cannot_tell,
    grouped,
    instances,
    sample,
    setting_of,
    several_seeds,
)
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
    part : str
        The file on which the paper scores; empty if it does not say.
    metric : str
        Our metric, which is compared with it.
    """

    task: str
    score: str
    part: str
    metric: str
    best: Mapping[Member, tuple[float, float]]


NER = Theirs(
    "Named entities",
    "F1",
    "eng.testb (test)",
    "f1",
    dict(
        zip(
            MEMBERS,
            (
                (1.0, 85.48),
                (10.0, 85.54),
                (1.0, 85.65),
                (1.0, 85.72),
                (1.0, 85.55),
                (1.0, 85.48),
                (1.0, 85.41),
            ),
            strict=True,
        )
    ),
)
PARSING = Theirs(
    "Dependency parsing",
    "UAS",
    "",
    "uas_nopunct",
    dict(
        zip(
            MEMBERS,
            (
                (0.1, 90.76),
                (0.01, 90.95),
                (0.01, 91.04),
                (0.01, 91.01),
                (0.01, 90.94),
                (0.01, 90.91),
                (0.1, 90.75),
            ),
            strict=True,
        )
    ),
)

CONSTITUENTS = Theirs("Constituency parsing", "F1", "", "bracket_f1_40", {})


@dataclass(frozen=True)
class Scores:
    """The scores of a member, in percent, by C: on the part that values are chosen on, and on the
    part that reports.
    """

    choosing: Mapping[float, Sample]
    reporting: Mapping[float, Sample]

    @property
    def C(self) -> float:
        """The C that is best on the part that values are chosen on."""
        return max(self.choosing, key=lambda C: self.choosing[C].mean)

    @property
    def chosen(self) -> Sample:
        """The scores that are reported at that C."""
        return self.reporting[self.C]


Table1 = dict[Member, Scores]
MIRA = "mira"
"""The optimizer of the table's last rows, below the loss family."""


def table1_ner(records: Sequence[RunRecord], scale: str) -> Report:
    """Table 1, upper half: entity F1 for seven members of the loss family."""
    return _table1(
        NER,
        records,
        scale,
        (
            "CoNLL-2003 English, as in the paper, which scores the test part (eng.testb) and "
            "chooses C on eng.testa. Scores on eng.testa are about five points higher than on "
            "eng.testb, as in all work on this data.",
            f"The paper uses 50 epochs and gazetteers. {word_lists(records)}",
            _grid_note(
                records,
                "the paper's caption says {0.001, 0.01, 0.1, 1}, but its best C is 10 in one "
                "column",
            ),
        ),
    )


def table1_parsing(records: Sequence[RunRecord], scale: str) -> Report:
    """Table 1, lower half: unlabeled attachment for seven members of the loss family."""
    return _table1(
        PARSING,
        records,
        scale,
        (
            "The paper parses the English part of CoNLL-2008 (39,279 sentences) with the "
            "features and the pruning of TurboParser. These runs parse English EWT of Universal "
            f"Dependencies, {instances(records)} of its 12,544 sentences, so that they take "
            "minutes (`task.limit=null` uses all). Punctuation is not scored, as in the paper.",
            "C = 1/(λm): the same λ is a larger C if m, the number of instances, is smaller.",
            _grid_note(records, "the paper's grid is {0.001, 0.01, 0.1, 1}"),
        ),
    )


def constituents(records: Sequence[RunRecord], scale: str) -> Report:
    """The table that the paper does not have: bracket F1 for seven members of the loss family."""
    return _table1(
        CONSTITUENTS,
        records,
        scale,
        (
            "The paper has no constituents, so there is nothing to compare with. Its claims "
            "about entities and dependency trees are tested on constituency trees: "
            f"{instances(records)} sentences of the freely available tenth of the Penn Treebank, "
            "with gold tags, and the sparse span model. Scores are of sentences of up to 40 "
            "words.",
            "The cost counts wrong rules (`loss.cost=rules`). "
            + _grid_note(records, "the paper's grid goes from 0.001 to 10"),
        ),
    )


def word_lists(records: Sequence[RunRecord]) -> str:
    """Return the gazetteers of an experiment's runs, in a sentence."""
    lists = {name for record in records for name in record.setting("features.lists") or {}}
    if not lists:
        return "These runs use the shipped templates, without gazetteers."
    return (
        "The lists of the shared task are not public; these runs use the shipped templates and "
        f"{len(lists)} word lists ({', '.join(sorted(lists))})."
    )


def _grid_note(records: Sequence[RunRecord], theirs: str) -> str:
    grid = sorted({float(record.setting("optimizer.C")) for record in records})
    passes = sorted({int(record.setting("optimizer.epochs")) for record in records})
    return (
        f"C is from {{{', '.join(f'{one:g}' for one in grid)}}} ({theirs}); epochs: "
        f"{', '.join(map(str, passes))}."
    )


def _table1(
    theirs: Theirs, records: Sequence[RunRecord], scale: str, notes: tuple[str, ...]
) -> Report:
    parts = Parts.of(records)
    kinds = grouped(records, lambda record: record.setting("optimizer.name") == MIRA)
    scores = _scores(theirs, kinds.get(False, []), parts, _member)
    scores = dict(
        sorted(
            scores.items(),
            key=lambda one: MEMBERS.index(one[0]) if one[0] in MEMBERS else len(MEMBERS),
        )
    )
    others = _scores(theirs, kinds.get(True, []), parts, setting_of)
    variants = (
        "The rows of MIRA are members of the framework that the paper names and does not run: k "
        "outputs per step (section 4), or the best output without the cost (footnote 7). 1-best "
        "MIRA with the cost is the SVM by dual coordinate ascent.",
    )
    return Report(
        f"{theirs.task}, losses between CRF and SVM",
        "Martins et al. (2010), Table 1 and section 5; all by dual coordinate ascent"
        + (", and variants of MIRA" if others else ""),
        (_table(theirs, scores, others, parts),),
        _claims(scores),
        ((SMALL,) if scale == "small" else ())
        + (*several_seeds(records), parts.note, *notes, *(variants if others else ())),
    )


def _scores(
    theirs: Theirs,
    records: Sequence[RunRecord],
    parts: Parts,
    key: Callable[[RunRecord], Key],
) -> dict[Key, Scores]:
    """Return the scores of every row that has some, by its key."""
    scores: dict[Key, Scores] = {}
    for row, runs in grouped(records, key).items():
        cells = {
            C: (chosen, reported)
            for C, same in sorted(grouped(runs, _C).items())
            if (chosen := sample(same, f"dev.{theirs.metric}", 100.0)) is not None
            and (reported := sample(same, parts.score(theirs.metric), 100.0)) is not None
        }
        if cells:
            scores[row] = Scores(
                {C: one for C, (one, _) in cells.items()}, {C: one for C, (_, one) in cells.items()}
            )
    return scores


def _member(record: RunRecord) -> Member:
    return float(record.setting("loss.beta")), float(record.setting("loss.gamma"))


def _C(record: RunRecord) -> float:
    return float(record.setting("optimizer.C"))


def _table(theirs: Theirs, scores: Table1, others: Mapping[str, Scores], parts: Parts) -> Table:
    lines = [(name_of(member), own, theirs.best.get(member)) for member, own in scores.items()]
    lines += [(name, own, None) for name, own in others.items()]
    grid = sorted({C for _, own, _ in lines for C in own.reporting})
    columns: tuple[str, ...] = (
        "β, γ",
        *(f"C = {C:g}" for C in grid),
        "chosen C",
        f"{theirs.score} at that C",
    )
    if theirs.best:
        on = f" on {theirs.part}" if theirs.part else ""
        columns += ("paper: best C", f"paper: {theirs.score}{on}")
    rows: list[tuple[Cell, ...]] = []
    for name, own, published in lines:
        cells: tuple[Cell, ...] = (
            name,
            *(own.reporting.get(one) for one in grid),
            f"{own.C:g}",
            own.chosen,
        )
        if theirs.best:
            C, score = published or (None, None)
            cells += (None if C is None else f"{C:g}", score)
        rows.append(cells)
    return Table(
        columns,
        tuple(rows),
        f"{theirs.score} in percent on {parts.place(parts.score(theirs.metric))}; C chosen on "
        f"{parts.place('dev')}",
    )


def name_of(member: Member) -> str:
    """Return β and γ of a member, and its usual name if it has one."""
    beta, gamma = ("∞" if one == inf else f"{one:g}" for one in member)
    usual = {CRF: " (CRF)", SVM: " (SVM)"}.get(member, "")
    return f"{beta}, {gamma}{usual}"


def _claims(scores: Table1) -> tuple[Claim, ...]:
    best = {member: own.chosen for member, own in scores.items()}
    between = {member: score for member, score in best.items() if member not in (CRF, SVM)}
    neither = "Neither the CRF nor the SVM is optimal"
    higher_text = "The higher scores are obtained for losses between SVMs and CRFs"
    last = "(by its numbers) Every loss between scores at least as high as the CRF and the SVM"
    steady = (
        "(by its numbers) Over all losses the best scores differ by less than one third of a point"
    )
    if CRF not in best or SVM not in best or not between:
        return tuple(
            cannot_tell(text, "CRF, SVM or loss between")
            for text in (neither, higher_text, last, steady)
        )
    top = max(between, key=lambda member: scores[member].choosing[scores[member].C].mean)
    ends, middle = (best[CRF], best[SVM]), average(between.values())
    both_ends = f"CRF {best[CRF]}, SVM {best[SVM]}"
    behind = [
        name_of(member)
        for member, score in between.items()
        if score.mean < max(end.mean for end in ends)
    ]
    ranked = sorted(best.values(), key=lambda score: score.mean)
    return (
        Claim(
            neither,
            every(higher(best[top], end) for end in ends),
            f"β, γ = {name_of(top)}: {best[top]}; {both_ends}",
        ),
        Claim(
            higher_text,
            every(higher(middle, end) for end in ends),
            f"mean of those between {middle}; {both_ends}",
        ),
        Claim(
            last,
            every(higher(score, end) for score in between.values() for end in ends),
            f"below one of the two: {'; '.join(behind) or 'none'}",
        ),
        Claim(
            steady,
            ~higher(ranked[-1], ranked[0], 1 / 3),
            f"{ranked[-1].mean - ranked[0].mean:.2f} points from the lowest to the highest",
        ),
    )
