"""Phases under way, what is shown of them on a terminal and elsewhere, and what is kept from it."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from structopt.kernels.waist import compiling, halting
from structopt.progress import console, display, phases
from structopt.progress.quiet import is_quiet, quietly


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Displays that look often, and find every phase worth a line."""
    monkeypatch.setattr(display, "REFRESH", 0.01)
    monkeypatch.setattr(display, "EVERY", 0.03)
    monkeypatch.setattr(display, "WORTH_A_LINE", 0.0)
    monkeypatch.setenv("TERM", "xterm")


def to(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Make a stream stderr: in the test, since pytest sets stderr after fixtures."""
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def wait_for(text: str, stream: io.StringIO) -> None:
    end = time.monotonic() + 20
    while text not in stream.getvalue():
        assert time.monotonic() < end, stream.getvalue()
        time.sleep(0.005)


def test_nested_phases_and_their_share() -> None:
    with phases.phase("sweep"), phases.phase("predicting", "dev", visits=4):
        outer, inner = phases.under_way()
        assert (outer.title, inner.title) == ("sweep", "predicting dev")
        assert (outer.share, inner.share) == (None, 0.0)
        halting.count_visit()
        assert inner.share == 0.25
        assert display.plain_line().startswith("sweep, 0:00: predicting dev, 25%, 0:0")
    assert phases.under_way() == ()


def test_other_threads_have_no_phases() -> None:
    seen: list[int] = []

    def work() -> None:
        with phases.phase("reading"):
            seen.append(len(phases.under_way()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [0]


def test_lines_where_there_is_no_terminal(
    fast: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stderr = to(io.StringIO(), monkeypatch)
    with display.shown() as shown:
        shown.log = tmp_path / "structopt.log"
        with phases.phase("reading", "train.txt"):
            wait_for(
                f"structopt: reading train.txt, 0:00; log: {tmp_path / 'structopt.log'}\n", stderr
            )


def test_short_commands_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = to(io.StringIO(), monkeypatch)
    with display.shown(), phases.phase("reading"):
        time.sleep(0.05)
    assert stderr.getvalue() == ""


def test_one_line_on_a_terminal(fast: None, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = to(Terminal(), monkeypatch)
    with display.shown():
        with phases.phase("reading", "train.txt"):
            wait_for("\rreading train.txt, 0:00\x1b[K", terminal)
        assert terminal.getvalue().endswith("\r\x1b[Kreading train.txt: 0.0 s\n")
        with phases.phase("training", line=lambda: "epoch 1/3", lasting=False):
            wait_for("\repoch 1/3\x1b[K", terminal)
        assert terminal.getvalue().endswith("\r\x1b[K")
        with phases.phase("evaluating"):
            wait_for("\revaluating, 0:00\x1b[K", terminal)
            console.say("a message", error=True)
            assert "\r\x1b[Ka message\n" in terminal.getvalue()


def test_short_phases_within_another_leave_its_line(
    fast: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = to(Terminal(), monkeypatch)
    with display.shown(), phases.phase("training", line=lambda: "epoch 1/3", lasting=False):
        wait_for("\repoch 1/3\x1b[K", terminal)
        for _ in range(3):
            with phases.phase("evaluating", lasting=False):
                pass
        assert terminal.getvalue() == "\repoch 1/3\x1b[K"


def test_compiling_is_shown_and_in_no_clock(fast: None, monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = to(io.StringIO(), monkeypatch)
    monkeypatch.setattr(compiling, "STATE", compiling.Compiling(compiled=2))
    with display.shown(), phases.phase("featurising"):
        with compiling.under_way("viterbi"):
            wait_for(
                "structopt: compiling kernels, once (ahead: structopt compile): 2 so far, 0:00\n",
                stderr,
            )
        (phase,) = phases.under_way()
        assert compiling.STATE.seconds > 0.0
        assert phase.clock.seconds < time.perf_counter() - phase.clock._started
    assert compiling.STATE.kernel == ""


def test_quiet(
    fast: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = to(Terminal(), monkeypatch)
    with display.shown(), quietly(True):
        assert is_quiet()
        with phases.phase("reading"):
            time.sleep(0.1)
        console.say("job 3: finished")
    assert not is_quiet()
    assert terminal.getvalue() == capsys.readouterr().out == ""


def test_a_closed_stderr_costs_nothing(fast: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with display.shown(), phases.phase("reading"):
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("name", "level", "quiet", "shown"),
    [
        ("structopt.run.reading", logging.WARNING, False, True),
        ("structopt.run.reading", logging.WARNING, True, False),
        ("structopt.run.reading", logging.ERROR, True, True),
        ("py.warnings", logging.WARNING, False, False),
        ("mlflow.store", logging.ERROR, False, False),
    ],
)
def test_messages_of_others_stay_in_the_log(
    name: str, level: int, quiet: bool, shown: bool
) -> None:
    record = logging.LogRecord(name, level, "", 0, "text", None, None)
    with quietly(quiet):
        assert console.Ours().filter(record) is shown


def test_warnings_of_libraries_go_to_the_log(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with console.tidy(), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("this is old", DeprecationWarning, stacklevel=1)
    assert capsys.readouterr().err == ""


WATCHED = """
import sys
from structopt.command.main import main
from structopt.kernels.waist import compiling
from structopt.run.callbacks import PassProgress

begin, close, seconds = PassProgress.begin, PassProgress.close, []

def begun(self, training):
    seconds.append(compiling.STATE.seconds)
    begin(self, training)

def closed(self):
    seconds.append(compiling.STATE.seconds)
    close(self)

PassProgress.begin, PassProgress.close = begun, closed
code = main()
print("kernels came late" if seconds[0] != seconds[1] else "kernels came early")
sys.exit(code)
"""


@pytest.mark.nightly("rest")
@pytest.mark.parametrize(
    "words",
    [
        ("task=ner", "task.limit=30"),
        ("task=ner", "task.limit=30", "optimizer=lbfgs", "loss=crf"),
        ("task=dependency", "task.limit=30", "optimizer=sgd"),
        ("task=multilabel", "inference=ad3", "optimizer=adagrad"),
        ("task=multiclass", "optimizer=cutting_plane"),
        ("task=ner", "task.limit=30", "optimizer=perceptron", "executor=threads"),
    ],
)
def test_every_kernel_is_there_before_the_first_pass(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """So that no pass, and no clock of a bar, is charged for compiling."""
    words = (*words, "tracker=none", "optimizer.epochs=2", "hydra.run.dir=run")
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("kernels came early\n")
