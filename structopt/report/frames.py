"""Runs as tables of pandas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structopt.errors import full_installation
from structopt.report.chosen_runs import of_folder
from structopt.run.records import read_run

if TYPE_CHECKING:
    import pandas as pd


@full_installation("structopt.runs")
def runs(folder: str | Path) -> pd.DataFrame:
    """Return the runs of a folder: of one run, of a sweep, or of folders in it.

    Parameters
    ----------
    folder : str or Path

    Returns
    -------
    DataFrame
        A row per run: ``folder``, ``name``, ``status``, each setting by its key in the
        configuration (``optimizer.C``), and each metric by its name (``dev.f1``).

    Raises
    ------
    ConfigError
        If the folder has no runs.
    """
    import pandas as pd

    rows = []
    for record in of_folder(Path(folder)):
        row: dict[str, Any] = {
            "folder": str(record.folder),
            "name": record.name,
            "status": record.status,
        }
        row |= dict(_flat(record.config, ""))
        for split, metrics in record.metrics.items():
            row |= {f"{split}.{name}": value for name, value in metrics.items()}
        rows.append(row)
    return pd.DataFrame(rows)


@full_installation("structopt.history")
def history(run: str | Path) -> pd.DataFrame:
    """Return the history of a run: a row per epoch, with the columns of its ``history.csv``.

    Parameters
    ----------
    run : str or Path
        The folder of the run.

    Raises
    ------
    ConfigError
        If the folder is not of a run.
    """
    import pandas as pd

    return pd.DataFrame(read_run(Path(run)).history)


def _flat(node: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
