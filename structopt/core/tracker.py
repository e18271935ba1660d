"""The contract of trackers: who records runs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from structopt.core.component import Component
from structopt.core.data.file_sets import DataPath


@dataclass(frozen=True)
class Run:
    """The start of a run, as a tracker records it.

    Attributes
    ----------
    folder : Path
        The run folder.
    config : mapping
        The composed config, nested, plain values.
    files : mapping of role (train, dev, test) to path
    label : str
        A short name a person would give the run, such as ``ner-dca-beta1-gamma0``.
    parent : str
        The tracker's own id of the sweep that the run belongs to; empty where there is none.
    job : int or None
        The run's number in its sweep.
    resumed : bool
        Whether an earlier attempt in the same folder is gone on with.
    """

    folder: Path
    config: Mapping[str, Any]
    files: Mapping[str, DataPath]
    label: str
    parent: str = ""
    job: int | None = None
    resumed: bool = False


class Tracker(Component):
    """Records runs. A tracker never raises: when its store breaks it warns and the run goes on.

    At the end of such a run it may warn once more, of what is missing.

    Its last three methods are for trackers that know of runs within runs. They are called in the
    process that launches a sweep, each on a tracker of its own. A tracker may note its run's id as
    ``run_id`` in ``tracking.json`` in the run's folder, to find it when the run goes on.
    """

    kind_of_component: ClassVar[str] = "tracker"

    @abstractmethod
    def start(self, run: Run) -> None:
        """Begin a run."""

    @abstractmethod
    def log_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Record the metrics of one pass under their dotted names, with the pass as step."""

    @abstractmethod
    def finish(self, status: str, metrics: Mapping[str, float]) -> None:
        """End the run (status ``FINISHED``, ``FAILED`` or ``KILLED``) with its final metrics; log
        its folder.
        """

    def log_model(self, folder: Path) -> None:
        """Keep the model, which has just been saved; the run is measured and drawn meanwhile."""
        return

    def tag(self, name: str, value: str) -> None:
        """Tag the run, such as ``pruned`` with ``true``; called before `finish`."""
        return

    def describe(self, text: str) -> None:
        """Keep a Markdown text with the run, such as why it failed; called before `finish`."""
        return

    def open_sweep(self, name: str, folder: Path, command: str, known: str = "") -> str:
        """Make the run of a sweep, or go on with the known one; return its id, which jobs get as
        `Run.parent`.

        The empty string: jobs have no parent, as the tracker has no runs within runs, or has warned
        that it cannot record.
        """
        return ""

    def close_sweep(
        self, run_id: str, status: str, metrics: Mapping[str, float], files: Sequence[Path]
    ) -> None:
        """End the run of a sweep, with metrics and files of the whole."""
        return

    def drop_sweep(self, run_id: str) -> None:
        """Delete the run of a sweep in which no job ever began."""
        return
