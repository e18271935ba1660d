"""The plot of a run, and the style of all plots: colours, lines, grids, scales and legends."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from io import BytesIO
from math import isfinite
from pathlib import Path
from typing import Any

from structopt.formats import durable_files

Row = Mapping[str, float | int | None]
Points = tuple[list[float], list[float]]
_LOSS, _PRIMAL, _DUAL, _METRIC = "#7F7F7F", "#D55E00", "#0072B2", "#00795A"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7F6000", "#56B4E9", "#5F5F5F", "#E69F00")
"""Colours that colour-blind readers tell apart too (after Okabe and Ito)."""
_LINES = ("-", "--", ":", "-.")
AXES = {"epoch": "pass over the training data", "seconds": "seconds of training"}
"""Columns of a history that curves are drawn against, and labels of their axes."""
SOON = 2e-4
"""Seconds after which the thread that imports matplotlib returns Python's lock."""
_DECADE = 10.0
LOWER_IS_BETTER = ("loss", "error")
"""What the names of metrics end with of which a lower value is the better one."""


def line_style(number: int) -> dict[str, Any]:
    """Return colour and line of the curves of setting `number`; the first 32 differ."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": _LINES[number // len(COLOURS) % len(_LINES)],
    }


def import_early() -> None:
    """Import in the background what figures need, while compiled passes leave Python's lock
    free.
    """
    threading.Thread(target=_import, name="structopt-plots", daemon=True).start()


def _import() -> None:
    """Import the modules of figures, and return Python's lock soon whenever the epochs ask for
    it: they ask several times per epoch, and would wait for 5 ms each time.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SOON)
    try:
        new_figure(1.0, 1.0)
    finally:
        sys.setswitchinterval(usual)


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


def legend_below(
    axes: Any, handles: Sequence[Any] | None = None, columns: int = 3, lines: int = 1
) -> None:
    """Put the legend of some axes below them and below the labels of the ticks, which have so many
    lines.
    """
    shown = axes.get_legend_handles_labels()[0] if handles is None else handles
    if shown:
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.06 - 0.11 * lines)}
        axes.legend(
            handles=shown,
            ncols=min(columns, len(shown)),
            frameon=False,
            fontsize=9,
            borderaxespad=0.0,
            **place,
        )


def scale_values(axes: Any, values: Sequence[float]) -> None:
    """Make the y axis logarithmic where positive values span more than a factor of ten."""
    if values and min(values) > 0 and max(values) > _DECADE * min(values):
        axes.set_yscale("log")
        label_decades(axes.yaxis)


def label_decades(axis: Any) -> None:
    """Label a logarithmic axis at 1, 2 and 5 of every power of ten, and nowhere else."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def dress(
    axes: Any, ylabel: str, title: str, xlabel: str = AXES["epoch"], whole: bool = True
) -> None:
    """Set labels, title, grid and whole-numbered passes."""
    from matplotlib.ticker import MaxNLocator

    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.set_title(title, loc="left", fontsize=11)
    axes.xaxis.set_major_locator(MaxNLocator(integer=whole, min_n_ticks=1))
    draw_grid(axes)


def metric_label(metric: str) -> str:
    """Return the label of the axis of a metric, a fraction that is drawn in per cent: ``f1 on dev,
    %`` of ``dev.f1``.
    """
    split, _, name = metric.rpartition(".")
    return f"{name} on {split}, %" if split else f"{metric}, %"


def points(history: Sequence[Row], key: str, against: str = "epoch", times: float = 1.0) -> Points:
    """Return passes (or seconds) and values of one column times a factor, without empty and
    non-finite cells.
    """
    pairs = [(row.get(against) or 0, row.get(key)) for row in history]
    known = [(x, times * value) for x, value in pairs if value is not None and isfinite(value)]
    return [x for x, _ in known], [value for _, value in known]


def objective_remark(optimizer: str, minimizes: bool) -> str:
    """Explain why the objective of an optimizer may rise; empty if its steps minimise it."""
    if minimizes:
        return ""
    return f"{optimizer} does not minimise the objective:\nmore epochs regularise less"


def learning_curve(
    history: Sequence[Row], target: str | Path, metric: str, remark: str = ""
) -> None:
    """Draw the objective (left) and a development metric (right) against the pass, as PNG.

    Parameters
    ----------
    history : sequence of mapping
        One row a pass, as `structopt.run.history.read` gives them. Columns without a finite value
        are left out.
    target : Path
        The PNG file; its folder is made where it is missing.
    metric : str
        The column drawn on the right, such as ``dev.f1``; the right half is left out where no row
        has it.
    remark : str
        A sentence about the objective, drawn above it: see `objective_remark`.
    """
    scores = points(history, metric, times=100.0)
    figure = new_figure(10.0 if scores[0] else 5.5, 3.8)
    axes = figure.subplots(1, 2 if scores[0] else 1, squeeze=False)[0]
    draw_objective(axes[0], history, remark)
    if scores[0]:
        _draw_metric(axes[1], scores, metric)
    save(figure, target)


def save(figure: Any, target: str | Path) -> None:
    """Write a figure as PNG, whole or not at all; its folder is made where it is missing."""
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine(None)  # `savefig` draws figures twice that have one
    image = BytesIO()
    figure.savefig(image, format="png")
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    durable_files.write_bytes(Path(target), image.getvalue())


def draw_objective(axes: Any, history: Sequence[Row], remark: str = "") -> None:
    """Draw primal and dual, and the loss on a scale of its own (it is a sum over instances, the
    primal a mean). The remark is above them if there is a primal.
    """
    primal, dual, loss = (points(history, key) for key in ("primal", "dual", "loss"))
    lines = [
        _line(axes, primal, _PRIMAL, "primal objective"),
        _line(axes, dual, _DUAL, "dual objective"),
    ]
    dress(axes, "objective" if primal[0] or dual[0] else "loss summed over the pass", "Training")
    if loss[0]:
        right = axes.twinx() if primal[0] or dual[0] else axes
        lines.append(_line(right, loss, _LOSS, "loss", dashes=(4, 2)))
        if right is not axes:
            right.set_ylabel("loss summed over the pass", color=_LOSS)
            right.tick_params(axis="y", colors=_LOSS)
            right.spines[["top", "left"]].set_visible(False)
            right.spines["right"].set_color(_LOSS)
    scale_values(axes, primal[1])
    if primal[1] and dual[1]:
        _bound_below(axes, primal[1], min(dual[1]))
    if primal[0]:
        axes.set_title(remark, loc="right", fontsize=9, color=_PRIMAL)
    legend_below(axes, [line for line in lines if line is not None])


def _bound_below(axes: Any, primal: Sequence[float], lowest: float) -> None:
    """Keep a dual that begins far below the objective from flattening the curve of the
    objective.
    """
    least, most = min(primal), max(primal)
    room = least / _DECADE if axes.get_yscale() == "log" else least - (most - least)
    if lowest < room < least:
        axes.set_ylim(bottom=room)


def _draw_metric(axes: Any, scores: Points, metric: str) -> None:
    """Draw the metric and mark its best pass."""
    _line(axes, scores, _METRIC, metric)
    dress(axes, metric_label(metric), "Development set" if metric.startswith("dev.") else metric)
    epoch, value = (min if metric.endswith(LOWER_IS_BETTER) else max)(
        zip(*scores, strict=True), key=lambda point: point[1]
    )
    axes.plot(
        [epoch],
        [value],
        marker="o",
        markersize=9,
        markerfacecolor="none",
        markeredgecolor=_METRIC,
        clip_on=False,
    )
    axes.set_title(f"best {value:.2f} % at pass {epoch}", loc="right", fontsize=9, color=_METRIC)


def _line(axes: Any, curve: Points, colour: str, label: str, **style: Any) -> Any:
    """Draw one curve, with markers where the passes are few; return None where there is nothing to
    draw.
    """
    if not curve[0]:
        return None
    marker = "o" if len(curve[0]) <= 30 else ""
    return axes.plot(
        *curve, color=colour, label=label, marker=marker, markersize=3.5, linewidth=1.6, **style
    )[0]
