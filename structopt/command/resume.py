"""``resume=FOLDER``: which run goes on, and the words that stand beside it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from structopt.config.overrides import RUN_FOLDER, key_of
from structopt.core.data.config_keys import RESUME_SWEEP
from structopt.errors import ConfigError
from structopt.run.records import JOB, MULTIRUN, SWEEP
from structopt.sweep.resuming import read_notes

KEY = "resume"


def run_folder(words: Sequence[str]) -> Path | None:
    """Return the folder of ``resume=FOLDER``, None where that is not asked for.

    Raises
    ------
    ConfigError
        If there is no such run, or a flag such as ``--multirun`` stands beside it.
    """
    values = [word.partition("=")[2].strip("'\"") for word in words if word.startswith(f"{KEY}=")]
    if not values or values[-1] in ("", "null"):
        return None
    folder = Path(values[-1])
    if not folder.is_dir():
        what = "is a file, not a run folder." if folder.exists() else "does not exist."
        raise ConfigError(
            what,
            parameter=KEY,
            value=str(folder),
            remedy="Name the folder that has checkpoint/ and .hydra/.",
        )
    if reason := _no_run(folder):
        raise ConfigError(f"resume={folder}: {reason}")
    flags = [word for word in words if word.startswith("-")]
    if flags:
        raise ConfigError(
            f"resumes one run and cannot be combined with {flags[0]}.",
            parameter=KEY,
            value=str(folder),
            remedy="Leave one of them out.",
        )
    return folder


def overrides(words: Sequence[str], folder: Path) -> list[str]:
    """Return the words beside ``resume=FOLDER``, without those that name the same folder."""
    return [
        word
        for word in words
        if key_of(word) != KEY and not (key_of(word) == RUN_FOLDER and _same(word, folder))
    ]


def _same(word: str, folder: Path) -> bool:
    return Path(word.partition("=")[2].strip("'\"")).absolute() == folder.absolute()


def _command(folder: Path) -> list[str]:
    """The words of a sweep, as far as they are known."""
    return (
        list(read_notes(folder)["command"]) if (folder / SWEEP).is_file() else ["--multirun", "..."]
    )


def _no_run(folder: Path) -> str:
    """Why a folder is not that of a run, and what to type instead; the empty string where nothing
    speaks against it.
    """
    if (folder / ".hydra").is_dir() and not (folder / SWEEP).is_file():
        return ""
    if (folder / SWEEP).is_file() or (folder / MULTIRUN).is_file():
        jobs = sorted(path.parent.name for path in folder.glob(f"*/{JOB}"))
        one = f" One of its jobs alone: resume={folder / jobs[0]}." if jobs else ""
        command = shlex.join(["structopt", *_command(folder), f"{RESUME_SWEEP}=true"])
        return f"this is the folder of a sweep, which goes on with: {command}.{one}"
    above = folder.absolute().parent
    if (above / ".hydra").is_dir():
        return (
            "this is a part of a run. Write "
            f"resume={folder.parent if folder.parent != Path('.') else above}"
        )
    if (folder / "manifest.json").is_file():
        return (
            "this is a model, which has no checkpoint to go on from. To start from its weights: "
            f"warm_start={folder}"
        )
    inside = sorted(path.parent.parent for path in folder.glob("*/.hydra/config.yaml"))[:1]
    near = (
        f" It holds runs: resume={inside[0]}."
        if inside
        else " Name the folder that holds checkpoint/ and .hydra/."
    )
    return f"this is no run folder.{near}"
