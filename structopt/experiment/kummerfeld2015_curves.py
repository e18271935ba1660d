"""Kummerfeld et al. (2015), Figure 1: dev score of every method against epochs and seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from structopt.experiment.kummerfeld2015 import (
    COLOURS,
    FEATURES,
    MARGIN,
    PAPER,
    notes,
    pass_seconds,
)
from structopt.experiment.kummerfeld2015_tuned import PEAK, Curve, Figure1
from structopt.experiment.noise import Verdict, every, higher, larger, settled, sooner
from structopt.experiment.report import Cell, Claim, Report, Table
from structopt.experiment.runs import Parts, instances, sample_of, setting_of
from structopt.run import plots
from structopt.run.records import RunRecord
from structopt.sweep.experiment_plan import SEPARATOR

DUAL, OPS = ("CP", "OCP"), ("OPS l1", "OPS l2")
CLOSE = 0.5
"""Points below the best score of all methods at which speed is compared."""

LIKELIHOOD = "Margin methods equal or surpass likelihood methods (observation 1)."
EXCEPTION = (
    "Likelihood surpasses margin methods, the exception to observation 1: antecedents are latent."
)
PERCEPTRON = "Margin methods equal or surpass the perceptron (observation 1)."
SLOW = (
    "Both cutting plane methods take more iterations to their peak than all others (observation 2)."
)
WILD = (
    "The score of batch cutting planes varies drastically, more than any other's (observation 2)."
)
NOT_ENOUGH = (
    "Online cutting planes' faster iterations do not make up for slower learning (observation 2; "
    "here: OPS takes fewer "
    f"seconds to within {CLOSE} points of the best)."
)
REAL_VALUED = (
    "The perceptron has difficulty with real-valued features: it comes below the best method "
    "(observation 3)."
)
EFFECTIVE = (
    f"OPS is effective: within {CLOSE} points of the best method (observation 4 and abstract)."
)
"""The observations, of one task each."""

TREES = (
    "Dependency parsing: the first sentences of English EWT of the current Universal Dependencies "
    "instead of version 1.1, scored by {}."
)
HEADS = "UAS. Arcs have no relations; the paper's loss counts wrong relations, too"
RELATIONS = "LAS. The loss counts arcs with a wrong parent or relation, as in the paper"
"""The rest of this note, for arcs without relations and with them."""

DOCUMENTS = (
    "LitBank (the first 60 of 80 documents by name; the other 20 are scored) with gold mentions, "
    "instead of OntoNotes with predicted mentions. The score is the mean F1 of MUC, B3 and CEAFe "
    "with singletons."
)

CONSTITUENTS = (
    "The freely available tenth of the Penn Treebank (files 1-160; files 161-180 are scored) "
    "instead of the whole, with gold tags. The score is bracket F1 on sentences of up to 40 words, "
    "with max-rule decoding."
)


NETWORKS = (
    f"{CONSTITUENTS} The network is that of Durrett and Klein (2015) on dense features only: "
    "vectors of the words of the training trees. MIRA and online cutting planes step along the "
    "gradient of the network; batch cutting planes are left out, as in the paper. The perceptron "
    "takes a gradient step for each mistake, as in the paper."
)

SUMMARIES = (
    "GUM (its training and development documents, summaries of 50 words, human references) "
    "instead of TAC's sets of documents. The score is ROUGE-2 recall, the mean over the "
    "references. Integer programs find the best outputs; the likelihood is that of loopy belief "
    "propagation."
)

COLLECTIONS = (
    "Opinosis: a topic is a collection of sentences of many reviews, with summaries of 25 words "
    "and four or five references (topics that begin with c, p and q are scored), instead of TAC. "
    "Features are real-valued: of bigrams the number and the share of the sentences that have "
    "them and the inverse place of the first; of sentences the inverse place and the length. The "
    "score is ROUGE-2 recall, the mean over the references. Integer programs find the best "
    "outputs; the likelihood is that of loopy belief propagation."
)

OF_MENTIONS = " mentions"
"""The end of the names of settings whose instances are mentions, as the paper's."""


def figure1_ner(records: Sequence[RunRecord], scale: str) -> Report:
    """Named entities."""
    data = (
        "English CoNLL-2003 instead of OntoNotes, on which the paper's entity system was trained."
    )
    return _figure1("named entities", "NER", data, records, scale)


def figure1_mst_projective(records: Sequence[RunRecord], scale: str) -> Report:
    """Projective dependency trees."""
    return _figure1("projective parsing", "MST Proj.", _trees(records), records, scale)


def figure1_mst_nonprojective(records: Sequence[RunRecord], scale: str) -> Report:
    """Non-projective dependency trees."""
    return _figure1("non-projective parsing", "MST Non-Proj.", _trees(records), records, scale)


def _trees(records: Sequence[RunRecord]) -> str:
    """Return the note on the data of dependency trees, with or without relations."""
    labeled = bool(records) and records[0].setting("factor_graph.labeled")
    return TREES.format(RELATIONS if labeled else HEADS)


def figure1_coreference(records: Sequence[RunRecord], scale: str) -> Report:
    """Entities of documents, with latent antecedents; instances are documents, or mentions."""
    apart = [record for record in records if setting_of(record).endswith(OF_MENTIONS)]
    whole = [record for record in records if record not in apart]
    report = _figure1("coreference", "Coref", DOCUMENTS, whole, scale, latent=True)
    if not apart:
        return report
    tuned = Figure1.of(apart, OF_MENTIONS)
    table = _table(tuned, Parts.of(apart))
    claims = (*observation1(tuned, True), *observation2(tuned), observation4(tuned))
    return replace(
        report,
        tables=(
            *report.tables,
            replace(table, caption=f"Mentions as instances, as in the paper. {table.caption}"),
        ),
        claims=(
            *report.claims,
            *(replace(one, text=f"(mentions as instances) {one.text}") for one in claims),
        ),
    )


def figure1_parser(records: Sequence[RunRecord], scale: str) -> Report:
    """Trees of constituents by the sparse span model."""
    return _figure1("constituents", "Span Parser", CONSTITUENTS, records, scale)


def figure1_neural_parser(records: Sequence[RunRecord], scale: str) -> Report:
    """Trees of constituents by a network over word vectors."""
    report = _figure1(
        "constituents, by a network", "Neural Parser", NETWORKS, records, scale, network=True
    )
    source = f"{PAPER}, Figure 1 and observations 1 to 4"
    return replace(
        report, source=source, claims=(*report.claims, observation3(Figure1.of(records)))
    )


def figure1_summarization(records: Sequence[RunRecord], scale: str) -> Report:
    """Extractive summaries of documents."""
    return _of_summaries("summaries", SUMMARIES, records, scale)


def figure1_collections(records: Sequence[RunRecord], scale: str) -> Report:
    """Extractive summaries of document collections, by real-valued features."""
    return _of_summaries("summaries of document collections", COLLECTIONS, records, scale)


def _of_summaries(what: str, data: str, records: Sequence[RunRecord], scale: str) -> Report:
    report = _figure1(what, "Summ.", data, records, scale)
    source = f"{PAPER}, Figure 1 and observations 1 to 4"
    return replace(
        report, source=source, claims=(*report.claims, observation3(Figure1.of(records)))
    )


def _figure1(
    what: str,
    task: str,
    data: str,
    records: Sequence[RunRecord],
    scale: str,
    latent: bool = False,
    network: bool = False,
) -> Report:
    """The report of one task; a network has no batch cutting planes, and no templates."""
    tuned = Figure1.of(records)
    planes = [_online_not_enough(tuned)] if network else observation2(tuned)
    return Report(
        f"Score across epochs and seconds: {what}",
        f"{PAPER}, Figure 1 and observations 1, 2 and 4",
        (_table(tuned, Parts.of(records)),),
        (*observation1(tuned, latent), *planes, observation4(tuned)),
        notes(
            scale,
            Parts.of(records).note,
            f"{data} {instances(records)} training "
            f"{'documents' if task in ('Coref', 'Summ.') else 'sentences'}.",
            FEATURES,
            "Figure 1: each method has the values of its grid with the highest tuning "
            "score after any epoch, on average over seeds. A method with a larger grid has more "
            'chances. The column "settings" has the size of the grid. The paper tries C (λ here) '
            "from 1e-1 to 1e-8 and η from 1 to 1e-4.",
            "Figure 1: an observation is undecided if a method that could change its verdict ran "
            "with one value of C, step size or ε only, or if its score comes within "
            f"{PEAK} points of its best at the last epoch only in some seed.",
            f"Figure 1: the peak is the first epoch within {PEAK} points of the best.",
            "Figure 1: observation 1 compares the margin method with the best tuning score. "
            "Observation 2 on speed holds if OPS takes fewer seconds than online cutting planes to "
            f"within {CLOSE} points of the best; observation 4 holds if OPS is within {CLOSE} "
            "points of the method with the best tuning score.",
            "Figure 1: the likelihood is that of softmax-margin, by "
            f"{'AdaDelta' if network else 'AdaGrad'}.",
            "Figure 1: the paper plots scores of development data and prints no numbers, so the "
            "statements of its authors are judged.",
        ),
        partial(_draw, tuned) if tuned.curves else None,
    )


def _table(tuned: Figure1, parts: Parts) -> Table:
    times = {name: sample_of(curve.runs, pass_seconds) for name, curve in tuned.curves.items()}
    level = tuned.best - CLOSE
    rows: list[tuple[Cell, ...]] = []
    for name, curve in tuned.curves.items():
        there, own = curve.arrival(level), times[name]
        values = curve.label.partition(SEPARATOR)[2] or "-"
        rows.append(
            (
                name,
                len(curve.tried),
                values,
                curve.best,
                curve.peak,
                curve.drop,
                there.at if there.arrived else None,
                own,
            )
        )
    columns = (
        "method",
        "settings",
        "chosen",
        "score",
        "epochs to the peak",
        "largest fall",
        f"seconds to {level:.1f}",
        "seconds per epoch",
    )
    key = next((curve.key for curve in tuned.curves.values()), "dev")
    return Table(
        columns,
        tuple(rows),
        f"Score in points on {parts.place(key)}.",
        2,
    )


def observation1(tuned: Figure1, latent: bool = False) -> list[Claim]:
    """Margin methods against the others; of latent variables the authors say that likelihood may
    treat them better.
    """
    best = tuned.first(*MARGIN)
    claims = []
    for other, text in (("likelihood", EXCEPTION if latent else LIKELIHOOD), ("AP", PERCEPTRON)):
        if best is None or not tuned.has(other):
            claims.append(Claim(text, None, ""))
            continue
        theirs = tuned.curves[other]
        verdict, reason = settled(
            higher(best.best, theirs.best),
            holds=[theirs.doubts],
            fails=[curve.doubts for curve in tuned.of_methods(*MARGIN)],
        )
        verdict = ~verdict if text is EXCEPTION else verdict
        claims.append(
            Claim(text, verdict, f"{best.method} {best.best}, {other} {theirs.best}", reason)
        )
    return claims


def observation2(tuned: Figure1) -> list[Claim]:
    """Cutting planes are slow, and the batch ones' score varies."""
    return [
        _over_pairs(SLOW, 'column "epochs to the peak"', tuned, _slower, DUAL, DUAL),
        _over_pairs(WILD, 'column "largest fall"', tuned, _wilder, ("CP",), ("CP",)),
        _online_not_enough(tuned),
    ]


def _over_pairs(
    text: str,
    column: str,
    tuned: Figure1,
    pair: Callable[[Curve, Curve], tuple[Verdict, str]],
    methods: Sequence[str],
    left_out: Sequence[str],
) -> Claim:
    """Judge an observation on some methods, each against every method that is not left out."""
    if not tuned.has(*methods):
        return Claim(text, None, "")
    others = [curve for name, curve in tuned.curves.items() if name not in left_out]
    pairs = [pair(curve, other) for curve in tuned.of_methods(*methods) for other in others]
    verdict = every(one for one, _ in pairs)
    reasons = [reason for _, reason in pairs if reason] if verdict is Verdict.UNKNOWN else []
    return Claim(text, verdict, column, "; ".join(dict.fromkeys(reasons)))


def _slower(curve: Curve, other: Curve) -> tuple[Verdict, str]:
    """Whether a method peaks later than another. If it still rises, its peak is later yet."""
    return settled(
        larger(curve.peak, other.peak),
        holds=[_doubt(curve, curve.untuned) or other.doubts],
        fails=[curve.doubts or _doubt(other, other.untuned)],
    )


def _wilder(curve: Curve, other: Curve) -> tuple[Verdict, str]:
    """Whether the score of a method falls further than another's. A fall may still come."""
    return settled(
        higher(curve.drop, other.drop),
        holds=[_doubt(curve, curve.untuned) or _doubt(other, other.untuned)],
        fails=[curve.doubts or _doubt(other, other.untuned)],
    )


def _doubt(curve: Curve, text: str) -> str:
    return f"{curve.method} has {text}" if text else ""


def _online_not_enough(tuned: Figure1) -> Claim:
    ops, level = tuned.first(*OPS), tuned.best - CLOSE
    if ops is None or not tuned.has("OCP"):
        return Claim(NOT_ENOUGH, None, "")
    planes = tuned.curves["OCP"]
    first, online = ops.arrival(level), planes.arrival(level)
    verdict, reason = settled(
        sooner(first, online),
        holds=[_doubt(planes, planes.untuned)],
        fails=[_doubt(curve, curve.untuned) for curve in tuned.of_methods(*OPS)],
    )
    return Claim(NOT_ENOUGH, verdict, f"OPS {first.text(1)}, OCP {online.text(1)}", reason)


def observation3(tuned: Figure1) -> Claim:
    """The perceptron on real-valued features."""
    others = tuned.of_methods(*(name for name in tuned.curves if name != "AP"))
    best = tuned.first(*(curve.method for curve in others))
    if best is None or not tuned.has("AP"):
        return Claim(REAL_VALUED, None, "")
    own = tuned.curves["AP"]
    verdict, reason = settled(
        higher(best.best, own.best),
        holds=[own.doubts],
        fails=[curve.doubts for curve in others],
    )
    return Claim(REAL_VALUED, verdict, f"AP {own.best}, {best.method} {best.best}", reason)


def observation4(tuned: Figure1) -> Claim:
    """OPS is near the best method."""
    ops, best = tuned.first(*OPS), tuned.first(*tuned.curves)
    if ops is None or best is None or len(tuned.curves) < 3:
        return Claim(EFFECTIVE, None, "")
    verdict = (
        Verdict.HOLDS if ops is best and best.best.n > 1 else ~higher(best.best, ops.best, CLOSE)
    )
    verdict, reason = settled(
        verdict,
        holds=[curve.doubts for name, curve in tuned.curves.items() if name not in OPS],
        fails=[curve.doubts for curve in tuned.of_methods(*OPS)],
    )
    evidence = f"{ops.method} {ops.best}, best {best.method} {best.best}"
    return Claim(EFFECTIVE, verdict, evidence, reason)


def _draw(tuned: Figure1, target: Path) -> None:
    """Draw dev score against epochs (left) and seconds (right), the top of the scores only."""
    from matplotlib.ticker import MaxNLocator

    figure = plots.new_figure(11.0, 4.2)
    left, right = figure.subplots(1, 2, sharey=True)
    low = _floor(tuned)
    for name, curve in tuned.curves.items():
        label = name if max(curve.scores) >= low else f"{name} (at most {max(curve.scores):.0f})"
        style = {
            "color": COLOURS.get(name),
            "linewidth": 1.6,
            "marker": "o",
            "markersize": 3,
            "label": label,
        }
        left.plot(range(1, len(curve.scores) + 1), curve.scores, **style)
        right.plot(curve.seconds, curve.scores, **style)
    _dress(left, "epoch")
    _dress(right, "seconds of training")
    left.set(ylabel="score, points", ylim=(low, tuned.best + 0.05 * (tuned.best - low)))
    left.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    right.set_xscale("log")
    plots.label_decades(right.xaxis)
    figure.legend(
        *right.get_legend_handles_labels(), frameon=False, fontsize=9, loc="outside right center"
    )
    plots.save(figure, target)


def _floor(tuned: Figure1) -> float:
    """Return the lower end of the axis of scores: below nearly all points, but not so low that the
    top cannot be read.
    """
    lowest = min((min(curve.scores) for curve in tuned.curves.values()), default=0.0)
    return max(lowest, tuned.best - 8) - 0.3


def _dress(axes: Any, label: str) -> None:
    axes.set_xlabel(label)
    plots.draw_grid(axes)
