"""Plots of a run, and of several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import isfinite
from pathlib import Path
from typing import Any

from structopt.formats import durable_files

_Row = Mapping[str, float | int | None]
_Points = tuple[list[float], list[float]]
_LOSS, _PRIMAL, _DUAL, _METRIC = "#7F7F7F", "#D55E00", "#0072B2", "#00795A"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Colours that colour-blind readers tell apart too (Okabe and Ito)."""
_DASHES = ((), (5, 2), (1.5, 1.5))
_AXES = {"epoch": "pass over the training data", "seconds": "seconds of training"}


@dataclass(frozen=True)
class Curve:
    """A run in a picture: its title, and its history."""

    title: str
    history: Sequence[_Row]


def new_figure(width: float, height: float, dpi: int = 150) -> Any:
    """Return an empty figure of a size in inches, which needs no screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=dpi, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def draw_grid(axes: Any) -> None:
    """Draw a light grid below the curves, and no frame at the top and on the right."""
    axes.grid(visible=True, color="#E5E5E5", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def learning_curve(history: Sequence[_Row], target: str | Path, metric: str) -> None:
    """Draw the objective (left) and a development metric (right) against the pass, as PNG.

    Parameters
    ----------
    history : sequence of mapping
        One row a pass, as `structopt.run.history.read` gives them. Columns without a finite value are left out.
    target : Path
        The PNG file; its folder is made where it is missing.
    metric : str
        The column drawn on the right, such as ``dev.f1``; the right half is left out where no row has it.
    """
    scores = _points(history, metric)
    figure = new_figure(10.0 if scores[0] else 5.5, 3.8)
    axes = figure.subplots(1, 2 if scores[0] else 1, squeeze=False)[0]
    _draw_objective(axes[0], history)
    if scores[0]:
        _draw_metric(axes[1], scores, metric)
    _save(figure, Path(target))


def _save(figure: Any, target: Path) -> None:
    """Write a figure as PNG, whole or not at all."""
    image = BytesIO()
    figure.savefig(image, format="png")
    target.parent.mkdir(parents=True, exist_ok=True)
    durable_files.write_bytes(target, image.getvalue())


def comparison(curves: Sequence[Curve], target: str | Path, metric: str) -> None:
    """Draw objectives (above) and a development metric (below) of several runs, against passes (left) and seconds, as PNG.

    Parameters
    ----------
    curves : sequence of Curve
        Up to 21 can be told apart, by colour and dashes.
    target : Path
        The PNG file; its folder is made where it is missing.
    metric : str
        The column drawn below, such as ``dev.f1``; a row of pictures is left out where no run has its column.
    """
    keys = [key for key in ("primal", metric) if any(_points(curve.history, key)[0] for curve in curves)] or ["loss"]
    figure = new_figure(11.0, 3.6 * len(keys) + 0.25 * (len(curves) + 1) // 2)
    panels = figure.subplots(len(keys), 2, squeeze=False, sharey="row")
    for row, key in zip(panels, keys, strict=True):
        for axes, against in zip(row, _AXES, strict=True):
            _draw_comparison(axes, curves, key, against)
    handles = panels[0, 0].get_lines()
    figure.legend(handles=handles, loc="outside lower center", ncols=2 if len(curves) > 3 else 1, frameon=False, fontsize=9)
    _save(figure, Path(target))


def _draw_comparison(axes: Any, curves: Sequence[Curve], key: str, against: str) -> None:
    """Draw one column of all runs; objectives on a logarithmic scale where they span more than a factor of ten."""
    values = []
    for number, curve in enumerate(curves):
        points = _points(curve.history, key, against)
        values += points[1]
        dashes = _DASHES[number // len(_COLOURS) % len(_DASHES)]
        style = {"color": _COLOURS[number % len(_COLOURS)], "dashes": dashes, "zorder": 3 - number / 100}  # the first on top
        axes.plot(*points, label=curve.title, linewidth=1.5, **style)
    name = {"primal": "objective", "loss": "loss summed over the pass"}.get(key, key)
    _dress(axes, name, "", _AXES[against], whole=against == "epoch")
    if key in ("primal", "loss") and values and min(values) > 0 and max(values) > 10 * min(values):
        axes.set_yscale("log")


def _points(history: Sequence[_Row], key: str, against: str = "epoch") -> _Points:
    """Return passes (or seconds) and values of one column, without empty and non-finite cells."""
    pairs = [(row.get(against) or 0, row.get(key)) for row in history]
    known = [(x, float(value)) for x, value in pairs if value is not None and isfinite(value)]
    return [x for x, _ in known], [value for _, value in known]


def _draw_objective(axes: Any, history: Sequence[_Row]) -> None:
    """Draw primal and dual, and the loss on a scale of its own (it is a sum over instances, the primal a mean)."""
    primal, dual, loss = (_points(history, key) for key in ("primal", "dual", "loss"))
    lines = [_line(axes, primal, _PRIMAL, "primal objective"), _line(axes, dual, _DUAL, "dual objective")]
    _dress(axes, "objective" if primal[0] or dual[0] else "loss summed over the pass", "Training")
    if loss[0]:
        right = axes.twinx() if primal[0] or dual[0] else axes
        lines.append(_line(right, loss, _LOSS, "loss", dashes=(4, 2)))
        if right is not axes:
            right.set_ylabel("loss summed over the pass", color=_LOSS)
            right.tick_params(axis="y", colors=_LOSS)
            right.spines[["top", "left"]].set_visible(False)
            right.spines["right"].set_color(_LOSS)
    drawn = [line for line in lines if line is not None]
    if drawn:
        axes.legend(handles=drawn, frameon=False, loc="best")


def _draw_metric(axes: Any, points: _Points, metric: str) -> None:
    """Draw the metric and mark its best pass."""
    _line(axes, points, _METRIC, metric)
    _dress(axes, metric, "Development set" if metric.startswith("dev.") else metric)
    lower_is_better = metric.endswith(("loss", "error"))
    epoch, value = (min if lower_is_better else max)(zip(*points, strict=True), key=lambda point: point[1])
    axes.plot([epoch], [value], marker="o", markersize=9, markerfacecolor="none", markeredgecolor=_METRIC, clip_on=False)
    axes.set_title(f"best {value:.4f} at pass {epoch}", loc="right", fontsize=9, color=_METRIC)


def _line(axes: Any, points: _Points, colour: str, label: str, **style: Any) -> Any:
    """Draw one curve, with markers where the passes are few; return None where there is nothing to draw."""
    if not points[0]:
        return None
    marker = "o" if len(points[0]) <= 30 else ""
    return axes.plot(*points, color=colour, label=label, marker=marker, markersize=3.5, linewidth=1.6, **style)[0]


def _dress(axes: Any, ylabel: str, title: str, xlabel: str = _AXES["epoch"], whole: bool = True) -> None:
    """Set labels, grid and whole-numbered passes."""
    from matplotlib.ticker import MaxNLocator

    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.set_title(title, loc="left", fontsize=11)
    axes.xaxis.set_major_locator(MaxNLocator(integer=whole, min_n_ticks=1))
    draw_grid(axes)
