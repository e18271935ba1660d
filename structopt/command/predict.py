"""``structopt predict``: writes a file again with what a saved model predicts."""

from __future__ import annotations

from collections.abc import Sequence

from structopt.command.options import MODEL, MODEL_PRESETS, ModelOptions, Syntax
from structopt.core.data.expansion import expanding


class Options(ModelOptions):
    """Options of `predict`."""

    output: str
    probabilities: bool
    k_best: int
    partial: bool
    picture: str
    sentence: int


STREAM = "input=-"
SYNTAX = Syntax(
    "structopt predict model=MODEL input=FILE output=FILE [probabilities=true] [k_best=5] "
    "[partial=true]"
    " [inference=loopy_bp] [threads=2] [picture=FILE.svg sentence=1] [task.KEY=VALUE] "
    "[features.vectors=FILE] [quiet=true]",
    f"{MODEL}\n{STREAM} reads standard input as it comes; output=- (its default then) is "
    "standard output.",
    Options,
    {
        **MODEL_PRESETS,
        "probabilities": False,
        "k_best": 1,
        "partial": False,
        "picture": "",
        "sentence": 1,
    },
)


def run(words: Sequence[str]) -> None:
    """Run the subcommand with the words after its name."""
    if SYNTAX.print_help(words):
        return
    typed = any(word.startswith("output=") for word in words)
    options = SYNTAX.read([*words, "output=-"] if STREAM in words and not typed else words)
    from structopt.model import prediction

    with expanding(options):
        prediction.predict(options)
