"""Options of a subcommand: ``key=value`` words, read into typed values, and the usage that errors
and ``--help`` show.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from structopt.command.spelling import check_words
from structopt.config.schema import coerce
from structopt.config.synonyms import OPTIONS, synonym_of
from structopt.core.data.expansion import DEFAULT, KEY
from structopt.errors import ConfigError, did_you_mean, meaning, near
from structopt.progress import quiet

HELP_WORDS = ("--help", "-h", "help")
MODEL = (
    "MODEL is a run folder, a model folder, or an MLflow address (runs:/ID/model, "
    "models:/NAME/VERSION).\n"
    "inference=NAME decodes by another inference than the model was trained with, with its "
    "presets and inference.KEY=VALUE.\n"
    "task.KEY=VALUE changes an option of the task that says how files are read and outputs "
    "chosen, where it has such.\n"
    "features.vectors=FILE gives words that training has not shown vectors; "
    "features.dense=FILE.npy is a matrix of the input.\n"
    "max_expansion=N lets compressed input expand to more than 100 times its size.\n"
    "quiet=true shows no progress and no advice, errors only.\n"
    "debug=true runs kernels as Python with bounds checked, which is much slower."
)
LOWEST = {"threads": 1, "k_best": 1, "sentence": 1, "top": 1, "samples": 1, "seed": 0, KEY: 1}


class LoadingOptions(TypedDict):
    """Options of the subcommands that load a model."""

    model: str
    quiet: bool
    max_expansion: int
    task: dict[str, Any]
    features: dict[str, Any]


class ModelOptions(LoadingOptions):
    """Options of the subcommands that apply a model to a file."""

    input: str
    inference: str
    threads: int
    inference_settings: dict[str, Any]


NODES = {"task": "task", "features": "features", "inference": "inference_settings"}
"""The options whose words are those of a node: ``task.KEY=VALUE``, any number of them."""
MODEL_PRESETS: dict[str, Any] = {
    "inference": "",
    "threads": 1,
    "quiet": False,
    KEY: int(DEFAULT),
    **{option: {} for option in NODES.values()},
}


@dataclass(frozen=True)
class Syntax:
    """The usage and the options of a subcommand.

    Attributes
    ----------
    usage : str
        The command with its words.
    explanation : str
        Lines below the usage; may be empty.
    options : TypedDict class or None
        Keys and types of the options; None where there are none.
    presets : mapping
        Values of options that need not be typed.
    """

    usage: str
    explanation: str = ""
    options: Any = None
    presets: Mapping[str, Any] | None = None

    @property
    def command(self) -> str:
        """The subcommand's name."""
        return self.usage.split()[1]

    def print_help(self, words: Sequence[str]) -> bool:
        """Print the usage where the words ask for it; return whether they do."""
        asked = any(word in HELP_WORDS for word in words)
        if asked:
            print(
                "\n".join(
                    [f"usage: {self.usage}", *([self.explanation] if self.explanation else [])]
                )
            )
        return asked

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the values of all options, presets included; with ``quiet=true`` the command is
        quiet from here on.

        Raises
        ------
        ConfigError
            At an unknown, ill-typed, too small or missing option.
        """
        hints, presets = typing.get_type_hints(self.options), self.presets or {}
        check_words(words)
        nodes = {node: option for node, option in NODES.items() if option in hints}
        entries = [
            word
            for word in words
            if word.partition(".")[0] in nodes and "." in word.partition("=")[0]
        ]
        typed = dict(self._option(word, hints) for word in words if word not in entries)
        for word in entries:
            node, _, entry = word.partition(".")
            key, value = self._entry(node, entry)
            typed.setdefault(nodes[node], {})[key] = value
        missing = [key for key in hints if key not in typed and key not in presets]
        if missing:
            raise ConfigError(
                f"{self.command} needs {' and '.join(f'{key}=...' for key in missing)}. Usage: "
                f"{self.usage}"
            )
        for key, lowest in LOWEST.items():
            if typed.get(key, lowest) < lowest:
                raise ConfigError(f"must be at least {lowest}.", parameter=key, value=typed[key])
        quiet.be_quiet(typed.get("quiet", False))
        return {key: typed.get(key, presets.get(key)) for key in hints}

    def _entry(self, node: str, word: str) -> tuple[str, Any]:
        """The key and the value of a word of a node; ``null`` is None, and quotation marks around a
        value are dropped, as in training.
        """
        key, equals, text = word.partition("=")
        if not equals or not text:
            raise ConfigError(
                f"{self.command}: '{node}.{word}' gives {node}.{key} no value; set "
                f"{node}.{key}=VALUE."
            )
        if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
            return key, text[1:-1]
        plain = {"null": None, "true": True, "false": False}
        return key, plain[text] if text in plain else int(text) if text.isdecimal() else text

    def _option(self, word: str, hints: Mapping[str, Any]) -> tuple[str, Any]:
        key, equals, text = word.partition("=")
        if key not in hints:
            raise ConfigError(f"{self._complaint(word, hints)} Usage: {self.usage}")
        if not equals or not text:
            raise ConfigError(
                f"{self.command}: '{word}' gives {key} no value; set {key}=VALUE. Usage: "
                f"{self.usage}"
            )
        return key, coerce(key, _plain_value(text, hints[key]), hints[key])

    def _complaint(self, word: str, hints: Mapping[str, Any]) -> str:
        """Say that there is no such option, and which one may be meant."""
        key, equals, _ = word.partition("=")
        name = key.lstrip("-")
        if name != key and name in hints:
            return f"{self.command}: '{word}': options are typed without hyphens, {name}=VALUE."
        if not equals and not near(name, hints):
            return f"{self.command}: '{word}' is no option: options are KEY=VALUE."
        synonym = synonym_of(OPTIONS, name)
        meant = (
            meaning([synonym.name])
            if synonym and synonym.name in hints
            else did_you_mean(name, hints)
        )
        return f"{self.command} has no option '{key}'.{meant}"


def _plain_value(text: str, hint: Any) -> Any:
    """Read truth values and whole numbers; other text, and text that is neither, stays text."""
    if hint is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    return int(text) if hint is int and text.lstrip("+-").isdecimal() else text
