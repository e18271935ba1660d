"""The history file."""

import math
from pathlib import Path

import numpy as np

from structopt.run.history import History, read

FIRST = {
    "epoch": 1,
    "seconds": 0.1,
    "inference_seconds": None,
    "loss": 2.0,
    "primal": math.inf,
    "dev.f1": 1 / 3,
}


def test_rows_read_back_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    History(path).append(FIRST)
    assert path.read_text().splitlines()[0] == "epoch,seconds,inference_seconds,loss,primal,dev.f1"
    assert read(path) == [FIRST]
    assert isinstance(read(path)[0]["epoch"], int)


def test_reopening_goes_on_and_new_keys_widen(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    History(path).append({"epoch": 1, "loss": 2.0})
    History(path).append({"epoch": np.int64(2)})
    History(path).append({"epoch": 3, "loss": 1.0, "dual": 0.5})
    assert read(path) == [
        {"epoch": 1, "loss": 2.0, "dual": None},
        {"epoch": 2, "loss": None, "dual": None},
        {"epoch": 3, "loss": 1.0, "dual": 0.5},
    ]


def test_rewind_forgets_later_passes(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    history = History(path)
    for epoch in (1, 2, 3):
        history.append({"epoch": epoch, "loss": 1.0 / epoch})
    history.rewind(2)
    assert [row["epoch"] for row in read(path)] == [1, 2]
    history.append({"epoch": 3, "loss": 0.25})
    assert read(path)[-1] == {"epoch": 3, "loss": 0.25}
    history.rewind(0)
    assert read(path) == []
    history.append({"epoch": 1, "primal": 1.0})
    assert read(path) == [{"epoch": 1, "primal": 1.0}]
    assert [file.name for file in tmp_path.iterdir()] == ["history.csv"]


def test_torn_last_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    path.write_text("epoch,loss\n1,2.0\n2,1.")
    assert read(path) == [{"epoch": 1, "loss": 2.0}]
    History(path).append({"epoch": 2, "loss": 1.5})
    assert read(path) == [{"epoch": 1, "loss": 2.0}, {"epoch": 2, "loss": 1.5}]


def test_missing_file_is_empty(tmp_path: Path) -> None:
    assert read(tmp_path / "none.csv") == []
