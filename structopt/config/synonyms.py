"""Words of the field for components, keys and options: ``synonyms.yaml`` beside the config files of
the core and of plugins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from structopt.config.search_path import conf_folders, content
from structopt.errors import form_of

FILE = "synonyms.yaml"
KEYS, OPTIONS, SUBCOMMANDS, FLAGS = "keys", "options", "subcommands", "flags"
"""Sections beside those of the kinds of component: keys of a config, options of subcommands,
subcommands, and flags.
"""


@dataclass(frozen=True)
class Synonym:
    """What a word is called here.

    Attributes
    ----------
    name : str
    why : str
        A sentence without its full stop, where the two are not quite the same; else empty.
    """

    name: str
    why: str = ""

    @property
    def remark(self) -> str:
        """The sentence, after a space."""
        return f" {self.why[0].upper()}{self.why[1:]}." if self.why else ""


def synonym_of(section: str, word: str) -> Synonym | None:
    """Return what a word stands for in a section: a kind of component, `KEYS` or `OPTIONS`."""
    return _table(section, tuple(conf_folders())).get(form_of(word))


def words_for(section: str, name: str) -> list[str]:
    """Return the words that stand for a name just so, without a remark."""
    entries = [
        entry
        for entry in _entries(section, conf_folders())
        if entry["name"] == name and "why" not in entry
    ]
    return [str(word) for entry in entries for word in entry["words"]]


@cache
def _table(section: str, folders: tuple[Path, ...]) -> dict[str, Synonym]:
    """Synonyms by the forms of their words; the first to name a word has it, the core before
    plugins.
    """
    table: dict[str, Synonym] = {}
    for entry in _entries(section, folders):
        for word in entry["words"]:
            table.setdefault(
                form_of(str(word)), Synonym(str(entry["name"]), str(entry.get("why", "")))
            )
    return table


def _entries(section: str, folders: Sequence[Path]) -> list[dict[str, Any]]:
    return [entry for folder in folders for entry in _content(folder / FILE).get(section, [])]


@cache
def _content(file: Path) -> dict[str, Any]:
    values = content(file) if file.is_file() else {}
    return {str(key): value for key, value in values.items()} if isinstance(values, dict) else {}
