"""Commands, code blocks, links and headings of the pages of the documentation."""

from __future__ import annotations

import re
import shlex
from itertools import product
from pathlib import Path
from typing import NamedTuple

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
RECORDS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
"""The records of decisions, and their index."""
NOT_TRAINING = (
    "predict",
    "evaluate",
    "explain",
    "components",
    "compare",
    "experiments",
    "export",
    "import",
    "resume=RUN_FOLDER",
)
NAMED = re.compile(r"# (?P<path>\S+\.(?:py|yaml|toml))\n")


class Block(NamedTuple):
    """A block of code: its language, its text without a first line that names a file, and the path
    of that file, if any.
    """

    language: str
    text: str
    path: str


def blocks(page: str) -> list[Block]:
    """Fenced blocks of a page."""
    fenced = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    names = [NAMED.match(text) for _, text in fenced]
    return [
        Block(language, text[name.end() if name else 0 :], name["path"] if name else "")
        for (language, text), name in zip(fenced, names, strict=True)
    ]


def commands(page: str) -> list[str]:
    """The arguments of ``python -m structopt`` in indented lines."""
    return re.findall(r"^ +.*python -m structopt (.*)$", re.sub(r"\\\n +", "", page), re.MULTILINE)


def trainings(page: str) -> list[str]:
    """The commands that train."""
    return [line for line in commands(page) if line.split()[0] not in NOT_TRAINING]


def runs(line: str) -> list[list[str]]:
    """Overrides of each run that a command starts: a sweep starts several; of an interval only the
    lower end is taken.
    """
    words = [word for word in shlex.split(line) if not word.startswith("-")]
    if "--multirun" not in line:
        return [words]
    return [
        list(overrides)
        for overrides in product(*map(_choices, OverridesParser.create().parse_overrides(words)))
    ]


def _choices(override: Override) -> list[str]:
    key = override.get_key_element()
    if isinstance(override.value(), IntervalSweep):
        return [f"{key}={override.value().start}"]
    values = (
        override.sweep_string_iterator()
        if override.is_sweep_override()
        else [override.get_value_element_as_str()]
    )
    return [f"{key}={value}" for value in values]


class Entry(NamedTuple):
    """A command at a prompt, and the lines that are shown below it."""

    typed: str
    shown: str


def console(text: str) -> list[Entry]:
    """Entries of a block whose prompts are ``$``."""
    return [
        Entry(typed, shown)
        for typed, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
    ]


def links(page: str) -> list[str]:
    """Relative targets of links and pictures, without their anchors."""
    return [target for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page) if target]


def anchors(page: str) -> list[str]:
    """Anchors within the page that its links name."""
    return re.findall(r"\]\(#([^)]+)\)", page)


def headings(page: str) -> set[str]:
    """Anchors of the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}
