"""``structopt experiments``: the reports of finished experiments, collected into pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict

from structopt.command.options import Syntax
from structopt.errors import ConfigError, did_you_mean


class Options(TypedDict):
    """Options of `experiments`."""

    folder: str
    output: str
    report: str
    scale: Literal["full", "small"]
    quiet: bool


SYNTAX = Syntax(
    "structopt experiments folder=SWEEPS [output=docs/experiments.md] "
    "[report=kummerfeld2015_observations] [scale=full]"
    " [quiet=true]",
    "Finds the finished sweeps of experiments in a folder and the folders in it, the latest of "
    "each, and lists their verdicts.\n"
    "output=PAGE writes a page of all reports, and observations.md beside it. The folder "
    "readings beside the page keeps the\n"
    "reports (NAME.json) and has what is said of them (NAME.md), which is never changed. "
    "report=kummerfeld2015_observations\n"
    "judges that paper's observations over all tasks that were swept, into "
    "SWEEPS/kummerfeld2015_observations; a page does so\n"
    "where two or more were, of which it may have the reports from earlier times.",
    Options,
    {"output": "", "report": "", "scale": "full", "quiet": False},
)


def run(words: Sequence[str]) -> None:
    """Run the subcommand with the words after its name."""
    if SYNTAX.print_help(words):
        return
    options = SYNTAX.read(words)
    from structopt.experiment import page
    from structopt.experiment.kummerfeld2015_observations import NAME, wanted

    if (asked := options["report"]) not in ("", NAME):
        raise ConfigError(
            f"report={asked}: there is no such report over sweeps.{did_you_mean(asked, [NAME])} "
            f"Reports: {NAME}."
        )
    folder, scale = Path(options["folder"]), options["scale"]
    sweeps = page.finished(folder, scale)
    collected = list(sweeps.values())
    reports = page.kept(Path(options["output"]), scale) if options["output"] else {}
    reports.update({name: sweep.report for name, sweep in sweeps.items()})
    if options["report"] or (options["output"] and sum(map(wanted, reports)) > 1):
        collected.append(page.observations(reports, scale, folder / NAME))
    for sweep in collected:
        if not options["report"] or sweep.name == NAME:
            print(f"\n{sweep.name}: {sweep.report['verdict']}; {sweep.folder}")
            print(
                "\n".join(
                    f"{claim['verdict']:>14}: {claim['text']} ({claim['numbers']})"
                    for claim in sweep.report["claims"]
                )
            )
    if options["output"]:
        target = Path(options["output"])
        page.collect(collected, target)
        page.write_pages(target)
        print(f"\npages: {target}, {target.parent / page.OBSERVATIONS}")
