"""``structopt evaluate``: scores a saved model on a file; the last line printed is the metrics as
JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from structopt.command.options import MODEL, MODEL_PRESETS, ModelOptions, Syntax
from structopt.core.data.expansion import expanding

SYNTAX = Syntax(
    "structopt evaluate model=MODEL input=FILE [inference=mplp inference.clusters=100] [threads=2] "
    "[task.KEY=VALUE] [features.vectors=FILE] [quiet=true]",
    MODEL,
    ModelOptions,
    MODEL_PRESETS,
)


def run(words: Sequence[str]) -> None:
    """Run the subcommand with the words after its name."""
    if SYNTAX.print_help(words):
        return
    options = SYNTAX.read(words)
    from structopt.model import prediction

    with expanding(options):
        metrics, table = prediction.evaluate(options)
    print(table)
    print(json.dumps(metrics))
