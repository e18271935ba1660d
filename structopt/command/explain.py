"""``structopt explain``: the highest and lowest weights of a model, or what decided one of its
predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from structopt.command.options import MODEL, MODEL_PRESETS, ModelOptions, Syntax
from structopt.core.data.expansion import expanding


class Options(ModelOptions):
    """Options of `explain`."""

    sentence: int
    top: int
    against: Literal["auto", "runner_up", "gold", "change"]
    names: str
    format: Literal["text", "json", "html"]
    output: str


SYNTAX = Syntax(
    "structopt explain model=MODEL [input=FILE sentence=1] [top=20] [against=gold] [names=FILE] "
    "[format=text|json|html]"
    " [output=FILE] [inference=exact] [threads=2] [task.KEY=VALUE] [features.vectors=FILE] "
    "[quiet=true]",
    "Without an input: the highest and the lowest weights, by label and by pair of labels.\n"
    "With one: which attributes gave how much to the prediction for a sentence (document, image, "
    "...), against another output:\n"
    "runner_up, the second best; gold; change, the best with another label of one variable; "
    "auto, the first that there is.\n"
    "The shares of all attributes add up to the difference of the two scores.\n"
    "names=FILE is a labelled file whose features give hashed weights their names; by default "
    "the run's training file.\n" + MODEL,
    Options,
    {
        **MODEL_PRESETS,
        "input": "",
        "sentence": 1,
        "top": 20,
        "against": "auto",
        "names": "",
        "format": "text",
        "output": "",
    },
)


def run(words: Sequence[str]) -> None:
    """Run the subcommand with the words after its name."""
    if SYNTAX.print_help(words):
        return
    options: dict[str, Any] = SYNTAX.read(words)
    from structopt.run import explaining

    with expanding(options):
        text = explaining.explain(options)
    if not options["output"]:
        print(text, end="")
