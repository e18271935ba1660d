"""The loop over epochs, its callbacks and checkpoints, with an optimizer that counts."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest

from structopt.core.entry_points import core_version
from structopt.core.executor import Account
from structopt.core.optimizer import Optimizer, Plan, Report
from structopt.core.storage.arrays import IN_MEMORY
from structopt.core.weights.penalty import RIDGE
from structopt.errors import ConfigError, ModelError, NumericalError
from structopt.formats import durable_files
from structopt.kernels.waist import halting
from structopt.learning import optimizer_results
from structopt.learning.training import Callback, Evaluation, Progress
from structopt.loss.family import LossFamily
from structopt.objective.fingerprint import Fingerprint
from structopt.process import interruption
from structopt.progress import display
from structopt.run.callbacks import (
    Development,
    Interrupts,
    PassLog,
    PassProgress,
    TrackedPasses,
    kept,
)
from structopt.run.checkpoint import Checkpoint
from structopt.run.history import read
from structopt.run.report import closing_text
from structopt.run.resumable import Resumable
from tests.interrupts import heard_interrupts


class Counting(Optimizer):
    """Adds one to its only weight a pass, in place."""

    plan = Plan()

    def init(self, problem: Any, weights: Any) -> dict[str, Any]:
        return {"theta": weights.copy(), "count": 0}

    def step(self, problem: Any, state: dict[str, Any]) -> tuple[dict[str, Any], Report]:
        state["theta"] += 1
        state["count"] += 1
        return state, Report(loss=1.0 / state["count"], negative_losses=1)

    def weights(self, state: dict[str, Any]) -> Any:
        return state["theta"]


def trainer(
    folder: Path,
    epochs: int,
    scores: tuple[float, ...] = (),
    dimension: int = 1,
    method: Any = None,
    digest: str = "d",
    vocabulary: str = "",
    account: Account | None = None,
    objective_every: int | Literal["auto"] = 1,
    after: tuple[Callback, ...] = (),
    tolerance: float = 0.0,
    certificate: bool = False,
    **options: Any,
) -> Resumable:
    rows = SimpleNamespace(
        dimension=dimension,
        expand=lambda array: array,
        compress=lambda array: array,
        covers=lambda array: array.shape == (dimension,),
    )
    problem: Any = SimpleNamespace(
        threads=lambda visits: 1,
        before=0.0,
        m=4,
        dimension=dimension,
        examples=SimpleNamespace(scorer=rows),
        messages=np.zeros(0),
        loss=LossFamily(),
        penalty=RIDGE,
        steps=1,
        storage=IN_MEMORY,
        executor=SimpleNamespace(account=account),
        fingerprint=Fingerprint(digest, {"instances": 4, "weights": dimension}),
        objective=lambda weights: float(weights[0]),
        certificate=lambda weights: (float(weights[0]), float(weights[0]) - 0.5),
    )
    develop = (lambda weights: {"f1": scores[int(weights[0]) - 1]}) if scores else None
    return Resumable(
        problem,
        method or Counting(),
        epochs,
        tolerance,
        folder=folder,
        vocabulary=vocabulary,
        before=(Development(develop, "f1", **options),),
        after=after,
        evaluation=Evaluation(objective_every, certificate),
    )


class Spending(Counting):
    """Also sends something to shards, more in every pass."""

    def __init__(self, account: Account) -> None:
        self.account = account

    def step(self, problem: Any, state: dict[str, Any]) -> tuple[dict[str, Any], Report]:
        self.account.rounds += 2
        self.account.compute_seconds += 0.5
        self.account.bytes_out = (self.account.bytes_out or 0) + 10 * (state["count"] + 1)
        return super().step(problem, state)


def test_what_passes_cost_is_in_the_history(tmp_path: Path) -> None:
    """Of each pass by itself, a resumed run's too; nothing where an executor has no such cost, or
    nobody keeps count.
    """
    account = Account(rounds=7)  # of work before the first pass
    one = trainer(tmp_path, 2, method=Spending(account), account=account)
    one.start(np.zeros(1))
    one.run()
    again = Account()
    resumed = trainer(tmp_path, 3, method=Spending(again), account=again)
    assert resumed.resume()
    resumed.run()
    rows = read(tmp_path / "history.csv")
    assert [
        (row["rounds"], row["compute_seconds"], row["bytes_out"], row["bytes_in"]) for row in rows
    ] == [(2, 0.5, 10, None), (2, 0.5, 20, None), (2, 0.5, 30, None)]
    alone = trainer(tmp_path / "alone", 1)
    (tmp_path / "alone").mkdir()
    alone.start(np.zeros(1))
    alone.run()
    assert "rounds" not in read(tmp_path / "alone" / "history.csv")[0]


def test_passes(tmp_path: Path) -> None:
    one = trainer(tmp_path, 3, objective_every=2)
    one.start(np.zeros(1))
    assert one.run().tolist() == [3.0]
    assert primals(tmp_path) == [None, 2.0, 3.0]
    assert (one.progress.epoch, one.progress.negative_losses, len(one.progress.passes)) == (3, 3, 3)


def primals(folder: Path) -> list[float | None]:
    """P after each epoch; that of `Counting` is the epoch's number."""
    return [row["primal"] for row in read(folder / "history.csv")]


@pytest.mark.parametrize(
    ("options", "evaluated"),
    [
        ({}, [1, 2, 4, 8, 10]),
        ({"tolerance": 1e-9}, range(1, 11)),
        ({"certificate": True}, range(1, 11)),
    ],
)
def test_the_objective_is_evaluated_after_powers_of_two_unless_training_uses_it(
    tmp_path: Path, options: dict[str, Any], evaluated: Sequence[int]
) -> None:
    one = trainer(tmp_path, 10, objective_every="auto", **options)
    one.start(np.zeros(1))
    one.run()
    assert primals(tmp_path) == [float(n) if n in evaluated else None for n in range(1, 11)]


def test_an_objective_that_the_optimizer_reports_is_always_in_the_history(tmp_path: Path) -> None:
    class Reporting(Counting):
        """Reports P and a dual."""

        def step(self, problem: Any, state: dict[str, Any]) -> tuple[dict[str, Any], Report]:
            state, report = super().step(problem, state)
            return state, replace(report, primal=7.0, dual=6.5)

    one = trainer(tmp_path, 5, method=Reporting(), objective_every="auto")
    one.start(np.zeros(1))
    one.run()
    rows = read(tmp_path / "history.csv")
    assert [(row["primal"], row["dual"], row["gap"]) for row in rows] == [(7.0, 6.5, 0.5)] * 5


def test_a_run_that_is_resumed_with_more_epochs_keeps_its_last_evaluation(tmp_path: Path) -> None:
    for epochs in (3, 6):
        one = trainer(tmp_path, epochs, (0.3,) * 6, objective_every="auto", keep="best")
        if not one.resume():
            one.start(np.zeros(1))
        one.run()
    assert primals(tmp_path) == [1.0, 2.0, 3.0, 4.0, None, 6.0]


def test_trackers_and_the_progress_get_no_objective_that_was_not_evaluated(tmp_path: Path) -> None:
    logged: dict[int, Any] = {}
    tracker: Any = SimpleNamespace(log_epoch=logged.__setitem__)
    progress = PassProgress("f1")
    after = (TrackedPasses(tracker, "f1"), progress, PassLog("crf", None))
    one = trainer(tmp_path, 4, (0.3,) * 4, objective_every="auto", certificate=False, after=after)
    remarks = []
    one.callbacks.append(Noting(lambda: remarks.append(progress.remark())))
    one.start(np.zeros(1))
    one.run()
    objectives = {epoch: row.get("train.objective") for epoch, row in logged.items()}
    assert objectives == {1: 1.0, 2: 2.0, 3: None, 4: 4.0}
    assert remarks[2] == "epoch 4 of 4, loss 0.333333, dev f1 0.3000"


class Noting(Callback):
    """Calls a function after each epoch."""

    def __init__(self, note: Callable[[], Any]) -> None:
        self.note = note

    def passed(self, training: Any, row: Any) -> None:
        self.note()


@pytest.mark.parametrize(
    ("keep", "epoch", "primal"), [("best", 3, None), ("last", 5, 5.0)], ids=["best", "last"]
)
def test_the_row_of_the_returned_weights_is_known(
    tmp_path: Path, keep: Literal["best", "last"], epoch: int, primal: float | None
) -> None:
    """In the process that trained that epoch."""
    scores = (0.3, 0.4, 0.5, 0.1, 0.2)
    one = trainer(tmp_path, 5, scores, objective_every="auto", keep=keep)
    one.start(np.zeros(1))
    one.run()
    row = one.known
    assert (row["epoch"], row["primal"], row["dev.f1"]) == (epoch, primal, scores[epoch - 1])
    again = trainer(tmp_path, 5, scores, objective_every="auto", keep=keep)
    assert again.resume() and again.run().tolist() == [epoch] and again.known == {}


def test_no_passes(tmp_path: Path) -> None:
    one = trainer(tmp_path, 0)
    one.start(np.full(1, 7.0))
    assert one.run().tolist() == [7.0]
    assert not one.resume()


@pytest.mark.parametrize(
    ("patience", "passes", "best"), [(1, 2, 1.0), (2, 5, 3.0), (3, 6, 3.0), (None, 8, 8.0)]
)
def test_patience(tmp_path: Path, patience: int | None, passes: int, best: float) -> None:
    """The best weights are kept as they were, though the optimizer goes on in the same array."""
    options: dict[str, Any] = {"patience": patience, "keep": "best" if patience else "last"}
    one = trainer(tmp_path, 8, (0.5, 0.4, 0.6, 0.6, 0.1, 0.2, 0.3, 0.4), **options)
    one.start(np.zeros(1))
    assert (one.run().tolist(), one.progress.epoch) == ([best], passes)
    assert bool(one.progress.stopped) == (patience is not None)
    two = trainer(tmp_path, 9, (1.0,) * 9, **options)
    assert two.resume() and two.weights().tolist() == [best]
    assert two.run().tolist() == [best if patience else 9.0]


@pytest.mark.parametrize(("keep", "weights"), [("best", [[3.0], [9.0]]), ("last", [[4.0], [9.0]])])
def test_the_epoch_that_is_kept(
    tmp_path: Path, keep: Literal["best", "last"], weights: list[list[float]]
) -> None:
    """Of equal scores the first; a resumed run finds the best weights in its checkpoint."""
    scores = (0.5, 0.4, 0.6, 0.6, 0.1, 0.2, 0.3, 0.4, 0.7)
    for epochs, expected in zip((4, 9), weights, strict=True):
        one = trainer(tmp_path, epochs, scores, keep=keep)
        if not one.resume():
            one.start(np.zeros(1))
        assert one.run().tolist() == expected
    assert (one.progress.best_epoch, one.progress.latest) == (9, 0.7)


@pytest.mark.parametrize(
    ("settings", "converges", "keep"),
    [
        ({"keep": None}, False, "best"),
        ({"keep": None}, True, "last"),
        ({"keep": None, "patience": 3}, True, "best"),
        ({"keep": "last", "patience": 3}, False, "last"),
        ({"keep": "best"}, True, "best"),
        ({}, False, "last"),  # of a version without the setting
        ({"patience": 3}, False, "best"),
    ],
)
def test_what_is_kept_by_default(settings: dict[str, Any], converges: bool, keep: str) -> None:
    assert kept(settings, Plan(converges=converges)) == keep


def test_the_closing_text_has_the_scores_of_the_kept_and_of_the_last_epoch() -> None:
    progress = Progress(epoch=30, best=0.8897, best_epoch=4, latest=0.877)
    train = {"instances": 9, "features": 7, "objective": 2.5, "gap": None, "kept_epoch": 4}
    dev = {"f1": 0.8897}
    text = closing_text("run", "crf", {"train": train, "dev": dev}, progress, None, "", "f1")
    assert "kept: epoch 4, the best on the dev split (88.97; epoch 30: 87.70)" in text
    assert text.splitlines()[-1].split() == ["f1", "88.97"]


class Certified(Counting):
    """After pass n its objective is n and its dual n - 1/n, so that the relative gap is 1/n^2."""

    def step(self, problem: Any, state: dict[str, Any]) -> tuple[dict[str, Any], Report]:
        state, report = super().step(problem, state)
        n = state["count"]
        return state, Report(report.loss, dual=n - 1 / n, evaluations=(0.5, 1.5))


def test_stops_by_the_certified_gap_and_goes_on_to_a_smaller_one(tmp_path: Path) -> None:
    one = trainer(tmp_path, 9, method=Certified(), tolerance=0.1, objective_every=0)
    one.start(np.zeros(1))
    assert one.run().tolist() == [4.0]
    assert one.progress.stopped == "the certified gap is 0.062 of the objective"
    assert [row["gap"] for row in read(tmp_path / "history.csv")] == pytest.approx(
        [1, 1 / 2, 1 / 3, 1 / 4]
    )
    assert one.progress.evaluations == [0.5, 1.5] * 4
    assert one.progress.dual == 3.75
    same = trainer(tmp_path, 9, method=Certified(), tolerance=0.1)
    assert same.resume() and same.run().tolist() == [4.0]
    smaller = trainer(tmp_path, 9, method=Certified(), tolerance=0.03)
    assert smaller.resume() and smaller.run().tolist() == [6.0]


def test_certificates_are_asked_of_the_problem(tmp_path: Path) -> None:
    one = trainer(tmp_path, 9, tolerance=0.2, certificate=True)
    one.start(np.zeros(1))
    assert one.run().tolist() == [3.0]
    assert [(row["primal"], row["dual"], row["gap"]) for row in read(tmp_path / "history.csv")][
        -1
    ] == (3.0, 2.5, 0.5)


def test_stops_where_the_optimizer_is_finished(tmp_path: Path) -> None:
    method = Counting()
    method.step = lambda problem, state: (
        state,
        Report(1.0, primal=7.0, finished="nothing changes"),
    )  # type: ignore[method-assign]
    one = trainer(tmp_path, 9, method=method)
    one.start(np.zeros(1))
    one.run()
    assert (one.progress.epoch, one.progress.stopped) == (1, "nothing changes")
    assert read(tmp_path / "history.csv")[0]["primal"] == 7.0


def test_start_forgets(tmp_path: Path) -> None:
    one = trainer(tmp_path, 2, (0.1, 0.2), patience=5)
    one.start(np.zeros(1))
    one.run()
    one.start(np.zeros(1))
    assert (one.progress.epoch, one.kept, read(tmp_path / "history.csv")) == (0, None, [])
    assert not trainer(tmp_path, 2).resume()


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The passes after which checkpoints are written, of which all take long."""
    passes: list[int] = []

    def write(self: Checkpoint, arrays: Any, notes: Any, over_weights: Any) -> None:
        passes.append(notes["progress"]["epoch"])
        written(self, arrays, notes, over_weights)

    written = Checkpoint.write
    monkeypatch.setattr(Checkpoint, "write", write)
    monkeypatch.setattr("structopt.run.resumable.SPARED", 1e9)
    return passes


class Raising(Callback):
    """Ends the run after a pass."""

    def passed(self, training: Any, row: Any) -> None:
        if row["epoch"] == 3:
            raise KeyboardInterrupt


class Visiting(Counting):
    """Visits 4, 9 and 2 times in its epochs, and calls a function after each visit."""

    def __init__(self, look: Callable[[], None]) -> None:
        self.look = look

    def visit(self, count: int) -> None:
        for _ in range(count):
            halting.count_visit()
            self.look()

    def step(self, problem: Any, state: dict[str, Any]) -> tuple[dict[str, Any], Report]:
        self.visit((4, 9, 2)[state["count"]])
        return super().step(problem, state)


def test_the_progress_never_decreases_and_rests_during_evaluations(tmp_path: Path) -> None:
    positions: list[float] = []
    lines: list[str] = []

    def look() -> None:
        positions.append(progress.position)
        lines.append(display.terminal_line())

    progress, optimizer = PassProgress("f1"), Visiting(look)
    one = trainer(tmp_path, 3, (0.5, 0.6, 0.7), method=optimizer)
    one.callbacks.append(progress)
    one.problem.objective = lambda weights: optimizer.visit(6) or float(weights[0])
    one.start(np.zeros(1))
    one.run()
    assert positions == sorted(positions)
    epochs = [positions[:10], positions[10:25], positions[25:]]
    assert epochs[0] == [0.25, 0.5, 0.75, 0.99, *[1.0] * 6]
    assert epochs[1][9:] == [2.0] * 6 and epochs[2] == pytest.approx(
        [2 + 1 / 9, 2 + 2 / 9, *[3.0] * 6]
    )
    assert lines[0].startswith("epoch 1/3 |") and "evaluating" not in lines[0]
    assert lines[6].startswith("epoch 1/3 |") and "evaluating the objective, 75%" in lines[6]
    assert lines[10].startswith("epoch 2/3 |") and lines[10].endswith("loss 1, dev f1 0.5000")


class Stopping(Counting):
    """Is interrupted within the fourth pass, which leaves it half done."""

    def step(self, problem: Any, state: dict[str, Any]) -> tuple[dict[str, Any], Report]:
        found = super().step(problem, state)
        if state["count"] == 4:
            raise KeyboardInterrupt
        return found


def test_large_checkpoints_are_written_seldom_and_after_the_last_pass(
    tmp_path: Path, saved: list[int]
) -> None:
    one = trainer(tmp_path, 5)
    one.start(np.zeros(1))
    one.run()
    assert (saved, one.behind) == ([1, 5], False)


@pytest.mark.parametrize(
    ("method", "result", "actual", "expected"),
    [
        ("init", None, "None", "a dict of NumPy arrays of numbers"),
        ("init", {"a.b": 1}, "a state with the key 'a.b'", "names without a dot"),
        ("init", {"theta": [1.0]}, "entry 'theta' is list [1.0]", "a dict of NumPy arrays"),
        ("step", None, "None", "the pair (state, structopt.plugin.Report)"),
        ("step", {"theta": [1.0]}, "entry 'theta' is list [1.0]", "a dict of NumPy arrays"),
        ("step", ({"theta": np.zeros(1)}, 0.5), "(dict {'theta'", "the pair (state, "),
        ("step", ({"theta": np.array(["a"])}, Report(0.0)), "an array of <U1", "a dict of"),
        ("step", ({}, Report(None)), "a Report with loss=None", "loss: a number"),
        ("step", ({}, Report(0.0, dual="low")), "dual=low", "dual: a number or None"),
        ("step", ({}, Report(0.0)), "a state without 'theta'", "Plan.weights"),
        ("step", ({"theta": np.zeros(2)}, Report(0.0)), "shape (2,)", "shape (1,)"),
        ("weights", np.zeros(3), "an array of float64 of shape (3,)", "shape (1,)"),
        ("weights", np.zeros(1, "f4"), "an array of float32", "a contiguous float64 array"),
        ("weights", np.full(1, np.nan), "an array of float64", "finite numbers"),
    ],
)
def test_results_of_an_optimizer_are_checked(
    tmp_path: Path, method: str, result: Any, actual: str, expected: str
) -> None:
    counting = Counting()
    vars(counting)["plan"] = Plan(weights=("theta",), bound="")
    vars(counting)[method] = lambda *_: result
    one = trainer(tmp_path, 1, method=counting)
    with pytest.raises(ConfigError) as raised:
        one.start(np.zeros(1))
        one.run()
    error = raised.value
    assert (error.parameter, error.value) == ("optimizer", "Counting")
    assert f"Counting.{method} returned" in str(error)
    assert actual in str(error)
    assert f"must return {expected}" in str(error) or expected in str(error)
    assert "structopt.plugin.Optimizer" in str(error)


def test_results_are_checked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = []
    monkeypatch.setattr(optimizer_results, "check_step", lambda *_: checked.append(1))
    one = trainer(tmp_path, 3)
    one.start(np.zeros(1))
    one.run()
    assert len(checked) == 1


@pytest.mark.parametrize("name, value", [("SPARED", 0.0), ("SHORT", -1.0)])
def test_quick_ones_and_those_of_long_passes_are_written_after_every_pass(
    tmp_path: Path, saved: list[int], monkeypatch: pytest.MonkeyPatch, name: str, value: float
) -> None:
    monkeypatch.setattr(f"structopt.run.resumable.{name}", value)
    one = trainer(tmp_path, 3)
    one.start(np.zeros(1))
    one.run()
    assert saved == [1, 2, 3]


class Signalled(Counting):
    """Gets a signal within the fourth pass."""

    def step(self, problem: Any, state: dict[str, Any]) -> tuple[dict[str, Any], Report]:
        if state["count"] == 3:
            signal.raise_signal(signal.SIGINT)
        return super().step(problem, state)


def test_a_signal_waits_for_the_end_of_a_short_pass(tmp_path: Path, saved: list[int]) -> None:
    one = trainer(tmp_path, 6, method=Signalled())
    one.callbacks.append(Interrupts())
    one.start(np.zeros(1))
    with heard_interrupts(), interruption.noted(), pytest.raises(KeyboardInterrupt):
        one.run()
    assert saved == [1, 4]
    assert one.weights().tolist() == [4.0]


def test_what_ends_a_run_between_two_passes_loses_none(tmp_path: Path, saved: list[int]) -> None:
    one = trainer(tmp_path, 5)
    one.callbacks.append(Raising())
    one.start(np.zeros(1))
    with pytest.raises(KeyboardInterrupt):
        one.run()
    assert saved == [1, 3]
    assert one.resume()
    assert (one.progress.epoch, one.weights().tolist()) == (3, [3.0])


def test_what_ends_a_run_within_a_pass_goes_back_to_the_checkpoint(
    tmp_path: Path, saved: list[int]
) -> None:
    one = trainer(tmp_path, 5, method=Stopping())
    one.start(np.zeros(1))
    with pytest.raises(KeyboardInterrupt):
        one.run()
    assert (saved, one.behind) == ([1], True)
    again = trainer(tmp_path, 5)
    assert again.resume()
    assert (again.progress.epoch, again.behind) == (1, False)
    assert again.run().tolist() == [5.0]
    assert [row["epoch"] for row in read(tmp_path / "history.csv")] == [1, 2, 3, 4, 5]


def test_a_checkpoint_of_other_data(tmp_path: Path) -> None:
    one = trainer(tmp_path, 1)
    one.start(np.zeros(1))
    one.run()
    with pytest.raises(
        ModelError,
        match=r"not a checkpoint of this run: the training data.* \(weights: 1 then, 2 now\)\. "
        r"Undo that",
    ):
        trainer(tmp_path, 1, dimension=2).resume()
    with pytest.raises(
        ModelError,
        match=r"changed since \(as large as before, but with other contents or in another order\)",
    ):
        trainer(tmp_path, 1, digest="e").resume()
    with pytest.raises(ModelError, match="with other contents"):
        trainer(tmp_path, 1, vocabulary="other names").resume()
    assert trainer(tmp_path, 1).resume()


@pytest.mark.parametrize("version", ["0.0.9", None])
def test_a_checkpoint_that_another_version_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    one = trainer(tmp_path, 1)
    one.start(np.zeros(1))
    one.run()
    arrays, notes = durable_files.read_arrays(one.file)
    notes = {key: value for key, value in notes.items() if key not in ("version", "checksum")}
    durable_files.write_arrays(one.file, arrays, notes | ({"version": version} if version else {}))
    assert trainer(tmp_path, 1).resume()
    writer = f"version {version}" if version else "an earlier version"
    with pytest.raises(ModelError) as raised:
        trainer(tmp_path, 1, dimension=2).resume()
    assert raised.value.where == str(one.file)
    assert raised.value.problem == (
        f"{writer} of structopt wrote this checkpoint, and version {core_version()} cannot resume "
        "it (weights: 1 then, 2 now)."
    )
    assert "data" not in str(raised.value)


def test_a_checkpoint_of_an_earlier_version_or_changed_since(tmp_path: Path) -> None:
    one = trainer(tmp_path, 1)
    one.start(np.zeros(1))
    one.run()
    arrays, notes = durable_files.read_arrays(one.file)
    durable_files.write_arrays(
        one.file, arrays, {key: value for key, value in notes.items() if key != "data"}
    )
    with pytest.raises(
        ModelError, match="it does not say of which data it is, as those of earlier versions do not"
    ):
        trainer(tmp_path, 1).resume()
    for changed in (
        {"theta": np.zeros(2)},
        {"theta": np.zeros(1, np.float32)},
        arrays | {"more": np.zeros(1)},
        {},
    ):
        durable_files.write_arrays(one.file, changed, notes)
        with pytest.raises(ModelError, match="its arrays are not those that were written"):
            trainer(tmp_path, 1).resume()


class Reporting(Counting):
    """Reports given numbers, one tuple of objective and dual a pass; its weights are finite as long
    as those are numbers.
    """

    def __init__(self, *numbers: tuple[float, float]) -> None:
        self.numbers = numbers

    def step(self, problem: Any, state: dict[str, Any]) -> tuple[dict[str, Any], Report]:
        state, report = super().step(problem, state)
        primal, dual = self.numbers[state["count"] - 1]
        return state, Report(report.loss, primal=primal, dual=dual)


def test_a_dual_above_the_objective_certifies_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It stops nothing, is told once, and has no gap; rounding counts as 0."""
    caplog.set_level("INFO")
    one = trainer(
        tmp_path,
        4,
        method=Reporting((1.0, 0.5), (1.0, 1.93), (1.0, 1.1), (1.0, 1 + 5e-9)),
        tolerance=1e-3,
    )
    one.start(np.zeros(1))
    one.run()
    rows = read(tmp_path / "history.csv")
    assert [(row["dual"], row["gap"]) for row in rows] == [
        (0.5, 0.5),
        (1.93, None),
        (1.1, None),
        (1 + 5e-9, 0.0),
    ]
    assert (one.progress.impossible_duals, one.progress.stopped) == (
        2,
        "the certified gap is 0 of the objective",
    )
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert [level for level, _ in told] == ["WARNING", "INFO"]
    assert told[0][1].startswith(
        "pass 2: the dual 1.93 came out above the objective 1, which rounding alone does not "
        "explain"
    )
    assert "Set a smaller C" in told[0][1]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        (
            (float("nan"), None),
            "pass 2: the objective came out as nan, so that training cannot go on. Set a smaller C",
        ),
        ((float("inf"), 1.0), "pass 2: the objective came out as inf"),
        ((1.0, float("-inf")), "pass 2: the dual objective came out as -inf"),
    ],
)
def test_numbers_that_are_not_finite_stop_a_run(
    tmp_path: Path, numbers: tuple[float, float], text: str
) -> None:
    """The last good pass stays, in the history and in the checkpoint."""
    one = trainer(tmp_path, 3, method=Reporting((1.0, 0.5), numbers, (1.0, 0.5)))
    one.start(np.zeros(1))
    with pytest.raises(NumericalError) as raised:
        one.run()
    assert str(raised.value).startswith(text)
    assert str(raised.value).endswith(f"{tmp_path / 'checkpoint'} holds pass 1.")
    assert [row["epoch"] for row in read(tmp_path / "history.csv")] == [1]
    again = trainer(tmp_path, 3, method=Reporting((1.0, 0.5), (0.9, 0.5), (0.8, 0.5)))
    assert again.resume() and again.progress.epoch == 1 and again.run().tolist() == [3.0]


@pytest.mark.parametrize(
    ("weight", "loss", "name"),
    [(np.nan, 1.0, "the weights"), (np.inf, 1.0, "the weights"), (1.0, np.nan, "the summed loss")],
)
def test_weights_and_losses_that_are_not_finite(
    tmp_path: Path, weight: float, loss: float, name: str
) -> None:
    """They are met before anything is computed with them: predictions of the dev part, say."""
    method = Counting()
    method.step = lambda problem, state: ({"theta": np.array([weight])}, Report(loss))  # type: ignore[method-assign]
    one = trainer(tmp_path, 2, (0.5,), method=method)
    one.start(np.zeros(1))
    with pytest.raises(
        NumericalError, match=rf"^pass 1: {name} came out as .* No pass was finished\.$"
    ):
        one.run()
    assert not one.file.exists()
