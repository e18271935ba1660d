"""The runs to compare: found by folders of runs and sweeps, ids of MLflow runs, and names of MLflow
experiments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structopt.errors import ConfigError
from structopt.report.mlflow_store import ADDRESS, Store
from structopt.run.records import JOB, SWEEP, TRACKING, RunRecord, read_json, read_run, read_sweep

_RUN_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Candidate:
    """A run to compare, with its store and id in MLflow; both are empty where it is in no store.

    Attributes
    ----------
    record : RunRecord
    uri, run_id : str
    """

    record: RunRecord
    uri: str = ""
    run_id: str = ""


def find(words: Sequence[str], experiment: str, store: Store, downloads: Path) -> list[Candidate]:
    """Return the runs that words and experiment name, each once.

    Parameters
    ----------
    words : sequence of str
        Folders of runs or sweeps, ids and addresses (``runs:/ID``) of MLflow runs.
    experiment : str
        An MLflow experiment, all runs of which are compared; may be empty.
    store : Store
    downloads : Path
        Folder for the files of runs that are in MLflow only.

    Raises
    ------
    ConfigError
        If there is no such run.
    """
    runs = [run for word in words for run in _named(word, store, downloads)]
    if experiment:
        runs += [_fetched(run_id, store, downloads) for run_id in store.runs_of(experiment)]
    return list({run.record.folder.resolve(): run for run in runs}.values())


def sweep_of(words: Sequence[str]) -> Path | None:
    """Return the folder of a sweep, where the words name that alone; else None."""
    return Path(words[0]) if len(words) == 1 and (Path(words[0]) / SWEEP).is_file() else None


def _named(word: str, store: Store, downloads: Path) -> list[Candidate]:
    folder = Path(word)
    if folder.is_dir():
        return [Candidate(record, *_tracked(record.folder)) for record in of_folder(folder)]
    if word.startswith(ADDRESS) or _RUN_ID.fullmatch(word):
        return [_fetched(word.removeprefix(ADDRESS).partition("/")[0], store, downloads)]
    raise ConfigError(
        f"{word}: there is no such folder.",
        remedy="Name the folder of a run or of a sweep, or an MLflow run (runs:/ID).",
    )


def of_folder(folder: Path) -> list[RunRecord]:
    """Return the run of a folder, or the runs of the folders in it.

    Raises
    ------
    ConfigError
        If there is none.
    """
    if (folder / JOB).is_file() or (folder / ".hydra").is_dir():
        return [read_run(folder)]
    jobs = sorted(
        (path.parent.parent for path in folder.glob("*/.hydra/config.yaml")),
        key=lambda job: (len(job.name), job.name),
    )
    records = read_sweep(folder) or [read_run(job) for job in jobs]
    if not records:
        raise ConfigError(
            "this is not the folder of a run (it has no .hydra/config.yaml), nor of a "
            "sweep (its folders have none).",
            where=str(folder),
        )
    return records


def _tracked(folder: Path) -> tuple[str, str]:
    """Return the store and the id that the tracker wrote into a run's folder."""
    notes = read_json(folder / TRACKING)
    return str(notes.get("uri") or ""), str(notes.get("run_id") or "")


def _fetched(run_id: str, store: Store, downloads: Path) -> Candidate:
    """Return a run of MLflow, read from its folder where that still exists, else from the files
    that it logged.
    """
    folder = store.folder_of(run_id)
    if folder is None or not (folder / "metrics.json").is_file():
        folder = store.download(run_id, downloads / run_id)
    return Candidate(read_run(folder), store.uri, run_id)
