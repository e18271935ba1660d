"""The recording process: it is shared, it survives what its callers do, and its end is an error
like any other.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from structopt.tracker import recorder
from structopt.tracker.recorder import Line, NotRecordedError


@pytest.fixture
def own(monkeypatch):
    """A recording process of this test alone."""
    monkeypatch.delenv(recorder.SHARED, raising=False)
    monkeypatch.setattr(recorder, "_own", None)
    yield
    if recorder._own is not None:
        recorder._own.close()


@pytest.mark.nightly("rest")
def test_an_operation_that_fails_says_why(own):
    line = Line()
    with pytest.raises(
        NotRecordedError, match="^AttributeError: 'Recording' object has no attribute 'fly'$"
    ):
        line.call("fly")
    line.call("prepare", recorder.switches())
    with pytest.raises(
        NotRecordedError, match="^AttributeError: 'NoneType' object has no attribute 'get_run'$"
    ):
        line.call("known", "abc")  # the line goes on
    line.close()


def test_the_end_of_the_process_is_an_error_and_the_next_line_has_another(own):
    line = Line()
    line.call("terminate", "KILLED")
    first = recorder.started()._process
    first.kill()
    first.wait()
    with pytest.raises(NotRecordedError, match="^the recording process has ended$"):
        line.call("terminate", "KILLED")
    other = Line()
    other.call("terminate", "KILLED")
    assert recorder.started()._process.pid != first.pid
    other.close()


CONNECTS = "import structopt.tracker.recorder as r; r.Line().call('terminate', 'KILLED'); "


def test_processes_that_are_started_later_share_it(own, monkeypatch):
    monkeypatch.setenv(recorder.SHARED, "")
    monkeypatch.delenv(recorder.SHARED)
    recorder.share()
    code = CONNECTS + "print(r._own)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"
    shared = recorder.started()._process  # once it has ended, `started` starts another
    shared.kill()
    shared.wait()
    code = CONNECTS + "print(r._own is not None)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"  # where the shared one has ended, there is one of its own


def test_a_wrong_key_is_turned_away_and_others_are_served(own, monkeypatch):
    first = recorder.started()
    monkeypatch.setenv(recorder.SHARED, "00" * 16 + first.address[32:])
    monkeypatch.setattr(recorder, "_own", None)
    line = Line()
    line.call("terminate", "KILLED")
    assert recorder._own is not None  # of its own, since the shared one does not answer
    line.close()
    recorder._own.close()
    monkeypatch.setattr(recorder, "_own", first)
    monkeypatch.delenv(recorder.SHARED)
    line = Line()
    line.call("terminate", "KILLED")
    line.close()


@pytest.mark.skipif(os.name != "posix", reason="signals to groups of processes are POSIX's")
def test_it_ends_with_its_owner_and_not_before(own):
    code = (
        # a shell may have it ignored
        "import os, signal, time; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from structopt.tracker import recorder; print(recorder.started()._process.pid, "
        "flush=True); "
        "recorder.started().address; print('listens', flush=True); time.sleep(60)"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    child = int(owner.stdout.readline())
    assert owner.stdout.readline() == "listens\n"
    os.killpg(owner.pid, signal.SIGINT)
    owner.wait()
    deadline = time.monotonic() + 20
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _runs(child)


def _runs(pid):
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf8").rpartition(")")[2].split()[0]
            != "Z"
        )
    except OSError:
        return False
