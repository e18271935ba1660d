"""Which earlier sweep ``sweep.resume=true`` goes on with: the newest of the same command."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from structopt.config.overrides import key_of
from structopt.core.data.config_keys import RESUME_SWEEP, Purpose, ignored
from structopt.errors import ConfigError
from structopt.run.records import JOB, MULTIRUN, SWEEP, TRACKING

FLAGS = ("-m", "--multirun")


def is_asked(config: DictConfig) -> bool:
    """Whether an earlier sweep shall go on; ConfigError where ``sweep.resume`` is neither true nor
    false.
    """
    typed = OmegaConf.select(config, RESUME_SWEEP)
    if not isinstance(typed, bool):
        raise ConfigError(
            "must be true or false.",
            parameter=RESUME_SWEEP,
            value=typed,
            remedy=f"Set {RESUME_SWEEP}=true to resume an earlier sweep.",
        )
    return typed


def without_resume(words: Sequence[str]) -> list[str]:
    """Return a command without ``sweep.resume``."""
    return [word for word in words if key_of(word).strip() != RESUME_SWEEP]


def earlier_folder(config: DictConfig, command: Sequence[str]) -> Path | None:
    """Find the folder of the newest sweep of the same command, or say that there is none and return
    None.

    Raises
    ------
    ConfigError
        If the folder that was typed holds the sweep of another command.
    """
    pattern = Path(OmegaConf.to_container(config.hydra.sweep, resolve=False)["dir"])  # type: ignore[call-overload,index]
    fixed = "${" not in str(pattern)
    folders = _sweeps(pattern)
    same = [
        folder
        for folder in folders
        if _compared(read_notes(folder)["command"]) == _compared(command)
    ]
    if same:
        newest = max(
            same, key=lambda folder: ((folder / SWEEP).stat().st_mtime, str(folder))
        ).resolve()
        print(f"structopt: going on with the sweep in {newest}", file=sys.stderr)
        return newest
    if folders and fixed:
        before = shlex.join(["structopt", *read_notes(folders[0])["command"]])
        raise ConfigError(
            f"{pattern} holds the sweep of another command: {before}.",
            remedy="Set that one, or another hydra.sweep.dir.",
        )
    root = _root(pattern)
    print(
        f"structopt: {RESUME_SWEEP}=true: no sweep of this command is under {root}, so it begins "
        "anew",
        file=sys.stderr,
    )
    return None


def read_notes(folder: Path) -> dict[str, Any]:
    """Read the ``sweep.json`` of a sweep's folder; ConfigError where it cannot be read."""
    path = folder / SWEEP
    try:
        notes: dict[str, Any] = json.loads(path.read_text(encoding="utf8"))
        command = notes["command"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigError(
            f"this cannot be read ({error}).",
            where=str(path),
            remedy="Delete the file, or restore it.",
        ) from None
    return {"parent": "", **notes, "command": [str(word) for word in command]}


def forget_jobs(folder: Path, goes_on: bool) -> dict[Path, bytes]:
    """Delete the notes of the jobs that an earlier sweep ran in a folder, and return what they and
    its own notes said.

    A search that is to go on keeps its jobs, even where ``sweep.json`` is lost: its journal says
    which trials there were.
    """
    jobs = (
        []
        if goes_on and any(folder.glob("*.journal"))
        else [*folder.glob(f"*/{JOB}"), *folder.glob(f"*/{TRACKING}")]
    )
    notes = [*jobs, *(path for name in (SWEEP, MULTIRUN) if (path := folder / name).is_file())]
    before = {path: path.read_bytes() for path in notes}
    for path in jobs:
        path.unlink()
    return before


def _sweeps(pattern: Path) -> list[Path]:
    """Return the folders of all sweeps that look like the pattern, in which ``${...}`` stands for
    anything.
    """
    root = _root(pattern)
    levels = len(pattern.parts) - len(root.parts)
    return [path.parent for path in sorted(root.glob("/".join(["*"] * levels + [SWEEP])))]


def _root(pattern: Path) -> Path:
    """Return the folders of a pattern before the first ``${...}``."""
    return Path(str(pattern).partition("${")[0] + "x").parent if "${" in str(pattern) else pattern


def _compared(command: Sequence[str]) -> list[str]:
    """Return the words of a command by which two sweeps are the same."""
    without = ignored(Purpose.RESUMING_A_SWEEP)
    return [word for word in command if word not in FLAGS and not key_of(word).startswith(without)]
