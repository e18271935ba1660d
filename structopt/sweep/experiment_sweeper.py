"""Sweeps of published experiments: the settings of a table or figure times a grid, then the report.

An experiment is ``conf/experiment/NAME.yaml``: its body is what all jobs have in common,
``hydra.sweeper`` what differs::

    # @package _global_
    defaults:
      - override /hydra/sweeper: experiment
      - override /task: ner                 # of every job
    optimizer: {epochs: 50}                 # of every job
    hydra:
      mode: MULTIRUN
      sweeper:
        title: What the table or figure shows
        report: NAME                        # entry point of the group structopt.experiment
        files: {task.train: conll2003/eng.train.gz, task.dev: conll2003/eng.testa.gz}      # inside
        data=DIR settings:                           # rows or curves: NAME: [override, ...], or
        with more to say
          DCA: [optimizer=dca]
          Turkish SGD: {overrides: [optimizer=sgd], grid: {optimizer.eta: [0.1, 1]}, files:
          {task.train: ud/tr.gz}}
        grid: {optimizer.C: [0.1, 1, 10]}   # every setting times this, unless it brings a grid of
        its own seeds: [0, 1, 2]                    # and times these, the default at scale=full;
        small has [0] full: {overrides: [...]}            # changes at scale=full, with the keys
        shown at small small:
          overrides: [task.limit=40]        # of every job
          only: [DCA]                       # the names of the settings to run
          settings: {DCA: [optimizer=dca, optimizer.epochs=3]}
          grid: {}
          files: {}
          seeds: [0]

Settings and files of a scale are added to those above, or replace the one of the same name; its
grid replaces every other grid, those of settings too. Of overrides of one key the last counts, in
this order: scale, setting, grid, typed words. A typed value of a key in a grid replaces the values
of the grid, and labels have it, as they have one that replaces a setting's. Files are
used where ``data=DIR`` is given; without
it the jobs run on the corpora shipped with the package, and the scale is small. A job's label is
its setting's name and its values of the grid and of typed sweeps, ``DCA, C=0.1``; up to the first
comma it is the setting's name (`structopt.sweep.experiment_plan.setting`). A key whose value maps
names to files has such a mapping: ``features.lists: {towns: gazetteers/towns.txt}``. Files of test
splits are used where they are there. With ``tuning=tail`` values are chosen on the end of the
training file (``tail=0.2``), and the dev file reports: the default at scale=full where there are no
test files. A typed ``seed=`` replaces the plan's.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from structopt.config.overrides import key_of
from structopt.core.data.config_keys import Purpose, ignored
from structopt.core.entry_points import installed
from structopt.errors import ConfigError, did_you_mean
from structopt.sweep.experiment_plan import Plan, product
from structopt.sweep.job_sweeper import MODULE, JobSweeper

if TYPE_CHECKING:
    from structopt.experiment.report import Report, Reporter

GROUP, OLD_GROUP = "experiment", "report"
"""Entry points ``structopt.experiment``, and the group's name before it had that one, which plugins
may still use.
"""


class ExperimentSweeper(JobSweeper):
    """Runs the jobs of an experiment and writes its report.

    Parameters
    ----------
    **plan
        The keys under ``hydra.sweeper``: see the module.
    """

    __module__ = MODULE

    def __init__(self, **plan: Any) -> None:
        self.plan = plan

    def sweep(self, arguments: list[str]) -> Any:
        """Run every job, then write the report beside them and print it.

        Raises
        ------
        ConfigError
            If the experiment's file cannot be read as one, its report is unknown, files are
            missing, or the scale needs data.
        """
        experiment = str(self.config.hydra.runtime.choices.get("experiment") or "the experiment")
        plan = Plan.read(experiment, self.plan)
        reporter = report_of(plan.report)
        data, scale = self.config.data, plan.scale(self.config.scale, self.config.data)
        plan.check_files(data, scale)
        tuning = plan.tuning(self.config.tuning, data, scale)
        jobs = plan.jobs(
            data,
            scale,
            self._always(experiment, arguments, scale, tuning),
            self._typed(arguments),
            tuning,
        )
        returned = self.launch(jobs)
        self._report(reporter, experiment, scale, arguments, len(jobs))
        return returned

    def _always(self, experiment: str, arguments: list[str], scale: str, tuning: str) -> list[str]:
        """Return the overrides with which every job begins."""
        always = [word for word in arguments if key_of(word) == "experiment"] + [
            f"scale={scale}",
            f"tuning={tuning}",
        ]
        always += [word for word in arguments if key_of(word) == "data"]
        return always + (
            [f"tracker.experiment={experiment}"] if self.config.tracker.name == "mlflow" else []
        )

    def _typed(self, arguments: list[str]) -> list[list[tuple[str, str]]]:
        """Return every combination of the typed words: of each word an override, and what it adds
        to the label.
        """
        parsed = OverridesParser.create(
            config_loader=self.hydra_context.config_loader
        ).parse_overrides(arguments)
        without = ignored(Purpose.MULTIPLYING)
        return product(
            [_choices(word) for word in parsed if key_of(word.get_key_element()) not in without]
        )

    def _report(
        self, reporter: Reporter, experiment: str, scale: str, arguments: list[str], jobs: int
    ) -> None:
        from structopt.experiment.configuration import configuration, typed_command
        from structopt.experiment.report import Origin, with_failures, write
        from structopt.run.records import FINISHED, read_sweep

        records = read_sweep(self.folder)
        finished = [record for record in records if record.status == FINISHED]
        if not finished:
            print(
                f"structopt: none of the {jobs} runs came to its end, so there is nothing to "
                "report.",
                file=sys.stderr,
            )
            return
        report = with_failures(
            reporter(finished, scale), [record for record in records if record.status != FINISHED]
        )
        report = replace(report, configuration=configuration(finished))
        seconds = sum(record.metric("train.seconds") or 0.0 for record in finished)
        path = write(
            report,
            self.folder,
            Origin(experiment, scale, typed_command(experiment, arguments), len(finished), seconds),
        )
        print(_shown(report, scale) + f"\nreport: {path}", flush=True)


def report_of(name: str) -> Reporter:
    """Load a report by its name.

    Raises
    ------
    ConfigError
        If no installed package brings it.
    """
    reports = {**installed(OLD_GROUP), **installed(GROUP)}
    if name not in reports:
        raise ConfigError(
            f"hydra.sweeper.report={name}: no installed package has a report of this "
            f"name.{did_you_mean(name, reports)} "
            f"Reports are entry points of the group structopt.{GROUP}: "
            f"{', '.join(sorted(reports))}."
        )
    reporter: Reporter = reports[name].entry_point.load()
    return reporter


def _choices(override: Override) -> list[tuple[str, str]]:
    """Return the overrides that a typed word stands for, each with what it adds to the label; only
    sweeps add to labels.
    """
    if not override.is_sweep_override():
        return [(str(override.input_line), "")]
    if not override.is_discrete_sweep():
        raise ConfigError(
            f"{override.input_line}: an experiment needs values to try, such as KEY=1,2 or "
            "KEY=range(1,5)."
        )
    key = override.get_key_element()
    return [
        (f"{key}={value}", f"{key_of(key).rpartition('.')[2]}={value}")
        for value in override.sweep_string_iterator()
    ]


def _shown(report: Report, scale: str) -> str:
    """Lay out the report for a terminal: tables, of each observation the verdict and its numbers,
    and the criterion.
    """
    from structopt.experiment.noise import CRITERION

    lines = [report.title, *(f"\n{table.text()}" for table in report.tables), ""]
    lines += [f"{claim.verdict:>14}: {claim.text} ({claim.evidence})" for claim in report.claims]
    small = (
        " At scale=small this says nothing about the paper: set data=DIR."
        if scale == "small"
        else ""
    )
    criterion = (
        [f"{report.verdict}.{small}", f"\n{CRITERION.replace('*', '')}"] if report.claims else [""]
    )
    return "\n".join([*lines, *criterion])
