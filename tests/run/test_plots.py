"""The learning curve."""

import math
import subprocess
import sys
from pathlib import Path

import pytest

from structopt.run.plots import Curve, comparison, learning_curve

FULL = [{"epoch": e, "loss": 4000 / e, "primal": 2 / e + 0.5, "dual": 0.5 - 1 / e, "dev.f1": 0.8 - 0.3 / e} for e in range(1, 21)]
CASES = {
    "full": FULL,
    "empty": [],
    "one": FULL[:1],
    "no_metric": [{"epoch": 1, "loss": 3.0}, {"epoch": 2, "loss": None}],
    "not_finite": [{"epoch": 1, "primal": math.inf, "dev.f1": math.nan}, {"epoch": 2, "primal": 1.0, "dev.f1": 0.5}],
}


@pytest.mark.parametrize("case", list(CASES))
def test_png_is_written(tmp_path: Path, case: str) -> None:
    target = tmp_path / "plots" / "curve.png"
    learning_curve(CASES[case], target, "dev.f1")
    assert target.read_bytes().startswith(b"\x89PNG")


def test_import_is_light_and_pyplot_untouched(tmp_path: Path) -> None:
    code = (
        "import sys; from structopt.run.plots import learning_curve; assert 'matplotlib' not in sys.modules;"
        f"learning_curve([{{'epoch': 1, 'loss': 1.0}}], {str(tmp_path / 'a.png')!r}, 'dev.f1');"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.parametrize("count", [1, 12])
def test_comparison_is_written(tmp_path: Path, case: str, count: int) -> None:
    timed = [row | {"seconds": 0.5 * number} for number, row in enumerate(CASES[case], 1)]
    target = tmp_path / "plots" / "curves.png"
    comparison([Curve(f"run {number}", timed) for number in range(count)], target, "dev.f1")
    assert target.read_bytes().startswith(b"\x89PNG")
