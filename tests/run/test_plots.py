"""The learning curve."""

import math
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.text import Text

from structopt.core.optimizer import Optimizer
from structopt.optimizer.dca import DCA
from structopt.optimizer.mira import MIRA
from structopt.optimizer.pegasos import Pegasos
from structopt.optimizer.perceptron import Perceptron
from structopt.optimizer.sdca import SDCA
from structopt.run.plots import (
    draw_objective,
    learning_curve,
    line_style,
    new_figure,
    objective_remark,
    save,
)

FULL = [
    {
        "epoch": e,
        "loss": 4000 / e,
        "primal": 2 / e + 0.5,
        "dual": 0.5 - 1 / e,
        "dev.f1": 0.8 - 0.3 / e,
    }
    for e in range(1, 21)
]
CASES = {
    "full": FULL,
    "empty": [],
    "one": FULL[:1],
    "no_metric": [{"epoch": 1, "loss": 3.0}, {"epoch": 2, "loss": None}],
    "not_finite": [
        {"epoch": 1, "primal": math.inf, "dev.f1": math.nan},
        {"epoch": 2, "primal": 1.0, "dev.f1": 0.5},
    ],
}


@pytest.mark.parametrize("case", list(CASES))
def test_png_is_written(tmp_path: Path, case: str) -> None:
    target = tmp_path / "plots" / "curve.png"
    learning_curve(CASES[case], target, "dev.f1")
    assert target.read_bytes().startswith(b"\x89PNG")


@pytest.mark.nightly("rest")
def test_import_is_light_and_pyplot_untouched(tmp_path: Path) -> None:
    code = (
        "import sys; from structopt.run.plots import learning_curve; assert 'matplotlib' not in "
        "sys.modules;"
        f"learning_curve([{{'epoch': 1, 'loss': 1.0}}], {str(tmp_path / 'a.png')!r}, 'dev.f1');"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


def test_the_legend_is_below_the_axes() -> None:
    figure = new_figure(5.5, 3.8)
    axes = figure.subplots()
    draw_objective(axes, FULL)
    figure.canvas.draw()
    box, boxes = (
        axes.get_legend().get_window_extent(),
        [one.get_window_extent() for one in figure.axes],
    )
    assert not any(box.overlaps(other) for other in boxes)
    assert all(figure.bbox.contains(*corner) for corner in box.corners())
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["primal objective", "dual objective", "loss"]


def test_figures_are_laid_out_when_they_are_saved(tmp_path: Path) -> None:
    figures = [new_figure(5.5, 3.8) for _ in range(2)]
    for figure in figures:
        draw_objective(figure.subplots(), FULL, objective_remark("dca", False))
    figures[0].savefig(tmp_path / "usual.png")
    save(figures[1], tmp_path / "saved.png")
    assert (tmp_path / "saved.png").read_bytes() == (tmp_path / "usual.png").read_bytes()


def test_epochs_without_an_objective_are_left_out_of_its_curve() -> None:
    axes = new_figure(5.5, 3.8).subplots()
    rows = [
        {"epoch": e, "loss": 9.0 / e, "primal": None if e == 3 else 8.0 / e} for e in range(1, 5)
    ]
    draw_objective(axes, rows)
    curves = {line.get_label(): line.get_xydata().tolist() for line in axes.get_lines()}
    assert curves["primal objective"] == [[1, 8], [2, 4], [4, 2]]


def test_the_plot_says_that_dca_does_not_minimise_the_objective() -> None:
    figure = new_figure(5.5, 3.8)
    axes = figure.subplots()
    draw_objective(axes, FULL, objective_remark("dca", DCA().plan.minimizes))
    figure.canvas.draw()
    assert axes.get_title(loc="left") == "Training"
    remark = axes.get_title(loc="right")
    assert remark == "dca does not minimise the objective:\nmore epochs regularise less"
    left, right = (
        text.get_window_extent()
        for text in axes.findobj(Text)
        if text.get_text() in ("Training", remark)
    )
    assert not left.overlaps(right) and figure.bbox.x0 <= left.x0 and right.x1 <= figure.bbox.x1


@pytest.mark.parametrize(
    ("optimizer", "minimizes"),
    [
        (DCA(), False),
        (MIRA(k_best=2), False),
        (Perceptron(), False),
        (Pegasos(), True),
        (SDCA(), True),
    ],
)
def test_which_optimizers_have_a_remark(optimizer: Optimizer, minimizes: bool) -> None:
    assert optimizer.plan.minimizes == minimizes
    assert bool(objective_remark("it", optimizer.plan.minimizes)) != minimizes


def test_styles_of_settings_differ() -> None:
    assert len({tuple(line_style(number).values()) for number in range(32)}) == 32


@pytest.mark.parametrize(
    ("highest", "scale", "bottom"), [(2.0, "linear", 0.0), (100.0, "log", 0.1)]
)
def test_a_dual_far_below_does_not_flatten_the_objective(
    highest: float, scale: str, bottom: float
) -> None:
    axes = new_figure(5.5, 3.8).subplots()
    draw_objective(
        axes,
        [{"epoch": 1, "primal": highest, "dual": -1e6}, {"epoch": 2, "primal": 1.0, "dual": 0.9}],
    )
    assert axes.get_yscale() == scale
    assert axes.get_ylim()[0] == pytest.approx(bottom)
