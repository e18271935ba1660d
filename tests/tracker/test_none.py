"""The tracker that records nothing."""

from pathlib import Path

from structopt.core.tracker import Run, Tracker
from structopt.tracker.none import NoTracker


def test_nothing_is_written(tmp_path: Path) -> None:
    tracker: Tracker = NoTracker()
    tracker.start(Run(tmp_path, {}, {}, "x"))
    tracker.log_epoch(1, {"f1": 0.5})
    tracker.finish("FINISHED", {"f1": 0.5})
    assert list(tmp_path.iterdir()) == []
