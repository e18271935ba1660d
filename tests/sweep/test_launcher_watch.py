"""A job ends when the process that launched its sweep ends, was told to, or was followed by
another.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from structopt.process import interruption
from structopt.process.folder_lock import LOCK, locked, start_of
from structopt.sweep import launcher_watch
from structopt.sweep.launcher_watch import LauncherWatch, ended_with_launcher


class Exited(BaseException):
    """Stands in for the end of the process."""


@pytest.fixture(autouse=True)
def _exits(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(code: int) -> None:
        raise Exited(code)

    monkeypatch.setattr(launcher_watch.os, "_exit", leave)
    monkeypatch.setattr(launcher_watch, "POLL", 0.02)


def write_lock(folder: Path, **changes: Any) -> None:
    parent = os.getppid()
    holder = {
        "pid": parent,
        "host": socket.gethostname(),
        "started": start_of(parent),
        "since": "",
        "command": "",
    }
    (folder / LOCK).write_text(json.dumps(holder | changes))


def test_jobs_of_this_process_watch_nothing(tmp_path: Path) -> None:
    with ended_with_launcher(tmp_path):  # nor those of sweeps that have no lock
        pass
    with locked(tmp_path), ended_with_launcher(tmp_path):
        pass


def test_a_sweep_that_was_told_to_end(tmp_path: Path) -> None:
    """The job ends as by a signal, and reports to its sweep."""
    write_lock(tmp_path)
    with interruption.noted():
        with pytest.raises(KeyboardInterrupt), ended_with_launcher(tmp_path):
            write_lock(tmp_path, ending=True)
            time.sleep(5.0)
        with pytest.raises(KeyboardInterrupt), ended_with_launcher(tmp_path):
            raise AssertionError("the next one does not even begin")


@pytest.mark.parametrize("how", ["killed", "followed by another"])
def test_a_sweep_that_is_no_more(tmp_path: Path, how: str) -> None:
    """The job ends as by a signal, and then its process: nobody is left to whom it could report."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as launcher:
        write_lock(tmp_path, pid=launcher.pid, started=start_of(launcher.pid))
        interrupts = []
        with interruption.noted(), pytest.raises(Exited), ended_with_launcher(tmp_path):
            if how == "killed":
                launcher.kill()
            else:
                write_lock(tmp_path)
            try:
                time.sleep(5.0)
            except KeyboardInterrupt:
                interrupts.append(1)
        assert interrupts == [1]
        with (
            pytest.raises(Exited) if how == "killed" else interruption.noted(),
            ended_with_launcher(tmp_path),
        ):
            pass


@pytest.mark.nightly("rest")
def test_a_job_that_cannot_be_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process ends all the same, its checkpoint being whole."""
    ends: list[int] = []
    monkeypatch.setattr(launcher_watch, "GRACE", 0.05)
    monkeypatch.setattr(interruption, "request", lambda: None)
    monkeypatch.setattr(interruption, "end_at_once", ends.append)
    write_lock(tmp_path, started="long ago")
    watch = LauncherWatch(tmp_path, launcher_watch.folder_lock.read_holder(tmp_path))
    watch.start()
    time.sleep(1.0)
    with pytest.raises(Exited):
        watch.stop()
    assert ends and set(ends) == {launcher_watch.ORPHANED}
