"""One trained run per task for all tests and all workers of a session."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from filelock import FileLock

import structopt

SMALL = ("optimizer.epochs=1", "objective_every=0", "tracker=none")
HASHED = ("features.hash_bits=14", "features.label_bits=8")
RUNS: dict[str, tuple[str, ...]] = {
    "ner": ("task.limit=60", "features.columns=all", "task.missing=pad"),
    "chunking": ("task.limit=60", "task.missing=pad"),
    "tagging": ("task.limit=60",),
    "attributes": ("task.limit=60",),
    "constituency": ("task.limit=60",),
    "dependency": ("task.limit=60", "task.missing=pad", "factor_graph.labeled=true", *HASHED),
    "multiclass": ("task.limit=60",),
    "multilabel": ("task.limit=60", "optimizer=dlpw"),
    "grid": ("task.limit=5", "optimizer=dlpw"),
    "synthetic": ("task.limit=5", "optimizer=dlpw"),
    "coreference": ("task.limit=5",),
    "summarization": ("task.limit=5", "optimizer=perceptron"),
}
"""For each task the overrides of its run, besides `SMALL`."""


class TrainedRuns:
    """A function from the name of a task to the folder of its run.

    The first process that asks for a task trains it; other processes wait. Tests must not change
    the folder: a test that resumes, moves or damages a run works on a copy.

    Parameters
    ----------
    folder : Path
        The folder of all runs, which the workers of a session share.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def __call__(self, task: str) -> Path:
        run = self.folder / task
        with FileLock(self.folder / f"{task}.lock"):
            if not (run / "metrics.json").is_file():
                # a test may read what its own calls print
                with redirect_stdout(StringIO()):
                    structopt.train([f"task={task}", *SMALL, *RUNS[task]], folder=run)
        return run
