"""The command line: recognises the subcommand and ``resume=``, and turns errors into exit codes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from pathlib import Path

from structopt.command import streams
from structopt.config.synonyms import SUBCOMMANDS, synonym_of
from structopt.config.wording import write_keys
from structopt.core import memory
from structopt.errors import ConfigError, StructoptError, full_installation, meaning, near
from structopt.process import garbage, interruption
from structopt.progress import console, display
from structopt.sweep.exit_codes import DONE, MENDABLE, SweepInterrupted

log = logging.getLogger(__name__)

COMMANDS = (
    "predict",
    "evaluate",
    "explain",
    "compare",
    "experiments",
    "components",
    "compile",
    "new",
    "export",
    "import",
)
"""Subcommands, each a module of this package; words that begin with none of them train a model."""
TRAIN = "train"
"""May be typed first where no subcommand is."""

DEBUG = {True: "debug=true", False: "debug=false"}
"""Arguments that switch the debug mode, for training and for all subcommands."""

SHORTAGE = (
    "Free some, or take less: fewer instances (task.limit, smaller files), or a smaller model."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the program's name; ``sys.argv[1:]`` when not given.

    Returns
    -------
    int
        0 done, 2 the user can mend it; 130 interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.
        Any other exception is a bug and goes through; where a job of a sweep meets one, the other
        jobs are run all the same, and the code is 1.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    streams.open_closed()
    garbage.not_collected_at_exit()
    signals = interruption.Signals()
    try:
        with (
            interruption.noted() as signals,
            console.tidy(),
            display.shown(),
            memory.shortage_explained(SHORTAGE),
            full_installation("This command"),
        ):
            with interruption.before_errors(), garbage.rarely_collected():
                code = _dispatch(_debugged(words))
            streams.check_output()
            interruption.obey()
            return code
    except StructoptError as error:
        write_keys(error)
        streams.say(f"structopt: {error}")
        return MENDABLE
    except SweepInterrupted as interrupt:
        streams.say(f"structopt: {signals.name}. The sweep goes on with: {interrupt}")
        return signals.exit_code
    except KeyboardInterrupt as interrupt:
        goes_on = (
            f" The run goes on with: structopt resume={interrupt.args[0]}" if interrupt.args else ""
        )
        streams.say(f"structopt: {signals.name}.{goes_on}")
        return signals.exit_code
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        streams.discard(sys.stdout)
    except OSError as error:
        # of a bug it cannot be told from the user's, so the log keeps the traceback
        log.info("the operating system refused", exc_info=True)
        streams.say(f"structopt: {streams.refusal(error)}")
        return MENDABLE
    return DONE


def _debugged(words: list[str]) -> list[str]:
    """Start the debug mode if ``debug=true`` is among the arguments, before kernels are imported.

    Subcommands have no such option, so that the argument is removed from theirs.
    """
    if DEBUG[True] in words:
        from structopt.kernels.waist.debug import debug

        debug()
    is_subcommand = bool(words) and words[0] in COMMANDS
    return [word for word in words if word not in DEBUG.values()] if is_subcommand else words


def _dispatch(words: list[str]) -> int:
    if words[:1] == ["help"]:
        words = [*(words[1:] if words[1:2] != [TRAIN] else []), "--help"]
    command = _command(words)
    if command in COMMANDS:
        module = f"{command}_" if iskeyword(command) else command
        import_module(f"structopt.command.{module}").run(words[1:])
        return DONE
    words = words[1:] if command == TRAIN else words
    if set(words) & {"--help", "-h", "--version"}:
        from structopt.command import help as pages

        print(pages.versions() if "--version" in words else pages.page())
        return DONE
    from structopt.command import resume, train

    if folder := resume.run_folder(words):
        from structopt.run import stages

        stages.resume(folder, resume.overrides(words, folder))
        return DONE
    return train.run(words)


def _command(words: list[str]) -> str:
    """The subcommand that the words begin with, or the empty string.

    Raises
    ------
    ConfigError
        If the first word is nearly a subcommand.
    """
    first = words[0] if words else ""
    if first in (*COMMANDS, TRAIN):
        return first
    if first.isalpha() and not Path(first).exists():
        synonym = synonym_of(SUBCOMMANDS, first)
        names = [synonym.name] if synonym else near(first, (*COMMANDS, TRAIN))
        if names:
            advice = f"Subcommands: {', '.join(COMMANDS)}; without one, structopt trains."
            raise ConfigError(f"There is no subcommand '{first}'.{meaning(names)} {advice}")
    return ""
