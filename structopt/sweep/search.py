"""Searches for good parameters, random and Bayesian: trials are proposed, run as jobs and scored; a
journal keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypedDict

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn, JobStatus
from omegaconf import OmegaConf, open_dict

from structopt.config import feature_keys, saved_config, schema, validation
from structopt.config.overrides import spelled_out
from structopt.core.data.config_keys import RESUME_SWEEP
from structopt.core.data.splits import with_tail
from structopt.errors import ConfigError
from structopt.process.cores import cores
from structopt.progress import console
from structopt.run.records import FAILED, FINISHED, KILLED, PRUNED, read_run
from structopt.sweep.job_sweeper import MODULE, JobSweeper
from structopt.sweep.search_trials import (
    JOURNAL,
    SETTINGS,
    STUDY,
    VERDICT,
    experimental,
    optuna,
    shown,
    storage,
)

MOST_FAILURES = 3  # after so many trials, all of which failed, a search ends


class Options(TypedDict):
    """The keys under ``hydra.sweeper``, which conf/hydra/sweeper/random.yaml explains."""

    trials: int
    batch: int | None
    seed: int
    metric: str | None
    direction: Literal["maximize", "minimize"]
    pruner: Literal["none", "median", "hyperband"]
    warmup: int
    startup: int
    params: dict[str, str | int | float | bool]


LOWEST = {"trials": 1, "batch": 1, "seed": 0, "warmup": 0, "startup": 1}


class Search(JobSweeper):
    """A sweep whose jobs are the trials of a search: trial and job have the same number.

    Parameters
    ----------
    **options
        See `Options`.
    """

    __module__ = MODULE

    def __init__(self, **options: Any) -> None:
        self.unchecked = options

    def sampler(self, seed: int, startup: int) -> Any:
        """Return optuna's sampler."""
        raise NotImplementedError

    def sweep(self, arguments: list[str]) -> list[JobReturn]:
        """Run trials until there are as many as asked for; those of an interrupted search count, or
        go on.
        """
        from structopt.sweep.search_report import report
        from structopt.sweep.search_space import read_space

        if self.unchecked.get("report"):  # the keys of `structopt.sweep.experiment_sweeper`
            raise ConfigError(
                "A search cannot run this experiment, which brings a sweeper of its own.",
                remedy="Leave out hydra/sweeper.",
            )
        self.options = _checked(self.unchecked)
        optuna()
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        params = spelled_out([f"{key}={value}" for key, value in self.options["params"].items()])
        typed = parser.parse_overrides([*params, *arguments])
        self.resuming = [
            str(one.input_line) for one in typed if one.get_key_element() == RESUME_SWEEP
        ]
        self.space = read_space([one for one in typed if one.get_key_element() != RESUME_SWEEP])
        self.metric = self._metric()
        self.study = self._study()
        jobs: list[JobReturn] = []
        for batch in self._batches():
            jobs += self._run(batch)
            if self._all_failed():
                print(
                    f"search: all of {len(jobs)} trials failed, so it ends here. Their errors "
                    "say what to mend.",
                    flush=True,
                )
                break
        report(self.study, self.space, self.folder, self.metric)
        return jobs

    def _metric(self) -> str:
        """Return the dotted name of the score that is sought, after one point of the space was
        composed and checked.
        """
        point = self.hydra_context.config_loader.load_sweep_config(self.config, self.space.first())
        with open_dict(point):
            del point["hydra"]
        config = validation.validate(saved_config.resolved(point))
        task = feature_keys.task_of(config)
        if "dev" not in with_tail(task.files, config.get("tail")):
            raise ConfigError(
                "A search looks at the score of the dev split.",
                remedy="Give task.dev.",
            )
        return f"dev.{(self.options['metric'] or task.main_metric).removeprefix('dev.')}"

    def _study(self) -> Any:
        """Open the study in the folder's journal where the sweep is resumed, else begin one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not OmegaConf.select(self.config, RESUME_SWEEP):
            (self.folder / JOURNAL).unlink(missing_ok=True)
        settings = {**self.options, **self.space.described(), "metric": self.metric}
        study = optuna().create_study(
            storage=storage(self.folder),
            study_name=STUDY,
            direction=self.options["direction"],
            load_if_exists=True,
        )
        before = study.user_attrs.get(SETTINGS, settings)
        for key in ("fixed", "free", "metric", "direction"):
            if before[key] != settings[key]:
                raise ConfigError(
                    "the search in this folder has another space, metric or direction. Go "
                    "on with its own command, or start in a new folder.",
                    where=str(self.folder),
                )
        study.set_user_attr(SETTINGS, settings)
        return study

    def _batches(self) -> Iterator[list[Any]]:
        """Yield the trials that a killed search left running, then new ones."""
        size = self.options["batch"] or self._side_by_side()
        running = optuna().trial.TrialState.RUNNING
        unfinished = self.study.get_trials(states=(running,))
        yield from (unfinished[i : i + size] for i in range(0, len(unfinished), size))
        while (done := len(self.study.get_trials(deepcopy=False))) < self.options["trials"]:
            proposed = [
                self._propose(number)
                for number in range(done, min(done + size, self.options["trials"]))
            ]
            yield [trial for trial in proposed if not self._repeats(trial)]

    def _side_by_side(self) -> int:
        """Return how many jobs the launcher runs at a time: its ``n_jobs``, 1 where it has none."""
        jobs = self.config.hydra.launcher.get("n_jobs") or 1
        return max(1, jobs if jobs > 0 else cores() + 1 + jobs)

    def _propose(self, number: int) -> Any:
        """Draw a trial by a seed of the search's and its number, so that an interrupted search
        draws what it would have drawn.
        """
        # takes long to import, and --help imports this module
        from numpy.random import SeedSequence

        seed = int(SeedSequence([self.options["seed"], number]).generate_state(1)[0])
        with experimental():
            self.study.sampler = self.sampler(seed, self.options["startup"])
        return self.study.ask(dict(self.space.free))

    def _repeats(self, trial: Any) -> bool:
        """Score a trial whose values an earlier one had, as that one was: training would repeat it.
        Return whether it was so.
        """
        complete = optuna().trial.TrialState.COMPLETE
        words = self.space.overrides(trial.params)
        for earlier in self.study.get_trials(deepcopy=False, states=(complete,)):
            if self.space.overrides(earlier.params) == words:
                self.study.tell(trial.number, earlier.value)
                console.say(
                    f"trial {trial.number}: as trial {earlier.number}, "
                    f"{shown(self.metric, earlier.value)}"
                )
                return True
        return False

    def _run(self, batch: Sequence[Any]) -> list[JobReturn]:
        """Launch trials, those of successive numbers together, and record in the study how they
        ended.
        """
        jobs: list[JobReturn] = []
        for group in _successive(batch):
            words = [[*self.resuming, *self.space.overrides(trial.params)] for trial in group]
            launched = self.launch(words, group[0].number)
            for trial, job in zip(group, launched, strict=True):
                self._record(trial.number, job)
            jobs += launched
        return jobs

    def _record(self, number: int, job: JobReturn) -> None:
        """Record in the study how a trial ended; one that was killed goes on when the search
        does.
        """
        from structopt.sweep.search_report import best_trial

        states = optuna().trial.TrialState
        answer = job.return_value if job.status == JobStatus.COMPLETED else {"status": FAILED}
        stopped = VERDICT in self.study.get_trials(deepcopy=False)[number].user_attrs
        if answer["status"] == KILLED:
            return
        if (
            answer["status"] == FINISHED
            and not stopped
            and (score := self._score(number)) is not None
        ):
            self.study.tell(number, score)
        else:
            self.study.tell(
                number,
                state=states.PRUNED
                if answer["status"] in (FINISHED, PRUNED) and stopped
                else states.FAIL,
            )
        best = best_trial(self.study)
        if best is not None and best.number == number:
            console.say(f"best so far: trial {number}, {shown(self.metric, best.value)}")

    def _score(self, number: int) -> float | None:
        """Return the score of a trial that came to an end."""
        return read_run(self.folder / str(number)).metric(self.metric)

    def _all_failed(self) -> bool:
        """Whether there are some trials and all of them failed."""
        states = [trial.state for trial in self.study.get_trials(deepcopy=False)]
        return len(states) >= MOST_FAILURES and set(states) == {optuna().trial.TrialState.FAIL}


class RandomSearch(Search):
    """Draws the parameters of every trial evenly from the space (Bergstra and Bengio 2012)."""

    __module__ = MODULE

    def sampler(self, seed: int, startup: int) -> Any:
        """Return optuna's sampler."""
        return optuna().samplers.RandomSampler(seed=seed)


class BayesianSearch(Search):
    """Draws the parameters of a trial where the trials before were good, by Parzen estimators (TPE,
    Bergstra et al. 2011).

    The parameters are modelled together, and trials that still run count as bad ones, so that a
    batch spreads.
    """

    __module__ = MODULE

    def sampler(self, seed: int, startup: int) -> Any:
        """Return optuna's sampler."""
        make = optuna().samplers.TPESampler
        return make(seed=seed, n_startup_trials=startup, multivariate=True, constant_liar=True)


def _checked(unchecked: dict[str, Any]) -> Options:
    """Check types and ranges of the options."""
    options: Options = schema.coerce("hydra.sweeper", unchecked, Options)
    for key, lowest in LOWEST.items():
        value = unchecked[key]
        if value is not None and value < lowest:
            raise ConfigError(
                f"must be at least {lowest}.", parameter=f"hydra.sweeper.{key}", value=value
            )
    return options


def _successive(batch: Sequence[Any]) -> list[list[Any]]:
    """Divide trials into groups whose numbers follow each other: a launcher numbers jobs one by
    one.
    """
    groups: list[list[Any]] = []
    for trial in batch:
        if groups and groups[-1][-1].number == trial.number - 1:
            groups[-1].append(trial)
        else:
            groups.append([trial])
    return groups
