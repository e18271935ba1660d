"""The tracker that records nothing."""

from __future__ import annotations

from collections.abc import Mapping

from structopt.core.tracker import Run, Tracker


class NoTracker(Tracker):
    """Records nothing; everything about a run is in its folder all the same."""

    uri: str | None = None
    run_id: str | None = None

    def start(self, run: Run) -> None:
        """Do nothing."""

    def log_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Do nothing."""

    def finish(self, status: str, metrics: Mapping[str, float]) -> None:
        """Do nothing."""
