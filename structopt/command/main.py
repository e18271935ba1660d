"""The command line: recognises the subcommand and ``resume=``, and turns errors into exit codes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from structopt.command import streams
from structopt.errors import ConfigError, StructoptError
from structopt.run import interruption
from structopt.sweep.exit_codes import DONE, INTERRUPTED, MENDABLE, SweepInterrupted

log = logging.getLogger(__name__)

COMMANDS = ("predict", "evaluate", "compare", "components")
"""Subcommands, each a module of this package; words that begin with none of them train a model."""


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
    streams.open_closed()
    try:
        with interruption.noted():
            code = _dispatch(words)
            sys.stdout.flush()
            return code
    except StructoptError as error:
        streams.say(f"structopt: {error}")
        return MENDABLE
    except SweepInterrupted as interrupt:
        streams.say(f"structopt: interrupted. The sweep goes on with: {interrupt}")
        return INTERRUPTED
    except KeyboardInterrupt as interrupt:
        folder = interrupt.args[0] if interrupt.args else "RUN_FOLDER"
        streams.say(f"structopt: interrupted. A run goes on with: structopt resume={folder}")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        streams.discard(sys.stdout)
    except OSError as error:  # of a bug it cannot be told from the user's, so the log keeps the traceback
        log.info("the operating system refused", exc_info=True)
        streams.say(f"structopt: {streams.refusal(error)}")
        return MENDABLE
    return DONE


def _dispatch(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        import_module(f"structopt.command.{words[0]}").run(words[1:])
    elif folder := resumed_folder(words):
        from structopt.run import stages

        stages.resume(folder, [word for word in words if not word.startswith("resume=")])
    else:
        from structopt.command import train

        return train.run(words)
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
