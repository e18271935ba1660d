"""``structopt import``: makes a model folder of a model file of CRFsuite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

from structopt.command.options import Syntax
from structopt.errors import ConfigError
from structopt.progress import phases


class Options(TypedDict):
    """Options of `import`."""

    model: str
    output: str
    quiet: bool
    task: dict[str, Any]


SYNTAX = Syntax(
    "structopt import model=FILE.crfsuite output=FOLDER [task.encoding=latin-1] [quiet=true]",
    "Reads a model file of CRFsuite (python-crfsuite, sklearn-crfsuite: crf.modelfile.name), and "
    "writes a model folder,\n"
    "which predict, evaluate, explain and warm_start=FOLDER take. task.encoding is the encoding of "
    "the names in the file.",
    Options,
    {"quiet": False, "task": {}},
)


def run(words: Sequence[str]) -> None:
    """Run the subcommand with the words after its name."""
    if SYNTAX.print_help(words):
        return
    options: dict[str, Any] = SYNTAX.read(words)
    folder = Path(options["output"])
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(
            "exists, and is not an empty folder.",
            parameter="output",
            value=options["output"],
            remedy="Set output to a new folder.",
        )
    from structopt.model.exchange.importing import read_chain

    with phases.phase("importing", options["model"]):
        model = read_chain(options["model"], options["task"])
        model.save(folder)
    if not options["quiet"]:
        attributes = len(model.task.attribute_names())
        print(
            f"{folder}: {len(model.labels)} labels, {attributes} attributes, "
            f"{model.scorer.count} weights"
        )
