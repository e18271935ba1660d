"""A storm of kills: runs are killed at seeded random moments and resumed, and end with the bits of
one left in peace.

``python -m tests.storm FOLDER --seed 0 --kills 6 WORD ...`` prints what happened as JSON. The
process trains once, and then forks a child for every attempt: a child has all imports and compiled
kernels from its first moment, so that no kill is wasted on them. With ``--fresh`` every attempt is
a command of its own, which a sweep needs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from structopt.command import main
from structopt.model.folder import MANIFEST, read_folder
from structopt.process import folder_lock
from structopt.run import history
from structopt.tracker.stores import import_mlflow
from tests.interrupts import hear_interrupts

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
TIMES = re.compile("seconds|overhead")
LONGEST = 600.0  # seconds that an attempt may take


def forked(words: list[str], log: Path) -> int:
    """Begin an attempt in a child of this process; return its number."""
    pid = os.fork()
    if pid:
        return pid
    os.setpgid(0, 0)
    stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    code = 70
    try:
        code = main.main(words)
    except KeyboardInterrupt:  # before the command began, or after its end
        code = 128 + signal.SIGINT
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def fresh(words: list[str], log: Path) -> int:
    """Begin an attempt as a command of its own; return the number of its process, which leads a
    group.
    """
    with log.open("ab") as stream:
        command = [sys.executable, "-m", "structopt", *words]
        return subprocess.Popen(
            command,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
            preexec_fn=hear_interrupts,
        ).pid


def wait(pid: int, seconds: float) -> int | None:
    """Return the exit code of a child, negative where a signal killed it; None where it goes on
    after so many seconds.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    return None


class Storm:
    """Attempts at one run or sweep.

    Parameters
    ----------
    folder : Path
        Its folder.
    words : list of str
        The command.
    draws : random.Random
    begin : callable
        `forked` or `fresh`.
    """

    def __init__(self, folder, words, draws, begin):
        self.folder, self.words, self.draws, self.begin = folder, words, draws, begin
        self.sweep = "--multirun" in words
        self.log = folder.with_suffix(".log")
        self.attempts = []

    def command(self) -> list[str]:
        """The command of the next attempt: the first one again, until there is something to go on
        with.
        """
        if self.sweep:
            return [*self.words, f"hydra.sweep.dir={self.folder}", "sweep.resume=true"]
        if (self.folder / "checkpoint/state.safetensors").is_file():
            return [f"resume={self.folder}"]
        return [*self.words, f"hydra.run.dir={self.folder}"]

    def attempt(self, span: float | None) -> int:
        """Begin, kill within so many seconds, and look at what is left; None: let it end."""
        pid = self.begin(self.command(), self.log)
        number = self.draws.choice(SIGNALS)
        moment = None if span is None else self.draws.uniform(0.0, span)
        code = wait(pid, LONGEST if moment is None else moment)
        if code is None:
            whole_group = self.sweep and self.draws.random() < 0.5
            with contextlib.suppress(ProcessLookupError):
                (os.killpg if whole_group else os.kill)(pid, number)
            code = wait(pid, LONGEST)
        self.attempts.append({"signal": number.name, "moment": moment, "code": code})
        allowed = {0, -number, 128 + number} if moment is not None else {0}
        assert code in allowed, (self.attempts, self.log.read_text()[-3000:])
        if code == 128 + number:
            self.look()
        return code

    def look(self) -> None:
        """After an end in good order: there is no lock, and a model is whole, unless a kill before
        tore it.
        """
        assert self.sweep or not (self.folder / folder_lock.LOCK).exists() or self.was_killed(), (
            self.attempts
        )
        if self.was_killed():
            return
        for manifest in self.folder.rglob(MANIFEST):
            read_folder(manifest.parent)

    def was_killed(self) -> bool:
        """Whether an attempt ended without having a say in it, which may leave a stale lock and a
        model that is half replaced.
        """
        return any(attempt["code"] < 0 for attempt in self.attempts)

    def rage(self, kills: int, span: float) -> int:
        """Kill so many times, and let the run end then, if it has not done so before; return how
        many kills there were.
        """
        for kill in range(kills):
            if self.attempt(span) == 0:
                return kill
        self.attempt(None)
        return kills


def results(folder: Path) -> dict[str, object]:
    """What runs of the same bits have in common: the files of the models, the histories and metrics
    without seconds.
    """
    models = {
        path.relative_to(folder).as_posix(): path.read_bytes().hex()
        for path in folder.rglob("model/*")
    }
    rows = {
        path.relative_to(folder).as_posix(): timeless(history.read(path))
        for path in folder.rglob("history.csv")
    }
    metrics = {
        path.relative_to(folder).as_posix(): timeless(json.loads(path.read_text()).values())
        for path in folder.rglob("metrics.json")
    }
    return {"models": models, "histories": rows, "metrics": metrics}


def timeless(rows) -> list[dict[str, object]]:
    return [{key: value for key, value in row.items() if not TIMES.search(key)} for row in rows]


def warm(words: list[str], folder: Path) -> None:
    """Import and compile in this process; with no tracker, whose store children cannot share."""
    untracked = [word for word in words if not word.startswith("tracker")]
    if "tracker=none" not in words:
        import_mlflow()
    with contextlib.redirect_stdout(io.StringIO()):
        assert (
            main.main([*untracked, "tracker=none", f"hydra.run.dir={folder}", "optimizer.epochs=1"])
            == 0
        )
    shutil.rmtree(folder)


def storm(root: Path, seed: int, kills: int, words: list[str], is_fresh: bool) -> dict[str, object]:
    """Train undisturbed, then in a storm; compare, and tell what happened."""
    root.mkdir(parents=True, exist_ok=True)
    begin, draws = fresh if is_fresh else forked, random.Random(seed)
    peaceful = Storm(root / "peaceful", words, draws, begin)
    # imports and kernels are in this process then, and in the children that it forks
    if not is_fresh:
        warm(words, root / "warming")
    started = time.monotonic()
    peaceful.attempt(None)
    span = time.monotonic() - started
    span, attempts, done, same, folder = (
        0.5 * (time.monotonic() - started),
        [],
        0,
        True,
        root / "shaken",
    )
    while done < kills:  # a run that ends too soon is followed by another one, under faster fire
        shutil.rmtree(folder, ignore_errors=True)
        shaken = Storm(folder, words, draws, begin)
        done += shaken.rage(kills - done, span)
        same &= results(peaceful.folder) == results(folder)
        attempts += shaken.attempts
        span *= 0.6
    return {"words": words, "same": same, "kills": done, "attempts": attempts}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("words", nargs="+")
    typed = parser.parse_intermixed_args()
    print(
        json.dumps(storm(typed.folder.resolve(), typed.seed, typed.kills, typed.words, typed.fresh))
    )
