"""A sweep under way, in the process that launches it: its folder, its parent run, and how it
ends.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from structopt.core.data.config_keys import RESUME_SWEEP
from structopt.errors import ConfigError, StructoptError
from structopt.process import folder_lock, interruption
from structopt.progress import phases
from structopt.run.records import FAILED, FINISHED, JOB, KILLED, MULTIRUN, SWEEP, read_json
from structopt.sweep.exit_codes import DONE, code_of_jobs

BASIC = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
"""The launcher that runs one job after the other."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
WAIT_FOR_JOBS = 20.0
"""Seconds that jobs in other processes are given to save their models, when they are told to end or
their sweep was killed.
"""
TRACKED_FILES = (".md", ".csv", ".png", ".json", ".yaml")
"""Endings of the files in the sweep's folder that the tracker keeps with the parent run."""


@dataclass
class Sweep:
    """A sweep under way.

    Attributes
    ----------
    folder : Path
        Absolute; jobs have their own folders in it.
    command : list of str
        What was typed, without ``sweep.resume``.
    label : str
        Its name in tables and in MLflow.
    tracker : mapping
        The checked config node of the tracker.
    common : list of str
        Overrides of every job.
    parent : str
        The tracker's id of the parent run; empty where there is none.
    tracked : bool
        Whether jobs shall be tracked: a store that cannot take the parent is not asked again by
        every job.
    environment : list of str
        Variables that were set for its workers.
    replaced : mapping of Path to bytes
        Files that an earlier sweep left in the folder; put back where no job of this one begins.
    entered : ExitStack
        The phase, as the display shows it.
    """

    folder: Path
    command: list[str]
    label: str
    tracker: Mapping[str, Any]
    common: list[str] = field(default_factory=list)
    parent: str = ""
    tracked: bool = True
    environment: list[str] = field(default_factory=list)
    replaced: Mapping[Path, bytes] = field(default_factory=dict)
    entered: ExitStack = field(default_factory=ExitStack)
    _ended: str = ""
    _looked: float = -inf

    def begin(self, parent: str) -> None:
        """Make ``sweep.json`` in the folder, and the parent run, or go on with the `parent` of an
        earlier attempt.
        """
        self.parent = parent
        self._write()  # a sweep that is killed while its parent run is made can go on, too
        tracker = self._make_tracker()
        self.parent = tracker.open_sweep(
            self.label, self.folder, shlex.join(["structopt", *self.command]), parent
        )
        self.tracked = bool(self.parent)
        self._write()
        self.entered.enter_context(phases.phase("sweep", remark=self.jobs_ended, lasting=False))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the folder, which is made, as soon as no job that an earlier sweep left
        running trains in it.

        Raises
        ------
        ConfigError
            If the folder cannot be made.
        FolderInUseError
            If another sweep is under way in it, or jobs of one that has ended go on.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = f"this folder cannot be made ({error.strerror}). Name another."
            raise ConfigError(f"hydra.sweep.dir={self.folder}: {why}") from None
        with folder_lock.locked(self.folder):
            self._wait_for_jobs(WAIT_FOR_JOBS)
            with interruption.prepared(self._end_jobs):
                yield

    def _wait_for_jobs(self, seconds: float) -> None:
        """Wait until no other process trains in the folder of a job."""
        end = time.monotonic() + seconds
        for path in sorted(self.folder.glob(f"*/{folder_lock.LOCK}")):
            with folder_lock.locked(path.parent, max(0.0, end - time.monotonic())):
                pass

    def _end_jobs(self) -> None:
        """Tell jobs in other processes to end, and wait for them to save what they have: their
        launcher would just kill them.
        """
        folder_lock.announce_end(self.folder)
        with suppress(StructoptError):  # they are killed, then; their checkpoints are whole
            self._wait_for_jobs(WAIT_FOR_JOBS)

    def _write(self) -> None:
        from structopt.formats.durable_files import write_json

        facts = {
            "command": self.command,
            "label": self.label,
            "folder": str(self.folder),
            "common": self.common,
        }
        write_json(self.folder / SWEEP, {**facts, "parent": self.parent, "tracked": self.tracked})

    def _make_tracker(self) -> Any:
        from structopt.config import registry

        return registry.create("tracker", self.tracker)

    def jobs_ended(self) -> str:
        """How many jobs have ended, in words; it is looked up every other second."""
        if time.monotonic() - self._looked > 2.0:
            ended = sum(_has_ended(path) for path in self.folder.glob(f"*/{JOB}"))
            self._ended, self._looked = (
                f"{ended} {'job has' if ended == 1 else 'jobs have'} ended",
                time.monotonic(),
            )
        return self._ended

    def limit_threads(self) -> None:
        """Keep jobs that run side by side from taking every core each; what the user has set
        stays.
        """
        self.environment = [name for name in ONE_THREAD if name not in os.environ]
        os.environ.update(dict.fromkeys(self.environment, "1"))

    @property
    def begun(self) -> bool:
        """Whether any job has begun."""
        return any(self.folder.glob(f"*/{JOB}"))

    @property
    def resume_command(self) -> str:
        """The command that goes on with this sweep."""
        return shlex.join(["structopt", *self.command, f"{RESUME_SWEEP}=true"])

    def close(self, interrupted: bool = False, broken: bool = False) -> int:
        """Print and write the table, end the parent run, and return the exit code.

        Parameters
        ----------
        interrupted : bool
            Whether the user stopped it.
        broken : bool
            Whether the sweeper or launcher raised, so that jobs may be missing.
        """
        self.entered.close()
        for name in self.environment:
            os.environ.pop(name, None)
        if not self.begun:
            self.drop()
            return DONE
        from structopt.sweep.table import summary, write_tables

        table = write_tables(self.folder)
        if table.rows:
            print(f"\n{table.text()}\nsweep: {self.folder}", flush=True)
        code = code_of_jobs(table.rows)
        status = KILLED if interrupted else FAILED if broken or code else FINISHED
        if self.parent:
            files = sorted(path for path in self.folder.iterdir() if path.suffix in TRACKED_FILES)
            self._make_tracker().close_sweep(self.parent, status, summary(table), files)
        return code

    def drop(self) -> None:
        """Remove what a sweep left of which no job began, and put back the files of an earlier one
        in the same folder.
        """
        self.entered.close()
        if self.parent:
            self._make_tracker().drop_sweep(self.parent)
        for name in (SWEEP, MULTIRUN):
            with suppress(OSError):  # such as a folder that could not be made
                (self.folder / name).unlink()
        for path, content in self.replaced.items():
            path.write_bytes(content)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()


def _has_ended(path: Path) -> bool:
    """Whether a job came to an end; one that is under way is written down as killed."""
    with suppress(ValueError, OSError):
        return bool(read_json(path).get("status", KILLED) != KILLED)
    return False
