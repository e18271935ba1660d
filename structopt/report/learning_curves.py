"""The learning curves of several runs: a metric, and objectives, those of different losses in
panels of their own.

A setting has one colour; its seeds are thin lines around their mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from structopt.config import registry
from structopt.errors import StructoptError
from structopt.report.differences import setting_groups, setting_titles, text
from structopt.run import plots
from structopt.run.plots import AXES
from structopt.run.records import RunRecord, mean_curve

_BESIDE = 3
"""Up to as many losses have panels against passes and seconds; more have one panel each, against
passes, three in a row.
"""
_SHADE, _THIN, _THICK = 0.4, 0.8, 1.8
_LEGEND_CHARACTERS = 110
"""Of all labels in a row of the legend."""


@dataclass(frozen=True)
class Setting:
    """Runs that differ in their seed only.

    Attributes
    ----------
    title : str
    runs : list of RunRecord
    style : mapping
        Colour and line of its curves.
    """

    title: str
    runs: list[RunRecord]
    style: Mapping[str, Any]

    @property
    def loss(self) -> tuple[str, str]:
        """What its objective sums over the instances: the loss and its cost, in words."""
        return loss_of(self.runs[0])

    def curves(
        self, key: str, against: str, times: float = 1.0
    ) -> list[tuple[list[float], list[float]]]:
        """Return the curves of a column: that of every run, and their mean at the end where there
        are several.
        """
        each = [
            curve
            for run in self.runs
            if (curve := plots.points(run.history, key, against, times))[0]
        ]
        return [*each, mean_curve(self.runs, key, against, times)] if len(each) > 1 else each


def settings_of(records: Sequence[RunRecord]) -> list[Setting]:
    """Return the settings of runs, in the order of the first run of each."""
    groups = setting_groups(records)
    named = zip(setting_titles(records, groups), groups, strict=True)
    return [
        Setting(title, [records[index] for index in group], plots.line_style(number))
        for number, (title, group) in enumerate(named)
    ]


def loss_of(record: RunRecord) -> tuple[str, str]:
    """Return what tells the loss of a run from others, in words: its numbers, and its cost where
    that counts.

    The name of a member of the family says no more than its numbers: ``loss=crf`` is ``loss=family
    loss.beta=1 loss.gamma=0``.
    """
    node = record.config.get("loss") or {}
    beta, gamma = node.get("beta"), node.get("gamma") or 0.0
    name = f"{node['name']}, " if node.get("name") in ("ramp", "risk") else ""
    numbers = (
        f"β = {_number(beta)}, γ = {_number(gamma)}"
        if beta is not None
        else str(node.get("name", "loss"))
    )
    weights = ", ".join(
        f"{key} {text(value)}" for key, value in (node.get("cost_weights") or {}).items()
    )
    cost = f"{node.get('cost', 'cost')}{f' ({weights})' if weights else ''}" if gamma else ""
    return name + numbers, cost


def draw(records: Sequence[RunRecord], target: Path, metric: str) -> None:
    """Draw the curves of runs as PNG; see `figure_of`."""
    plots.save(figure_of(settings_of(records), metric), target)


def figure_of(settings: Sequence[Setting], metric: str) -> Any:
    """Draw a metric of the dev split, and below it objectives, a panel a loss, against passes and
    seconds of training.

    Parameters
    ----------
    settings : sequence of Setting
    metric : str
        The column drawn at the top, such as ``dev.f1``; left out where no run has it.

    Returns
    -------
    Figure
        With one legend below all panels.
    """
    scored = any(setting.curves(metric, "epoch") for setting in settings)
    key = "primal" if any(setting.curves("primal", "epoch") for setting in settings) else "loss"
    losses = list(
        dict.fromkeys(setting.loss for setting in settings if setting.curves(key, "epoch"))
    )
    grid = len(losses) > _BESIDE
    rows = (1 if scored else 0) + (-(-len(losses) // 3) if grid else len(losses))
    figure = plots.new_figure(11.0, 3.2 * max(rows, 1) + 0.22 * _legend_rows(settings) + 0.3)
    cells = figure.add_gridspec(max(rows, 1), 6)
    if scored:
        _pair(figure, cells, 0, settings, metric, "")
    several_costs = len({cost for _, cost in losses if cost}) > 1
    for number, loss in enumerate(losses):
        chosen = [setting for setting in settings if setting.loss == loss]
        title = _title(loss, chosen, several_costs)
        if grid:
            row, column = divmod(number, 3)
            _panel(
                figure.add_subplot(cells[row + scored, 2 * column : 2 * column + 2]),
                chosen,
                key,
                "epoch",
                title,
            )
        else:
            _pair(figure, cells, number + scored, chosen, key, title)
    _legend(figure, settings)
    return figure


def _title(loss: tuple[str, str], settings: Sequence[Setting], with_cost: bool) -> str:
    """Name the loss of a panel, and say where its objectives are of several C, and so weigh it
    differently.
    """
    several = len({setting.runs[0].setting("optimizer.C") for setting in settings}) > 1
    title = ", ".join(word for word in loss if word) if with_cost else loss[0]
    return f"{title} (several C)" if several else title


def _pair(
    figure: Any, cells: Any, row: int, settings: Sequence[Setting], key: str, title: str
) -> None:
    """Draw a column against passes (left) and seconds (right)."""
    left = figure.add_subplot(cells[row, :3])
    right = figure.add_subplot(cells[row, 3:], sharey=left)
    _panel(left, settings, key, "epoch", title)
    _panel(right, settings, key, "seconds", "")
    right.set_ylabel("")


def _panel(axes: Any, settings: Sequence[Setting], key: str, against: str, title: str) -> None:
    """Draw a column of all settings; the first setting on top."""
    objective = key in ("primal", "loss")
    values: list[float] = []
    for number, setting in enumerate(settings):
        for index, curve in enumerate(
            curves := setting.curves(key, against, 1.0 if objective else 100.0)
        ):
            mean = index == len(curves) - 1
            shade = {"linewidth": _THICK} if mean else {"linewidth": _THIN, "alpha": _SHADE}
            axes.plot(*curve, **{**setting.style, "zorder": 3 - number / 100}, **shade)
            values += [value for value in curve[1] if isfinite(value)]
    name = {"primal": "objective", "loss": "loss summed over the pass"}.get(
        key
    ) or plots.metric_label(key)
    plots.dress(axes, name, title, AXES[against], whole=against == "epoch")
    if objective:
        plots.scale_values(axes, values)
    if key == "primal" and title:
        axes.set_title(_remark(settings), loc="right", fontsize=9)


def _remark(settings: Sequence[Setting]) -> str:
    """Explain why the objective of some settings may rise; empty if all minimise it."""
    nodes = [setting.runs[0].config.get("optimizer") or {} for setting in settings]
    names = dict.fromkeys(str(node["name"]) for node in nodes if not _minimizes(node))
    return plots.objective_remark(", ".join(names), not names)


def _minimizes(node: Mapping[str, Any]) -> bool:
    """Whether an optimizer minimises the objective; True also of one that is no longer known."""
    try:
        return bool(registry.create("optimizer", node).plan.minimizes)
    except StructoptError:
        return True


def _columns(settings: Sequence[Setting]) -> int:
    longest = max(len(setting.title) for setting in settings)
    return max(1, min(4, len(settings), _LEGEND_CHARACTERS // (longest + 8)))


def _legend_rows(settings: Sequence[Setting]) -> int:
    return -(-len(settings) // _columns(settings))


def _legend(figure: Any, settings: Sequence[Setting]) -> None:
    """Name every setting once, below all panels."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linewidth=_THICK, label=setting.title, **setting.style)
        for setting in settings
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=_columns(settings),
        frameon=False,
        fontsize=9,
    )


def _number(value: float) -> str:
    return "∞" if value == float("inf") else f"{value:g}"
