"""The process that `checkouts.Worker` starts: it runs structopt from the checkout that is named.

Requests and answers are lines of JSON on the standard streams that the process starts with. What
commands print goes to a temporary file, whose last lines explain a failure.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import IO, Any

LINES = 4
"""How many of the last printed lines an error quotes."""


class Commands:
    """The functions that a request may name.

    Parameters
    ----------
    checkout : Path
        Where structopt must lie.
    printed : file
        What commands print.

    Raises
    ------
    ImportError
        If structopt or its entry points belong to another checkout.
    """

    def __init__(self, checkout: Path, printed: IO[str]) -> None:
        import structopt

        self._printed = printed
        if not Path(structopt.__file__).resolve().is_relative_to(checkout):
            raise ImportError(f"structopt was imported from {structopt.__file__}, not {checkout}")
        installed = distribution("structopt-trainer")
        metadata = os.environ["PYTHONPATH"].split(os.pathsep)[1]
        if Path(str(installed.locate_file(""))).resolve() != Path(metadata).resolve():
            raise ImportError(f"the entry points are those of {installed.locate_file('')}")
        (script,) = installed.entry_points.select(group="console_scripts", name="structopt")
        self._main: Callable[[list[str]], int] = script.load()

    def command(self, words: list[str]) -> float:
        """Run a command, and return its seconds."""
        began = time.perf_counter()
        status = self._main(words)
        seconds = time.perf_counter() - began
        if status:
            raise RuntimeError(f"exit status {status}")
        return seconds

    def composed(self, words: list[str]) -> Any:
        """Return the config that a training command composes."""
        import yaml

        self.command([*words, "--cfg", "job"])
        sys.stdout.flush()
        self._printed.seek(0)
        return yaml.safe_load(self._printed)

    def corpus(self, name: str) -> str:
        """Return the path of a file of the shipped corpus, such as ``dev.conll``."""
        from structopt import datasets

        return str(datasets.path(*name.split(".")))

    def predict_seconds(self, model: str, instance: Any, count: int) -> list[float]:
        """Load a model and time predictions of one instance."""
        import structopt

        loaded, seconds = structopt.load(model), []
        for _ in range(count):
            began = time.perf_counter()
            loaded.predict([instance])
            seconds.append(time.perf_counter() - began)
        return seconds


def main() -> None:
    """Answer requests until the standard input ends."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    with tempfile.TemporaryFile("w+", encoding="utf8") as printed, open(os.devnull) as empty:
        os.dup2(empty.fileno(), 0)
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
        commands = None
        for line in requests:
            sys.stdout.flush()
            printed.seek(0)
            printed.truncate()
            function, arguments = json.loads(line)
            try:
                commands = commands or Commands(Path(sys.argv[1]), printed)
                answer = getattr(commands, function)(*arguments), ""
            except (Exception, SystemExit) as error:
                if not isinstance(error, RuntimeError):
                    traceback.print_exc()
                sys.stdout.flush()
                printed.seek(0)
                lines = printed.read().splitlines()[-LINES:]
                answer = None, "\n".join([f"{type(error).__name__}: {error}", *lines])
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
