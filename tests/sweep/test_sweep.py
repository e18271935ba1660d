"""Sweeps end to end: launchers, one parent run, failing jobs, going on after a kill, exit codes,
tables.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hydra.core.global_hydra import GlobalHydra

import structopt
from structopt.command import main
from structopt.process.folder_lock import LOCK, read_holder
from structopt.run import records
from structopt.sweep import job as sweep_job
from structopt.sweep import ongoing
from structopt.sweep import table as sweep_table
from structopt.sweep.exit_codes import code_of_jobs
from tests.interrupts import hear_interrupts, heard_interrupts

pytestmark = pytest.mark.nightly("sweeps")

FEW = ("task.limit=60", "optimizer.epochs=2")
PASSES = 12


@pytest.fixture(autouse=True)
def _no_hydra() -> Iterator[None]:
    yield
    GlobalHydra.instance().clear()


def job(folder: Path, number: int) -> dict[str, Any]:
    return json.loads((folder / str(number) / "job.json").read_text())


def statuses(folder: Path) -> list[str]:
    return [record.status for record in records.read_sweep(folder)]


def runs_of(uri: str) -> tuple[Any, list[Any], list[Any]]:
    """The client, the parents and the children of a store."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    runs = client.search_runs(
        [one.experiment_id for one in client.search_experiments()], order_by=["tags.job"]
    )
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    return client, parents, [run for run in runs if "mlflow.parentRunId" in run.data.tags]


@pytest.fixture(scope="module")
def side_by_side(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Four jobs in two processes, tracked; the second fails."""
    root = tmp_path_factory.mktemp("joblib")
    uri = f"sqlite:///{root}/mlflow.db"
    words = [
        "--multirun",
        *FEW,
        "loss.beta=1,abc",
        "seed=0,1",
        "hydra/launcher=joblib",
        f"hydra.sweep.dir={root}/sweep",
    ]
    words += [f"tracker.uri={uri}", "tracker.log_model=false"]
    before = {name: os.environ.get(name) for name in ongoing.ONE_THREAD}
    code = main.main(words)
    assert before == {name: os.environ.get(name) for name in ongoing.ONE_THREAD}
    GlobalHydra.instance().clear()
    client, parents, children = runs_of(uri)
    return SimpleNamespace(
        folder=root / "sweep",
        uri=uri,
        words=words,
        code=code,
        client=client,
        parents=parents,
        children=children,
    )


def test_the_user_can_mend_what_failed(side_by_side: SimpleNamespace) -> None:
    assert side_by_side.code == 2
    assert statuses(side_by_side.folder) == ["FINISHED", "FINISHED", "FAILED", "FAILED"]
    assert job(side_by_side.folder, 2)["error"] == "loss.beta=abc is not a float."
    assert job(side_by_side.folder, 1)["overrides"] == ["loss.beta=1", "seed=1"]
    assert job(side_by_side.folder, 1)["config"]["loss"]["beta"] == 1.0


def test_one_parent_and_a_child_a_job(side_by_side: SimpleNamespace) -> None:
    (parent,) = side_by_side.parents
    noted = json.loads((side_by_side.folder / "sweep.json").read_text())
    assert noted["parent"] == parent.info.run_id
    assert noted["command"] == side_by_side.words
    assert (parent.info.status, parent.info.run_name) == ("FAILED", "sweep of loss.beta, seed")
    assert parent.data.tags["sweep_folder"] == str(side_by_side.folder)
    assert parent.data.tags["command"].startswith("structopt --multirun task.limit=60")
    assert "version.structopt" in parent.data.tags
    best = max(job(side_by_side.folder, number)["score"] for number in (0, 1))
    counts = {"jobs": 4.0, "finished": 2.0, "failed": 2.0, "best.dev.f1": best}
    assert parent.data.metrics == pytest.approx(counts)
    assert parent.data.tags["mlflow.note.content"] == (side_by_side.folder / "table.md").read_text()
    files = {file.path for file in side_by_side.client.list_artifacts(parent.info.run_id)}
    assert {"table.csv", "table.md", "sweep.json", "multirun.yaml"} <= files


def test_children_read_well_when_compared(side_by_side: SimpleNamespace) -> None:
    children = side_by_side.children
    assert {child.data.tags["mlflow.parentRunId"] for child in children} == {
        side_by_side.parents[0].info.run_id
    }
    recorded = [
        (child.data.tags["job"], child.info.run_name, child.info.status) for child in children
    ]
    assert recorded == [
        ("0", "loss.beta=1 seed=0", "FINISHED"),
        ("1", "loss.beta=1 seed=1", "FINISHED"),
        ("2", "loss.beta=abc seed=0", "FAILED"),
        ("3", "loss.beta=abc seed=1", "FAILED"),
    ]
    assert [child.info.run_id for child in children] == [
        job(side_by_side.folder, number)["run_id"] for number in range(4)
    ]
    params, metrics = children[1].data.params, children[1].data.metrics
    assert (params["loss.beta"], params["seed"], params["optimizer.epochs"]) == ("1.0", "1", "2")
    noise = ("tracker", "sweep", "resume", "data", "scale", "label", "hydra")
    assert not [key for key in params if key.partition(".")[0] in noise]
    assert {"dev.f1", "test.f1", "train.objective"} <= set(metrics)
    assert len(side_by_side.client.get_metric_history(children[1].info.run_id, "dev.f1")) == 2


def test_tables(side_by_side: SimpleNamespace) -> None:
    rows = list(csv.DictReader((side_by_side.folder / "table.csv").open()))
    assert [(row["job"], row["loss.beta"], row["seed"], row["status"]) for row in rows] == [
        ("0", "1", "0", "FINISHED"),
        ("1", "1", "1", "FINISHED"),
        ("2", "abc", "0", "FAILED"),
        ("3", "abc", "1", "FAILED"),
    ]
    scores = [job(side_by_side.folder, number)["score"] for number in (0, 1)]
    assert [float(row["dev.f1"]) for row in rows[:2]] == scores
    markdown = (side_by_side.folder / "table.md").read_text()
    assert markdown.startswith(
        "| job | loss.beta | seed | status | dev f1 | test f1 | objective | seconds |\n"
    )
    assert markdown.count("**") == 2
    assert (
        markdown.splitlines()[-1]
        == f"- Job 3 failed: {' '.join(job(side_by_side.folder, 3)['error'].split())}"
    )
    mean = 100 * sum(scores) / 2
    deviation = 100 * abs(scores[0] - scores[1]) / 2**0.5
    assert f"| 1 | 2 | {mean:.2f} ± {deviation:.2f} |" in markdown


def test_going_on_skips_what_finished(
    side_by_side: SimpleNamespace, capfd: pytest.CaptureFixture[str]
) -> None:
    """The failed jobs are run again, in the same parent; the launcher may be another."""
    words = [word for word in side_by_side.words if not word.startswith("hydra/launcher")]
    before = (side_by_side.folder / "0/job.json").stat().st_mtime_ns
    assert main.main([*words, "sweep.resume=true"]) == 2
    out, error = capfd.readouterr()
    assert f"structopt: going on with the sweep in {side_by_side.folder}\n" in error
    assert "job 0 (loss.beta=1 seed=0): finished before, skipped\n" in out
    assert error.count("loss.beta=abc is not a float.") == 2
    assert (side_by_side.folder / "0/job.json").stat().st_mtime_ns == before
    _, parents, children = runs_of(side_by_side.uri)
    assert [parent.info.run_id for parent in parents] == [side_by_side.parents[0].info.run_id]
    assert parents[0].info.status == "FAILED"
    assert len(children) == 4


def test_another_command_in_the_same_folder_is_refused(
    side_by_side: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--multirun",
        "seed=5,6",
        "tracker=none",
        f"hydra.sweep.dir={side_by_side.folder}",
        "sweep.resume=true",
    ]
    assert main.main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith(
        f"structopt: {side_by_side.folder} holds the sweep of another command: structopt "
        "--multirun "
    )
    assert error.endswith("Set that one, or another hydra.sweep.dir.\n")


def test_submitit(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = [
        "--multirun",
        *FEW,
        "tracker=none",
        "seed=0,1",
        "hydra/launcher=submitit_local",
        f"hydra.sweep.dir={tmp_path}",
    ]
    assert main.main(words) == 0
    assert statuses(tmp_path) == ["FINISHED", "FINISHED"]
    assert "2 jobs: 2 finished; * best dev f1\n" in capfd.readouterr().out


def test_ray(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Jobs as tasks of Ray: the same rows as those of one process; one that fails is told of, and
    fails the sweep.
    """
    pytest.importorskip("ray", reason="Ray is optional (extra: ray)")
    words = [
        "--multirun",
        *FEW,
        "tracker=none",
        "loss.beta=1,abc",
        "hydra/launcher=ray",
        f"hydra.sweep.dir={tmp_path}",
    ]
    assert main.main(words) == 2
    assert statuses(tmp_path) == ["FINISHED", "FAILED"]
    assert "2 jobs: 1 finished, 1 failed" in capfd.readouterr().out


def test_ray_that_cannot_be_joined(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray", reason="Ray is optional (extra: ray)")
    where = [
        "hydra/launcher=ray",
        "hydra.launcher.address=127.0.0.1:1",
        f"hydra.sweep.dir={tmp_path}",
    ]
    assert main.main(["--multirun", *FEW, "tracker=none", "seed=0,1", *where]) == 2
    assert (
        "Ray could not be reached at hydra.launcher.address=127.0.0.1:1" in capfd.readouterr().err
    )


def start(root: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "structopt", "--multirun", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=root, text=True, preexec_fn=hear_interrupts, **pipes)


def wait_for_pass(process: subprocess.Popen[str], root: Path, number: int, passes: int) -> Path:
    """Wait until a job has done some passes; return the sweep's folder."""
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        for path in root.glob(f"outputs/multirun/*/*/{number}/history.csv"):
            if path.read_bytes().count(b"\n") > passes:
                return path.parents[1]
        time.sleep(0.002)
    raise AssertionError(process.communicate()[1])


def model_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "model").iterdir()}


def test_killed_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of three jobs the second is cut off: it goes on from its last pass, bit for bit, in its own
    MLflow run.
    """
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "train.conll"
    data.write_bytes(corpus_bytes())
    words = [
        "seed=0,1,2",
        f"optimizer.epochs={PASSES}",
        "tracker.log_model=false",
        f"task.train={data}",
    ]
    process = start(tmp_path, *words)
    folder = wait_for_pass(process, tmp_path, 1, 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert statuses(folder) == ["FINISHED", "KILLED"]
    uri = f"sqlite:///{tmp_path}/outputs/mlflow.db"
    assert [parent.info.status for parent in runs_of(uri)[1]] == ["RUNNING"]
    assert main.main(["--multirun", *words, "sweep.resume=true"]) == 0
    out = capfd.readouterr().out
    assert "job 0 (seed=0): finished before, skipped\n" in out
    assert statuses(folder) == ["FINISHED"] * 3
    _, (parent,), children = runs_of(uri)
    assert parent.info.status == "FINISHED"
    assert [child.info.status for child in children if child.info.run_id in run_ids(folder)] == [
        "FINISHED"
    ] * 3
    assert all(child.info.status in ("FINISHED", "KILLED") for child in children)
    assert [row.count(b"\n") for row in [(folder / "1/history.csv").read_bytes()]] == [PASSES + 1]
    GlobalHydra.instance().clear()
    assert (
        main.main(
            [
                "seed=1",
                f"optimizer.epochs={PASSES}",
                "tracker=none",
                f"task.train={data}",
                "hydra.run.dir=whole",
            ]
        )
        == 0
    )
    assert model_bytes(folder / "1") == model_bytes(tmp_path / "whole")
    changed_data_is_read_again(folder, data, words)


def changed_data_is_read_again(folder: Path, data: Path, words: list[str]) -> None:
    before = model_bytes(folder / "0")
    data.write_bytes(corpus_bytes(100))
    GlobalHydra.instance().clear()
    assert main.main(["--multirun", *words, "sweep.resume=true", "hydra/launcher=basic"]) == 0
    assert model_bytes(folder / "0") != before


def corpus_bytes(sentences: int = 300) -> bytes:
    from structopt import datasets

    blocks = datasets.path("train", "conll").read_bytes().split(b"\n\n")
    return b"\n\n".join(blocks[:sentences]) + b"\n\n"


def run_ids(folder: Path) -> list[str]:
    return [job(folder, number)["run_id"] for number in range(3)]


def test_interrupted(tmp_path: Path) -> None:
    process = start(tmp_path, "seed=0,1", "optimizer.epochs=400", "tracker.log_model=false")
    folder = wait_for_pass(process, tmp_path, 0, 1)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate()
    assert process.returncode == 130, error
    command = (
        "structopt --multirun seed=0,1 optimizer.epochs=400 tracker.log_model=false "
        "sweep.resume=true"
    )
    assert error.endswith(f"structopt: interrupted. The sweep goes on with: {command}\n")
    assert "Traceback" not in error
    assert "1 job: 1 killed\n" in out
    assert statuses(folder) == ["KILLED"]
    _, (parent,), (child,) = runs_of(f"sqlite:///{tmp_path}/outputs/mlflow.db")
    assert (parent.info.status, child.info.status) == ("KILLED", "KILLED")


SIDE_BY_SIDE = [
    "seed=0,1,2",
    "task.limit=300",
    "optimizer.epochs=4000",
    "tracker=none",
    "hydra/launcher=joblib",
    "hydra.launcher.n_jobs=2",
]


def test_jobs_in_other_processes_are_ended_in_good_order(tmp_path: Path) -> None:
    """A signal to the launching process alone: its jobs save their models before their launcher
    would kill them.
    """
    process = start(tmp_path, *SIDE_BY_SIDE)
    folder = wait_for_pass(process, tmp_path, 0, 2)
    wait_for_pass(process, tmp_path, 1, 2)
    process.send_signal(signal.SIGTERM)
    out, error = process.communicate()
    assert process.returncode == 143, error
    assert (
        "structopt: interrupted by SIGTERM. The sweep goes on with: structopt --multirun "
        "seed=0,1,2 " in error
    )
    assert "2 jobs: 2 killed\n" in out
    for number in (0, 1):
        assert (folder / str(number) / "metrics.json").is_file() and structopt.load(
            folder / str(number)
        )
    assert not list(folder.rglob(LOCK))


def test_jobs_end_with_their_sweep(tmp_path: Path) -> None:
    """Its process is killed and the sweep goes on at once: first the jobs that were left end, and
    save their models.
    """
    process = start(tmp_path, *SIDE_BY_SIDE)
    folder = wait_for_pass(process, tmp_path, 0, 2)
    wait_for_pass(process, tmp_path, 1, 2)
    holders = [read_holder(folder / str(number)) for number in (0, 1)]
    assert all(holder and holder.pid != process.pid and not holder.is_dead for holder in holders)
    process.send_signal(signal.SIGKILL)
    process.wait()
    heir = start(tmp_path, *SIDE_BY_SIDE, "sweep.resume=true")
    while (holder := read_holder(folder)) is None or holder.pid != heir.pid:
        assert heir.poll() is None, heir.communicate()[1]
        time.sleep(0.05)
    while (holder := read_holder(folder / "0")) is None or holder.pid in (heir.pid, holders[0].pid):
        assert heir.poll() is None, heir.communicate()[1]
        time.sleep(0.05)
    assert all(holder.is_dead for holder in holders)
    assert all((folder / str(number) / "metrics.json").is_file() for number in (0, 1))
    heir.send_signal(signal.SIGINT)
    assert heir.wait() == 130
    process.communicate()
    heir.communicate()


@pytest.mark.parametrize("last", [False, True])
def test_an_interrupt_that_was_swallowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: bool
) -> None:
    """It ends the sweep after the pass in which it came, or after the job, where that was saving
    its model.
    """
    from structopt.run.closing import Closing
    from structopt.run.held_out import HeldOut

    holder, method = (Closing, "report") if last else (HeldOut, "scores")
    original = getattr(holder, method)

    def swallow(self: Any, *arguments: Any) -> Any:
        monkeypatch.undo()
        with suppress(KeyboardInterrupt):  # as Python does in a finaliser
            signal.raise_signal(signal.SIGINT)
        return original(self, *arguments)

    monkeypatch.setattr(holder, method, swallow)
    with heard_interrupts():
        assert (
            main.main(
                ["--multirun", *FEW, "tracker=none", "seed=0,1", f"hydra.sweep.dir={tmp_path}"]
            )
            == 130
        )
    assert statuses(tmp_path) == ["FINISHED" if last else "KILLED"]
    assert (tmp_path / "0/history.csv").read_bytes().count(b"\n") == 1 + (2 if last else 1)


def test_the_last_interrupt_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An interrupt that was swallowed after the last job ends the sweep all the same, and leaves
    nothing behind.
    """
    original = sweep_job.run_job

    def swallow(config: Any) -> Any:
        done = original(config)
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return done

    monkeypatch.setattr(sweep_job, "run_job", swallow)
    words = ["--multirun", *FEW, "tracker=none", "seed=0", f"hydra.sweep.dir={tmp_path}"]
    with heard_interrupts():
        assert main.main(words) == 130
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert (
        "structopt: interrupted. The sweep goes on with: structopt --multirun"
        in capsys.readouterr().err
    )
    monkeypatch.undo()
    assert main.main([*words, "sweep.resume=true"]) == 0


def test_nothing_to_go_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.main(["--multirun", *FEW, "tracker=none", "seed=0", "sweep.resume=true"]) == 0
    error = capfd.readouterr().err
    assert (
        "sweep.resume=true: no sweep of this command is under outputs/multirun, so it begins anew\n"
        in error
    )
    assert len(list(tmp_path.glob("outputs/multirun/*/*/0/job.json"))) == 1


def test_an_unreachable_tracker_warns_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--multirun",
        *FEW,
        "seed=0,1",
        "tracker.uri=http://127.0.0.1:9",
        "tracker.timeout=1",
        f"hydra.sweep.dir={tmp_path}",
    ]
    assert main.main(words) == 0
    error = capfd.readouterr().err
    assert error.count("tracking stopped") == 1
    assert statuses(tmp_path) == ["FINISHED", "FINISHED"]
    assert json.loads((tmp_path / "sweep.json").read_text())["parent"] == ""


def row(
    number: int, status: str = "FINISHED", mendable: bool = False, dev: float | None = None
) -> sweep_table.JobRow:
    return sweep_table.JobRow(
        number, {"seed": str(number)}, status, "f1", dev, None, None, 1.0, "", mendable
    )


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([row(0), row(1, "PRUNED"), row(2, "KILLED")], 0),
        ([row(0), row(1, "FAILED", mendable=True)], 2),
        ([row(0, "FAILED", mendable=True), row(1, "FAILED")], 1),
    ],
)
def test_exit_codes(rows: list[sweep_table.JobRow], code: int) -> None:
    assert code_of_jobs(rows) == code


def test_the_best_job_is_a_finished_one() -> None:
    table = sweep_table.SweepTable((row(0, dev=0.5), row(1, "PRUNED", dev=0.9), row(2, dev=0.6)))
    assert table.best is table.rows[2]
    lines = table.text().splitlines()
    assert lines[3].split() == ["2", "*", "2", "FINISHED", "60.00", "1.0"]
    assert table.means()[0][1] == 2
