"""What the operating system refuses: one message, exit code 2, and the last checkpoint as it
was.
"""

from __future__ import annotations

import errno
import io
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from structopt.command import main, streams
from structopt.errors import SystemRefusal
from structopt.formats.durable_files import write_bytes
from structopt.model.streaming import written_to
from structopt.process import folder_lock
from structopt.progress import console
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
        ("a" * 300, f"{'a' * 300}: File name too long: choose a shorter name."),
        ("file", "file: File exists: this is a file, and a folder is needed; choose another name."),
        (
            "file/run",
            "file/run: Not a directory: a part of this path is a file; choose another name.",
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


@pytest.mark.nightly("rest")
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


@pytest.mark.nightly("rest")
def test_a_full_disk_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with files_of_at_most(8192):  # Hydra's files are smaller, weights are larger
        assert main.main([*QUICK, "optimizer.epochs=1", f"hydra.run.dir={tmp_path / 'run'}"]) == 2
    assert last_line(capsys).endswith(f", then resume with: structopt resume={tmp_path / 'run'}")
    assert "Traceback" in (tmp_path / "run" / "structopt.log").read_text()
    assert main.main([f"resume={tmp_path / 'run'}"]) == 0


@pytest.mark.parametrize(
    ("streams", "code", "text"),
    [
        (
            ">/dev/full",
            2,
            "structopt: standard output, or a file of a library: No space left on device: free "
            "disk space.\n",
        ),
        (
            ">&-",
            2,
            "structopt: standard output: nothing could be printed: standard output is closed; "
            "redirect it to a file.\n",
        ),
        (">/dev/full 2>/dev/full", 2, ""),
        (">&- 2>&- <&-", 2, ""),
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
        == "standard output, or a file of a library: odd: correct that."
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
    with pytest.raises(OSError, match="No space left"):
        write_bytes(Path("/dev/full"), b"words")
    assert Path("/dev/full").is_char_device()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_bytes(tmp_path / "link", b"words")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_bytes() == b"words"
    write_bytes(tmp_path / ("\u00e4" * 127), b"words")


def _streamed(path: Path) -> None:
    with written_to(str(path)) as write:
        write(b"new\n")


@pytest.mark.parametrize("write", [lambda path: write_bytes(path, b"new\n"), _streamed])
@pytest.mark.parametrize(
    "name",
    ["/dev/fd/{}", "/proc/self/fd/{}", "/proc/{pid}/fd/{}", "/dev/../dev/fd/{}", "link", "links"],
)
def test_open_files_are_appended_to(
    write: Callable[[Path], None], name: str, tmp_path: Path
) -> None:
    """As `output=/dev/stdout >> all.txt`, also through links and other spellings of the path."""
    with (tmp_path / "all.txt").open("w+b", buffering=0) as file:
        file.write(b"keep\n")
        (tmp_path / "link").symlink_to(f"/dev/fd/{file.fileno()}")
        (tmp_path / "links").symlink_to("link")
        before = os.fstat(file.fileno()).st_ino
        path = Path(tmp_path, name.format(file.fileno(), pid=os.getpid()))
        write(path)
        file.write(b"after\n")
    assert (tmp_path / "all.txt").read_bytes() == b"keep\nnew\nafter\n"
    assert (tmp_path / "all.txt").stat().st_ino == before


def test_temporary_files_are_exclusive_and_modes_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link of the temporary name, as in a shared folder, is not followed."""
    victim, path = tmp_path / "victim", tmp_path / "file"
    victim.write_bytes(b"keep")
    path.touch()
    path.chmod(0o640)
    tokens = iter(["known", "other", "third"])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(tokens))
    (tmp_path / ".file.known.partial").symlink_to(victim)
    write_bytes(path, b"words")
    assert path.read_bytes() == b"words" and victim.read_bytes() == b"keep"
    assert path.stat().st_mode & 0o777 == 0o640
    before = os.umask(0o027)
    try:
        write_bytes(tmp_path / "new", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_a_lock_does_not_follow_links(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"keep")
    for target in (victim, tmp_path / "missing"):
        (tmp_path / "run.lock").symlink_to(target)
        with (
            pytest.raises(SystemRefusal, match="run.lock: .*: delete this link"),
            folder_lock.locked(tmp_path),
        ):
            pass
        (tmp_path / "run.lock").unlink()
    assert victim.read_bytes() == b"keep" and not (tmp_path / "missing").exists()


def test_characters_that_the_terminal_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    for say in (print, console.say):
        written = io.BytesIO()
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, "cp1252"))
        if say is print:
            streams.open_closed()
        say("\u00e9 \u0142 \U0001f600")
        sys.stdout.flush()
        assert written.getvalue() == b"\xe9 \\u0142 \\U0001f600\n"
