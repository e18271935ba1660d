"""Loads mutated model folders and predicts with them, in a process of its own: a native crash would
end that of the tests.

``python -m tests.model.hostile_folders MODELS SEED FIRST LAST`` prints a line of JSON before and
after each mutation. MODELS holds a folder for each model, with ``model/`` and the file ``input``
that it is to predict.
"""

from __future__ import annotations

import json
import logging
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from random import Random
from typing import Any

from structopt.errors import CompatibilityError, StructoptError
from structopt.model import prediction
from tests.model.folder_mutations import mutate

SECONDS = 20
OPTIONS = {"inference": "", "threads": 1, "picture": "", "sentence": 1, "partial": False}


class Hang(BaseException):
    """A mutation took longer than it may."""


def storm(models: Path, seed: str, first: int, last: int) -> None:
    """Try the mutations with these numbers, of one model after the other."""
    folders = sorted(path / "model" for path in models.iterdir() if (path / "model").is_dir())
    signal.signal(signal.SIGALRM, _hang)
    for number in range(first, last):
        model = folders[number % len(folders)]
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(shutil.copytree(model, Path(scratch) / "model"))
            rng = Random(f"{seed} {number}")
            change = mutate(rng, folder, [other for other in folders if other != model])
            print(
                json.dumps({"number": number, "model": model.parent.name, "mutation": change}),
                flush=True,
            )
            print(json.dumps(_outcome(folder, next(model.parent.glob("input*")))), flush=True)


def _outcome(folder: Path, data: Path) -> dict[str, Any]:
    signal.alarm(SECONDS)
    try:
        _predict(folder, data)
    except StructoptError as error:
        return {"outcome": "refused", "message": str(error).replace(str(folder), "MODEL")}
    except Hang:
        return {"outcome": "hang", "trace": traceback.format_exc()[-1500:]}
    except BaseException as error:
        return {
            "outcome": "traceback",
            "error": type(error).__name__,
            "trace": traceback.format_exc()[-1500:],
        }
    finally:
        signal.alarm(0)
    return {"outcome": "answered"}


def _predict(folder: Path, data: Path) -> None:
    options = {
        **OPTIONS,
        "model": str(folder),
        "input": str(data),
        "output": str(folder.parent / "out"),
    }
    try:
        prediction.predict({**options, "probabilities": True, "k_best": 2})
    except CompatibilityError:
        prediction.predict({**options, "probabilities": False, "k_best": 1})


def _hang(*_: Any) -> None:
    raise Hang


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    # memory without bounds is a MemoryError
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    storm(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
