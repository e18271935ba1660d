"""``structopt export``: writes a model for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from structopt.command.options import MODEL_PRESETS, LoadingOptions, Syntax
from structopt.core.data.expansion import expanding
from structopt.errors import ConfigError
from structopt.progress import phases


class Options(LoadingOptions):
    """Options of `export`."""

    format: Literal["crfsuite", "json", "attributes"]
    output: str
    input: str
    encoding: str


SYNTAX = Syntax(
    "structopt export model=MODEL format=crfsuite|json|attributes output=FILE [input=FILE] "
    "[encoding=utf8] [task.KEY=VALUE] [quiet=true]",
    "format=crfsuite writes a model file of CRFsuite: of linear chains of order 1 with named "
    "attributes.\n"
    "format=json writes the weights by the names of attributes and labels, one per line.\n"
    "format=attributes writes the attributes of the tokens of input=FILE in CRFsuite's text format,"
    "\nfor crfsuite tag with the exported model.\n"
    "MODEL is a run folder, a model folder, or an MLflow address (runs:/ID/model, "
    "models:/NAME/VERSION).",
    Options,
    {**MODEL_PRESETS, "input": "", "encoding": "utf8"},
)


def run(words: Sequence[str]) -> None:
    """Run the subcommand with the words after its name."""
    if SYNTAX.print_help(words):
        return
    options: dict[str, Any] = SYNTAX.read(words)
    form, source = options["format"], options["input"]
    if (form == "attributes") != bool(source):
        problem = "has no effect" if source else "needs input=FILE"
        what = f"export: input={source}" if source else "export: format=attributes"
        raise ConfigError(
            f"{what} {problem}{f' with format={form}' if source else ''}. Usage: {SYNTAX.usage}"
        )
    from structopt.model.exchange.exporting import export
    from structopt.model.prediction import loaded

    with expanding(options):
        model = loaded({**options, "inference": ""})
        with phases.phase("exporting", options["output"]):
            content = export(model, options["output"], form, source or None, options["encoding"])
    if not options["quiet"]:
        print(f"{options['output']}: {content}")
