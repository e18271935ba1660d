"""``structopt compile``: compiles kernels ahead, so that no later command waits for them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from structopt.command.options import Syntax
from structopt.command.spelling import check_overrides
from structopt.config import registry
from structopt.config.validation import Settings

ALL = "all"
SYNTAX = Syntax(
    "structopt compile [all|task=NAME] [KEY=VALUE ...]",
    "Compiles the kernels with which structopt KEY=VALUE ... trains, and its model predicts, and "
    "stores them in the user's\n"
    "cache folder, or in NUMBA_CACHE_DIR. Use it when you build an image or install for a "
    "laboratory.\n"
    "all compiles those of every task with its default components. KEY=VALUE are overrides of a "
    "training command, such as\n"
    "optimizer=lbfgs; each optimizer, loss and inference has kernels of its own.",
)


def run(words: Sequence[str]) -> None:
    """Run the subcommand with the words after its name."""
    if SYNTAX.print_help(words):
        return
    every = {ALL, f"task={ALL}"} & set(words)
    overrides = [word for word in words if word not in every]
    check_overrides(overrides, (*Settings.__annotations__, *registry.KINDS))
    from structopt.run.compiling_ahead import compile_kernels

    tasks = [f"task={name}" for name in registry.installed("task")] if every else []
    for task in tasks or [""]:
        begin, command = time.monotonic(), [*([task] if task else []), *overrides]
        print(f"{' '.join(command) or 'default components'}: ", end="", flush=True)
        folder = compile_kernels(command)
        print(f"ready in {folder}, {time.monotonic() - begin:.0f} s")
