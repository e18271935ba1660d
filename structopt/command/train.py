"""``structopt`` without a subcommand trains: Hydra composes the config and sets up the folder of
the run or sweep.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException
from hydra.types import RunMode
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from structopt.command.spelling import check_overrides
from structopt.config import registry
from structopt.config.composition import register
from structopt.config.hydra_errors import friendly
from structopt.config.overrides import ADDED, spelled_out
from structopt.config.search_path import conf_dir
from structopt.config.validation import Settings
from structopt.errors import ConfigError, StructoptError, SystemRefusal, redacted
from structopt.process import interruption
from structopt.sweep import sweepers
from structopt.sweep.exit_codes import DONE, SweepInterrupted
from structopt.sweep.opening import Opening, Refused

SHOWING = ("--cfg", "-c", "--info", "-i")
"""Hydra's flags that print the configuration, also of files."""
LAUNCHERS = ("hydra/launcher/joblib", "hydra/launcher/submitit")


@dataclass
class _Outcome:
    """Whether Hydra came to the task function, and the error of a single run that its user can
    mend.
    """

    started: bool = False
    failure: StructoptError | None = None


def run(words: list[str]) -> int:
    """Let Hydra parse, compose and set up the run folder, then train; of a sweep, once a job.
    Return the exit code.
    """
    check_overrides(words, (*Settings.__annotations__, *registry.KINDS, ADDED, "hydra"))
    register()
    sweepers.register()
    outcome = _Outcome()
    Opening.opened, Opening.locks = None, ExitStack()
    application = hydra.main(version_base="1.3", config_path=conf_dir(), config_name="config")(
        _task_function(outcome)
    )
    try:
        with (
            _hydra_environment(_multirun_first(spelled_out(words))),
            Opening.locks,
            _closing_sweep() as code,
            _shown_without_credentials(words),
        ):
            application()
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        # jobs may run in other processes
        if outcome.started or (Opening.opened is not None and Opening.opened.begun):
            raise
        raise ConfigError(friendly(error, words) + _launcher_advice(error)) from error
    if outcome.failure:
        raise outcome.failure
    return code[0] if code else DONE


@contextmanager
def _shown_without_credentials(words: list[str]) -> Iterator[None]:
    """Print the configuration that Hydra shows without the users and passwords of addresses."""
    if not any(word.partition("=")[0] in SHOWING for word in words):
        yield
        return
    shown = StringIO()
    try:
        with redirect_stdout(shown):
            yield
    finally:
        sys.stdout.write(redacted(shown.getvalue()))


def _multirun_first(words: list[str]) -> list[str]:
    """Put the flag of a sweep before the overrides: Hydra does not read those that stand after a
    flag between them.
    """
    return sorted(words, key=lambda word: word not in ("-m", "--multirun"))


def _launcher_advice(error: Exception) -> str:
    """Say how to install a launcher that is missing; the empty string for other errors."""
    missing = isinstance(error, MissingConfigException) and str(error.missing_cfg_file).startswith(
        LAUNCHERS
    )
    return (
        " Launchers joblib and submitit come with: pip install 'structopt-trainer[sweep]'"
        if missing
        else ""
    )


@contextmanager
def _closing_sweep() -> Iterator[list[int]]:
    """Close the sweep that Hydra may open, however it ends; the list is given the exit code of one
    that came to its end.
    """
    code: list[int] = []
    try:
        yield code
        if Opening.opened:
            interruption.obey()
    except Refused as refused:
        raise refused.error from refused.error.__cause__  # which says what was misspelt
    except KeyboardInterrupt:
        if Opening.opened is None:
            raise
        with interruption.put_off():
            Opening.opened.close(interrupted=True)
        raise SweepInterrupted(Opening.opened.resume_command) from None
    except BaseException:
        if Opening.opened:
            with interruption.put_off():
                Opening.opened.close(broken=True)
        raise
    if Opening.opened:
        with interruption.put_off():
            code.append(Opening.opened.close())


def _task_function(outcome: _Outcome) -> Callable[[DictConfig], Any]:
    def train(config: DictConfig) -> Any:
        """Train in the folder in which the command was started, to which relative paths refer;
        with ``hydra.job.chdir=true`` Hydra has left it.
        """
        with chdir(HydraConfig.get().runtime.cwd):
            return train_here(config)

    def train_here(config: DictConfig) -> Any:
        """Train; of a single run keep a user's error for later, since Hydra would print lines of
        its own about it.
        """
        outcome.started = True
        if HydraConfig.get().mode == RunMode.MULTIRUN:
            from structopt.sweep import job

            return job.run_job(config)
        from structopt.run import records

        try:
            with records.nothing_left(Path(HydraConfig.get().runtime.output_dir)):
                return _train_composed(config)
        except StructoptError as error:
            outcome.failure = error
        except KeyboardInterrupt:  # however early: the folder has been made
            raise KeyboardInterrupt(HydraConfig.get().runtime.output_dir) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            outcome.failure = SystemRefusal(error)
            outcome.failure.__cause__ = error
        return None

    return train


def _train_composed(config: DictConfig) -> Any:
    from structopt.config import saved_config, validation

    checked = validation.validate(saved_config.resolved(config), HydraConfig.get().overrides.task)
    if checked["sweep"]["resume"]:
        raise ConfigError(
            "sweep.resume=true goes on with a sweep",
            remedy="add --multirun. A single run goes on with: resume=RUN_FOLDER",
        )
    for key in ("data", "scale"):
        if checked[key] is not None and not HydraConfig.get().runtime.choices.get(ADDED):
            raise ConfigError(
                "is of experiments, and none is typed: experiment=NAME. Files of your own "
                "are named by task.train=FILE task.dev=FILE task.test=FILE.",
                parameter=key,
                value=checked[key],
            )
    from structopt.run import stages

    return stages.train(checked, Path(HydraConfig.get().runtime.output_dir))


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
