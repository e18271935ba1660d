"""Kummerfeld et al. (2015), observations 4 and 5: dev score over C and step size, and over the size of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import isnan, nan
from pathlib import Path
from statistics import median
from typing import Any

from structopt.experiment.kummerfeld2015 import FEATURES, PAPER, notes, pass_seconds, seed_noise
from structopt.experiment.kummerfeld2015_tuned import LEAST_NOISE
from structopt.experiment.report import Cell, Claim, Report, Table
from structopt.experiment.runs import cannot_tell, grouped, instances, setting_of
from structopt.run import plots
from structopt.run.records import RunRecord

PRIMAL, DUAL, BATCHES = ("OPS l2", "likelihood"), ("OCP", "CP"), "OPS l2 batches"
OTHER = {"OPS l2": "eta", "likelihood": "eta", "OCP": "steps"}
"""Parameters of the optimizer that are varied beside C; CP has none."""
TITLES = {"OPS l2": "OPS, l2", "likelihood": "AdaGrad, softmax-margin", "OCP": "online cutting planes", "CP": "cutting planes"}

HIGH = 2.0
"""Points of F1 below the best of all methods within which a score counts as high."""
BROAD = 0.5
"""Share of a grid that counts as a broad range."""
FASTER = 1.2
"""Least ratio of speeds that counts as faster."""

Value = float | int
Grid = dict[tuple[Value, Value | None], float]


def robustness(records: Sequence[RunRecord], scale: str) -> Report:
    """Observations 4 and 5, on named entities."""
    data = "Named entities, {} sentences of English CoNLL-2003 (the paper: OntoNotes); the highest F1 on the dev split (testa)"
    return _robustness(records, scale, data, "dev.f1")


def robustness_coreference(records: Sequence[RunRecord], scale: str) -> Report:
    """Observations 4 and 5, on coreference."""
    data = (
        "Coreference, {} documents of LitBank with gold mentions (the paper: OntoNotes); the highest mean F1 of MUC, B3 and "
        "CEAFe on 20 other documents"
    )
    return _robustness(records, scale, data, "dev.conll")


def _robustness(records: Sequence[RunRecord], scale: str, data: str, metric: str) -> Report:
    scores = {record.name: _score(record, metric) for record in records}
    known = [record for record in records if scores[record.name] > 0]
    noise = seed_noise(known, scores, LEAST_NOISE)
    runs = grouped(known, setting_of)
    grids = {name: _grid(runs[name], OTHER.get(name), scores) for name in (*PRIMAL, *DUAL) if name in runs}
    batches = _batches(runs.get(BATCHES, []), scores)
    speeds = _speeds(runs.get(BATCHES, []))
    maps = tuple(_map_table(name, grid) for name, grid in grids.items())
    return Report(
        "Dev score over C and step size, and over the size of a batch",
        f"{PAPER}, observations 4 and 5 (section 4); the paper gives no numbers",
        (_summary(grids), *maps, *([_batch_table(batches, speeds)] if batches else [])),
        (*_observation4(grids), *_observation5(batches, speeds, noise)),
        notes(
            scale,
            f"{data.format(instances(records))}, of five passes, of ten for batch cutting planes, as the paper tuned.",
            "C is 1/(λm) with m instances; the paper's C, from 1e-1 to 1e-8, is λ. Here λ goes from 2e-1 to 2e-6, and η from "
            "1 to 1e-3 (theirs to 1e-4).",
            f"Differences below {noise:.2f} points, the range between seeds in this sweep (at least {LEAST_NOISE}), are not "
            "called one.",
            "A share of a grid depends on where the grid ends; so the range of C is given beside it.",
            "Batches are worked through in one thread here, so that only the smaller number of updates can make them faster. "
            "Where jobs run side by side, times are hints.",
            FEATURES,
        ),
        partial(_draw, grids, batches, speeds) if grids or batches else None,
    )


def _score(record: RunRecord, metric: str) -> float:
    """The highest dev score of any pass, in points; 0 where there is none."""
    return 100 * max(record.curve(metric)[1], default=0.0)


def _grid(runs: Sequence[RunRecord], other: str | None, scores: Mapping[str, float]) -> Grid:
    """Scores by C and by the other value that is varied."""
    def key(run: RunRecord) -> tuple[Value, Value | None]:
        return run.setting("optimizer.C"), run.setting(f"optimizer.{other}") if other else None

    return {key(run): scores[run.name] for run in runs if not run.setting("seed")}


def _batches(runs: Sequence[RunRecord], scores: Mapping[str, float]) -> Grid:
    """Scores by batch size and η."""
    return {(run.setting("optimizer.batch_size"), run.setting("optimizer.eta")): scores[run.name] for run in runs}


def _speeds(runs: Sequence[RunRecord]) -> dict[Value, float]:
    """Seconds of a pass by batch size: the median over step sizes."""
    groups = grouped(runs, lambda run: run.setting("optimizer.batch_size"))
    times = {size: [time for run in group if (time := pass_seconds(run)) is not None] for size, group in groups.items()}
    return {size: median(known) for size, known in sorted(times.items()) if known}


def _axes(grid: Grid) -> tuple[list[Value], list[Value | None]]:
    rows = sorted({row for row, _ in grid})
    columns = sorted({column for _, column in grid}, key=lambda column: -1.0 if column is None else column)
    return rows, columns


def _summary(grids: Mapping[str, Grid]) -> Table:
    best = max((max(grid.values()) for grid in grids.values()), default=0.0)
    rows: list[tuple[Cell, ...]] = []
    for name, grid in grids.items():
        values = list(grid.values())
        rows.append((
            TITLES[name], len(values), max(values), median(values), min(values), 100 * _high_share(grid, best), _high_range(grid)
        ))  # fmt: skip
    columns = (
        "method", "settings", "best F1", "median", "worst", f"% of settings within {HIGH:g} points of the best of all",
        f"C within {HIGH:g} points of its own best, the rest tuned",
    )  # fmt: skip
    return Table(columns, tuple(rows), "Every method over its grid.", 1)


def _high_range(grid: Grid) -> str:
    """The smallest and the largest C at which a method comes near its own best."""
    over_c = _best_by_row(grid)
    high = [C for C, value in over_c.items() if value >= max(over_c.values()) - HIGH]
    return f"{min(high):g} to {max(high):g}"


def _map_table(name: str, grid: Grid) -> Table:
    rows, columns = _axes(grid)
    heads = [f"{OTHER[name]} = {column:g}" if column is not None else "F1" for column in columns]
    cells = tuple((f"C = {row:g}", *(grid.get((row, column)) for column in columns)) for row in rows)
    return Table(("", *heads), cells, f"{TITLES[name]}: dev F1.", 1)


def _batch_table(batches: Grid, speeds: Mapping[Value, float]) -> Table:
    rows, columns = _axes(batches)
    cells = tuple((row, *(batches.get((row, column)) for column in columns), speeds.get(row)) for row in rows)
    heads = ("batch", *(f"η = {column:g}" for column in columns if column is not None), "seconds a pass")
    return Table(heads, cells, "OPS by the size of a batch, C = 0.1: dev F1 after as many decodes.", 2)


def _best_by_row(grid: Grid) -> dict[Value, float]:
    """The highest score at each value of the first key, the second tuned."""
    rows, _ = _axes(grid)
    return {row: max(value for (key, _), value in grid.items() if key == row) for row in rows}


def _high_share(grid: Grid, best: float) -> float:
    return sum(value >= best - HIGH for value in grid.values()) / len(grid)


def _observation4(grids: Mapping[str, Grid]) -> list[Claim]:
    primal_text = f"Primal methods remain high over a broad range of values ({BROAD:.0%} of the grid within {HIGH:g} points)."
    dual_text = "Dual methods are particularly sensitive to their values (a smaller share of the grid is high)."
    least_text = "Dual methods perform poorly at badly chosen values (their worst is below that of the primal methods)."
    best = max((max(grid.values()) for grid in grids.values()), default=0.0)
    shares = {name: _high_share(grid, best) for name, grid in grids.items()}
    primal = {name: share for name, share in shares.items() if name in PRIMAL}
    dual = {name: share for name, share in shares.items() if name in DUAL}
    listed = ", ".join(f"{TITLES[name]} {share:.0%}" for name, share in shares.items())
    if not primal:
        return [cannot_tell(text, "primal methods") for text in (primal_text, dual_text, least_text)]
    claims = [Claim(primal_text, all(share >= BROAD for share in primal.values()), listed)]
    if not dual:
        return claims + [cannot_tell(text, "dual methods") for text in (dual_text, least_text)]
    worst = {name: min(grid.values()) for name, grid in grids.items()}
    lower = max(worst[name] for name in dual) < min(worst[name] for name in primal)
    return [
        *claims,
        Claim(dual_text, max(dual.values()) < min(primal.values()), listed),
        Claim(least_text, lower, ", ".join(f"{TITLES[name]} {value:.1f}" for name, value in worst.items())),
    ]


def _observation5(batches: Grid, speeds: Mapping[Value, float], noise: float) -> list[Claim]:
    same_text = "After as many decodes, the size of a batch does not change the score substantially (less than 1 point, η tuned)."
    fast_text = f"Larger batches speed OPS up, as there are fewer updates ({FASTER:g} times at least)."
    tune_text = "For some tasks the step size has to be tuned anew when the size changes (or more is lost than by another seed)."
    best = _best_by_row(batches)
    if len(best) < 2:
        return [cannot_tell(text, "batches of several sizes") for text in (same_text, fast_text, tune_text)]
    spread = max(best.values()) - min(best.values())
    costs = _costs_of_not_tuning(batches, best)
    return [
        Claim(same_text, spread < max(1.0, noise), "best F1 by size " + _listed(best)),
        _faster(fast_text, speeds),
        Claim(tune_text, max(costs.values()) > noise if costs else None, "points lost at the first size's η: " + _listed(costs)),
    ]


def _costs_of_not_tuning(batches: Grid, best: Mapping[Value, float]) -> dict[Value, float]:
    """Points that each size loses at the step size that is best for the smallest."""
    first = min(best)
    if len({eta for _, eta in batches}) < 2:
        return {}
    eta = max((key for key in batches if key[0] == first), key=lambda key: batches[key])[1]
    return {size: value - batches[size, eta] for size, value in best.items() if (size, eta) in batches}


def _faster(text: str, speeds: Mapping[Value, float]) -> Claim:
    if len(speeds) < 2:
        return cannot_tell(text, "seconds of passes")
    ratio = speeds[min(speeds)] / min(speeds.values())
    return Claim(text, ratio >= FASTER, "seconds a pass by size " + _listed(speeds))


def _listed(values: Mapping[Value, float]) -> str:
    return ", ".join(f"{key}: {value:.2f}" for key, value in values.items())


def _draw(grids: Mapping[str, Grid], batches: Grid, speeds: Mapping[Value, float], target: Path) -> None:
    """Draw a heat map for each method, on one scale of colours, and the score by the size of a batch."""
    panels = len(grids) + bool(batches)
    figure = plots.new_figure(11.0, 3.6 * -(-panels // 3))
    best = max((max(grid.values()) for grid in grids.values()), default=0.0)
    for number, (name, grid) in enumerate(grids.items(), 1):
        _heat(figure.add_subplot(-(-panels // 3), 3, number), name, grid, best)
    if batches:
        _sizes(figure.add_subplot(-(-panels // 3), 3, panels), batches, speeds)
    plots.save(figure, target)


def _heat(axes: Any, name: str, grid: Grid, best: float) -> None:
    """Draw one heat map, its scores written in the cells."""
    rows, columns = _axes(grid)
    table = [[grid.get((row, column), nan) for row in rows] for column in columns]
    axes.imshow(table, cmap="viridis", vmin=best - 20, vmax=best, aspect="auto", origin="lower")
    axes.set_xticks(range(len(rows)), [f"{row:g}" for row in rows], fontsize=8)
    axes.set_yticks(range(len(columns)), ["" if column is None else f"{column:g}" for column in columns], fontsize=8)
    axes.set(xlabel="C", ylabel={"eta": "η", "steps": "steps a visit"}.get(OTHER.get(name, ""), ""))
    axes.set_title(f"{TITLES[name]}: dev F1", loc="left", fontsize=10)
    for y, line in enumerate(table):
        for x, value in enumerate(line):
            shown = "" if isnan(value) else f"{value:.1f}"
            axes.text(x, y, shown, ha="center", va="center", fontsize=8, color="black" if value > best - 7 else "white")


def _sizes(axes: Any, batches: Grid, speeds: Mapping[Value, float]) -> None:
    """Draw the score against the size of a batch, a line a step size, and what a pass costs."""
    rows, columns = _axes(batches)
    for column, colour in zip(columns, ("#56B4E9", "#0072B2", "#D55E00", "#CC79A7", "#00795A"), strict=False):
        points = [(row, batches[row, column]) for row in rows if (row, column) in batches]
        axes.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=3, linewidth=1.6, label=f"η = {column:g}")
    top = max(batches.values())
    axes.set(xscale="log", xlabel="instances a batch", ylim=(max(min(batches.values()), top - 12) - 0.5, top + 0.5))
    axes.set_xticks(rows, [f"{row}\n{speeds[row]:.2g} s" if row in speeds else f"{row}" for row in rows], fontsize=8)
    axes.minorticks_off()
    axes.set_title("OPS by the size of a batch: dev F1, s a pass", loc="left", fontsize=10)
    plots.draw_grid(axes)
    plots.legend_below(axes, columns=2)
