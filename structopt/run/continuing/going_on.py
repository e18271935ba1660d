"""A run that goes on from the state of an earlier one, as Python asks for it: with the config of
that run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from structopt.config import saved_config
from structopt.config.continuation import continued
from structopt.core.data.config_keys import Purpose
from structopt.model.model import Model
from structopt.process import folder_lock
from structopt.run import records, stages
from structopt.run.continuing.earlier_runs import earlier_run

IN_MEMORY = "memory"
"""The address of a run without a folder."""


def go_on(
    earlier: Model | str | Path, overrides: Sequence[str] = (), folder: str | Path | None = None
) -> Model:
    """Train on with more data: see `structopt.partial_fit`."""
    in_memory = earlier if isinstance(earlier, Model) else None
    trained = in_memory.trained if in_memory else None
    address = str(trained.folder or IN_MEMORY) if trained else str(earlier)
    node = {"model": address, "vocabulary": "union", "state": "new"}
    run = earlier_run(node, in_memory)
    assert run is not None
    config = continued({**run.trained.config, "warm_start": node}, overrides, Purpose.GOING_ON)
    path = saved_config.run_folder(folder)
    with folder_lock.locked(path), records.nothing_left(path):
        saved_config.save(config, path)
        return stages.train(config, path, earlier=run.model)
