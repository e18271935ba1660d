"""Signals that end a run: every one in the same way, once; impatient users; closed terminals."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import structopt
from structopt.command import main
from structopt.process import interruption
from structopt.process.folder_lock import LOCK
from tests.interrupts import hear_interrupts
from tests.trained import TrainedRuns

QUICK = ("task=multiclass", "task.limit=60", "tracker=none", "optimizer.epochs=3")
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
SLOW_END = """
import sys, time
from structopt.command import main
from structopt.run import closing
def slowly(*arguments):
    print("reporting", flush=True)
    time.sleep(60)
closing.Closing.report = slowly
sys.exit(main.main())
"""


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    """Signals have Python's own handlers, whatever runs the tests."""
    before = {
        number: signal.signal(number, default) for number, default in interruption.DEFAULTS.items()
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def raising_once(monkeypatch: pytest.MonkeyPatch, holder: Any, method: str, number: int) -> None:
    """Have a signal come when a method is called the first time."""
    original = getattr(holder, method)

    def called(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(holder, method, original)
        signal.raise_signal(number)
        return original(*arguments, **options)

    monkeypatch.setattr(holder, method, called)


@pytest.mark.parametrize("number", CODES)
def test_a_signal_ends_a_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: signal.Signals,
) -> None:
    """Model and metrics of the last pass are saved; the run goes on to the end."""
    from structopt.run.checkpoint import Checkpoint

    raising_once(monkeypatch, Checkpoint, "write", number)
    assert main.main([*QUICK, f"hydra.run.dir={tmp_path}"]) == CODES[number]
    by = "" if number == signal.SIGINT else f" by {number.name}"
    assert (
        f"structopt: interrupted{by}. The run goes on with: structopt resume={tmp_path}\n"
        in capsys.readouterr().err
    )
    assert (tmp_path / "metrics.json").is_file() and not (tmp_path / LOCK).exists()
    assert structopt.load(tmp_path)
    assert {one: signal.getsignal(one) for one in interruption.DEFAULTS} == interruption.DEFAULTS
    assert main.main([f"resume={tmp_path}"]) == 0


@pytest.mark.parametrize("method", ["save", "evaluate"])
def test_a_signal_in_the_closing_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Model and metrics are there all the same."""
    from structopt.model.model import Model
    from structopt.run import closing

    raising_once(monkeypatch, Model if method == "save" else closing, method, signal.SIGTERM)
    assert main.main([*QUICK, f"hydra.run.dir={tmp_path}"]) == 143
    assert (tmp_path / "metrics.json").is_file() and structopt.load(tmp_path)


def test_a_signal_while_data_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is recorded as killed; its command goes on with it."""
    from structopt.run import stages
    from structopt.tracker.none import NoTracker

    statuses: list[str] = []
    monkeypatch.setattr(NoTracker, "finish", lambda _, status, metrics: statuses.append(status))
    raising_once(monkeypatch, stages, "read", signal.SIGHUP)
    assert main.main([*QUICK, f"hydra.run.dir={tmp_path}"]) == 129
    assert statuses == ["KILLED"]
    assert main.main([f"resume={tmp_path}"]) == 0


@pytest.mark.parametrize("word", ["predict", "evaluate"])
def test_no_output_is_half_written(
    trained: TrainedRuns,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    word: str,
) -> None:
    from structopt import datasets
    from structopt.objective import examples

    (tmp_path / "out").write_text("as it was")
    words = [f"model={trained('ner')}", f"input={datasets.path('dev', 'conll')}"]
    if word == "predict":
        raising_once(monkeypatch, os, "fsync", signal.SIGTERM)
        words.append(f"output={tmp_path / 'out'}")
    else:
        raising_once(monkeypatch, examples.Examples, "__init__", signal.SIGTERM)
    capsys.readouterr()
    assert main.main([word, *words]) == 143
    assert capsys.readouterr().err.endswith("structopt: interrupted by SIGTERM.\n")
    assert (tmp_path / "out").read_text() == "as it was"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_handlers_of_others_stay() -> None:
    """Those of a program that calls us, and signals that are ignored, as nohup has it."""
    calls: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: calls.append(number))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with interruption.noted() as signals:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
        assert signals.number is None
    assert calls == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_further_signals_at_once_are_the_same_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that closes sends SIGHUP, and the shell sends it again; only who asks again later
    is impatient.
    """
    ends: list[int] = []
    monkeypatch.setattr(interruption, "end_at_once", ends.append)
    with interruption.noted() as signals:
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            with suppress(KeyboardInterrupt):
                signal.raise_signal(number)
        assert (signals.number, signals.exit_code, ends) == (signal.SIGINT, 130, [])
        monkeypatch.setattr(interruption, "ONE_EVENT", 0.0)
        signal.raise_signal(signal.SIGHUP)
        assert ends == []
        signal.raise_signal(signal.SIGTERM)
        assert ends == [143]


def test_an_interrupt_comes_before_the_error_that_it_led_to(
    monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """Python's import system loses its own note of a lock, for one, where it is interrupted, and
    raises KeyError.
    """

    def interrupted(words: list[str]) -> int:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        if words == ["full"]:
            with interruption.put_off():
                pass
            raise OSError(28, "No space left on device")
        raise KeyError(words[0])

    monkeypatch.setattr(main, "_dispatch", interrupted)
    assert main.main(["import"]) == 143
    assert capfd.readouterr().err == "structopt: interrupted by SIGTERM.\n"
    assert main.main(["full"]) == 2
    assert "No space left on device" in capfd.readouterr().err


def test_an_interrupt_from_another_thread() -> None:
    import threading

    with interruption.noted() as signals:
        thread = threading.Thread(target=interruption.request)
        with pytest.raises(KeyboardInterrupt):
            thread.start()
            time.sleep(5)
        assert signals.number == signal.SIGTERM
        interruption.request()  # nothing: one has come


@pytest.mark.nightly("storms")
def test_an_impatient_user(tmp_path: Path) -> None:
    """The second Ctrl-C ends the closing work at once; the run goes on from its checkpoint."""
    command = [sys.executable, "-c", SLOW_END, *QUICK, f"hydra.run.dir={tmp_path}"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, preexec_fn=hear_interrupts, **pipes) as process:
        assert process.stdout is not None
        while "reporting" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        time.sleep(1.2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=10)[1]
    assert process.returncode == 130
    assert error.endswith(
        f"\nstructopt: ended at once. The last checkpoint in {tmp_path} is whole.\n"
    )
    assert not (tmp_path / LOCK).exists()
    assert main.main([f"resume={tmp_path}"]) == 0


@pytest.mark.nightly("storms")
@pytest.mark.parametrize(
    ("epochs", "handler", "code"), [(4000, signal.SIG_DFL, 129), (40, signal.SIG_IGN, 0)]
)
def test_a_closed_terminal(tmp_path: Path, epochs: int, handler: Any, code: int) -> None:
    """What is written to it fails; model and metrics are saved all the same, under nohup those of
    the last pass.
    """
    words = [
        "task=ner",
        "task.limit=300",
        "tracker=none",
        f"optimizer.epochs={epochs}",
        f"hydra.run.dir={tmp_path}",
    ]
    pid, terminal = pty.fork()
    if not pid:
        signal.signal(signal.SIGHUP, handler)
        os.execv(sys.executable, [sys.executable, "-m", "structopt", *words])
    while not (tmp_path / "checkpoint/state.safetensors").exists():
        if select.select([terminal], [], [], 0.05)[0]:
            os.read(terminal, 100)  # a terminal that is not read stops who writes
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code
    assert (tmp_path / "metrics.json").is_file() and structopt.load(tmp_path)
