"""Searches for good parameters: random, and Bayesian. Proposals, jobs, scores; what is known is in the sweep's journal."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypedDict

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn, JobStatus
from omegaconf import OmegaConf, open_dict

from structopt.config import composition, feature_keys, schema
from structopt.config.overrides import spelled_out
from structopt.errors import ConfigError
from structopt.run.records import FAILED, FINISHED, KILLED, PRUNED, read_run
from structopt.sweep.findings import best_trial, report
from structopt.sweep.job_sweeper import MODULE, JobSweeper
from structopt.sweep.search_space import read_space
from structopt.sweep.trials import JOURNAL, SETTINGS, STUDY, VERDICT, experimental, optuna, shown, storage

RESUME = "sweep.resume"
FUTILE = 3  # a search that has seen nothing but so many failures ends


class Options(TypedDict):
    """The keys under ``hydra.sweeper``; conf/hydra/sweeper/random.yaml says what they mean."""

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
        self.given = options

    def sampler(self, seed: int, startup: int) -> Any:
        """Return optuna's sampler."""
        raise NotImplementedError

    def sweep(self, arguments: list[str]) -> list[JobReturn]:
        """Run trials until there are as many as asked for; those of an interrupted search count, or go on."""
        if self.given.get("report"):  # the keys of `structopt.sweep.experiment_sweeper`
            raise ConfigError("A search cannot run this experiment, which brings a sweeper of its own. Leave out hydra/sweeper.")
        self.options = _checked(self.given)
        optuna()
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        listed = spelled_out([f"{key}={value}" for key, value in self.options["params"].items()])
        typed = parser.parse_overrides([*listed, *arguments])
        self.resuming = [str(one.input_line) for one in typed if one.get_key_element() == RESUME]
        self.space = read_space([one for one in typed if one.get_key_element() != RESUME])
        self.metric = self._metric()
        self.study = self._study()
        jobs: list[JobReturn] = []
        for batch in self._batches():
            jobs += self._run(batch)
            if self._futile():
                print(f"search: all of {len(jobs)} trials failed, so it ends here. Their errors say what to mend.", flush=True)
                break
        report(self.study, self.space, self.folder, self.metric)
        return jobs

    def _metric(self) -> str:
        """Return the dotted name of the score to look at, after one point of the space was composed and checked."""
        point = self.hydra_context.config_loader.load_sweep_config(self.config, self.space.first())
        with open_dict(point):
            del point["hydra"]
        config = composition.validate(composition.resolved(point))
        task = feature_keys.task_of(config)
        if "dev" not in task.files:
            raise ConfigError("A search looks at the score of the dev part. Give task.dev.")
        return f"dev.{(self.options['metric'] or task.main_metric).removeprefix('dev.')}"

    def _study(self) -> Any:
        """Open the study in the folder's journal where the sweep is resumed, else begin one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not OmegaConf.select(self.config, RESUME):
            (self.folder / JOURNAL).unlink(missing_ok=True)
        settings = {**self.options, **self.space.described(), "metric": self.metric}
        study = optuna().create_study(
            storage=storage(self.folder), study_name=STUDY, direction=self.options["direction"], load_if_exists=True
        )
        before = study.user_attrs.get(SETTINGS, settings)
        for key in ("fixed", "free", "metric", "direction"):
            if before[key] != settings[key]:
                raise ConfigError(
                    f"{self.folder}: the search in this folder has other values of what is searched, or for what. "
                    "Go on with its own command, or start in a new folder."
                )
        study.set_user_attr(SETTINGS, settings)
        return study

    def _batches(self) -> Iterator[list[Any]]:
        """Yield the trials that a killed search left running, then new ones."""
        size = self.options["batch"] or self._side_by_side()
        running = optuna().trial.TrialState.RUNNING
        left = self.study.get_trials(states=(running,))
        yield from (left[i : i + size] for i in range(0, len(left), size))
        while (done := len(self.study.get_trials(deepcopy=False))) < self.options["trials"]:
            asked = [self._ask(number) for number in range(done, min(done + size, self.options["trials"]))]
            yield [trial for trial in asked if not self._repeats(trial)]

    def _side_by_side(self) -> int:
        """Return how many jobs the launcher runs at a time, as far as it says so."""
        jobs = self.config.hydra.launcher.get("n_jobs") or 1
        return max(1, jobs if jobs > 0 else (os.cpu_count() or 1) + 1 + jobs)

    def _ask(self, number: int) -> Any:
        """Draw a trial; its seed is of the search and the number, so that one that was interrupted goes on as it would have."""
        from numpy.random import SeedSequence  # takes long to import, and every command reads this module

        seed = int(SeedSequence([self.options["seed"], number]).generate_state(1)[0])
        with experimental():
            self.study.sampler = self.sampler(seed, self.options["startup"])
        return self.study.ask(dict(self.space.free))

    def _repeats(self, trial: Any) -> bool:
        """Tell the score of a trial that was run before with the same values: training again would give the same."""
        complete = optuna().trial.TrialState.COMPLETE
        words = self.space.overrides(trial.params)
        for earlier in self.study.get_trials(deepcopy=False, states=(complete,)):
            if self.space.overrides(earlier.params) == words:
                self.study.tell(trial.number, earlier.value)
                print(f"trial {trial.number}: as trial {earlier.number}, {shown(self.metric, earlier.value)}", flush=True)
                return True
        return False

    def _run(self, batch: Sequence[Any]) -> list[JobReturn]:
        """Launch trials, those of successive numbers together, and tell the study what came of them."""
        jobs: list[JobReturn] = []
        for group in _successive(batch):
            words = [[*self.resuming, *self.space.overrides(trial.params)] for trial in group]
            launched = self.launch(words, group[0].number)
            for trial, job in zip(group, launched, strict=True):
                self._tell(trial.number, job)
            jobs += launched
        return jobs

    def _tell(self, number: int, job: JobReturn) -> None:
        """Tell the study how a trial ended; one that was killed goes on when the search does."""
        states = optuna().trial.TrialState
        answer = job.return_value if job.status == JobStatus.COMPLETED else {"status": FAILED}
        stopped = VERDICT in self.study.get_trials(deepcopy=False)[number].user_attrs
        if answer["status"] == KILLED:
            return
        if answer["status"] == FINISHED and not stopped and (score := self._score(number)) is not None:
            self.study.tell(number, score)
        else:
            self.study.tell(number, state=states.PRUNED if answer["status"] in (FINISHED, PRUNED) and stopped else states.FAIL)
        best = best_trial(self.study)
        if best is not None and best.number == number:
            print(f"best so far: trial {number}, {shown(self.metric, best.value)}", flush=True)

    def _score(self, number: int) -> float | None:
        """Return the score of a trial that came to an end."""
        return read_run(self.folder / str(number)).metric(self.metric)

    def _futile(self) -> bool:
        """Whether there are some trials and all of them failed."""
        states = [trial.state for trial in self.study.get_trials(deepcopy=False)]
        return len(states) >= FUTILE and set(states) == {optuna().trial.TrialState.FAIL}


class RandomSearch(Search):
    """Draws the parameters of every trial evenly from the space (Bergstra and Bengio 2012)."""

    __module__ = MODULE

    def sampler(self, seed: int, startup: int) -> Any:
        """Return optuna's sampler."""
        return optuna().samplers.RandomSampler(seed=seed)


class BayesianSearch(Search):
    """Draws the parameters of a trial where the trials before were good, by Parzen estimators (TPE, Bergstra et al. 2011).

    The parameters are modelled together, and trials that still run count as bad ones, so that a batch spreads.
    """

    __module__ = MODULE

    def sampler(self, seed: int, startup: int) -> Any:
        """Return optuna's sampler."""
        make = optuna().samplers.TPESampler
        return make(seed=seed, n_startup_trials=startup, multivariate=True, constant_liar=True)


def _checked(given: dict[str, Any]) -> Options:
    """Check types and ranges of the options."""
    options: Options = schema.coerce("hydra.sweeper", given, Options)
    for key, lowest in LOWEST.items():
        value = given[key]
        if value is not None and value < lowest:
            raise ConfigError(f"hydra.sweeper.{key}={value} is too small: at least {lowest}.")
    return options


def _successive(batch: Sequence[Any]) -> list[list[Any]]:
    """Part trials into groups whose numbers follow each other, as a launcher counts them."""
    groups: list[list[Any]] = []
    for trial in batch:
        if groups and groups[-1][-1].number == trial.number - 1:
            groups[-1].append(trial)
        else:
            groups.append([trial])
    return groups
