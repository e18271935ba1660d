"""Several runs compared: found, sorted, held against a baseline, and the comparison written and
recorded.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from structopt.errors import ConfigError, StructoptError, did_you_mean
from structopt.formats.durable_files import write_bytes
from structopt.report import (
    chosen_runs,
    comparison_tables,
    differences,
    learning_curves,
    significance,
)
from structopt.report.chosen_runs import Candidate
from structopt.report.mlflow_recording import record
from structopt.report.mlflow_store import Store
from structopt.report.origins import task_of
from structopt.report.significance import Test
from structopt.run.records import FINISHED, RunRecord

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chosen:
    """Settings of one task, the best first; runs of a setting differ in their seed only.

    Attributes
    ----------
    settings : list of list of Candidate
    titles : list of str
        A name for each setting.
    metric, main : str
        What they are sorted by, such as ``test.f1``, and the task's main metric without its split.
    """

    settings: list[list[Candidate]]
    titles: list[str]
    metric: str
    main: str

    @property
    def runs(self) -> list[Candidate]:
        """The runs of all settings."""
        return [run for runs in self.settings for run in runs]

    @property
    def records(self) -> list[RunRecord]:
        """The runs as their folders record them."""
        return [run.record for run in self.runs]

    @property
    def groups(self) -> list[list[int]]:
        """The numbers of the runs of each setting."""
        numbers = iter(range(len(self.runs)))
        return [[next(numbers) for _ in runs] for runs in self.settings]

    @property
    def metrics(self) -> list[str]:
        """Columns of the table."""
        names = [f"{split}.{self.main}" for split in ("dev", "test")]
        shown = [
            name
            for name in names
            if any(record.metric(name) is not None for record in self.records)
        ]
        facts = comparison_tables.FACTS.values()
        return shown if self.metric in (*shown, *facts) else [self.metric, *shown]


@dataclass(frozen=True)
class Comparison:
    """A comparison of runs.

    Attributes
    ----------
    chosen : Chosen
    baseline : int
        Number of the setting that the others are compared with.
    tables : mapping of name to Table
    folder : Path
        The folder in which tables and learning curves were written.
    """

    chosen: Chosen
    baseline: int
    tables: Mapping[str, comparison_tables.Table]
    folder: Path

    def markdown(self) -> str:
        """Return the tables in Markdown."""
        return "\n\n".join(table.markdown() for table in self.tables.values())

    def record(self, sweep: Path | None, uri: str) -> None:
        """Record the comparison beside runs that are tracked; see
        `structopt.report.mlflow_recording.record`.
        """
        titles = self.chosen.titles
        facts = {
            "metric": self.chosen.metric,
            "baseline": titles[self.baseline],
            "runs": ", ".join(titles),
        }
        record(self.chosen.runs, facts, sweep, self.folder, uri)


def compare(words: Sequence[str], options: Mapping[str, Any]) -> Comparison:
    """Compare runs, and write tables and learning curves.

    Parameters
    ----------
    words : sequence of str
        See `structopt.report.chosen_runs.find`.
    options : mapping
        ``experiment``, ``uri``, ``metric``, ``baseline``, ``output`` (empty where not typed),
        ``samples``, ``seed``, ``significance``.

    Raises
    ------
    ConfigError
        If a run is missing, or runs cannot be compared.
    """
    store = Store(options["uri"])
    output = Path(
        options["output"]
        or Path("outputs", "compare", datetime.now().strftime("%Y-%m-%d_%H-%M-%S"))
    )
    if output.exists() and not output.is_dir():
        raise ConfigError(
            "is a file.",
            parameter="output",
            value=options["output"],
            remedy="Set output to a folder; compare creates it if it does not exist.",
        )
    candidates = chosen_runs.find(words, options["experiment"], store, output / "runs")
    chosen = _sorted(_finished(candidates), options["metric"])
    baseline = _baseline(chosen, options["baseline"])
    comparison = Comparison(chosen, baseline, _tables(chosen, baseline, options, store), output)
    output.mkdir(parents=True, exist_ok=True)
    _write(comparison)
    return comparison


def _tables(
    chosen: Chosen, baseline: int, options: Mapping[str, Any], store: Store
) -> dict[str, comparison_tables.Table]:
    """Return the tables by name: of the settings, and of differences to the baseline, if there are
    any.
    """
    table = comparison_tables.settings_table(
        chosen.records, chosen.groups, chosen.titles, chosen.metrics
    )
    if len(chosen.settings) > 1:
        mean = "mean " if any(len(runs) > 1 for runs in chosen.settings) else ""
        why = (
            f"set by baseline={options['baseline']}"
            if options["baseline"]
            else f"the best {mean}{chosen.metric}; baseline=RUN selects another one"
        )
        caption = f"{table.caption} Baseline: {chosen.titles[baseline]} ({why})."
        table = replace(table, caption=caption)
    tables = {"table": table}
    if options["significance"] and (tested := _tested(chosen, baseline, options, store)):
        tables["significance"] = tested
    return tables


def _finished(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the runs that came to an end, and warn of the others."""
    for run in candidates:
        if run.record.status != FINISHED or not run.record.metrics:
            why = f" ({run.record.error})" if run.record.error else ""
            log.warning("%s: %s%s, left out.", run.record.folder, run.record.status, why)
    finished = [run for run in candidates if run.record.status == FINISHED and run.record.metrics]
    if not finished:
        raise ConfigError(
            "None of these runs has finished.",
            remedy="Resume an interrupted run with: structopt resume=RUN_FOLDER",
        )
    tasks = sorted({str(run.record.setting("task.name")) for run in finished})
    if len(tasks) > 1:
        raise ConfigError(
            f"These runs are of different tasks ({', '.join(tasks)}), whose scores cannot be "
            "compared.",
            remedy="Name runs of one task.",
        )
    return finished


def _sorted(runs: Sequence[Candidate], asked: str) -> Chosen:
    """Return the settings of the runs, the best mean of the metric that was asked for first;
    settings without it last.
    """
    main = _main_metric(runs)
    metric = _metric(runs, asked, main)
    records = [run.record for run in runs]
    groups = differences.setting_groups(records)
    titles = differences.setting_titles(records, groups)
    sign = 1.0 if comparison_tables.is_lower_better(metric) else -1.0

    def rank(pair: tuple[list[int], str]) -> tuple[bool, float]:
        values = [records[number].metric(metric) for number in pair[0]]
        known = [value for value in values if value is not None]
        return not known, sign * fmean(known or [0.0])

    ranked = sorted(zip(groups, titles, strict=True), key=rank)
    settings = [[runs[number] for number in group] for group, _ in ranked]
    return Chosen(settings, [title for _, title in ranked], metric, main)


def _main_metric(runs: Sequence[Candidate]) -> str:
    """Return the task's main metric; where runs have none of that name (plain labels have no F1),
    the first that they have.
    """
    metrics = [run.record.metrics for run in runs]
    scores = next(
        (dict(one[split]) for one in metrics for split in ("test", "dev") if split in one), {}
    )
    name = task_of(runs[0].record).main_metric
    return name if name in scores or not scores else next(iter(scores))


def _metric(runs: Sequence[Candidate], asked: str, main: str) -> str:
    """Return the dotted name of the metric to compare by."""
    pairs = [
        (split, name)
        for run in runs
        for split, scores in run.record.metrics.items()
        for name in scores
    ]
    known = list(dict.fromkeys(f"{split}.{name}" for split, name in pairs))
    wanted = [asked] if "." in asked else [f"{split}.{asked or main}" for split in ("test", "dev")]
    everywhere = [
        name for name in wanted if all(run.record.metric(name) is not None for run in runs)
    ]
    available = everywhere or [name for name in wanted if name in known]
    if asked and not available:
        candidates = (
            known if "." in asked else list(dict.fromkeys(name.partition(".")[2] for name in known))
        )
        raise ConfigError(
            f"is not a metric of any run.{did_you_mean(asked, candidates)}",
            parameter="metric",
            value=asked,
            remedy=f"Metrics: {', '.join(known)}.",
        )
    return available[0] if available else comparison_tables.FACTS["objective"]


def _baseline(chosen: Chosen, word: str) -> int:
    """Return the number of the setting that others are compared with: the one that the word names,
    with a run that it names; the best without a word.
    """
    if not word:
        return 0
    runs, titles = chosen.runs, differences.titles(chosen.records)
    for number, group in enumerate(chosen.groups):
        for run, title in ((runs[index], titles[index]) for index in group):
            folder = run.record.folder
            names = (title, run.record.name, folder.name, run.run_id, f"runs:/{run.run_id}")
            if word in (chosen.titles[number], *names) or Path(word).resolve() == folder.resolve():
                return number
    known = "; ".join(chosen.titles)
    raise ConfigError(
        f"is not one of the compared runs.{did_you_mean(word, chosen.titles)}",
        parameter="baseline",
        value=word,
        remedy=f"Runs: {known}.",
    )


def _tested(
    chosen: Chosen, baseline: int, options: Mapping[str, Any], store: Store
) -> comparison_tables.Table | None:
    """Return the table of differences to the baseline; None, with a warning, where they cannot be
    tested.
    """
    if len(chosen.settings) < 2 or not comparison_tables.is_fraction(chosen.metric):
        return None
    test = Test(chosen.metric, baseline, options["samples"], options["seed"])
    try:
        tested = significance.differences(chosen.settings, test, store)
    except StructoptError as error:
        log.warning("no significance: %s", error)
        return None
    caption = (
        f"Differences in {chosen.metric} to {chosen.titles[baseline]}, in points; paired "
        "bootstrap over the same "
        f"{test.split} instances, {test.samples} resamples; two-sided p, and corrected by Holm "
        f"for {len(tested)} comparisons."
    )
    if any(len(runs) > 1 for runs in chosen.settings):
        caption += " Scores are means over seeds, whose spread is not part of the intervals."
    return comparison_tables.significance_table(
        {chosen.titles[number]: result for number, result in tested.items()}, caption
    )


def _write(comparison: Comparison) -> None:
    """Write all tables into table.md, each as CSV, and the learning curves."""
    folder, chosen = comparison.folder, comparison.chosen
    write_bytes(
        folder / "table.md",
        f"{comparison.markdown()}\n\n![learning curves](learning_curves.png)\n".encode(),
    )
    tables = dict(comparison.tables)
    if len(chosen.runs) > len(chosen.settings):
        single = [[number] for number in range(len(chosen.runs))]
        titles = differences.titles(chosen.records)
        tables["runs"] = comparison_tables.settings_table(
            chosen.records, single, titles, chosen.metrics
        )
    for name, table in tables.items():
        write_bytes(folder / f"{name}.csv", table.csv().encode())
    metric = chosen.metric if chosen.metric.startswith("dev.") else f"dev.{chosen.main}"
    learning_curves.draw(chosen.records, folder / "learning_curves.png", metric)
