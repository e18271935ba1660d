"""Kummerfeld et al. (2015), section 4: the five observations, judged over all tasks together, as the paper does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from structopt.experiment.kummerfeld2015 import PAPER, notes
from structopt.experiment.kummerfeld2015_curves import observation1, observation2, observation3, observation4
from structopt.experiment.kummerfeld2015_robustness import grids_of
from structopt.experiment.kummerfeld2015_robustness import observation4 as robust
from structopt.experiment.kummerfeld2015_robustness import observation5 as batches
from structopt.experiment.kummerfeld2015_tuned import Figure1, metric_of
from structopt.experiment.noise import Verdict, at_least, every, most, some
from structopt.experiment.report import Claim, Report, Table
from structopt.run.records import RunRecord

NAME = "kummerfeld2015_observations"
FIGURE1, ROBUSTNESS = "kummerfeld2015_figure1_", "kummerfeld2015_robustness"
TITLES = {
    "ner": "NER", "coreference": "Coref", "parser": "Span Parser", "neural_parser": "Neural Parser",
    "mst_projective": "MST Proj.", "mst_nonprojective": "MST Non-Proj.", "summarization": "Summ.",
}  # fmt: skip
LATENT, REAL_VALUED = ("Coref",), ("Neural Parser", "Summ.")
"""Tasks whose outputs are latent, the paper's exception to observation 1; tasks with real-valued features, of observation 3."""

ByTask = dict[str, Verdict]
Judge = Callable[[Sequence[Verdict]], Verdict]


def _almost_all(verdicts: Sequence[Verdict]) -> Verdict:
    return at_least(max(len(verdicts) - 1, 1), verdicts) if verdicts else Verdict.UNKNOWN


JUDGES: dict[Judge, str] = {
    _almost_all: "in all tasks but one at most", most: "in most tasks", every: "in every task", some: "in some task",
}  # fmt: skip


def wanted(experiment: str) -> bool:
    """Whether the observations are told by the sweep of an experiment."""
    return experiment.startswith((FIGURE1, ROBUSTNESS))


def observations(sweeps: Mapping[str, Sequence[RunRecord]], scale: str) -> Report:
    """Judge every observation over all tasks.

    Parameters
    ----------
    sweeps : mapping of str to sequence of RunRecord
        The finished runs of experiments that are `wanted`, by the experiment's name.
    scale : str
    """
    drawn = {name.removeprefix(FIGURE1): runs for name, runs in sweeps.items() if name.startswith(FIGURE1)}
    curves = {TITLES.get(name, name): Figure1.of(runs) for name, runs in drawn.items()}
    rows = [*_of_figure1(curves), *_of_robustness({n: runs for n, runs in sweeps.items() if n.startswith(ROBUSTNESS)})]
    tasks = list(dict.fromkeys(task for _, _, by_task in rows for task in by_task))
    table = Table(
        ("observation", *tasks),
        tuple((text, *(by_task[task].value if task in by_task else None for task in tasks)) for text, _, by_task in rows),
        "Every observation in every task.",
    )
    return Report(
        "The observations over all tasks", f"{PAPER}, section 4", (table,),
        tuple(_claim(*row) for row in rows),
        notes(
            scale,
            f"Of the finished sweeps {', '.join(sweeps)}. Numbers of each task are in their reports.",
            "The paper states its observations over all tasks, with exceptions; so each is judged over the tasks that can be "
            "told. Coreference, whose antecedents are latent, is the exception to observation 1.",
        ),
    )  # fmt: skip


def _claim(text: str, judge: Judge, by_task: ByTask) -> Claim:
    known = [verdict for verdict in by_task.values() if verdict is not Verdict.UNKNOWN]
    counts = [f"{one.value} {known.count(one)}" for one in (Verdict.HOLDS, Verdict.FAILS, Verdict.NOISE) if one in known]
    shown = ", ".join(counts) or "no task tells"
    return Claim(f"{text} (here: {JUDGES[judge]})", judge(known) if known else Verdict.UNKNOWN, f"of {len(known)} tasks: {shown}")


Row = tuple[str, Judge, ByTask]


def _of_figure1(curves: Mapping[str, Figure1]) -> list[Row]:
    first = {task: [claim.judged for claim in observation1(tuned, task in LATENT)] for task, tuned in curves.items()}
    second = {task: [claim.judged for claim in observation2(tuned)] for task, tuned in curves.items()}
    plain, latent = [task for task in curves if task not in LATENT], [task for task in curves if task in LATENT]
    return [
        ("1: margin methods equal or surpass likelihood", _almost_all, {task: first[task][0] for task in plain}),
        ("1: margin methods equal or surpass the perceptron", _almost_all, {task: first[task][1] for task in plain}),
        ("1: coreference is an exception, likelihood surpasses margin methods", every, {task: first[task][0] for task in latent}),
        ("2: both cutting plane methods take more iterations to their peak", most, {task: second[task][0] for task in curves}),
        ("2: the score of batch cutting planes varies drastically", most, {task: second[task][1] for task in curves}),
        ("2: online cutting planes are not fast enough to make up for slower learning", most, {t: second[t][2] for t in curves}),
        (
            "3: the perceptron has difficulty with real-valued features", every,
            {task: observation3(tuned).judged for task, tuned in curves.items() if task in REAL_VALUED},
        ),
        ("4: OPS is effective", most, {task: observation4(tuned).judged for task, tuned in curves.items()}),
    ]  # fmt: skip


def _of_robustness(sweeps: Mapping[str, Sequence[RunRecord]]) -> list[Row]:
    names = {name: TITLES.get(name.removeprefix(ROBUSTNESS).removeprefix("_") or "ner", name) for name in sweeps}
    fourth: dict[str, list[Verdict]] = {}
    fifth: dict[str, list[Verdict]] = {}
    for name, runs in sweeps.items():
        grids, sizes, speeds = grids_of(runs, metric_of(runs[0]))
        fourth[names[name]] = [claim.judged for claim in robust(grids)]
        fifth[names[name]] = [claim.judged for claim in batches(sizes, speeds)]
    texts: list[tuple[str, Judge, Mapping[str, list[Verdict]], int]] = [
        ("4: primal methods remain high over a broad range of values", most, fourth, 0),
        ("4: dual methods are particularly sensitive to their values", most, fourth, 1),
        ("4: dual methods perform poorly at badly chosen values", most, fourth, 2),
        ("5: the size of a batch does not change the score after as many decodes", most, fifth, 0),
        ("5: larger batches speed OPS up", most, fifth, 1),
        ("5: for some tasks the step size has to be tuned anew", some, fifth, 2),
    ]
    return [(text, judge, {task: judged[index] for task, judged in told.items()}) for text, judge, told, index in texts]
