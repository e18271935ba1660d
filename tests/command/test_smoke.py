"""Commands from start to end on small data: one real process, and every subcommand in this one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra.core.global_hydra import GlobalHydra

from structopt import datasets
from structopt.command import main
from tests.command.commands import run
from tests.trained import TrainedRuns

SMALL = ("task=multiclass", "task.limit=30", "optimizer.epochs=2")


@pytest.fixture(autouse=True)
def _no_hydra() -> Iterator[None]:
    yield
    GlobalHydra.instance().clear()


def test_a_process_trains(tmp_path: Path) -> None:
    done = run(*SMALL, "hydra.run.dir=run", "tracker=none", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf8"))
    assert metrics["train"]["epochs"] == 2


@pytest.mark.nightly("runs")
def test_a_process_trains_and_another_resumes(tmp_path: Path) -> None:
    """With the tracker that users get if they set none."""
    done = run(*SMALL, "hydra.run.dir=run", "tracker.log_model=false", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "outputs" / "mlflow.db").is_file()
    done = run("resume=run", "optimizer.epochs=3", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf8"))
    assert metrics["train"]["epochs"] == 3


def test_a_sweep_of_two_jobs_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = tmp_path / "sweep"
    words = ["--multirun", *SMALL, "seed=0,1", "tracker=none", f"hydra.sweep.dir={sweep}"]
    assert main.main(words) == 0
    jobs = [json.loads((sweep / str(one) / "job.json").read_text()) for one in range(2)]
    assert [job["status"] for job in jobs] == ["FINISHED", "FINISHED"]
    capsys.readouterr()
    assert main.main(["compare", str(sweep), f"output={tmp_path / 'compared'}"]) == 0
    assert "accuracy" in capsys.readouterr().out


def test_subcommands_on_a_trained_run(
    trained: TrainedRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, data = f"model={trained('multiclass')}", f"input={datasets.path('dev', 'libsvm')}"
    assert main.main(["predict", model, data, f"output={tmp_path / 'out'}"]) == 0
    assert (tmp_path / "out").read_text(encoding="utf8")
    assert main.main(["evaluate", model, data]) == 0
    assert "accuracy" in capsys.readouterr().out
    assert main.main(["explain", model, data, "sentence=1"]) == 0
    assert main.main(["components"]) == 0
    assert "multiclass" in capsys.readouterr().out
