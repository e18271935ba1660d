"""One job of a sweep, in the process in which a launcher runs it: run, resumed or skipped. Its
errors never end the sweep.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from structopt.core.data.config_keys import RESUME_SWEEP, Purpose, relevant
from structopt.core.data.splits import SplitPath
from structopt.errors import StructoptError, SystemRefusal, redacted
from structopt.process import folder_lock, interruption
from structopt.progress import console, credentials
from structopt.progress.quiet import quietly
from structopt.run.records import FAILED, FINISHED, JOB, KILLED, PRUNED, SWEEP, TRACKING, read_json
from structopt.sweep.launcher_watch import ended_with_launcher
from structopt.sweep.ongoing import BASIC

log = logging.getLogger(__name__)

SETTLED = (FINISHED, PRUNED)
"""Statuses of jobs that are not run again."""
WAIT_FOR_LOCK = 5.0
"""Seconds that a job waits for its folder, whose lock another process may look at."""


def run_job(config: DictConfig) -> dict[str, Any]:
    """Run a job of a sweep, as Hydra's task function.

    Parameters
    ----------
    config : DictConfig
        The job's composed config; its folder and number are in Hydra's own config.

    Returns
    -------
    dict
        ``status`` (FINISHED, FAILED or PRUNED) and ``score`` (the main dev metric, None where there
        is none).

    Raises
    ------
    KeyboardInterrupt
        No other exception: errors are written into ``job.json``, into the job's log and on stderr.
    """
    interruption.obey()  # one that came during the job before, or while this one was composed
    sweep = Path(str(HydraConfig.get().sweep.dir))
    with interruption.noted(), ended_with_launcher(sweep):
        return _attempt(config, sweep)


def _attempt(config: DictConfig, sweep: Path) -> dict[str, Any]:
    """Run a job, and note how it ended."""
    hydra = HydraConfig.get()
    _remove_credentials(Path(hydra.runtime.output_dir) / str(hydra.output_subdir))
    job = SweepJob(
        Path(hydra.runtime.output_dir), sweep, int(hydra.job.num), list(hydra.overrides.task)
    )
    job.concurrent = hydra.launcher["_target_"] != BASIC
    try:
        with (
            console.tidy(),
            quietly(bool(config.get("quiet"))),
            folder_lock.locked(job.folder, WAIT_FOR_LOCK),
        ):
            job.run(config)
    except KeyboardInterrupt:
        job.write(KILLED)
        raise
    except (StructoptError, OSError) as error:
        refused = SystemRefusal(error) if isinstance(error, OSError) else error
        job.fail(config, str(refused), mendable=True)
    except Exception as error:
        log.info("%s", traceback.format_exc())
        job.fail(config, f"{type(error).__name__}: {error}", mendable=False)
    return {"status": job.facts["status"], "score": job.facts["score"]}


@dataclass
class SweepJob:
    """A job of a sweep.

    Attributes
    ----------
    folder, sweep : Path
        Its own folder and the sweep's.
    number : int
    overrides : list of str
        Its composed overrides.
    concurrent : bool
        Whether other jobs may be running: then there is no progress line.
    facts : dict
        The content of ``job.json``.
    """

    folder: Path
    sweep: Path
    number: int
    overrides: list[str]
    concurrent: bool = False
    facts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.before = read_json(self.folder / JOB)
        self.shared = read_json(self.sweep / SWEEP)
        common = self.shared.get("common", ())
        self.own = [
            word
            for word in self.overrides
            if word not in common and not word.startswith(f"{RESUME_SWEEP}=")
        ]
        self.facts = {
            "number": self.number,
            "overrides": self.own,
            "status": KILLED,
            "score": None,
            "metric": None,
        }
        self.facts |= {
            "seconds": None,
            "error": "",
            "mendable": False,
            "config": {},
            "files": {},
            "run_id": "",
        }
        self.began = time.perf_counter()

    @property
    def name(self) -> str:
        """The job's name in MLflow's list of runs: its own label, or its own overrides."""
        labels = [
            word.partition("=")[2].strip("'\"") for word in self.own if word.startswith("label=")
        ]
        return labels[-1] if labels else " ".join(self.own)

    @property
    def title(self) -> str:
        """The job's name on the terminal."""
        return f"job {self.number} ({self.name})" if self.name else f"job {self.number}"

    @property
    def parent(self) -> str:
        """The tracker's id of the sweep's run; empty where there is none."""
        return str(self.shared.get("parent", ""))

    def run(self, config: DictConfig) -> None:
        """Train, unless an earlier attempt has done so; any error of training is raised."""
        from structopt.config import saved_config, validation
        from structopt.run import stages
        from structopt.sweep import search_trials

        checked = validation.validate(saved_config.resolved(config), self.overrides)
        unchanged = (
            self._unchanged(checked) if checked["sweep"]["resume"] and self.before else False
        )
        if unchanged and self.before["status"] in SETTLED:
            self._skip()
            return
        if not unchanged:
            (self.folder / TRACKING).unlink(missing_ok=True)
        self.facts["config"], self.facts["files"] = checked, _fingerprints(checked)
        # until it has ended: however this process ends, even by SIGKILL, the job can go on
        self.write(KILLED)
        tracked = (
            checked
            if self.shared.get("tracked", True)
            else {**checked, "tracker": {"name": "none"}}
        )
        judge = search_trials.judge(self.sweep, self.number)
        job = stages.JobOfSweep(self.number, self.name, self.parent, self.concurrent)
        model = stages.train(tracked, self.folder, judge, job, resuming=unchanged)
        self._finish(PRUNED if judge and judge.verdict else FINISHED, model.task.main_metric)

    def _unchanged(self, checked: Mapping[str, Any]) -> bool:
        """Whether the earlier attempt was of the same config and the same data."""
        before, now = (
            relevant(config, Purpose.RESUMING_A_JOB) for config in (self.before["config"], checked)
        )
        return bool(self.before.get("files") == _fingerprints(checked) and before == now)

    def _skip(self) -> None:
        self.facts = self.before
        console.say(f"{self.title}: {self.before['status'].lower()} before, skipped")

    def _finish(self, status: str, metric: str) -> None:
        metrics = read_json(self.folder / "metrics.json")
        score = metrics.get("dev", {}).get(metric)
        self.facts |= {"score": score, "metric": metric}
        self.write(status)
        shown = "" if score is None else f", dev {metric} {100 * score:.2f}"
        console.say(f"{self.title}: {status.lower()}{shown}, {self.facts['seconds']:.1f} s")

    def fail(self, config: DictConfig, text: str, mendable: bool) -> None:
        """Note why the job failed, and say so in one line."""
        self.facts |= {"error": text, "mendable": mendable}
        if not self.facts["config"]:  # it was not even checked
            self.facts["config"] = _plain(config)
        self._track_failure()
        self.write(FAILED)
        where = "" if mendable else f" (traceback: {self.folder})"
        line = " ".join(text.split())
        print(f"structopt: {self.title}: {line}{where}", file=sys.stderr, flush=True)

    def _track_failure(self) -> None:
        """Record a job that failed before its run was tracked: a sweep has a run for every job."""
        from structopt.config import registry
        from structopt.core.tracker import Run
        from structopt.run.report import ending_note

        if (self.folder / TRACKING).is_file() or not self.parent:
            return
        try:
            tracker = registry.create("tracker", self.facts["config"]["tracker"])
        except StructoptError:
            return
        tracker.start(
            Run(
                self.folder,
                self.facts["config"],
                {},
                self.name,
                parent=self.parent,
                job=self.number,
            )
        )
        tracker.describe(ending_note(self.folder, self.facts["error"], of_sweep=True))
        tracker.finish(FAILED, {})

    def write(self, status: str) -> None:
        """Write ``job.json``, in which infinities stay numbers."""
        from structopt.formats.durable_files import write_bytes

        run_id = read_json(self.folder / TRACKING).get("run_id", "")
        spent = self.before.get("seconds") or 0.0 if self.before.get("status") == KILLED else 0.0
        self.facts |= {
            "status": status,
            "run_id": run_id,
            "seconds": spent + time.perf_counter() - self.began,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        write_bytes(
            self.folder / JOB,
            (json.dumps(self.facts, indent=1, ensure_ascii=False) + "\n").encode(),
        )


def _remove_credentials(folder: Path) -> None:
    """Remove users and passwords from the configs that Hydra wrote; they come from YAML files."""
    from structopt.formats.durable_files import write_bytes

    for path in folder.glob("*.yaml"):
        text = path.read_text(encoding="utf8")
        if (clean := redacted(text)) != text:
            write_bytes(path, clean.encode())


def _plain(config: DictConfig) -> Any:
    """Return a config that was refused, resolved where that is possible."""
    try:
        plain = OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException:
        plain = OmegaConf.to_container(config)
    return credentials.removed_in(plain)


def _fingerprints(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the SHA-256 of the task's data files by split, those of generated splits and missing
    files left out.
    """
    from structopt.config import feature_keys
    from structopt.core.data.file_sets import digest

    files = feature_keys.task_of(config).files
    sources = {
        role: path.source if isinstance(path, SplitPath) else path for role, path in files.items()
    }
    return {
        role: digest(path) for role, path in sources.items() if path is not None and path.is_file()
    }
