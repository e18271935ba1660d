"""Kummerfeld et al. (2015), section 4: the five observations, judged over all tasks together, as
the paper does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from structopt.experiment import kummerfeld2015_curves as curves
from structopt.experiment import kummerfeld2015_robustness as robustness
from structopt.experiment.kummerfeld2015 import PAPER, notes
from structopt.experiment.noise import Verdict, at_least, every, most, some
from structopt.experiment.report import Claim, Report, Table

NAME = "kummerfeld2015_observations"
FIGURE1, ROBUSTNESS = "kummerfeld2015_figure1_", "kummerfeld2015_robustness"
TITLES = {
    "ner": "NER",
    "coreference": "Coref",
    "parser": "Span Parser",
    "neural_parser": "Neural Parser",
    "mst_projective": "MST Proj.",
    "mst_nonprojective": "MST Non-Proj.",
    "mst_projective_labeled": "MST Proj. LAS",
    "mst_nonprojective_labeled": "MST Non-Proj. LAS",
    "summarization": "Summ.",
    "collections": "Summ. Collections",
}
LATENT = "Coref"
"""The task whose outputs are latent, the paper's exception to observation 1."""

REASONS = 4
"""So many different reasons why tasks are undecided are written out."""

Judge = Callable[[Sequence[Verdict]], Verdict]


def _almost_all(verdicts: Sequence[Verdict]) -> Verdict:
    return at_least(max(len(verdicts) - 1, 1), verdicts) if verdicts else Verdict.UNKNOWN


JUDGES: dict[Judge, str] = {
    _almost_all: "in all tasks but one at most",
    most: "in most tasks",
    every: "in every task",
    some: "in some task",
}


class Judged(NamedTuple):
    """The verdict of a task, and what tuning or more epochs could change if it is undecided."""

    verdict: Verdict
    reason: str

    @property
    def counts(self) -> bool:
        """Whether the verdict over all tasks depends on this one: not if runs or seeds are
        missing.
        """
        return self.verdict is not Verdict.UNKNOWN or bool(self.reason)


class Observation(NamedTuple):
    """An observation over all tasks.

    Attributes
    ----------
    text : str
    judge : function from the verdicts of tasks to the verdict over all
    claim : str
        The text by which the report of a task's experiment judges it there.
    left_out : str
        A task that is an exception to it.
    """

    text: str
    judge: Judge
    claim: str
    left_out: str = ""


OBSERVATIONS = (
    Observation("1: margin methods equal or surpass likelihood", _almost_all, curves.LIKELIHOOD),
    Observation(
        "1: margin methods equal or surpass the perceptron", _almost_all, curves.PERCEPTRON, LATENT
    ),
    Observation(
        "1: coreference is an exception, likelihood surpasses margin methods",
        every,
        curves.EXCEPTION,
    ),
    Observation(
        "2: both cutting plane methods take more iterations to their peak", most, curves.SLOW
    ),
    Observation("2: the score of batch cutting planes varies drastically", most, curves.WILD),
    Observation(
        "2: online cutting planes are not fast enough to make up for slower learning",
        most,
        curves.NOT_ENOUGH,
    ),
    Observation(
        "3: the perceptron has difficulty with real-valued features", every, curves.REAL_VALUED
    ),
    Observation("4: OPS is effective", most, curves.EFFECTIVE),
    Observation(
        "4: primal methods remain high over a broad range of values", most, robustness.REMAIN_HIGH
    ),
    Observation(
        "4: dual methods are particularly sensitive to their values", most, robustness.SENSITIVE
    ),
    Observation(
        "4: dual methods perform poorly at badly chosen values", most, robustness.BADLY_CHOSEN
    ),
    Observation(
        "5: the size of a batch does not change the score after as many decodes",
        most,
        robustness.SAME,
    ),
    Observation("5: larger batches speed OPS up", most, robustness.FAST),
    Observation("5: instances of a batch are decoded in parallel", most, robustness.PARALLEL),
    Observation(
        "5: for some tasks the step size has to be tuned again", some, robustness.TUNED_ANEW
    ),
)


SHORT = {one.claim: one.text for one in OBSERVATIONS}
"""The text of each observation, by the text of the claim that judges it for a task."""


def wanted(experiment: str) -> bool:
    """Whether the observations are told by the report of an experiment."""
    return experiment.startswith((FIGURE1, ROBUSTNESS))


def observations(reports: Mapping[str, Mapping[str, Any]], scale: str) -> Report:
    """Judge every observation over all tasks.

    Parameters
    ----------
    reports : mapping of str to mapping
        Reports, as JSON values, of experiments that are `wanted`, by the experiment's name.
    scale : str
    """
    rows = [(one, _by_task(one, reports)) for one in OBSERVATIONS]
    tasks = list(dict.fromkeys(task for _, by_task in rows for task in by_task))
    claims = tuple(_claim(*row) for row in rows)
    cells = (
        (
            claim.text,
            *(by_task[task].verdict.value if task in by_task else None for task in tasks),
            claim.verdict,
        )
        for claim, (_, by_task) in zip(claims, rows, strict=True)
    )
    return Report(
        "The observations over all tasks",
        f"{PAPER}, section 4",
        (
            Table(
                ("observation", *tasks, "all"), tuple(cells), "Verdicts by task and over all tasks."
            ),
        ),
        claims,
        notes(
            scale,
            f"The verdicts of each task come from its reports; there are {len(reports)}.",
            "The paper states its observations over all tasks, with exceptions, so each is judged "
            "over the tasks that decide it. Coreference, whose antecedents are latent, is the "
            "paper's exception to observation 1.",
        ),
    )


def _by_task(
    observation: Observation, reports: Mapping[str, Mapping[str, Any]]
) -> dict[str, Judged]:
    """The verdicts of the tasks whose reports judge an observation."""
    judged = {
        _task(name): Judged(Verdict(claim["verdict"]), str(claim.get("reason", "")))
        for name, report in reports.items()
        for claim in report["claims"]
        if claim["text"] == observation.claim
    }
    return {task: one for task, one in judged.items() if task != observation.left_out}


def _task(experiment: str) -> str:
    """The paper's title of an experiment's task; grids without a task are of entities."""
    name = experiment.removeprefix(FIGURE1).removeprefix(ROBUSTNESS).removeprefix("_") or "ner"
    return TITLES.get(name, name)


def _claim(observation: Observation, by_task: Mapping[str, Judged]) -> Claim:
    known = [one.verdict for one in by_task.values() if one.counts]
    counts = [f"{one.value} {known.count(one)}" for one in Verdict if one in known]
    text, shown = (
        f"{observation.text} (here: {JUDGES[observation.judge]})",
        ", ".join(counts) or "no task tells",
    )
    tasks = "1 task" if len(known) == 1 else f"{len(known)} tasks"
    verdict = observation.judge(known) if known else Verdict.UNKNOWN
    reason = _reasons(by_task) if verdict is Verdict.UNKNOWN else ""
    return Claim(text, verdict, f"of {tasks}: {shown}", reason)


def _reasons(by_task: Mapping[str, Judged]) -> str:
    """Why tasks are undecided: each reason once, with its tasks. More than `REASONS` are shortened
    to the methods and their tasks.
    """
    reasons = [
        (reason, task)
        for task, judged in by_task.items()
        for reason in (judged.reason.split("; ") if judged.reason else ())
    ]
    if len({reason for reason, _ in reasons}) <= REASONS:
        return _with_tasks(reasons)
    methods = [(reason.partition(" has ")[0], task) for reason, task in reasons]
    return f"untuned or still rising at the last epoch: {_with_tasks(methods)}"


def _with_tasks(pairs: Sequence[tuple[str, str]]) -> str:
    tasks: dict[str, list[str]] = {}
    for text, task in pairs:
        tasks.setdefault(text, []).append(task)
    return "; ".join(f"{text} ({', '.join(own)})" for text, own in tasks.items())
