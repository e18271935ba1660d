"""The lock of a folder: who holds it, who is refused, and what a process that was killed leaves."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from structopt.command import main
from structopt.errors import FolderInUseError, SystemRefusal
from structopt.process import folder_lock
from structopt.process.folder_lock import LOCK, Holder, locked, read_holder, start_of
from structopt.sweep.ongoing import Sweep

HOLD = """
import sys, pathlib
from structopt.process.folder_lock import locked
with locked(pathlib.Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock of a folder, until its stdin is closed."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def content(**changes: Any) -> str:
    holder = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "started": start_of(os.getpid()),
        "since": "1999-12-31 23:59:59",
    }
    return json.dumps(holder | {"command": "structopt task=ner"} | changes)


def test_held_once_and_released(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with locked(folder), locked(folder):
        holder = read_holder(folder)
        assert holder is not None and holder.is_current and not holder.is_dead
        assert folder_lock.held_folders() == [folder.resolve()]
    assert not folder.exists()  # nothing came into it
    folder.mkdir()
    with locked(folder):
        pass
    assert list(folder.iterdir()) == []


def test_another_process_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its words; neither a run nor a run that goes on touches a file, and a process that was
    killed locks nothing.
    """
    (tmp_path / ".hydra").mkdir()
    (tmp_path / ".hydra/config.yaml").write_text("as it was")
    with held_elsewhere(tmp_path) as other:
        files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        for words in (
            [f"hydra.run.dir={tmp_path}"],
            [f"resume={tmp_path}"],
            ["-m", "seed=0,1", f"hydra.sweep.dir={tmp_path}"],
        ):
            assert main.main(words) == 2
            error = capsys.readouterr().err
            assert (
                f"structopt: {tmp_path}: process {other.pid} on {socket.gethostname()} is "
                "training here, since " in error
            )
            assert (
                f"Wait until it ends, stop it (kill {other.pid}), or name another folder.\n"
                in error
            )
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files
        other.kill()
        other.wait()
        assert (tmp_path / LOCK).is_file()
        with locked(tmp_path):
            assert read_holder(tmp_path).is_current


def test_waiting(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as other:
        threading.Timer(0.3, other.stdin.close).start()
        with locked(tmp_path, wait=20.0):
            pass


def test_another_host(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text(content(host="elsewhere", pid=7))
    with pytest.raises(FolderInUseError) as refused, locked(tmp_path):
        pass
    assert str(refused.value) == (
        f"{tmp_path}: process 7 on elsewhere is training here, since 1999-12-31 23:59:59 "
        "(structopt task=ner). Wait until it "
        f"ends. If it is known to be dead, delete {tmp_path / LOCK} and run this command again."
    )
    (tmp_path / LOCK).unlink()
    with locked(tmp_path):
        pass


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"pid": 1}', "\x00" * 99, content(started="long ago"), content(pid=2**22 + 1)],
)
@pytest.mark.parametrize("system", [True, False])
def test_what_is_stale_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, system: bool
) -> None:
    """Garbage, a process that has ended, and one that has another's number; with and without locks
    of the system.
    """
    if not system:
        monkeypatch.setattr(folder_lock, "_system_lock", lambda _: None)
    (tmp_path / LOCK).write_text(text)
    with locked(tmp_path):
        assert read_holder(tmp_path).is_current
    assert not (tmp_path / LOCK).exists()


@pytest.mark.parametrize("system", [True, False])
def test_a_living_process_of_this_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: bool
) -> None:
    if not system:
        monkeypatch.setattr(folder_lock, "_system_lock", lambda _: None)
    parent = os.getppid()
    (tmp_path / LOCK).write_text(content(pid=parent, started=start_of(parent)))
    with pytest.raises(FolderInUseError, match=f"process {parent} on "), locked(tmp_path):
        pass


def test_another_thread_is_refused(tmp_path: Path) -> None:
    refusals = []

    def attempt() -> None:
        with suppress(FolderInUseError), locked(tmp_path):
            return
        refusals.append(1)

    with locked(tmp_path):
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join()
        assert read_holder(tmp_path).is_current
    assert refusals == [1]


@pytest.mark.nightly("storms")
@pytest.mark.parametrize("is_there", [True, False])
def test_one_of_many_takes_the_lock(tmp_path: Path, is_there: bool) -> None:
    """Processes that find, at the same moment, a stale lock, or no folder: never do two of them
    hold it, and all go on.
    """
    script = """
import contextlib, os, sys, pathlib
from structopt.errors import FolderInUseError
from structopt.process.folder_lock import locked
folder, inside, deletes = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3] == "deletes"
for child in range(8):
    if os.fork() == 0:
        for _ in range(400):
            try:
                with locked(folder):
                    os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
                    inside.unlink()
                with contextlib.suppress(OSError):  # as who made the folder does
                    deletes and folder.rmdir()
            except FolderInUseError:
                pass
            except BaseException as error:
                print(repr(error), flush=True)
                os._exit(1)
        os._exit(0)
sys.exit(max(os.wait()[1] > 0 for _ in range(8)))
"""
    folder = tmp_path / "run"
    if is_there:
        folder.mkdir()
        (folder / LOCK).write_text(content(started="long ago"))
    deletes = "keeps" if is_there else "deletes"
    subprocess.run(
        [sys.executable, "-c", script, str(folder), str(tmp_path / "inside"), deletes], check=True
    )


def test_folders_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for folder in (tmp_path / "file", tmp_path / "file/run", Path("/proc/run")):
        with (
            pytest.raises(SystemRefusal, match="choose another|create the folder|another folder"),
            locked(folder),
        ):
            pass


def test_a_folder_that_is_deleted(tmp_path: Path) -> None:
    with locked(tmp_path / "run"):
        shutil.rmtree(tmp_path / "run")
    with locked(tmp_path / "run"):
        pass


def test_a_process_that_is_no_more(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    holder = Holder(process.pid, socket.gethostname(), start_of(process.pid) or "", "", "")
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert holder.is_dead  # a zombie
    process.wait()
    assert holder.is_dead


def test_a_sweep_waits_for_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structopt.sweep.ongoing.WAIT_FOR_JOBS", 0.5)
    sweep = Sweep(tmp_path, [], "", {})
    with held_elsewhere(tmp_path / "3") as job:
        with (
            pytest.raises(FolderInUseError, match=f"{tmp_path / '3'}: process {job.pid} "),
            sweep.locked(),
        ):
            pass
        # a process of a busy machine takes its time to end
        monkeypatch.setattr("structopt.sweep.ongoing.WAIT_FOR_JOBS", 60.0)
        threading.Timer(0.2, job.stdin.close).start()
        with sweep.locked():
            assert read_holder(tmp_path).is_current
