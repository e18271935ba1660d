"""The parent in MLflow of a sweep's runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from structopt.tracker.stores import NOTE, describe

PARENT = "mlflow.parentRunId"
CHILDREN_A_PAGE = 1000
LONGEST_NOTE = 7500
_INTERRUPTED = "**Interrupted.**\n\nTo go on: the command of the sweep, with `sweep.resume=true`"


def opened(
    client: Any, experiment_id: str, name: str, tags: Mapping[str, str], known: str, now: int
) -> str:
    """Make the parent, or open the known one again; return its id. Children that an earlier attempt
    left running are ended.
    """
    if known and _is_there(client, known):
        client.update_run(known, status="RUNNING")
        _end_running(client, experiment_id, known)
        return known
    return str(
        client.create_run(experiment_id, start_time=now, tags=dict(tags), run_name=name).info.run_id
    )


def closed(
    client: Any,
    run_id: str,
    status: str,
    metrics: Mapping[str, float],
    files: Sequence[Path],
    now: int,
) -> None:
    """Record metrics and files of the whole sweep, and end it; children that are still marked as
    running are ended too.

    The first Markdown file, a report or a table, is also the run's description.
    """
    from mlflow.entities import Metric

    pages = [file.read_text(encoding="utf8") for file in files if file.suffix == ".md"]
    if pages and len(pages[0]) <= LONGEST_NOTE:
        client.set_tag(run_id, NOTE, pages[0])
    client.log_batch(run_id, metrics=[Metric(key, value, now, 0) for key, value in metrics.items()])
    for file in files:
        client.log_artifact(run_id, str(file))
    _end_running(client, client.get_run(run_id).info.experiment_id, run_id)
    client.set_terminated(run_id, status)


def _is_there(client: Any, run_id: str) -> bool:
    """Whether the store has a run that was not deleted."""
    from mlflow.exceptions import MlflowException

    try:
        return bool(client.get_run(run_id).info.lifecycle_stage == "active")
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        return False


def _end_running(client: Any, experiment_id: str, parent: str) -> None:
    """Mark the children whose status is RUNNING as killed."""
    wanted = f"tags.`{PARENT}` = '{parent}' and attributes.status = 'RUNNING'"
    for child in client.search_runs(
        [experiment_id], filter_string=wanted, max_results=CHILDREN_A_PAGE
    ):
        describe(client, child.info.run_id, _INTERRUPTED)
        client.set_terminated(child.info.run_id, "KILLED")
