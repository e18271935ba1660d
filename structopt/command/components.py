"""``structopt components``: what is installed, with parameters and defaults, and which optimizers take which loss."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from omegaconf import OmegaConf

from structopt.command.options import Syntax
from structopt.config import registry
from structopt.config.schema import value_name
from structopt.config.search_path import conf_folders
from structopt.core.entry_points import Installed
from structopt.errors import ConfigError
from structopt.formats import tables

SYNTAX = Syntax(f"structopt components [{'|'.join(registry.CONTRACTS)}|pairs [FACTOR_GRAPH]]")
HEADER = ["kind", "name", "package", "parameters"]


def run(words: Sequence[str]) -> None:
    """Print the components of one kind, or of all; after ``pairs``, which optimizers learn by which loss."""
    if SYNTAX.print_help(words):
        return
    if list(words[:1]) == ["pairs"] and len(words) <= 2:
        from structopt.config.pairs import table, verdicts

        print(table(verdicts(*words[1:])))
        return
    if len(words) > 1:
        raise ConfigError(f"components takes one kind. Usage: {SYNTAX.usage}")
    kinds = words or list(registry.CONTRACTS)
    rows = [_row(component) for kind in kinds for component in registry.installed(kind).values()]
    print(_wrapped([HEADER, *rows]) if sys.stdout.isatty() else tables.columns([HEADER, *rows]))


def configured(kind: str, name: str) -> dict[str, str]:
    """Return the defaults that a component's config file sets, as text: several names may share one class."""
    file = next((path for folder in conf_folders() if (path := folder / kind / f"{name}.yaml").is_file()), None)
    content = OmegaConf.to_container(OmegaConf.load(file)) if file else {}
    node = content.get(kind, content) if isinstance(content, dict) else {}
    values = {str(key): value for key, value in node.items()} if isinstance(node, dict) else {}
    return {key: value_name(value) for key, value in values.items() if "${" not in str(value)}


def _row(component: Installed) -> list[str]:
    try:
        presets = configured(component.kind, component.name)
        described = [replace(one, default=presets.get(one.name, one.default)) for one in registry.described(component)]
        parameters = ", ".join(map(str, described))
    except ConfigError as error:
        parameters = f"({error})"
    return [component.kind, component.name, component.distribution, parameters or "-"]


def _wrapped(lines: Sequence[Sequence[str]]) -> str:
    """Lay out the table for a terminal: parameters are wrapped under their column."""
    firsts = ["  ".join(line) + "  " for line in tables.padded([line[:-1] for line in lines])]
    indent = " " * len(firsts[0])
    width = max(shutil.get_terminal_size().columns, len(indent) + 40)
    return "\n".join(
        textwrap.fill(line[-1], width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)
        for first, line in zip(firsts, lines, strict=True)
    )
