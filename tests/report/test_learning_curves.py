"""Learning curves of several runs: panels, colours and legends, as the figure has them."""

from __future__ import annotations

from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import pytest

from structopt.report.learning_curves import draw, figure_of, settings_of
from structopt.run.records import RunRecord

pytestmark = pytest.mark.nightly("rest")


def record(beta: float = 1.0, seed: int = 0, scores: bool = True, **more: Any) -> RunRecord:
    """A run of six passes."""
    loss = {"name": "family", "beta": beta, "gamma": 1.0, "cost": "hamming", **more.pop("loss", {})}
    config = {
        "optimizer": {"name": "dca", "C": more.pop("C", 1.0)},
        "loss": loss,
        "seed": seed,
        "label": None,
    }
    one = RunRecord(Path("/sweep", f"{beta}{seed}{loss}"), "run", (), config)
    passes = range(1, 7)
    rows = [
        {
            "epoch": n,
            "seconds": n / 8,
            "primal": 1 + seed + 2 / n,
            "loss": 9 / n,
            "dev.f1": 0.9 - 0.2 / n,
        }
        for n in passes
    ]
    one.__dict__["history"] = rows if scores else [{**row, "dev.f1": None} for row in rows]
    return one


def drawn(records: list[RunRecord]) -> Any:
    """The figure of runs, laid out."""
    figure = figure_of(settings_of(records), "dev.f1")
    figure.canvas.draw()
    return figure


def titles(figure: Any) -> list[str]:
    return [title for axes in figure.axes if (title := axes.get_title(loc="left"))]


def assert_legend_is_outside(figure: Any) -> None:
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes)
    assert all(figure.bbox.contains(*corner) for corner in box.corners())
    assert not any(axes.get_legend() for axes in figure.axes)


CASES = {
    "two": [record(), record(C=0.1)],
    "sweep": [
        record(beta, seed, C=C) for beta, C, seed in product((1.0, 3.0, inf), (0.1, 1.0), (0, 1))
    ],
    "many": [
        record(beta, C=C, loss={"gamma": gamma})
        for beta, C, gamma in product((1.0, 3.0, inf), (0.1, 1.0), range(4))
    ],
}


@pytest.mark.parametrize(
    ("case", "panels", "settings"), [("two", 4, 2), ("sweep", 8, 6), ("many", 14, 24)]
)
def test_a_panel_a_loss_and_a_style_a_setting(case: str, panels: int, settings: int) -> None:
    figure = drawn(CASES[case])
    assert len(figure.axes) == panels
    styles = {
        (line.get_color(), line.get_linestyle())
        for axes in figure.axes
        for line in axes.get_lines()
    }
    assert len(styles) == settings
    assert len(figure.legends[0].get_texts()) == settings
    assert_legend_is_outside(figure)


def test_objectives_of_different_losses_share_no_axis() -> None:
    figure = drawn(CASES["sweep"])
    assert titles(figure) == [
        "β = 1, γ = 1 (several C)",
        "β = 3, γ = 1 (several C)",
        "β = ∞, γ = 1 (several C)",
    ]
    colours = [
        {line.get_color() for line in axes.get_lines()}
        for axes in figure.axes
        if axes.get_title(loc="left")
    ]
    assert [len(one) for one in colours] == [2, 2, 2]
    assert len(set.union(*colours)) == 6
    costs = [
        record(loss={"cost_weights": None}),
        record(loss={"cost": "weighted", "cost_weights": {"O": 0.5}}),
    ]
    assert titles(drawn(costs)) == ["β = 1, γ = 1, hamming", "β = 1, γ = 1, weighted (O 0.5)"]
    names = [
        record(loss={"gamma": 0.0}),
        record(loss={"name": "crf", "gamma": 0.0, "cost": "weighted"}),
    ]
    assert titles(drawn(names)) == ["β = 1, γ = 0"]


def test_seeds_are_shades_around_their_mean() -> None:
    figure = drawn([record(seed=0), record(seed=1), record(beta=3.0)])
    passes = next(axes for axes in figure.axes if axes.get_title(loc="left") == "β = 1, γ = 1")
    first, second, mean = passes.get_lines()
    assert first.get_color() == second.get_color() == mean.get_color()
    assert first.get_linewidth() < mean.get_linewidth() and first.get_alpha() < 1.0
    assert list(mean.get_ydata()) == pytest.approx([1.5 + 2 / n for n in range(1, 7)])
    assert [one.get_text() for one in figure.legends[0].get_texts()] == [
        "beta=1 (2 seeds)",
        "beta=3, seed=0",
    ]


def test_axes_have_units_and_scales() -> None:
    wide = record()
    wide.__dict__["history"] = [
        {"epoch": n, "seconds": n, "primal": 1000.0 / 10**n, "dev.f1": 0.5} for n in range(1, 5)
    ]
    figure = drawn([wide])
    score, seconds, objective, _ = figure.axes
    assert (score.get_ylabel(), score.get_xlabel()) == (
        "f1 on dev, %",
        "pass over the training data",
    )
    assert list(score.get_lines()[0].get_ydata()) == [50.0] * 4
    assert (seconds.get_xlabel(), objective.get_ylabel()) == ("seconds of training", "objective")
    assert (objective.get_yscale(), score.get_yscale()) == ("log", "linear")


def test_of_runs_without_scores_or_passes(tmp_path: Path) -> None:
    assert len(drawn([record(scores=False)]).axes) == 2
    empty = record()
    empty.__dict__["history"] = []
    draw([empty, record()], tmp_path / "plots" / "curves.png", "dev.f1")
    draw([empty], tmp_path / "plots" / "empty.png", "dev.f1")
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in (tmp_path / "plots").iterdir())


def test_objectives_that_are_not_minimised_are_explained() -> None:
    records = [record(), record(seed=1), record(beta=2.0)]
    records[2].config["optimizer"]["name"] = "sdca"
    remarks = [axes.get_title(loc="right") for axes in drawn(records).axes]
    assert [one for one in remarks if one] == [
        "dca does not minimise the objective:\nmore epochs regularise less"
    ]
