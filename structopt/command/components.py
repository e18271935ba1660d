"""``structopt components``: what is installed, with parameters and defaults, and which optimizers
take which loss.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence

from structopt.command.options import Syntax
from structopt.command.spelling import check_words
from structopt.config import registry
from structopt.config.synonyms import synonym_of, words_for
from structopt.core.entry_points import Installed
from structopt.errors import ConfigError, meaning
from structopt.formats import tables

SYNTAX = Syntax(
    f"structopt components [{'|'.join(registry.CONTRACTS)}|KIND=NAME|pairs [FACTOR_GRAPH]]",
    "A kind lists its components; KIND=NAME says what the parameters of one mean; pairs says "
    "which optimizers take which loss.\n"
    "Defaults are those of the config files; one that is a key, such as task.default_C, is the "
    "value of that key.",
)
HEADER = ["kind", "name", "package", "parameters"]


def run(words: Sequence[str]) -> None:
    """Print the components of one kind, or of all; after ``pairs``, which optimizers learn by which
    loss.
    """
    if SYNTAX.print_help(words):
        return
    if list(words[:1]) == ["pairs"] and len(words) <= 2:
        from structopt.config.pairs import table, verdicts

        print(table(verdicts(*words[1:])))
        return
    check_words(words)
    kind, name = _asked(words)
    if name:
        print(_described(kind, name))
        return
    kinds = [kind] if kind else list(registry.CONTRACTS)
    rows = [_row(component) for kind in kinds for component in registry.installed(kind).values()]
    print(_wrapped([HEADER, *rows]) if sys.stdout.isatty() else tables.columns([HEADER, *rows]))


def _asked(words: Sequence[str]) -> tuple[str, str]:
    """The kind and the name that the words ask for: ``optimizer``, ``optimizer=dca``, ``optimizer
    dca`` or ``dca``.
    """
    if len(words) > 2 or (
        len(words) == 2 and ("=" in "".join(words) or words[1] in registry.CONTRACTS)
    ):
        raise ConfigError(f"components takes one kind, or one KIND=NAME. Usage: {SYNTAX.usage}")
    kind, name = (
        (words[0].partition("=")[::2] if len(words) == 1 else [*words, "", ""][:2])
        if words
        else ("", "")
    )
    if not kind or name or kind in registry.CONTRACTS:
        return kind, name
    homes = [one for one in registry.CONTRACTS if kind in registry.installed(one)]
    if len(homes) > 1:
        raise ConfigError(
            f"'{kind}' names several components.{meaning([f'{one}={kind}' for one in homes])}"
        )
    if homes:
        return homes[0], kind
    if synonyms := [
        f"{one}={synonym.name}" for one in registry.CONTRACTS if (synonym := synonym_of(one, kind))
    ]:
        raise ConfigError(f"There is no component called '{kind}'.{meaning(synonyms)}")
    return kind, name


def _described(kind: str, name: str) -> str:
    """A component: its package, the words that stand for it, and its parameters with what they
    mean.
    """
    component = registry.installed(kind).get(name)
    if component is None:
        raise ConfigError(registry.not_installed(kind, name))
    words = ", ".join(words_for(kind, name))
    lines = [f"{kind}={component}" + (f", also called: {words}" if words else "")]
    for one in registry.described(component):
        lines += [
            f"  {one}",
            *textwrap.wrap(
                one.doc.replace("`", ""), 100, initial_indent=" " * 6, subsequent_indent=" " * 6
            ),
        ]
    return "\n".join(lines)


def _row(component: Installed) -> list[str]:
    try:
        parameters = ", ".join(map(str, registry.described(component)))
    except ConfigError as error:
        parameters = f"({error})"
    return [component.kind, component.name, component.distribution, parameters or "-"]


def _wrapped(lines: Sequence[Sequence[str]]) -> str:
    """Lay out the table for a terminal: parameters are wrapped under their column."""
    firsts = ["  ".join(line) + "  " for line in tables.padded([line[:-1] for line in lines])]
    indent = " " * len(firsts[0])
    width = max(shutil.get_terminal_size().columns, len(indent) + 40)
    return "\n".join(
        textwrap.fill(
            line[-1], width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
        )
        for first, line in zip(firsts, lines, strict=True)
    )
