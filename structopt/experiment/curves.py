"""Figures of experiments: panels of labelled curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structopt.run import plots
from structopt.run.plots import COLOURS

ROOM = 0.35
"""Share of a panel's width that is kept for the labels at the ends of its curves."""
LINE = 0.062
"""Height of a label as a share of a panel's."""


@dataclass(frozen=True)
class Curve:
    """A curve; its label stands at its end."""

    x: Sequence[float]
    y: Sequence[float]
    label: str
    colour: str = COLOURS[0]
    style: str = "-"


@dataclass(frozen=True)
class Panel:
    """Axes with curves; `low` and `high` are the ends of the y axis, None where the curves set
    them.
    """

    curves: Sequence[Curve]
    x: str
    y: str
    title: str = ""
    low: float | None = None
    high: float | None = None


def draw(panels: Sequence[Panel], path: Path, columns: int = 2) -> None:
    """Draw panels side by side, `columns` in a row, as a PNG of 1600 pixels' width."""
    columns = max(min(columns, len(panels)), 1)
    rows = max(-(-len(panels) // columns), 1)
    figure = plots.new_figure(8.0, 3.4 * rows, dpi=200)
    for number, panel in enumerate(panels, 1):
        _draw(figure.add_subplot(rows, columns, number), panel)
    plots.save(figure, path)


def _draw(axes: Any, panel: Panel) -> None:
    curves = [curve for curve in panel.curves if len(curve.x)]
    for curve in curves:
        marker = "o" if len(curve.x) <= 12 else ""
        axes.plot(
            curve.x,
            curve.y,
            color=curve.colour,
            linestyle=curve.style,
            marker=marker,
            markersize=2.5,
            linewidth=1.4,
        )
    axes.set(xlabel=panel.x, ylabel=panel.y)
    axes.set_title(panel.title, loc="left", fontsize=10)
    axes.tick_params(labelsize=8)
    plots.draw_grid(axes)
    if curves:
        _bound(axes, panel, curves)
        _label(axes, curves)


def _bound(axes: Any, panel: Panel, curves: Sequence[Curve]) -> None:
    """Bound the axes, and keep room for labels on the right."""
    from matplotlib.ticker import MaxNLocator

    low, high = axes.get_ylim()
    axes.set_ylim(
        low if panel.low is None else panel.low, high if panel.high is None else panel.high
    )
    first, last = min(min(curve.x) for curve in curves), max(max(curve.x) for curve in curves)
    width = (last - first) or 1.0
    axes.set_xlim(first - 0.03 * width, last + width * ROOM / (1 - ROOM))
    if all(float(x).is_integer() for curve in curves for x in curve.x):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xticks(
        [tick for tick in axes.get_xticks() if first - 0.03 * width <= tick <= last + 0.01 * width]
    )


def _label(axes: Any, curves: Sequence[Curve]) -> None:
    """Write every curve's label beside its end, moved up or down where two would overlap."""
    low, high = axes.get_ylim()
    last = max(max(curve.x) for curve in curves)
    ends = sorted(curves, key=lambda curve: curve.y[-1])
    heights = apart(
        [min(max((curve.y[-1] - low) / (high - low), 0.02), 0.98) for curve in ends], LINE
    )
    for curve, height in zip(ends, heights, strict=True):
        end = (curve.x[-1], min(max(curve.y[-1], low), high))
        text = last + 0.05 * (axes.get_xlim()[1] - last) * 2
        axes.plot(
            [end[0], text],
            [end[1], low + height * (high - low)],
            color=curve.colour,
            linewidth=0.5,
            linestyle=":",
        )
        style = {
            "color": curve.colour,
            "fontsize": 7.5,
            "va": "center",
            "transform": axes.get_xaxis_transform(),
        }
        axes.text(text, height, " " + curve.label, **style)


def apart(heights: Sequence[float], least: float) -> list[float]:
    """Move sorted heights in [0, 1] apart until neighbours differ by `least`, or by as much as
    there is room for.
    """
    least = min(least, 1 / max(len(heights), 1))
    moved: list[float] = []
    for height in heights:
        moved.append(max(height, moved[-1] + least) if moved else height)
    ceiling = 1.0 - least / 2
    for index in reversed(range(len(moved))):
        moved[index] = min(moved[index], ceiling)
        ceiling = moved[index] - least
    return moved
