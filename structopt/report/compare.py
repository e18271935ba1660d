"""The command `compare`: finds the runs, and writes, prints and records how they compare."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from structopt.errors import ConfigError, StructoptError, did_you_mean
from structopt.formats.durable_files import write_bytes
from structopt.report import chosen_runs as runs
from structopt.report import comparison_tables, differences, significance
from structopt.report.chosen_runs import Candidate
from structopt.report.mlflow_recording import record
from structopt.report.mlflow_store import Store
from structopt.report.origins import made_task
from structopt.report.significance import Test
from structopt.run import plots
from structopt.run.records import FINISHED

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chosen:
    """Runs of one task, the best first.

    Attributes
    ----------
    runs : list of Candidate
    titles : list of str
        A name for each.
    metric, main : str
        What they are sorted by, and the task's main metric without a part.
    """

    runs: list[Candidate]
    titles: list[str]
    metric: str
    main: str

    @property
    def records(self) -> list[Any]:
        """What the folders tell."""
        return [run.record for run in self.runs]

    @property
    def metrics(self) -> list[str]:
        """Columns of the table."""
        there = [f"{part}.{self.main}" for part in ("dev", "test")]
        shown = [name for name in there if any(one.metric(name) is not None for one in self.records)]
        facts = comparison_tables.FACTS.values()
        return shown if self.metric in (*shown, *facts) else [self.metric, *shown]


def compare(words: Sequence[str], options: Mapping[str, Any]) -> Path:
    """Compare runs; print the table, and return the folder of what was written.

    Parameters
    ----------
    words : sequence of str
        See `structopt.report.chosen_runs.find`.
    options : mapping
        ``experiment``, ``uri``, ``metric``, ``baseline``, ``output`` (empty where not given), ``samples``, ``seed``,
        ``significance``, ``log``.

    Raises
    ------
    ConfigError
        If a run is not there, or runs cannot be compared.
    """
    store = Store(options["uri"])
    output = Path(options["output"] or Path("outputs", "compare", datetime.now().strftime("%Y-%m-%d_%H-%M-%S")))
    if output.exists() and not output.is_dir():
        raise ConfigError(f"output={output}: this is a file. Name a folder; it is made where it is missing.")
    found = runs.find(words, options["experiment"], store, output / "runs")
    chosen = _sorted(_finished(found), options["metric"])
    baseline = _baseline(chosen, options["baseline"])
    made = {"table": comparison_tables.runs_table(chosen.records, chosen.titles, chosen.metrics, 0)}
    if groups := differences.seed_groups(chosen.records):
        made["seeds"] = comparison_tables.seeds_table(chosen.records, groups, chosen.metrics)
    if options["significance"] and (tested := _tested(chosen, baseline, options, store)):
        made["significance"] = tested
    output.mkdir(parents=True, exist_ok=True)
    _write(made, output)
    curve = chosen.metric if chosen.metric.startswith("dev.") else f"dev.{chosen.main}"
    curves = [plots.Curve(title, one.history) for title, one in zip(chosen.titles, chosen.records, strict=True)]
    plots.comparison(curves, output / "learning_curves.png", curve)
    print("\n\n".join(table.markdown() for table in made.values()))
    print(f"\ntables and curves: {output}")
    if options["log"]:
        facts = {"metric": chosen.metric, "baseline": chosen.titles[baseline], "runs": ", ".join(chosen.titles)}
        record(chosen.runs, facts, runs.sweep_of(words), output, options["uri"])
    return output


def _finished(found: Sequence[Candidate]) -> list[Candidate]:
    """The runs that came to an end; the others are told."""
    for run in found:
        if run.record.status != FINISHED or not run.record.metrics:
            why = f" ({run.record.error})" if run.record.error else ""
            log.warning("%s: %s%s, left out.", run.record.folder, run.record.status, why)
    finished = [run for run in found if run.record.status == FINISHED and run.record.metrics]
    if not finished:
        raise ConfigError("None of these runs has finished. A run that was interrupted goes on with: structopt resume=RUN_FOLDER")
    tasks = sorted({str(run.record.setting("task.name")) for run in finished})
    if len(tasks) > 1:
        raise ConfigError(f"These runs are of different tasks ({', '.join(tasks)}), whose scores mean different things.")
    return finished


def _sorted(found: Sequence[Candidate], asked: str) -> Chosen:
    """The runs, the best first by the metric that was asked for; runs without it last."""
    main = _main_metric(found)
    metric = _metric(found, asked, main)
    titles = differences.titles([run.record for run in found])
    sign = 1.0 if comparison_tables.is_lower_better(metric) else -1.0

    def rank(pair: tuple[Candidate, str]) -> tuple[bool, float]:
        value = pair[0].record.metric(metric)
        return value is None, sign * (value or 0.0)

    ranked = sorted(zip(found, titles, strict=True), key=rank)
    return Chosen([run for run, _ in ranked], [title for _, title in ranked], metric, main)


def _main_metric(found: Sequence[Candidate]) -> str:
    """The task's main metric; where runs have none of that name (plain labels have no F1), the first that they have."""
    scores = next((dict(run.record.metrics[part]) for run in found for part in ("test", "dev") if part in run.record.metrics), {})
    name = made_task(found[0].record).main_metric
    return name if name in scores or not scores else next(iter(scores))


def _metric(found: Sequence[Candidate], asked: str, main: str) -> str:
    """The dotted name of the metric to compare by."""
    known = list(dict.fromkeys(f"{part}.{name}" for run in found for part, own in run.record.metrics.items() for name in own))
    wanted = [asked] if "." in asked else [f"{part}.{asked or main}" for part in ("test", "dev")]
    everywhere = [name for name in wanted if all(run.record.metric(name) is not None for run in found)]
    there = everywhere or [name for name in wanted if name in known]
    if asked and not there:
        meant = known if "." in asked else list(dict.fromkeys(name.partition(".")[2] for name in known))
        raise ConfigError(f"metric={asked}: no run has it.{did_you_mean(asked, meant)} Metrics: {', '.join(known)}.")
    return there[0] if there else comparison_tables.FACTS["objective"]


def _baseline(chosen: Chosen, word: str) -> int:
    """Number of the run that others are compared with: the best, where none is named."""
    if not word:
        return 0
    for number, (run, title) in enumerate(zip(chosen.runs, chosen.titles, strict=True)):
        folder = run.record.folder
        names = (title, run.record.name, folder.name, run.run_id, f"runs:/{run.run_id}")
        if word in names or Path(word).resolve() == folder.resolve():
            return number
    known = "; ".join(chosen.titles)
    raise ConfigError(f"baseline={word} is none of the compared runs.{did_you_mean(word, chosen.titles)} Runs: {known}.")


def _tested(chosen: Chosen, baseline: int, options: Mapping[str, Any], store: Store) -> comparison_tables.Table | None:
    """The table of differences to the baseline; None, with a warning, where they cannot be tested."""
    if len(chosen.runs) < 2 or not comparison_tables.is_fraction(chosen.metric):
        return None
    test = Test(chosen.metric, baseline, options["samples"], options["seed"])
    try:
        found = significance.differences(chosen.runs, test, store)
    except StructoptError as error:
        log.warning("no significance: %s", error)
        return None
    caption = (
        f"Differences in {chosen.metric} to {chosen.titles[baseline]}, in points; paired bootstrap over the same "
        f"{test.part} instances, {test.samples} resamples; two-sided p, and corrected by Holm for {len(found)} comparisons."
    )
    return comparison_tables.significance_table({chosen.titles[number]: one for number, one in found.items()}, caption)


def _write(made: Mapping[str, comparison_tables.Table], output: Path) -> None:
    """Write all tables into table.md, and each as CSV."""
    text = "\n\n".join(table.markdown() for table in made.values())
    write_bytes(output / "table.md", f"{text}\n\n![learning curves](learning_curves.png)\n".encode())
    for name, table in made.items():
        write_bytes(output / f"{name}.csv", table.csv().encode())
