"""A comparison recorded in MLflow, on the sweep's parent run or as a run of its own, with links to
the compared runs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from structopt.progress import credentials
from structopt.report.chosen_runs import Candidate
from structopt.report.mlflow_store import DESCRIPTION, Store
from structopt.run.records import SWEEP, read_json

log = logging.getLogger(__name__)
_NOTE_LIMIT = 5000


def record(
    runs: Sequence[Candidate], facts: Mapping[str, str], sweep: Path | None, output: Path, uri: str
) -> None:
    """Log the files of a comparison where its runs are tracked; a store that cannot be reached
    costs a warning.

    Parameters
    ----------
    runs : sequence of Candidate
    facts : mapping
        Metric and baseline, as params.
    sweep : Path or None
        The folder of the sweep that was compared, whose parent run takes the files.
    output : Path
        The folder of tables and pictures.
    uri : str
        The store; empty for that of the runs.
    """
    tracked = [run for run in runs if run.run_id]
    if not tracked:
        return
    try:
        _record(tracked, facts, sweep, output, uri)
    except Exception as error:  # MLflow raises many kinds; the comparison is written all the same
        log.warning(
            "the comparison is not in MLflow: %s",
            credentials.hidden(str(error).strip() or type(error).__name__).splitlines()[0],
        )


def _record(
    runs: Sequence[Candidate], facts: Mapping[str, str], sweep: Path | None, output: Path, uri: str
) -> None:
    store, tags = Store(uri or runs[0].uri), {"compared_runs": ",".join(run.run_id for run in runs)}
    tags[DESCRIPTION] = (
        (output / "table.md").read_text(encoding="utf8").partition("![")[0][:_NOTE_LIMIT]
    )
    if parent := _parent(sweep):
        store.add(parent, _files(output), tags)
    else:
        store.record(runs[0].run_id, _files(output), tags, facts)


def _parent(sweep: Path | None) -> str:
    """Return the id of a sweep's MLflow run; empty where it has none."""
    return str(read_json(sweep / SWEEP).get("parent") or "") if sweep else ""


def _files(output: Path) -> list[Path]:
    return sorted(path for path in output.iterdir() if path.suffix in (".md", ".csv", ".png"))
