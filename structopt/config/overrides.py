"""Typed words before Hydra sees them: short forms are spelled out, and words for Hydra itself are
recognised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from structopt.errors import ConfigError
from structopt.progress import credentials

SHORT = {"warm_start": "warm_start.model", "storage": "storage.name"}
"""Keys that stand for another one where a plain value follows: a key cannot be both a value and a
node.
"""
SAME = {"optimizer.initial=counts": "warm_start.model=counts"}
"""Words that mean others."""
ADDED = "experiment"
"""A group of config files of which none is chosen by default, so that Hydra wants a sign + before
it.
"""
RUN_FOLDER = "hydra.run.dir"
HEARD = (RUN_FOLDER, "hydra.searchpath")
HYDRA = re.compile(r"[+~]*hydra[./@=]")


def spelled_out(words: Sequence[str]) -> list[str]:
    """Replace what is shorter than Hydra takes it, in sweeps too.

    ``warm_start=MODEL`` becomes ``warm_start.model=MODEL``, ``storage=disk`` becomes
    ``storage.name=disk``, ``experiment=NAME`` gets its sign +, and texts their quotes.
    ``optimizer.initial=counts`` is ``warm_start=counts``. User and password in the tracker's
    address are removed (see `structopt.progress.credentials`): Hydra writes overrides to files.
    """
    from structopt.config.unreadable_words import made_readable

    return [made_readable(_spelled_out(word)) for word in words]


def _spelled_out(word: str) -> str:
    if key_of(word).startswith("tracker"):
        word = credentials.removed(word)
    if word in SAME:
        return SAME[word]
    key, equals, value = word.partition("=")
    if key == ADDED:
        return f"+{word}"
    name = key.lstrip("+")
    if not equals or name not in SHORT or value.startswith("{"):
        return word
    return f"{key.removesuffix(name)}{SHORT[name]}={value}"


def key_of(word: str) -> str:
    """Return the key of an override, without signs."""
    return word.partition("=")[0].lstrip("+~")


def check_single_run(words: Sequence[str]) -> None:
    """Raise ConfigError for words that say where or how Hydra runs jobs, which is nothing to a run
    that Python starts.

    Two are heard: ``hydra.run.dir``, the run folder, and ``hydra.searchpath``, where config files
    are looked for.
    """
    for word in words:
        if word.startswith("-"):
            advice = "Sweeps run from the command line: structopt --multirun."
            raise ConfigError(
                f"'{word}' is not an override, and train runs once.",
                remedy=advice,
            )
        if not HYDRA.match(word) or key_of(word) in HEARD:
            continue
        raise ConfigError(
            f"'{word}' has no effect here",
            remedy=f"train runs once, and reads only {' and '.join(HEARD)} of Hydra's "
            "settings. Leave it out. Sweeps run from the command line: structopt "
            "--multirun.",
        )
