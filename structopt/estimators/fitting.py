"""The run underneath an estimator: the stages of every run, with instances in memory in the place
of files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from structopt.config import composition
from structopt.config.overrides import check_single_run
from structopt.core.data.in_memory import InMemory
from structopt.estimators.settings import Settings
from structopt.model.model import Model
from structopt.process import folder_lock
from structopt.run import stages


class Fitted(NamedTuple):
    """What a run returns: the model, and its metrics by split."""

    model: Model
    metrics: dict[str, dict[str, Any]]


def composed(settings: Settings, further: Sequence[str] = ()) -> dict[str, Any]:
    """Return the config of a run, checked, with `further` overrides."""
    check_single_run(settings.overrides)
    words = [*settings.overrides, *further]
    config = composition.compose(words, settings.values)
    return composition.validate(config, [*words, *(f"{key}=" for key in settings.values)])


EARLIER = ("warm_start.model=memory", "warm_start.state=new")
"""What one would type to go on with new instances, if the earlier run were not in memory."""


def fitted(
    settings: Settings,
    splits: Mapping[str, InMemory],
    folder: str | Path | None,
    earlier: Model | None = None,
) -> Fitted:
    """Train as the command line would, on splits in memory.

    Parameters
    ----------
    settings : Settings
    splits : mapping of split to InMemory
        ``train``, and perhaps ``dev``.
    folder : str or Path or None
        The run folder; None: one that is gone afterwards, in which nothing is drawn.
    earlier : Model or None
        Whose training goes on (`structopt.partial_fit`).
    """
    config = composed(settings, () if earlier is None else EARLIER)
    with _run_folder(folder) as path, folder_lock.locked(path):
        composition.save_config(config, path)
        model = stages.train(
            config, path, memory=splits, pictures=folder is not None, earlier=earlier
        )
        return Fitted(model, json.loads((path / "metrics.json").read_text(encoding="utf8")))


@contextmanager
def _run_folder(folder: str | Path | None) -> Iterator[Path]:
    if folder is not None:
        yield Path(folder)
        return
    with TemporaryDirectory(prefix="structopt-") as path:
        yield Path(path)
