"""Words that are no ``KEY=VALUE``: what was meant, before anything else reads them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from structopt.config.search_path import groups
from structopt.config.synonyms import FILE, FLAGS, synonym_of
from structopt.config.unreadable_words import unclosed
from structopt.errors import ConfigError, did_you_mean, form_of, meaning, near

SWITCHES = (
    "--multirun",
    "-m",
    "--resolve",
    "--run",
    "-r",
    "--shell-completion",
    "-sc",
    "--info",
    "-i",
    "--hydra-help",
)
VALUED = (
    "--cfg",
    "-c",
    "--package",
    "-p",
    "--config-path",
    "-cp",
    "--config-name",
    "-cn",
    "--config-dir",
    "-cd",
    "--experimental-rerun",
)
"""Flags of Hydra without a value and with one; beside them --help and --version."""
OFTEN = "--multirun, --help, --version, --cfg job (prints the config), --hydra-help (all others)"
SHOWN = ("job", "hydra", "all")
"""What may stand after --cfg."""
INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
"""What may stand after --info."""
DASHES, CURLY = "\u2010\u2011\u2012\u2013\u2014\u2212", "\u201c\u201d\u2018\u2019\u201e"
"""Signs that word processors put in the place of a hyphen and of quotes."""


def check_overrides(words: Sequence[str], keys: Collection[str]) -> None:
    """Raise at the first word of a training command that Hydra would not understand, and say what
    may be meant.

    Parameters
    ----------
    words : sequence of str
    keys : collection of str
        The first parts of the keys that there are.

    Raises
    ------
    ConfigError
        At a word without an equals sign, an unknown flag, or an equals sign with spaces around it.
    """
    taken = False
    for index, word in enumerate(words):
        if taken or (words[index - 1 : index] in (["--info"], ["-i"]) and word in INFO):
            taken = False
            continue
        check_signs(word)
        taken = word in VALUED
        if taken:
            _check_value(word, words[index + 1 : index + 2])
        if word in (*SWITCHES, *VALUED) or word.startswith(
            tuple(f"{flag}=" for flag in (*SWITCHES, *VALUED))
        ):
            continue
        if word.startswith("-"):
            raise ConfigError(_unknown_flag(word, words[index + 1 :], keys))
        check_spaces(words, index)
        key, equals, value = word.partition("=")
        if (not equals or not key) and not word.startswith("~") and not _continues(words[:index]):
            before = words[index - 1] if index and "=" in words[index - 1] else ""
            divided = (
                " If it belongs to the word before it, quote the two: "
                f"{shlex.quote(f'{before} {word}')}"
                if before
                else ""
            )
            raise ConfigError(_bare(word, words[index + 1 :], keys) + divided)
        if not value and equals and not word.startswith(("resume=", "hydra")):
            kind = "NAME" if key.lstrip("+") in groups() else "VALUE"
            raise ConfigError(
                f"'{word}' gives {key} no value.",
                remedy=f"Write {word}{kind}, or leave it out.",
            )
        if value.startswith("[") and key in groups():
            each = f"{key}={value.strip('[]')}"
            raise ConfigError(
                f"'{word}' names several, and a run has one {key}. To run each: --multirun {each}"
            )


def _check_value(flag: str, following: Sequence[str]) -> None:
    """Raise where a flag that takes a value has none, or one that it does not know."""
    if not following:
        raise ConfigError(f"'{flag}' needs a value after it.")
    if flag in ("--cfg", "-c") and following[0] not in SHOWN:
        raise ConfigError(
            f"'{flag} {following[0]}': it takes {', '.join(SHOWN)}. --cfg job prints the config."
        )


def check_words(words: Sequence[str]) -> None:
    """Raise where the signs of a subcommand's words are not those of a keyboard, or spaces stand
    around an equals sign.
    """
    for index, word in enumerate(words):
        check_signs(word)
        check_spaces(words, index)


def check_signs(word: str) -> None:
    """Raise where a word processor, or a shell that keeps quotes, has altered a word."""
    if word[:1] in DASHES:
        raise ConfigError(
            f"'{word}' begins with a long dash.",
            remedy=f"Write a hyphen: --{word.lstrip(DASHES + '-')}",
        )
    if any(sign in CURLY for sign in word):
        straight = re.sub("[\u201c\u201d\u201e]", '"', re.sub("[\u2018\u2019]", "'", word))
        raise ConfigError(
            f"'{word}' has curly quotes, which no shell knows.",
            remedy=f"Write straight ones: {straight}",
        )
    if word[:1] in ("'", '"'):
        advice = "The command prompt of Windows takes double ones, around the whole word."
        raise ConfigError(
            f"{word} begins with a quote that your shell did not take away.",
            remedy=advice,
        )


def check_spaces(words: Sequence[str], index: int) -> None:
    """Raise at an equals sign with spaces around it, such as ``task = ner``."""
    word, (first, second) = words[index], [*words[index + 1 :], "", ""][:2]
    plain = "=" not in word
    if plain and first.startswith("="):
        typed = word + first + (second if first == "=" else "")
    elif word.endswith("=") and first and "=" not in first and not first.startswith("-"):
        typed = word + first
    else:
        return
    raise ConfigError(
        "There are spaces around '='.",
        remedy=f"Write {shlex.quote(typed)}, without them.",
    )


def _continues(before: Sequence[str]) -> bool:
    """Whether a value is open that the shell divided at its spaces: what is read later says so."""
    return any("=" in word and unclosed(word.partition("=")[2]) for word in before)


def _unknown_flag(word: str, following: Sequence[str], keys: Collection[str]) -> str:
    name, equals, value = word.lstrip("-").partition("=")
    top, dot, rest = name.partition(".")
    if synonym := synonym_of(FLAGS, word.partition("=")[0]):
        return (
            f"There is no flag '{word}'.{meaning([synonym.name])} Flags: {OFTEN}. Options are "
            "KEY=VALUE."
        )
    known = next((key for key in keys if form_of(key) == form_of(top)), "")
    if known:
        value = (
            value
            if equals
            else next(
                (one for one in following[:1] if "=" not in one and not one.startswith("-")),
                "VALUE",
            )
        )
        return (
            f"'{word}': options are typed without hyphens. Write "
            f"{shlex.quote(f'{known}{dot}{rest}={value}')}"
        )
    flags = [flag for flag in (*SWITCHES, *VALUED, "--help", "--version") if flag.startswith("--")]
    return (
        f"There is no flag '{word}'.{did_you_mean(word.partition('=')[0], flags)} Flags: "
        f"{OFTEN}. Options are KEY=VALUE."
    )


def _bare(word: str, following: Sequence[str], keys: Collection[str]) -> str:
    top = word.lstrip("+").partition(".")[0]
    if Path(word).exists() and top not in keys:
        return _path(word)
    value = next((one for one in following[:1] if "=" not in one and not one.startswith("-")), "")
    if form_of(top) in map(form_of, keys):
        return f"'{word}' needs a value. Write {shlex.quote(word + '=' + (value or 'VALUE'))}"
    if re.search(r"\.(ya?ml|conllu?|conllx?|txt|iob2?|arff|svm|npz|csv|tsv)(\.gz)?$", word):
        return (
            f"{word}: there is no such file. Files are named by keys: task.train=FILE "
            "task.dev=FILE task.test=FILE"
        )
    names = near(word, keys)
    meant = f" Did you mean '{names[0]}=VALUE'?" if names else ""
    return (
        f"'{word}' is neither a subcommand nor KEY=VALUE.{meant} Write for example task=ner; "
        "structopt --help shows more."
    )


def _path(word: str) -> str:
    """What to type for a path that stands alone."""
    path = Path(word)
    if path.suffix in (".yaml", ".yml") and path.name != FILE:
        folder, name = shlex.quote(str(path.parent)), shlex.quote(path.stem)
        return (
            f"{word}: a config file is named by its folder and its name: --config-dir {folder} "
            f"--config-name {name} "
            "(it begins with 'defaults: [config, _self_]')."
        )
    if path.is_dir() and (path / ".hydra").is_dir():
        return (
            f"{word}: to go on with this run: resume={word}; to apply its model: structopt "
            f"predict model={word} input=FILE"
        )
    file = shlex.quote(word)
    apply = f"to apply a model: structopt predict model=MODEL input={file}"
    return f"{word}: files are named by keys. Write task.train={file}; {apply}"
