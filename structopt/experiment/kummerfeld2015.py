"""Kummerfeld, Berg-Kirkpatrick and Klein (2015), An Empirical Analysis of Optimization for
Max-Margin NLP: methods, Table 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import log
from pathlib import Path

from structopt.experiment.noise import Sample, difference, every, larger
from structopt.experiment.report import Claim, Report, Table
from structopt.experiment.runs import SMALL, grouped, sample, sample_of, setting_of
from structopt.run import plots
from structopt.run.records import RunRecord

PAPER = "Kummerfeld, Berg-Kirkpatrick and Klein (2015), EMNLP"

MARGIN = ("MIRA", "CP", "OCP", "OPS l1", "OPS l2")
METHODS = ("AP", *MARGIN, "likelihood")
"""Names of settings: averaged perceptron, 1-best MIRA, cutting planes, online cutting planes,
online primal subgradient with AdaGrad's steps, and AdaGrad on the softmax-margin likelihood.
"""

COLOURS = {
    "AP": "#7F7F7F",
    "MIRA": "#CC79A7",
    "CP": "#D55E00",
    "OCP": "#E69F00",
    "OPS l1": "#56B4E9",
    "OPS l2": "#0072B2",
    "likelihood": "#00795A",
}

TIMES: Mapping[str, Mapping[str, float]] = {
    "NER": {"AP": 1.0, "MIRA": 1.9, "CP": 60.8, "OCP": 2.7, "OPS": 3.9, "Decoding": 0.6},
    "Coref": {"AP": 1.0, "MIRA": 1.0, "CP": 2.7, "OCP": 1.7, "OPS": 1.3, "Decoding": 0.2},
    "Coref mentions": {"AP": 1.0, "MIRA": 1.0, "CP": 2.7, "OCP": 1.7, "OPS": 1.3, "Decoding": 0.2},
    "Span Parser": {"AP": 1.0, "MIRA": 1.0, "OCP": 0.9, "OPS": 1.1, "Decoding": 0.9},
    "MST Proj.": {"AP": 1.0, "MIRA": 1.0, "CP": 6.8, "OCP": 1.5, "OPS": 1.8, "Decoding": 0.7},
    "MST Non-Proj.": {"AP": 1.0, "MIRA": 1.0, "CP": 8.4, "OCP": 1.6, "OPS": 2.0, "Decoding": 0.6},
    "Summ.": {"AP": 1.0, "MIRA": 1.0, "CP": 0.6, "OCP": 1.1, "OPS": 0.9, "Decoding": 0.7},
}
"""Table 1: time of an iteration relative to the averaged perceptron's, of the tasks that are
repeated here. Coreference has two columns: instances that are documents, and that are mentions, as
the paper's.
"""
COREFERENCE = ("Coref", "Coref mentions")

TIMES_TO_MIRA: Mapping[str, Mapping[str, float]] = {
    "Neural Parser": {"MIRA": 1.0, "OCP": 0.9, "OPS": 1.0, "Decoding": 0.7}
}
"""The same relative to MIRA's: the paper has no perceptron here. Ours are relative to MIRA's, too,
if it was timed.
"""

TIMED = ("AP", "MIRA", "CP", "OCP", "OPS")
LIKE = 0.15
"""Times that differ by less than this share count as equal."""
SHARE = 0.15
"""Shares of a pass that differ by less than this count as equal."""

FEATURES = (
    "Features are the shipped templates, unlike in the systems that the paper trained; the "
    "neural parser has none."
)

RELATIONS = " LAS"
"""End of the names of tasks whose arcs have relations, as in the paper."""

Ratios = Mapping[str, Mapping[str, Sample]]


def published(task: str) -> Mapping[str, float]:
    """The paper's times of a task; nothing for others."""
    return {**TIMES, **TIMES_TO_MIRA}.get(task.removesuffix(RELATIONS), {})


def pass_seconds(record: RunRecord) -> float | None:
    """Seconds of a pass, averaged over the run."""
    seconds, passes = record.metric("train.seconds"), record.metric("train.epochs")
    return seconds / passes if seconds and passes else None


def notes(scale: str, *further: str) -> tuple[str, ...]:
    """Return the notes of a report, with one about the scale before the others where it is
    small.
    """
    return (*([SMALL] if scale == "small" else []), *further)


def table1(records: Sequence[RunRecord], scale: str) -> Report:
    """Table 1: time of an iteration relative to the averaged perceptron's; settings are named TASK
    METHOD.
    """
    seconds = _seconds(records)
    ratios = {task: _relative(times, _base(task, times)) for task, times in seconds.items()}
    claims = [judge(ratios) for judge in (_slowest, _online, _mira, _decoding)]
    # the plugin's tasks, of which the other claims may say nothing
    if any(task in ratios for task in TIMES_TO_MIRA):
        claims = [claim for claim in (*claims, _network(ratios)) if claim.evidence]
    return Report(
        "Time of an iteration relative to the averaged perceptron",
        f"{PAPER}, Table 1",
        (_ratio_table(ratios), _seconds_table(seconds)),
        tuple(claims),
        notes(
            scale,
            "Times: NER uses English CoNLL-2003 and coreference LitBank with gold mentions "
            "instead of OntoNotes. Dependency parsing uses the first sentences of the current "
            "English UD instead of version 1.1; without relations, except the tasks with LAS. "
            "Constituency parsing uses the "
            "freely available tenth of the Penn Treebank with gold tags; the paper's span parser "
            "has no batch cutting planes. Summarization uses GUM, one document per summary, "
            "instead of TAC with several.",
            "Times: the neural parser is the network of Durrett and Klein on dense features "
            "only. The perceptron and OPS step by AdaGrad after 10 sentences, MIRA and online "
            "cutting planes after each. The paper's times are relative to MIRA; so are ours, or to "
            "the perceptron without runs of MIRA.",
            FEATURES,
            "Times: the time per iteration is the training time without evaluations, divided by "
            "the epochs. Decoding is one traversal of the training data, scores and search, with "
            "the last weights of the perceptron. OPS uses batches of 10 on NER, as in the paper, "
            "and of 1 in parsing.",
            "Times: the paper's cutting planes solve the program by SMO in Java. How exactly a "
            "round solves it decides the cost of the round.",
        ),
        partial(_draw, ratios),
    )


def _seconds(records: Sequence[RunRecord]) -> dict[str, dict[str, Sample]]:
    """Seconds of a pass, by task and method; ``Decoding`` from the perceptron's runs."""
    by_task: dict[str, dict[str, Sample]] = {task: {} for task in TIMES}
    for setting, runs in grouped(records, setting_of).items():
        task, _, method = setting.rpartition(" ")
        times = by_task.setdefault(task, {})
        if (seconds := sample_of(runs, pass_seconds)) is not None:
            times[method] = seconds
        if method == "AP" and (decoding := sample(runs, "train.decoding_seconds")) is not None:
            times["Decoding"] = decoding
    return {task: times for task, times in by_task.items() if times}


def _base(task: str, times: Mapping[str, Sample]) -> str:
    """Return the method to whose time the others are relative: that of the paper, if it was
    timed.
    """
    return "MIRA" if task in TIMES_TO_MIRA and "MIRA" in times else "AP"


def _relative(times: Mapping[str, Sample], base: str) -> dict[str, Sample]:
    """Divide times by the base's, seed by seed; none are left where that is missing."""
    if base not in times:
        return {}
    first = times[base].values
    shared = {
        method: {s: t / first[s] for s, t in time.values.items() if s in first}
        for method, time in times.items()
    }
    return {method: Sample(values) for method, values in shared.items() if values}


def _ratio_table(ratios: Ratios) -> Table:
    columns = ("", *(name for task in ratios for name in (task, "paper")))
    rows = [
        (
            method,
            *(
                cell
                for task in ratios
                for cell in (ratios[task].get(method), published(task).get(method))
            ),
        )
        for method in (*TIMED, "Decoding")
    ]
    return Table(
        columns,
        tuple(rows),
        "Time per iteration relative to the averaged perceptron.",
        1,
    )


def _seconds_table(seconds: Ratios) -> Table:
    rows = [
        (method, *(times.get(method) for times in seconds.values()))
        for method in (*TIMED, "Decoding")
    ]
    return Table(("", *seconds), tuple(rows), "Seconds per iteration.", 3, detail=True)


def _complete(ratios: Ratios, *methods: str) -> dict[str, Mapping[str, Sample]]:
    """The tasks of which all these methods were timed."""
    return {
        task: times for task, times in ratios.items() if all(method in times for method in methods)
    }


def _listed(ratios: Ratios, *methods: str) -> str:
    """List the ratios of some methods, task by task."""
    return "; ".join(
        f"{task}: " + ", ".join(f"{m} {times[m]}" for m in methods)
        for task, times in ratios.items()
    )


def _slowest(ratios: Ratios) -> Claim:
    known = {task: times for task, times in _complete(ratios, *TIMED).items() if task != "Summ."}
    verdict = every(
        larger(times["CP"], times[method])
        for times in known.values()
        for method in TIMED
        if method != "CP"
    )
    text = (
        "An iteration of batch cutting planes takes the longest (60.8, 2.7, 6.8 and 8.4; not so "
        "in summarization)."
    )
    return Claim(text, verdict, _listed(known, *TIMED[1:]))


def _online(ratios: Ratios) -> Claim:
    known = {
        task: times
        for task, times in _complete(ratios, "OCP", "OPS").items()
        if task not in (*COREFERENCE, "Summ.")
    }
    text = (
        "Online cutting planes take slightly less time per iteration than OPS (observation 2; "
        "not so in coreference and "
        "summarization)."
    )
    return Claim(
        text,
        every(larger(times["OPS"], times["OCP"]) for times in known.values()),
        _listed(known, "OCP", "OPS"),
    )


def _mira(ratios: Ratios) -> Claim:
    known = {
        task: times
        for task, times in _complete(ratios, "MIRA").items()
        if task not in ("NER", *COREFERENCE, "Summ.", *TIMES_TO_MIRA)
    }
    text = f"In parsing MIRA takes as long as the perceptron (1.0; here: at most {LIKE:.0%} more)."
    return Claim(
        text,
        every(~larger(times["MIRA"], times["AP"], 1 + LIKE) for times in known.values()),
        _listed(known, "MIRA"),
    )


def _network(ratios: Ratios) -> Claim:
    known = {
        task: times for task, times in _complete(ratios, "OPS").items() if task in TIMES_TO_MIRA
    }
    timed = all("MIRA" in times for times in known.values())
    text = (
        "(by its numbers) Of the neural parser OPS takes as long as MIRA (here: "
        f"{'' if timed else 'as the perceptron by AdaGrad, '}within {LIKE:.0%})."
    )
    gaps = (
        difference(own["OPS"].logarithm(), own[_base(task, own)].logarithm())
        for task, own in known.items()
    )
    return Claim(
        text,
        every(gap.within(-log(1 + LIKE), log(1 + LIKE)) for gap in gaps),
        _listed(known, "OPS"),
    )


def _decoding(ratios: Ratios) -> Claim:
    known = {
        task: times["Decoding"]
        for task, times in _complete(ratios, "Decoding").items()
        if published(task)
    }
    near = [
        difference(own, own.constant(published(task)["Decoding"])).within(-SHARE, SHARE)
        for task, own in known.items()
    ]
    text = (
        "Decoding takes 0.2 of the perceptron's iteration in coreference, 0.6 to 0.9 elsewhere "
        "(here: each within "
        f"{SHARE} of theirs)."
    )
    return Claim(
        text, every(near), "; ".join(f"{task}: Decoding {share}" for task, share in known.items())
    )


def _draw(ratios: Ratios, target: Path) -> None:
    """Draw ours and theirs, a panel a task, three in a row, on a logarithmic axis."""
    columns, rows = min(3, len(ratios)), -(-len(ratios) // 3)
    figure = plots.new_figure(3.4 * columns + 0.8, 2.8 * rows + 0.4)
    methods = (*TIMED, "Decoding")[::-1]
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    for axes in panels[len(ratios) :]:
        axes.set_visible(False)
    for axes, (task, times) in zip(panels, ratios.items(), strict=False):
        theirs = published(task)
        axes.axvline(1.0, color="#BBBBBB", linewidth=0.8)
        axes.scatter(
            [theirs.get(m, float("nan")) for m in methods],
            methods,
            color="#D55E00",
            marker="D",
            s=26,
            label="theirs",
        )
        ours = [times[m].mean if m in times else float("nan") for m in methods]
        axes.scatter(ours, methods, color="#0072B2", s=34, label="here")
        axes.set(xscale="log", xlim=(0.15, 100), xlabel="times the perceptron's iteration")
        axes.set_xticks([0.3, 1, 3, 10, 30, 100], ["0.3", "1", "3", "10", "30", "100"])
        axes.set_title(task, loc="left", fontsize=11)
        axes.grid(axis="y", color="#EEEEEE", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        frameon=False,
        fontsize=9,
        ncols=2,
        loc="outside lower center",
    )
    plots.save(figure, target)
