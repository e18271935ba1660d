"""The sub-commands beside training: their options, their usage, and the table of components."""

from __future__ import annotations

import shutil
import sys
import textwrap
import typing
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

from omegaconf import OmegaConf

from structopt.config import registry
from structopt.config.schema import coerce, value_name
from structopt.config.search_path import conf_folders
from structopt.core.entry_points import Installed
from structopt.errors import ConfigError, did_you_mean

USAGE = {
    "predict": "structopt predict model=MODEL input=FILE output=FILE [probabilities=true] [k_best=5] [partial=true]"
    " [inference=loopy_bp] [threads=2] [picture=FILE.svg sentence=1]",
    "evaluate": "structopt evaluate model=MODEL input=FILE [inference=loopy_bp] [threads=2]",
    "compare": "structopt compare RUN RUN ... [experiment=NAME] [uri=STORE] [metric=dev.f1] [baseline=RUN] [output=FOLDER]"
    " [significance=true] [samples=1000] [seed=0] [log=true]",
    "components": f"structopt components [{'|'.join(registry.CONTRACTS)}|pairs [FACTOR_GRAPH]]",
}
MODEL = (
    "MODEL is a run folder, a model folder, or an MLflow address (runs:/ID/model, models:/NAME/VERSION).\n"
    "inference=NAME decodes by another inference than the model was trained with, with its presets."
)

RUN = (
    "RUN is the folder of a run or of a sweep (all its runs), or an MLflow run (runs:/ID); experiment=NAME is all runs of an\n"
    "MLflow experiment in uri=STORE. Differences to the baseline (the best run) are tested by a paired bootstrap with so many\n"
    "samples; log=false leaves the comparison out of MLflow."
)
_HELP = {"predict": MODEL, "evaluate": MODEL, "compare": RUN}


class EvaluateOptions(TypedDict):
    """What `evaluate` may be told."""

    model: str
    input: str
    inference: str
    threads: int


class PredictOptions(EvaluateOptions):
    """What `predict` may be told."""

    output: str
    probabilities: bool
    k_best: int
    partial: bool
    picture: str
    sentence: int


class CompareOptions(TypedDict):
    """What `compare` may be told beside the runs."""

    experiment: str
    uri: str
    metric: str
    baseline: str
    output: str
    significance: bool
    samples: int
    seed: int
    log: bool


PRESETS: dict[str, Any] = {
    "inference": "", "threads": 1, "probabilities": False, "k_best": 1, "partial": False, "picture": "", "sentence": 1,
    "experiment": "", "uri": "", "metric": "", "baseline": "", "significance": True, "samples": 1000, "seed": 0, "log": True,
}  # fmt: skip


def run(command: str, words: Sequence[str]) -> None:
    """Run a sub-command.

    Raises
    ------
    ConfigError
        At an unknown, ill-typed or missing option; the message holds the usage.
    """
    if any(word in ("--help", "-h", "help") for word in words):
        print("\n".join([f"usage: {USAGE[command]}", *([_HELP[command]] if command in _HELP else [])]))
    elif command == "components":
        print_components(words)
    elif command == "compare":
        _compare(words)
    else:
        _apply(command, words)


def _apply(command: str, words: Sequence[str]) -> None:
    options = parse_options(command, words, PredictOptions if command == "predict" else EvaluateOptions)
    from structopt.command import prediction

    work = prediction.predict if command == "predict" else prediction.evaluate
    work(options)


def _compare(words: Sequence[str]) -> None:
    """Tell runs from options: a word with an equals sign is an option, unless there is a folder of that name."""
    runs = [word for word in words if "=" not in word or Path(word).is_dir()]
    options = parse_options("compare", [word for word in words if word not in runs], CompareOptions)
    if not runs and not options["experiment"]:
        raise ConfigError(f"compare needs runs. Usage: {USAGE['compare']}")
    from structopt.report.compare import compare

    compare(runs, options)


def parse_options(command: str, words: Sequence[str], options: Any) -> dict[str, Any]:
    """Read ``key=value`` words into typed options, all of them, presets included."""
    hints = typing.get_type_hints(options)
    given = dict(_option(command, word, hints) for word in words)
    presets = PRESETS | ({"output": ""} if command == "compare" else {})  # a file that `predict` must be told
    missing = [key for key in hints if key not in given and key not in presets]
    if missing:
        raise ConfigError(f"{command} needs {' and '.join(f'{key}=...' for key in missing)}. Usage: {USAGE[command]}")
    for key, lowest in {"threads": 1, "k_best": 1, "sentence": 1, "samples": 1, "seed": 0}.items():
        if given.get(key, lowest) < lowest:
            raise ConfigError(f"{key}={given[key]} is too small: at least {lowest}.")
    return {key: given.get(key, presets.get(key)) for key in hints}


def _option(command: str, word: str, hints: dict[str, Any]) -> tuple[str, Any]:
    key, equals, text = word.partition("=")
    if key not in hints:
        raise ConfigError(f"{command} has no option '{key}'.{did_you_mean(key, hints)} Usage: {USAGE[command]}")
    if not equals or not text:
        raise ConfigError(f"{command}: '{word}' gives {key} no value; type {key}=VALUE. Usage: {USAGE[command]}")
    return key, coerce(key, _plain_value(text, hints[key]), hints[key])


def _plain_value(text: str, hint: Any) -> Any:
    if hint is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    return int(text) if hint is int and text.lstrip("+-").isdecimal() else text


def print_components(words: Sequence[str]) -> None:
    """Print what is installed: kind, name, package, parameters with types and defaults; or which optimizers take which loss."""
    if list(words[:1]) == ["pairs"] and len(words) <= 2:
        from structopt.config.pairs import table, verdicts

        print(table(verdicts(*words[1:])))
        return
    if len(words) > 1:
        raise ConfigError(f"components takes one kind. Usage: {USAGE['components']}")
    kinds = words or list(registry.CONTRACTS)
    rows = [_row(component) for kind in kinds for component in registry.installed(kind).values()]
    header = ("kind", "name", "package", "parameters")
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(3)]
    for row in [header, *rows]:
        print(_line(row, widths))


def _row(component: Installed) -> tuple[str, str, str, str]:
    try:
        presets = configured(component.kind, component.name)
        found = [replace(one, default=presets.get(one.name, one.default)) for one in registry.described(component)]
        parameters = ", ".join(map(str, found))
    except ConfigError as error:
        parameters = f"({error})"
    return component.kind, component.name, component.distribution, parameters or "-"


def configured(kind: str, name: str) -> dict[str, str]:
    """Return the defaults that a component's config file sets, as text: several names may share one class."""
    file = next((path for folder in conf_folders() if (path := folder / kind / f"{name}.yaml").is_file()), None)
    content = OmegaConf.to_container(OmegaConf.load(file)) if file else {}
    node = content.get(kind, content) if isinstance(content, dict) else {}
    values = {str(key): value for key, value in node.items()} if isinstance(node, dict) else {}
    return {key: value_name(value) for key, value in values.items() if "${" not in str(value)}


def _line(row: tuple[str, str, str, str], widths: Sequence[int]) -> str:
    """Lay out one row; on a terminal the parameters are wrapped under their column."""
    start = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) + "  "
    if not sys.stdout.isatty():
        return (start + row[3]).rstrip()
    width = max(shutil.get_terminal_size().columns, len(start) + 40)
    return textwrap.fill(row[3], width, initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False)
