"""An empty MLflow store for every test that needs one: making its tables takes seconds."""

from __future__ import annotations

import shutil
from pathlib import Path

from filelock import FileLock


class EmptyStores:
    """A function from a path to the address of an empty store there.

    The first process that asks makes a store; all others are copies of its file.

    Parameters
    ----------
    folder : Path
        A folder that the workers of a session share.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def __call__(self, path: Path) -> str:
        made = self.folder / "mlflow.db"
        with FileLock(self.folder / "lock"):
            if not made.exists():
                from mlflow import MlflowClient

                part = self.folder / "part.db"
                MlflowClient(f"sqlite:///{part}").search_experiments()
                part.replace(made)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(made, path)
        return f"sqlite:///{path}"
