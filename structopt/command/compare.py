"""``structopt compare``: runs side by side, as tables and learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from structopt.command.options import Syntax
from structopt.command.spelling import check_words
from structopt.errors import ConfigError
from structopt.progress import phases


class Options(TypedDict):
    """Options of `compare`, which stand beside the runs."""

    experiment: str
    uri: str
    metric: str
    baseline: str
    output: str
    significance: bool
    samples: int
    seed: int
    log: bool
    quiet: bool


SYNTAX = Syntax(
    "structopt compare RUN RUN ... [experiment=NAME] [uri=STORE] [metric=dev.f1] [baseline=RUN] "
    "[output=FOLDER]"
    " [significance=true] [samples=1000] [seed=0] [log=true] [quiet=true]",
    "RUN is the folder of a run or of a sweep (all its runs), or an MLflow run (runs:/ID); "
    "experiment=NAME is all runs of an\n"
    "MLflow experiment in uri=STORE. Runs that differ in the seed only are one row. Differences to "
    "the baseline (the best\n"
    "setting, or that of baseline=RUN) are tested by a paired bootstrap with so many samples;\n"
    "log=false leaves the comparison out of MLflow.",
    Options,
    {
        "experiment": "",
        "uri": "",
        "metric": "",
        "baseline": "",
        "output": "",
        "significance": True,
        "samples": 1000,
        "seed": 0,
        "log": True,
        "quiet": False,
    },
)


def run(words: Sequence[str]) -> None:
    """Run the subcommand with the words after its name.

    A word with an equals sign is an option, unless there is a folder of that name: then it is a
    run, as other words are.
    """
    if SYNTAX.print_help(words):
        return
    check_words(words)
    runs = [word for word in words if "=" not in word or Path(word).is_dir()]
    options = SYNTAX.read([word for word in words if word not in runs])
    if not runs and not options["experiment"]:
        raise ConfigError(f"compare needs runs. Usage: {SYNTAX.usage}")
    from structopt.report.chosen_runs import sweep_of
    from structopt.report.compare import compare

    with phases.phase("comparing", "runs"):
        comparison = compare(runs, options)
    print(comparison.markdown())
    print(f"\ntables and curves: {comparison.folder}")
    if options["log"]:
        with phases.phase("recording"):
            comparison.record(sweep_of(runs), options["uri"])
