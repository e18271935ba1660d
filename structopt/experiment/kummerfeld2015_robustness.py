"""Kummerfeld et al. (2015), observations 4 and 5: dev score over C and step size, and over the size
of a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan, nan
from pathlib import Path
from statistics import median
from typing import Any

from structopt.experiment.kummerfeld2015 import FEATURES, PAPER, notes, pass_seconds
from structopt.experiment.kummerfeld2015_tuned import metric_of
from structopt.experiment.noise import (
    LEAST,
    Difference,
    Sample,
    difference,
    every,
    higher,
    larger,
    some,
)
from structopt.experiment.report import Cell, Claim, Report, Table
from structopt.experiment.runs import (
    Parts,
    cannot_tell,
    grouped,
    highest,
    instances,
    sample_of,
    setting_of,
)
from structopt.run import plots
from structopt.run.records import RunRecord

PRIMAL, DUAL, BATCHES = ("OPS l2", "likelihood"), ("OCP", "CP"), "OPS l2 batches"
SHARED = "OPS l2 batches 2 threads"
"""The runs of `BATCHES` again, of one step size, whose batches are shared by two threads."""
OTHER = {"OPS l2": "eta", "likelihood": "eta", "OCP": "steps"}
"""Parameters of the optimizer that are varied beside C; CP has none."""
TITLES = {
    "OPS l2": "OPS, l2",
    "likelihood": "AdaGrad, softmax-margin",
    "OCP": "online cutting planes",
    "CP": "cutting planes",
}

HIGH = 2.0
"""Points below the best of all methods within which a score counts as high."""
BROAD = 0.5
"""Share of a grid that counts as a broad range."""
FASTER = 1.2
"""Least ratio of speeds that counts as faster."""

REMAIN_HIGH = (
    f"Primal methods remain high over a broad range of values ({BROAD:.0%} of the grid within "
    f"{HIGH:g} points)."
)
SENSITIVE = (
    "Dual methods are particularly sensitive to their values (a smaller share of the grid is high)."
)
BADLY_CHOSEN = (
    "Dual methods perform poorly at badly chosen values (their worst is below that of the primal "
    "methods)."
)
SAME = (
    "After as many decodes, the size of a batch does not change the score substantially (less "
    "than 1 point, η tuned)."
)
FAST = f"Larger batches speed OPS up, as there are fewer updates ({FASTER:g} times at least)."
PARALLEL = (
    "Larger batches speed OPS up, as their instances are decoded in parallel (two threads are "
    f"{FASTER:g} times as fast as one, at the largest size)."
)
TUNED_ANEW = (
    "For some tasks the step size has to be tuned again when the size changes (or more is lost "
    "than by another seed)."
)
"""The observations, of one task each."""
CLAIMS5 = SAME, FAST, PARALLEL, TUNED_ANEW

Value = float | int


NONE: Mapping[Value, Sample] = {}


@dataclass(frozen=True)
class Score:
    """Scores at some values: on the dev split, by which values are chosen, and what is reported."""

    chosen: float
    reported: Sample


Grid = dict[tuple[Value, Value | None], Score]


DATA = {
    "ner": "Named entities, {} sentences of English CoNLL-2003 (the paper: OntoNotes); F1",
    "dependency": "Dependencies, {} sentences of English EWT (the paper: version 1.1); LAS, with "
    "wrong parents or relations as the cost",
    "constituency": "Constituents, {} sentences of the free tenth of the Penn Treebank; bracket F1",
    "summarization": "Summaries, {} documents of GUM (the paper: TAC); ROUGE-2 recall",
}
"""Data and scores, by task."""


def robustness(records: Sequence[RunRecord], scale: str) -> Report:
    """Observations 4 and 5, on one of the tasks whose outputs are known in full."""
    task = str(records[0].setting("task.name")) if records else "ner"
    metric = metric_of(records[0]) if records else "f1"
    data = DATA[task] + " after the epoch with the best tuning score"
    return _robustness(records, scale, data, metric)


def robustness_coreference(records: Sequence[RunRecord], scale: str) -> Report:
    """Observations 4 and 5, on coreference."""
    data = (
        "Coreference, {} documents of LitBank with gold mentions (the paper: OntoNotes); the "
        "mean F1 of MUC, B3 and CEAFe after the epoch with the best tuning score"
    )
    return _robustness(records, scale, data, "conll")


def _robustness(records: Sequence[RunRecord], scale: str, data: str, metric: str) -> Report:
    parts = Parts.of(records)
    grids, batches, speeds = grids_of(records, metric)
    shared = _speeds([run for run in records if setting_of(run) == SHARED])
    maps = tuple(_map_table(name, grid) for name, grid in grids.items())
    return Report(
        "Score over C and step size, and over the size of a batch",
        f"{PAPER}, observations 4 and 5 (section 4); the paper gives no numbers",
        (
            _summary(grids, parts.place(parts.score(metric))),
            *maps,
            *([_batch_table(batches, speeds, shared)] if batches else []),
        ),
        (*observation4(grids), *observation5(batches, speeds, shared)),
        notes(
            scale,
            parts.note,
            f"{data.format(instances(records))}, of five epochs (ten for batch cutting planes), "
            "as the paper tuned.",
            *_strengths(records),
            "Grids: a share of a grid depends on the ends of the grid, so the table gives the "
            "range of C, too.",
            f"Criteria: a method remains high if {BROAD:.0%} of its grid is within {HIGH:g} points "
            "of the best. Dual methods are sensitive if a smaller share of their grid is, and "
            "perform poorly if their worst score is below that of the primal methods. A batch "
            "size changes the score if it costs 1 point or more with η tuned. Larger batches are "
            f"faster if they are {FASTER:g} times as fast at least. The step size has to be tuned "
            "again if not tuning it loses more than another seed does.",
            "Batches are processed in one thread, except in the runs with two. Times are hints if "
            "jobs run at the same time.",
            FEATURES,
        ),
        partial(_draw, _means(grids), _means({BATCHES: batches})[BATCHES], _mean_speeds(speeds))
        if grids or batches
        else None,
    )


def _strengths(records: Sequence[RunRecord]) -> list[str]:
    """Return the note on the paper's C in the grid of OPS; none without runs of OPS."""
    runs = [run for run in records if setting_of(run) == PRIMAL[0]]
    sizes = {int(run.setting("optimizer.batch_size") or 1) for run in runs}
    strengths = [
        1.0 / (float(run.setting("optimizer.C")) * m)
        for run in runs
        if (m := run.metric("train.instances"))
    ]
    if len(sizes) != 1 or not strengths:
        return []
    (size,) = sizes
    return [of_the_paper([size * strength for strength in strengths], size)]


def of_the_paper(strengths: Sequence[float], size: int) -> str:
    """Return the note on the paper's C in the grid of OPS, from its values in all runs."""
    return (
        "Grids: C is 1/(λm) with m instances. The paper's C, from 1e-1 to 1e-8, is λ times the "
        f"number of instances in a batch. In the grid of OPS, with batches of {size}, it is from "
        f"{max(strengths):.1g} to {min(strengths):.1g}; η is from 1 to 1e-3 (the paper's to 1e-4)."
    )


def grids_of(
    records: Sequence[RunRecord], metric: str
) -> tuple[dict[str, Grid], Grid, dict[Value, Sample]]:
    """The grids of all methods, that of batches, and seconds of a pass by the size of a batch."""
    parts = Parts.of(records)
    runs = grouped(
        [record for record in records if (highest(record, metric) or 0.0) > 0], setting_of
    )
    grids = {
        name: _grid(runs[name], ("C", OTHER.get(name)), metric, parts)
        for name in (*PRIMAL, *DUAL)
        if name in runs
    }
    batches = runs.get(BATCHES, [])
    return grids, _grid(batches, ("batch_size", "eta"), metric, parts), _speeds(batches)


def _grid(
    runs: Sequence[RunRecord], names: tuple[str, str | None], metric: str, parts: Parts
) -> Grid:
    """Scores by two values of the optimizer, the second of which may be missing."""

    def key(run: RunRecord) -> tuple[Value, Value | None]:
        return run.setting(f"optimizer.{names[0]}"), run.setting(f"optimizer.{names[1]}") if names[
            1
        ] else None

    grid: Grid = {}
    for values, same in grouped(runs, key).items():
        chosen = sample_of(same, lambda run: highest(run, metric))
        reported = sample_of(same, lambda run: parts.best(run, metric))
        if chosen is not None and reported is not None:
            grid[values] = Score(chosen.mean, reported)
    return grid


def _speeds(runs: Sequence[RunRecord]) -> dict[Value, Sample]:
    """Seconds of a pass by batch size: of every seed the median over step sizes."""
    speeds = {}
    for size, same in grouped(runs, lambda run: run.setting("optimizer.batch_size")).items():
        by_seed = grouped(same, lambda run: run.setting("seed"))
        times = {
            seed: [time for run in own if (time := pass_seconds(run)) is not None]
            for seed, own in by_seed.items()
        }
        if values := {seed: median(known) for seed, known in times.items() if known}:
            speeds[size] = Sample(values)
    return dict(sorted(speeds.items()))


def _axes(grid: Mapping[tuple[Value, Value | None], Any]) -> tuple[list[Value], list[Value | None]]:
    rows = sorted({row for row, _ in grid})
    columns = sorted(
        {column for _, column in grid}, key=lambda column: -1.0 if column is None else column
    )
    return rows, columns


def _best(grid: Grid) -> Score:
    """The score at the values that are best on the dev split."""
    return max(grid.values(), key=lambda score: score.chosen)


def _of_grid(grid: Grid, value: Callable[[list[float], Any], float]) -> Sample:
    """A number of the reported scores of every seed that all cells have."""
    seeds = [
        seed
        for seed in _best(grid).reported.values
        if all(seed in score.reported.values for score in grid.values())
    ]
    return Sample(
        {
            seed: value([score.reported.values[seed] for score in grid.values()], seed)
            for seed in seeds
        }
    )


def _share(grid: Grid, grids: Mapping[str, Grid]) -> Sample:
    """The share of a grid's values that score within `HIGH` of the best of all methods, by seed."""
    tops = {
        name: _of_grid(one, lambda scores, _seed: max(scores)).values for name, one in grids.items()
    }

    def share(scores: list[float], seed: Any) -> float:
        best = max(top[seed] for top in tops.values() if seed in top)
        return sum(score >= best - HIGH for score in scores) / len(scores)

    return _of_grid(grid, share)


def _worst(grid: Grid) -> Sample:
    return _of_grid(grid, lambda scores, _seed: min(scores))


def _summary(grids: Mapping[str, Grid], place: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, grid in grids.items():
        middle, share = _of_grid(grid, lambda scores, _seed: median(scores)), _share(grid, grids)
        percent = Sample({seed: 100 * value for seed, value in share.values.items()})
        rows.append(
            (
                TITLES[name],
                len(grid),
                _best(grid).reported,
                middle,
                _worst(grid),
                percent,
                _high_range(grid),
            )
        )
    columns = (
        "method",
        "settings",
        "score at the chosen values",
        "median",
        "worst",
        f"% of settings within {HIGH:g} points of the best of all",
        f"C within {HIGH:g} points of its own best, the rest tuned",
    )
    return Table(columns, tuple(rows), f"Each method over its grid: score in points on {place}.", 1)


def _high_range(grid: Grid) -> str:
    """The smallest and the largest C at which a method comes near its own best."""
    over_c = {C: score.reported.mean for C, score in _best_by_row(grid).items()}
    high = [C for C, value in over_c.items() if value >= max(over_c.values()) - HIGH]
    return f"{min(high):g} to {max(high):g}"


def _map_table(name: str, grid: Grid) -> Table:
    rows, columns = _axes(grid)
    heads = [f"{OTHER[name]} = {column:g}" if column is not None else "score" for column in columns]
    return Table(
        ("", *heads),
        tuple((f"C = {row:g}", *_cells(grid, row, columns)) for row in rows),
        f"{TITLES[name]}: score.",
        1,
        detail=True,
    )


def _cells(grid: Grid, row: Value, columns: Sequence[Value | None]) -> list[Sample | None]:
    return [grid[row, column].reported if (row, column) in grid else None for column in columns]


def _batch_table(
    batches: Grid, speeds: Mapping[Value, Sample], shared: Mapping[Value, Sample]
) -> Table:
    rows, columns = _axes(batches)
    cells = tuple(
        (
            row,
            *_cells(batches, row, columns),
            speeds.get(row),
            *([shared.get(row)] if shared else []),
        )
        for row in rows
    )
    heads = (
        "batch",
        *(f"η = {column:g}" for column in columns if column is not None),
        "seconds per epoch",
        *(["seconds per epoch, 2 threads"] if shared else []),
    )
    return Table(
        heads, cells, "OPS by the size of a batch: score after the same number of decodes.", 2
    )


def _best_by_row(grid: Grid) -> dict[Value, Score]:
    """The score at each value of the first key, the second chosen on the dev split."""
    rows, _ = _axes(grid)
    return {
        row: _best({key: score for key, score in grid.items() if key[0] == row}) for row in rows
    }


def observation4(grids: Mapping[str, Grid]) -> list[Claim]:
    """Primal methods are robust, dual ones sensitive."""
    shares = {name: _share(grid, grids) for name, grid in grids.items()}
    primal = {name: share for name, share in shares.items() if name in PRIMAL}
    dual = {name: share for name, share in shares.items() if name in DUAL}
    column = 'column "% of settings"'
    if not primal:
        return [
            cannot_tell(text, "primal methods") for text in (REMAIN_HIGH, SENSITIVE, BADLY_CHOSEN)
        ]
    broad = every(difference(share, share.constant(BROAD)).above() for share in primal.values())
    claims = [Claim(REMAIN_HIGH, broad, column)]
    if not dual:
        return claims + [cannot_tell(text, "dual methods") for text in (SENSITIVE, BADLY_CHOSEN)]
    worst = {name: _worst(grid) for name, grid in grids.items()}
    smaller = every(
        difference(one, other).above() for one in primal.values() for other in dual.values()
    )
    lower = every(higher(worst[one], worst[other]) for one in primal for other in dual)
    return [
        *claims,
        Claim(SENSITIVE, smaller, column),
        Claim(
            BADLY_CHOSEN,
            lower,
            'column "worst"',
        ),
    ]


def observation5(
    batches: Grid, speeds: Mapping[Value, Sample], shared: Mapping[Value, Sample] = NONE
) -> list[Claim]:
    """The size of a batch: scores, speed in one thread and in two, and the step size."""
    best = {size: score.reported for size, score in _best_by_row(batches).items()}
    if len(best) < 2:
        return [cannot_tell(text, "batches of several sizes") for text in CLAIMS5]
    ranked = sorted(best.values(), key=lambda score: score.mean)
    costs = _costs_of_not_tuning(batches, best)
    return [
        Claim(SAME, ~higher(ranked[-1], ranked[0], 1.0), "score by size " + _listed(best)),
        _faster(speeds),
        _parallel(speeds, shared),
        Claim(
            TUNED_ANEW,
            some(cost.above() for cost in costs.values()),
            "points lost at the first size's η: " + _listed(costs),
        ),
    ]


def _parallel(speeds: Mapping[Value, Sample], shared: Mapping[Value, Sample]) -> Claim:
    """Judge whether two threads speed the largest batch up."""
    sizes = [size for size in shared if size in speeds]
    if not sizes:
        return cannot_tell(PARALLEL, "runs with two threads")
    one, two = speeds[max(sizes)], shared[max(sizes)]
    numbers = f"size {max(sizes)}: one thread {one} s, two {two} s"
    return Claim(PARALLEL, larger(one, two, FASTER), numbers)


def _costs_of_not_tuning(batches: Grid, best: Mapping[Value, Sample]) -> dict[Value, Difference]:
    """Points that each further size loses at the step size that is chosen for the smallest."""
    first = min(best)
    if len({eta for _, eta in batches}) < 2:
        return {}
    eta = max((key for key in batches if key[0] == first), key=lambda key: batches[key].chosen)[1]
    sizes = [size for size in best if size != first and (size, eta) in batches]
    return {size: difference(best[size], batches[size, eta].reported, LEAST) for size in sizes}


def _faster(speeds: Mapping[Value, Sample]) -> Claim:
    if len(speeds) < 2:
        return cannot_tell(FAST, "seconds of passes")
    quickest = min(speeds.values(), key=lambda time: time.mean)
    verdict = larger(speeds[min(speeds)], quickest, FASTER)
    return Claim(FAST, verdict, 'column "seconds per epoch"')


def _listed(values: Mapping[Value, Sample | Difference]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in values.items())


Means = Mapping[tuple[Value, Value | None], float]


def _means(grids: Mapping[str, Grid]) -> dict[str, Means]:
    return {
        name: {key: score.reported.mean for key, score in grid.items()}
        for name, grid in grids.items()
    }


def _mean_speeds(speeds: Mapping[Value, Sample]) -> dict[Value, float]:
    return {size: time.mean for size, time in speeds.items()}


def _draw(
    grids: Mapping[str, Means], batches: Means, speeds: Mapping[Value, float], target: Path
) -> None:
    """Draw a heat map for each method, on one scale of colours, and the score by the size of a
    batch.
    """
    panels = len(grids) + bool(batches)
    figure = plots.new_figure(11.0, 3.6 * -(-panels // 3))
    best = max((max(grid.values()) for grid in grids.values()), default=0.0)
    for number, (name, grid) in enumerate(grids.items(), 1):
        _heat(figure.add_subplot(-(-panels // 3), 3, number), name, grid, best)
    if batches:
        _sizes(figure.add_subplot(-(-panels // 3), 3, panels), batches, speeds)
    plots.save(figure, target)


def _heat(axes: Any, name: str, grid: Means, best: float) -> None:
    """Draw one heat map, its scores written in the cells."""
    rows, columns = _axes(grid)
    table = [[grid.get((row, column), nan) for row in rows] for column in columns]
    axes.imshow(table, cmap="viridis", vmin=best - 20, vmax=best, aspect="auto", origin="lower")
    axes.set_xticks(range(len(rows)), [f"{row:g}" for row in rows], fontsize=8)
    axes.set_yticks(
        range(len(columns)),
        ["" if column is None else f"{column:g}" for column in columns],
        fontsize=8,
    )
    axes.set(xlabel="C", ylabel={"eta": "η", "steps": "steps a visit"}.get(OTHER.get(name, ""), ""))
    axes.set_title(f"{TITLES[name]}: score", loc="left", fontsize=10)
    for y, line in enumerate(table):
        for x, value in enumerate(line):
            shown = "" if isnan(value) else f"{value:.1f}"
            axes.text(
                x,
                y,
                shown,
                ha="center",
                va="center",
                fontsize=8,
                color="black" if value > best - 7 else "white",
            )


def _sizes(axes: Any, batches: Means, speeds: Mapping[Value, float]) -> None:
    """Draw the score against the size of a batch, a line a step size, and what a pass costs."""
    rows, columns = _axes(batches)
    for column, colour in zip(
        columns, ("#56B4E9", "#0072B2", "#D55E00", "#CC79A7", "#00795A"), strict=False
    ):
        points = [(row, batches[row, column]) for row in rows if (row, column) in batches]
        axes.plot(
            *zip(*points, strict=True),
            color=colour,
            marker="o",
            markersize=3,
            linewidth=1.6,
            label=f"η = {column:g}",
        )
    top = max(batches.values())
    axes.set(
        xscale="log",
        xlabel="instances a batch",
        ylim=(max(min(batches.values()), top - 12) - 0.5, top + 0.5),
    )
    axes.set_xticks(
        rows,
        [f"{row}\n{speeds[row]:.2g} s" if row in speeds else f"{row}" for row in rows],
        fontsize=8,
    )
    axes.minorticks_off()
    axes.set_title("OPS by the size of a batch: score, seconds per epoch", loc="left", fontsize=10)
    plots.draw_grid(axes)
    plots.legend_below(axes, columns=2, lines=2)
