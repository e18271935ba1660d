"""The lock of a run's or sweep's folder: one process at a time trains in it.

The file ``run.lock`` says which process that is, and the operating system holds it for as long as
that process lives, where the file system knows such locks (``flock``). So what a killed process
left is known to be stale, and is taken over.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import shlex
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import takewhile
from pathlib import Path

from structopt.errors import FolderInUseError, SystemRefusal, redacted

log = logging.getLogger(__name__)

LOCK = "run.lock"
POLL = 0.1  # seconds between two looks at a lock that is waited for


@dataclass(frozen=True)
class Holder:
    """A process, as the lock that it holds names it.

    Attributes
    ----------
    pid : int
    host : str
    started : str
        When the process began, as its system counts; it tells apart two processes of the same
        number. Empty where unknown.
    since : str
        When it took the lock.
    command : str
    ending : bool
        Whether it was told to end; jobs that it launched are to end, too.
    """

    pid: int
    host: str
    started: str
    since: str
    command: str
    ending: bool = False

    @classmethod
    def current(cls) -> Holder:
        """Return this process, as it holds a lock from now on."""
        pid, command = os.getpid(), redacted(shlex.join(["structopt", *sys.argv[1:]]))
        return cls(
            pid,
            socket.gethostname(),
            start_of(pid) or "",
            datetime.now().isoformat(" ", "seconds"),
            command,
        )

    @property
    def is_here(self) -> bool:
        """Whether it is a process of this machine."""
        return self.host == socket.gethostname()

    @property
    def is_current(self) -> bool:
        """Whether it is this process."""
        return (
            self.is_here and self.pid == os.getpid() and self.started == (start_of(self.pid) or "")
        )

    @property
    def is_dead(self) -> bool:
        """Whether it is known to have ended: a process of this machine of which there is nothing
        left.
        """
        return self.is_here and (
            start_of(self.pid) is None or self.started not in ("", start_of(self.pid))
        )


@dataclass
class _Lock:
    """A lock that this process holds: by which thread, how many times one within the other, and
    which folders it created, the innermost first.
    """

    path: Path
    descriptor: int
    holder: Holder
    thread: int
    depth: int = 1
    made: Sequence[Path] = ()


_held: dict[Path, _Lock] = {}


@contextmanager
def locked(folder: Path, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock of a folder, which is made where it is missing; within itself the same thread
    may hold it again.

    Parameters
    ----------
    folder : Path
    wait : float
        Seconds to wait for a process that is holding it.

    Raises
    ------
    FolderInUseError
        If another process or thread holds it all the while.
    SystemRefusal
        If the folder cannot be made or written.
    """
    try:
        resolved = folder.resolve()
    except (OSError, ValueError, RuntimeError) as error:  # NUL characters, circles of links
        raise SystemRefusal(OSError(errno.EINVAL, str(error), str(folder))) from error
    lock = _held.get(resolved)
    if lock is not None and lock.thread == threading.get_ident() and lock.holder.pid == os.getpid():
        lock.depth += 1
    else:
        lock = _held[resolved] = _acquired(resolved, time.monotonic() + wait)
    try:
        yield
    finally:
        lock.depth -= 1
        if not lock.depth:
            _release(resolved)


def held_folders() -> list[Path]:
    """Return the folders whose locks this process holds, in the order in which it took them."""
    return list(_held)


def release_all() -> None:
    """Release all locks of this process, which is about to end at once."""
    for folder in held_folders():
        _release(folder)


def is_new(folder: Path) -> bool:
    """Whether this process holds the lock of a folder that it created for it."""
    lock = _held.get(folder.resolve())
    return lock is not None and bool(lock.made)


def read_holder(folder: Path) -> Holder | None:
    """Return who holds or held the lock of a folder; None where there is no lock, or nothing that
    can be read in it.
    """
    try:
        return Holder(**json.loads((folder / LOCK).read_text(encoding="utf8")))
    except (OSError, ValueError, TypeError):
        return None


def announce_end(folder: Path) -> None:
    """Note in the lock, which this process holds, that it was told to end."""
    lock = _held[folder.resolve()]
    lock.holder = replace(lock.holder, ending=True)
    _write(lock.descriptor, lock.holder)


def start_of(pid: int) -> str | None:
    """Return when a process of this machine began, as its system counts; empty where that is
    unknown, None if there is none.
    """
    try:
        fields = (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="utf8", errors="replace")
            .rpartition(")")[2]
            .split()
        )
    except (FileNotFoundError, ProcessLookupError):
        return None if Path("/proc/self/stat").exists() else _start_by_ps(pid)
    except OSError:
        return ""
    boot = Path("/proc/sys/kernel/random/boot_id")
    state, ticks = fields[0], fields[19]
    if state in "ZX":  # a zombie has ended
        return None
    return (
        f"{ticks} ticks after boot "
        f"{boot.read_text(encoding='utf8').strip() if boot.is_file() else ''}"
    )


def _start_by_ps(pid: int) -> str | None:
    """The same on systems that have no /proc."""
    try:
        shown = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return shown.stdout.strip() or None


def _acquired(folder: Path, end: float) -> _Lock:
    """Take the lock of a folder, or wait for it until `end`."""
    while True:
        try:
            made = list(takewhile(lambda path: not path.exists(), (folder, *folder.parents)))
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                # exist_ok would refuse what is no folder, also a folder that is gone by now
                if folder.is_file():
                    raise
            if lock := _attempt(folder):
                lock.made = made
                return lock
        except OSError as error:
            raise SystemRefusal(error) from error
        except FolderInUseError:
            if time.monotonic() >= end:
                raise
            time.sleep(POLL)


def _attempt(folder: Path) -> _Lock | None:
    """Take the lock of a folder now; None where its file or the folder was deleted meanwhile, so
    that it is to be tried again.

    Raises
    ------
    FolderInUseError
        If another process has it.
    """
    path = folder / LOCK
    try:
        descriptor, is_new = _open(path)
    except FileNotFoundError:
        # the process that made the folder has just released it, and deleted the folder
        return None
    try:
        if _is_ours(descriptor, is_new, folder):
            holder = Holder.current()
            _write(descriptor, holder)
            return _Lock(path, descriptor, holder, threading.get_ident())
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _is_ours(descriptor: int, is_new: bool, folder: Path) -> bool:
    """Whether the file that was opened is the folder's lock now, and this process has it;
    FolderInUseError where another has.
    """
    path, locks = folder / LOCK, _system_lock(descriptor)
    if locks is False:
        raise _refusal(folder, read_holder(folder))
    try:
        if not os.path.samestat(os.fstat(descriptor), path.stat()):
            return False
    except FileNotFoundError:  # who had it has just released it
        return False
    if is_new:
        return True
    if os.fstat(descriptor).st_size:
        holder = read_holder(folder)
        if holder is not None and not (holder.is_dead or holder.is_current):
            raise _refusal(folder, holder)
        log.info("%s was left by a process that is no more, and is taken over", path)
    if locks is None:  # only who makes the file anew knows that nobody else did
        path.unlink(missing_ok=True)
    return locks is not None


def _open(path: Path) -> tuple[int, bool]:
    """Open the file of a lock; return its descriptor, and whether the file is new."""
    while True:
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644), True
        except FileExistsError:
            with suppress(FileNotFoundError):  # it was deleted in between
                # a link to another file would have that file overwritten
                return os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)), False


def _system_lock(descriptor: int) -> bool | None:
    """Have the system lock a file; False where another process has it, None where there are no such
    locks.
    """
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _refusal(folder: Path, holder: Holder | None) -> FolderInUseError:
    """The error that says who is training in a folder, and what to do."""
    if holder is None:
        return FolderInUseError(
            "another process is training here.",
            where=str(folder),
            remedy="Wait until it ends, or name another folder.",
        )
    who = (
        f"process {holder.pid} on {holder.host} is training here, since {holder.since} "
        f"({holder.command})"
    )
    if holder.is_here and holder.started:
        return FolderInUseError(
            f"{who}.",
            where=str(folder),
            remedy=f"Wait until it ends, stop it (kill {holder.pid}), or name another folder.",
        )
    return FolderInUseError(
        f"{who}.",
        where=str(folder),
        remedy=f"Wait until it ends. If it is known to be dead, delete {folder / LOCK} and "
        "run this command again.",
    )


def _write(descriptor: int, holder: Holder) -> None:
    """Write who holds a lock into its file."""
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, (json.dumps(asdict(holder), indent=1) + "\n").encode())


def _release(folder: Path) -> None:
    lock = _held.pop(folder)
    if lock.holder.pid != os.getpid():  # a fork has the variables of its parent, but not its locks
        return
    with suppress(OSError):  # such as a folder that was deleted
        lock.path.unlink()
    with suppress(OSError):
        os.close(lock.descriptor)
    with suppress(OSError):  # such as a folder that is not empty
        for path in lock.made:
            path.rmdir()
