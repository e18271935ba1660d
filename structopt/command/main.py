"""The command line: sub-commands and ``resume=`` are recognised first, everything else is Hydra's. No logic lives here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException
from hydra.types import RunMode
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from structopt.config.hydra_errors import friendly
from structopt.config.overrides import spelled_out
from structopt.config.search_path import conf_dir, register
from structopt.errors import ConfigError, StructoptError
from structopt.run import interruption
from structopt.sweep import sweepers

DONE, MENDABLE, INTERRUPTED = 0, 2, 130
LAUNCHERS = ("hydra/launcher/joblib", "hydra/launcher/submitit")
COMMANDS = ("predict", "evaluate", "compare", "components")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the program's name; ``sys.argv[1:]`` when not given.

    Returns
    -------
    int
        0 done, 2 the user can mend it, 130 interrupted. Any other exception is a bug and goes through; where a job of a
        sweep meets one, the other jobs are run all the same, and the code is 1.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with interruption.noted():
            return _dispatch(words)
    except StructoptError as error:
        print(f"structopt: {error}", file=sys.stderr)
        return MENDABLE
    except _SweepInterrupted as interrupt:
        print(f"structopt: interrupted. The sweep goes on with: {interrupt}", file=sys.stderr)
        return INTERRUPTED
    except KeyboardInterrupt as interrupt:
        folder = interrupt.args[0] if interrupt.args else "RUN_FOLDER"
        print(f"structopt: interrupted. A run goes on with: structopt resume={folder}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE


class _SweepInterrupted(KeyboardInterrupt):
    """With the command that goes on."""


def _dispatch(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        from structopt.command import subcommands

        subcommands.run(words[0], words[1:])
    elif folder := resumed_folder(words):
        from structopt.run import session

        session.resume(folder, [word for word in words if not word.startswith("resume=")])
    else:
        return _train(words)
    return DONE


def resumed_folder(words: Sequence[str]) -> Path | None:
    """Return the folder of ``resume=FOLDER``, None where that is not asked for.

    Raises
    ------
    ConfigError
        If there is no such run, or a flag such as ``--multirun`` stands beside it.
    """
    values = [word.partition("=")[2].strip("'\"") for word in words if word.startswith("resume=")]
    if not values or values[-1] in ("", "null"):
        return None
    folder = Path(values[-1])
    if not folder.is_dir():
        raise ConfigError(f"resume={folder}: there is no such run folder. Name the folder that holds checkpoint/ and .hydra/.")
    flags = [word for word in words if word.startswith("-")]
    if flags:
        raise ConfigError(f"resume={folder} goes on with that one run and cannot be combined with {flags[0]}.")
    return folder


@dataclass
class _Outcome:
    """How far Hydra came, and what a single run met that its user can mend."""

    started: bool = False
    failure: StructoptError | None = None


def _train(words: list[str]) -> int:
    """Let Hydra parse, compose and set up the run folder, then train; of a sweep, once a job. Return the exit code."""
    register()
    sweepers.register()
    outcome = _Outcome()
    application = hydra.main(version_base="1.3", config_path=conf_dir(), config_name="config")(_job(outcome))
    try:
        with _hydra_environment(_multirun_first(spelled_out(words))), _closing_sweep() as code:
            application()
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        if outcome.started or _jobs_began():
            raise
        raise ConfigError(friendly(error, words) + _to_install(error)) from error
    if outcome.failure:
        raise outcome.failure
    return code[0] if code else DONE


def _multirun_first(words: list[str]) -> list[str]:
    """Put the flag of a sweep before the overrides: Hydra does not read those that stand after a flag between them."""
    return sorted(words, key=lambda word: word not in ("-m", "--multirun"))


def _jobs_began() -> bool:
    """Whether a sweep is open whose jobs have begun, in other processes maybe."""
    from structopt.sweep import parent

    return parent.Opening.opened is not None and parent.Opening.opened.begun


def _to_install(error: Exception) -> str:
    """Say where launchers that are missing come from."""
    missing = isinstance(error, MissingConfigException) and str(error.missing_cfg_file).startswith(LAUNCHERS)
    return " Launchers joblib and submitit come with: pip install 'structopt-trainer[sweep]'" if missing else ""


@contextmanager
def _closing_sweep() -> Iterator[list[int]]:
    """Close the sweep that Hydra may open, however it ends; gives the exit code of one that came to its end."""
    from structopt.sweep import parent

    parent.Opening.opened = None
    code: list[int] = []
    try:
        yield code
        if parent.Opening.opened:
            interruption.obey()
    except parent.Refused as refused:
        raise refused.error from refused.error.__cause__  # which says what was misspelt
    except KeyboardInterrupt:
        if parent.Opening.opened is None:
            raise
        parent.Opening.opened.close(interrupted=True)
        raise _SweepInterrupted(parent.Opening.opened.again) from None
    except BaseException:
        if parent.Opening.opened:
            parent.Opening.opened.close(broken=True)
        raise
    if parent.Opening.opened:
        code.append(parent.Opening.opened.close())


def _job(outcome: _Outcome) -> Callable[[DictConfig], Any]:
    def job(config: DictConfig) -> Any:
        """Train; of a single run keep a user's error for later, since Hydra would print lines of its own about it."""
        outcome.started = True
        if HydraConfig.get().mode == RunMode.MULTIRUN:
            from structopt.sweep import job as sweep_job

            return sweep_job.run_job(config)
        try:
            return _train_composed(config)
        except StructoptError as error:
            outcome.failure = error
        return None

    return job


def _train_composed(config: DictConfig) -> Any:
    from structopt.config import composition

    checked = composition.validate(composition.resolved(config), HydraConfig.get().overrides.task)
    if checked["sweep"]["resume"]:
        raise ConfigError("sweep.resume=true goes on with a sweep: add --multirun. A single run goes on with: resume=RUN_FOLDER")
    from structopt.run import session

    return session.train(checked, Path(HydraConfig.get().runtime.output_dir))


@contextmanager
def _hydra_environment(words: list[str]) -> Iterator[None]:
    """Give Hydra the words, and make it raise its errors instead of printing them and leaving."""
    before, argv = os.environ.get("HYDRA_FULL_ERROR"), sys.argv
    os.environ["HYDRA_FULL_ERROR"] = "1"
    sys.argv = [argv[0] if argv else "structopt", *words]
    try:
        yield
    finally:
        sys.argv = argv
        os.environ.pop("HYDRA_FULL_ERROR")
        if before is not None:
            os.environ["HYDRA_FULL_ERROR"] = before
