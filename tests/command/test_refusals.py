"""What the operating system refuses: one message, exit code 2, and the last checkpoint as it
was.
"""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from structopt.command import main
from structopt.errors import SystemRefusal
from structopt.formats.durable_files import write_bytes
from tests.command.commands import Stages, failed

QUICK = ("task=ner", "task.limit=40", "tracker=none", "task.layouts=[word pos chunk tag]")


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let no file become larger, as on a disk that is full: writing fails with EFBIG."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    lines = capsys.readouterr().err.splitlines()
    assert not [line for line in lines if "Traceback" in line or "Logging error" in line]
    return lines[-1]


@pytest.mark.parametrize(
    ("folder", "text"),
    [
        ("a" * 300, f"{'a' * 300}: File name too long: take a shorter name."),
        ("file", "file: File exists: this is a file where a folder is due; take another name."),
        (
            "file/run",
            "file/run: Not a directory: a part of this path is a file; take another name.",
        ),
    ],
)
def test_run_folder(
    stages: Stages, capsys: pytest.CaptureFixture[str], folder: str, text: str
) -> None:
    Path("file").touch()
    assert failed(capsys, "tracker=none", f"hydra.run.dir={folder}").endswith(text)
    assert not stages.calls


def test_a_read_only_disk(stages: Stages, capsys: pytest.CaptureFixture[str]) -> None:
    stages.error = OSError(errno.EROFS, os.strerror(errno.EROFS), "run/history.csv")
    assert (
        failed(capsys, "tracker=none")
        == "run/history.csv: Read-only file system: write to another folder."
    )


def test_the_current_folder_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert failed(capsys, "tracker=none") == ".: the current folder was deleted: go to another one."


def test_a_full_disk_keeps_the_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, whole = tmp_path / "run", tmp_path / "whole"
    state = run / "checkpoint" / "state.safetensors"
    assert main.main([*QUICK, "optimizer.epochs=1", f"hydra.run.dir={run}"]) == 0
    kept = state.read_bytes()
    with files_of_at_most(4096):
        assert main.main([f"resume={run}", "optimizer.epochs=3"]) == 2
    assert last_line(capsys).startswith(
        f"structopt: {state}: File too large: raise the limit (ulimit -f)"
    )
    assert state.read_bytes() == kept and not list(state.parent.glob(".*"))
    assert main.main([f"resume={run}", "optimizer.epochs=3"]) == 0
    assert main.main([*QUICK, "optimizer.epochs=3", f"hydra.run.dir={whole}"]) == 0
    assert (run / "model" / "weights.safetensors").read_bytes() == (
        whole / "model" / "weights.safetensors"
    ).read_bytes()


def test_a_full_disk_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with files_of_at_most(4096):
        assert main.main([*QUICK, "optimizer.epochs=1", f"hydra.run.dir={tmp_path / 'run'}"]) == 2
    assert last_line(capsys).endswith(f", then go on with: structopt resume={tmp_path / 'run'}")
    assert "Traceback" in (tmp_path / "run" / "structopt.log").read_text()
    assert main.main([f"resume={tmp_path / 'run'}"]) == 0


@pytest.mark.parametrize(
    ("streams", "code", "text"),
    [
        (
            ">/dev/full",
            2,
            "structopt: standard output, or a file of a library: No space left on device: free "
            "some.\n",
        ),
        (">&-", 0, ""),
        (">/dev/full 2>/dev/full", 2, ""),
        (">&- 2>&- <&-", 0, ""),
    ],
)
def test_standard_streams(tmp_path: Path, streams: str, code: int, text: str) -> None:
    command = f"{sys.executable} -m structopt components optimizer {streams}"
    ended = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (code, text)


def test_refusals_name_what_there_is() -> None:
    assert (
        str(SystemRefusal(OSError("odd")))
        == "standard output, or a file of a library: odd: mend that."
    )
    assert str(SystemRefusal(OSError(errno.EXDEV, "Cross-device link", "a", None, "b"))).startswith(
        "a -> b: Cross-device link: "
    )


def test_outputs_that_are_no_files(tmp_path: Path) -> None:
    """Pipes and devices are written to, not replaced; of a link the file that it stands for is
    replaced.
    """
    reading, writing = os.pipe()
    write_bytes(Path(f"/dev/fd/{writing}"), b"words")
    assert os.read(reading, 10) == b"words"
    with (tmp_path / "open").open("w+b") as stream:
        write_bytes(Path(f"/proc/self/fd/{stream.fileno()}"), b"words")
        assert stream.read() == b"words"
    with pytest.raises(OSError, match="No space left"):
        write_bytes(Path("/dev/full"), b"words")
    assert Path("/dev/full").is_char_device()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_bytes(tmp_path / "link", b"words")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_bytes() == b"words"
    write_bytes(tmp_path / ("\u00e4" * 127), b"words")
