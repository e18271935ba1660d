"""The trials of a search: their journal, which all processes of a sweep read and write, and when
hopeless ones are stopped.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from structopt.errors import ConfigError, did_you_mean

JOURNAL = "search.journal"
PRUNED_BY = "pruned: "
"""The beginning of the reason for which a hopeless trial was stopped."""
STUDY, SETTINGS, VERDICT = "search", "settings", "pruned"


def optuna() -> Any:
    """Import optuna and silence it: the search prints its own messages.

    Raises
    ------
    ConfigError
        If it is not installed.
    """
    try:
        import optuna as installed
    except ImportError:
        raise ConfigError(
            "A search needs optuna.",
            remedy="Install it: pip install 'structopt-trainer[sweep]'",
        ) from None
    installed.logging.set_verbosity(installed.logging.ERROR)
    return installed


@contextmanager
def experimental() -> Iterator[None]:
    """Use functions of optuna that some of its versions call experimental, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna().exceptions.ExperimentalWarning)
        yield


def storage(sweep: Path) -> Any:
    """Open the journal of a sweep's folder; it is made where it is missing.

    The journal is a file that is only appended to, under a lock that works on network file systems
    too. Its path is absolute: optuna knows by the path of a lock that the process which held it was
    killed.
    """
    journal = optuna().storages.journal
    return optuna().storages.JournalStorage(
        journal.JournalFileBackend(str(sweep.resolve() / JOURNAL))
    )


class Judge:
    """Reports the scores of a trial after each pass, and decides when it is hopeless.

    Parameters
    ----------
    study : optuna.Study
    trial_id : int
        A trial that is running.
    journal : optuna's storage
        The journal of the study.

    Attributes
    ----------
    verdict : str
        Why the trial is stopped: `PRUNED_BY`, score and pass; empty where it is not. The journal
        keeps it, so that a run which goes on after it was killed is stopped too.
    """

    def __init__(self, study: Any, trial_id: int, journal: Any) -> None:
        self.study, self.trial_id, self.journal = study, trial_id, journal
        self.metric: str = study.user_attrs[SETTINGS]["metric"]
        self.verdict: str = journal.get_trial(trial_id).user_attrs.get(VERDICT, "")

    def __call__(self, row: Mapping[str, float | int | None]) -> str:
        """Report a pass, given as a row of the history, and return why to stop after it, or the
        empty string.

        Raises
        ------
        ConfigError
            If the row lacks the score by which the search judges.
        """
        score, epoch = row.get(self.metric), int(row["epoch"] or 0)
        if score is None:
            name, known = self.metric[4:], [key[4:] for key in row if key.startswith("dev.")]
            near = did_you_mean(name, known)
            raise ConfigError(
                f"hydra.sweeper.metric={name}: the dev split has no such score.{near} Scores: "
                f"{', '.join(known)}."
            )
        self.journal.set_trial_intermediate_value(self.trial_id, epoch, float(score))
        if not self.verdict and self.study.pruner.prune(
            self.study, self.journal.get_trial(self.trial_id)
        ):
            self.verdict = (
                f"{PRUNED_BY}{shown(self.metric, score)} after pass {epoch} is hopeless beside "
                "the other trials"
            )
            self.journal.set_trial_user_attr(self.trial_id, VERDICT, self.verdict)
        return self.verdict


def shown(metric: str, score: float) -> str:
    """Write a score as tables do, in percent: ``dev f1 91.26``."""
    return f"{metric.replace('.', ' ')} {100 * score:.2f}"


def judge(sweep: Path, number: int) -> Judge | None:
    """Return the judge of a job that is a running trial of a search; None for other jobs.

    Parameters
    ----------
    sweep : Path
        The sweep's folder.
    number : int
        The number of the job, which is the trial's too.
    """
    if not (sweep / JOURNAL).is_file():
        return None
    journal = storage(sweep)
    study = optuna().load_study(study_name=STUDY, storage=journal)
    running = optuna().trial.TrialState.RUNNING
    trials = [
        one for one in study.get_trials(deepcopy=False, states=(running,)) if one.number == number
    ]
    if not trials:
        return None
    study.pruner = pruner(study.user_attrs[SETTINGS])
    return Judge(study, trials[0]._trial_id, journal)


def pruner(settings: Mapping[str, Any]) -> Any:
    """Make the pruner that a search was started with.

    ``median`` stops a trial whose best score so far is below the median of the scores that the
    finished trials had after as many passes. ``hyperband`` (Li et al. 2018) divides the trials into
    brackets, which are thinned out to a third, earlier or later.
    """
    pruners = optuna().pruners
    with experimental():
        if settings["pruner"] == "median":
            return pruners.MedianPruner(
                n_startup_trials=settings["startup"], n_warmup_steps=settings["warmup"]
            )
        if settings["pruner"] == "hyperband":
            return pruners.HyperbandPruner(min_resource=max(settings["warmup"], 1))
        return pruners.NopPruner()
