"""Searches: spaces, draws, scores, the pruning of trials, and the report."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from math import log10
from pathlib import Path
from typing import Any

import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn, JobStatus
from omegaconf import OmegaConf

from structopt.command import main
from structopt.config import composition, validation
from structopt.errors import ConfigError
from structopt.run import history, stages
from structopt.sweep import search_report, search_trials
from structopt.sweep.job_sweeper import JobSweeper
from structopt.sweep.search_space import read_space

pytestmark = pytest.mark.nightly("sweeps")

optuna = pytest.importorskip("optuna")
SPACE = (
    "optimizer.C=tag(log,interval(0.001,10))",
    "loss.beta=choice(1,3,inf)",
    "loss.gamma=range(0,6)",
)
COMMON = ("--multirun", "tracker=none", "task=ner")


def space(*words: str) -> Any:
    return read_space(OverridesParser.create().parse_overrides(list(words)))


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("a=interval(0,2)", {"low": 0.0, "high": 2.0, "log": False, "step": None}),
        ("a=tag(log,interval(0.01,10))", {"low": 0.01, "high": 10.0, "log": True, "step": None}),
        ("a=int(interval(1,8))", {"low": 1, "high": 8, "log": False, "step": 1}),
        ("a=int(tag(log,interval(1,64)))", {"low": 1, "high": 64, "log": True, "step": 1}),
        ("a=range(0,6)", {"low": 0, "high": 5, "log": False, "step": 1}),
        ("a=range(9,0,-3)", {"low": 3, "high": 9, "log": False, "step": 3}),
        ("a=tag(log,range(1,9))", {"low": 1, "high": 8, "log": True, "step": 1}),
        ("a=range(0.5,2,0.5)", {"low": 0.5, "high": 1.5, "log": False, "step": 0.5}),
        ("a=choice(1,3,inf)", {"choices": ("1", "3", "inf")}),
        ("a=1,3,1", {"choices": ("1", "3")}),
        ("optimizer=dca,sgd", {"choices": ("dca", "sgd")}),
        ("a='x, y',null", {"choices": ("'x, y'", "null")}),
    ],
)
def test_space(word: str, expected: dict[str, Any]) -> None:
    drawn = space("task=ner", word)
    (distribution,) = drawn.free.values()
    assert distribution._asdict() == expected
    assert type(distribution).__name__.startswith("Int") == isinstance(expected.get("low"), int)
    assert drawn.fixed == ("task=ner",)


def test_overrides_are_what_one_types() -> None:
    drawn = space("label=x", "a=interval(0,1)", "a=interval(0,2)", "b=1,inf", "+c=range(0,9)")
    values = {"a": 1 / 3, "b": "inf", "+c": 4}
    assert drawn.overrides(values) == ["label=x", "a=0.333333", "b=inf", "+c=4"]
    assert drawn.free["a"].high == 2  # of a key that is typed twice the later counts
    assert space(*drawn.overrides(values)[:3], "d=0,1").fixed == ("label=x", "a=0.333333", "b=inf")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("a=range(3,3)", "the range is empty"),
        ("a=tag(log,range(1,9,2))", "a log scale takes whole numbers above 0 in steps of 1"),
        ("a=tag(log,choice(1,2))", "a choice has no scale"),
    ],
)
def test_spaces_that_are_refused(word: str, message: str) -> None:
    with pytest.raises(ConfigError, match="(?s)" + message.replace("(", r"\(")):
        space("task=ner", word)


# Searches whose jobs are answered here, without any training.


def good_near(words: list[str]) -> dict[str, Any]:
    """A score that is best at C = 0.1, gamma = 3."""
    value = {
        word.partition("=")[0]: float(word.partition("=")[2])
        for word in words
        if word.startswith(("opt", "loss.g"))
    }
    score = (
        0.9
        - 0.1 * (log10(value["optimizer.C"]) + 1) ** 2
        - 0.02 * (value.get("loss.gamma", 3) - 3) ** 2
    )
    return {"status": "FINISHED", "score": score}


class Jobs:
    """Stands in for the launcher: answers jobs by a function, and keeps what was asked."""

    def __init__(self, answer: Callable[[list[str]], dict[str, Any]] = good_near) -> None:
        self.answer, self.batches = answer, []
        self.launched: dict[int, list[str]] = {}

    def launch(self, sweeper: JobSweeper, jobs: list[list[str]], first: int = 0) -> list[JobReturn]:
        self.batches.append((first, len(jobs)))
        return [
            self._run(sweeper.folder / str(first + i), first + i, job) for i, job in enumerate(jobs)
        ]

    def _run(self, folder: Path, number: int, words: list[str]) -> JobReturn:
        self.launched[number] = words
        answer = self.answer(words)
        folder.mkdir(exist_ok=True)
        facts = {
            "number": number,
            "overrides": words,
            "config": {"label": None},
            "status": answer["status"],
            "mendable": True,
        }
        (folder / "job.json").write_text(json.dumps(facts))
        (folder / "metrics.json").write_text(
            json.dumps({"dev": {"f1": answer["score"], "recall": 0.5}})
        )
        return JobReturn(status=JobStatus.COMPLETED, _return_value=answer)


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Jobs]]:
    """Run a search in ``tmp_path/folder`` and return its jobs."""
    monkeypatch.chdir(tmp_path)
    # the picture is looked at below
    monkeypatch.setattr(search_report, "_draw", lambda *args: None)

    def run(
        *words: str,
        sweeper: str = "random",
        folder: str = "s",
        jobs: Jobs | None = None,
        code: int = 0,
    ) -> Jobs:
        answered = jobs or Jobs()
        monkeypatch.setattr(JobSweeper, "launch", lambda *args: answered.launch(*args))
        assert (
            main.main([*COMMON, f"hydra/sweeper={sweeper}", f"hydra.sweep.dir={folder}", *words])
            == code
        )
        return answered

    yield run
    GlobalHydra.instance().clear()


def states(folder: str) -> list[str]:
    study = optuna.load_study(
        study_name=search_trials.STUDY, storage=search_trials.storage(Path(folder))
    )
    return [trial.state.name for trial in study.trials]


@pytest.mark.parametrize("sweeper", ["random", "bayesian"])
def test_the_same_seed_proposes_the_same(search: Callable[..., Jobs], sweeper: str) -> None:
    words = ("hydra.sweeper.trials=7", "hydra.sweeper.startup=3", *SPACE)
    first, again = (search(*words, sweeper=sweeper, folder=folder) for folder in ("a", "b"))
    other = search(*words, "hydra.sweeper.seed=1", sweeper=sweeper, folder="c")
    assert first.launched == again.launched
    assert first.launched != other.launched
    assert first.batches == [(number, 1) for number in range(7)]
    assert len({tuple(words) for words in first.launched.values()}) == 7


def test_bayesian_search_draws_where_trials_were_good(search: Callable[..., Jobs]) -> None:
    words = ("hydra.sweeper.trials=30", *SPACE[::2])
    means = {}
    for sweeper in ("random", "bayesian"):
        launched = search(*words, sweeper=sweeper, folder=sweeper).launched
        late = [good_near(launched[number])["score"] for number in launched if number >= 15]
        means[sweeper] = sum(late) / len(late)
    assert means["bayesian"] > means["random"] + 0.05


def test_batches_failures_and_other_metrics(
    search: Callable[..., Jobs], capsys: pytest.CaptureFixture[str]
) -> None:
    def some_fail(words: list[str]) -> dict[str, Any]:
        return {"status": "FAILED", "score": None} if "loss.beta=inf" in words else good_near(words)

    jobs = search(
        "hydra.sweeper.trials=8", "hydra.sweeper.batch=3", *SPACE, jobs=Jobs(some_fail), code=2
    )
    assert jobs.batches == [(0, 3), (3, 3), (6, 2)]
    failed = [number for number, words in jobs.launched.items() if "loss.beta=inf" in words]
    assert 0 < len(failed) < 8
    assert [number for number, state in enumerate(states("s")) if state == "FAIL"] == failed
    finished = {
        number: good_near(words)["score"]
        for number, words in jobs.launched.items()
        if number not in failed
    }
    best = OmegaConf.load("s/best.yaml")
    assert (best.trial, best.score) == max(finished.items(), key=lambda pair: pair[1])
    assert (
        f"search: 8 trials, {8 - len(failed)} finished, {len(failed)} failed"
        in capsys.readouterr().out
    )
    search("hydra.sweeper.trials=2", "hydra.sweeper.metric=dev.recall", *SPACE, folder="recall")
    assert (
        OmegaConf.load("recall/best.yaml").metric,
        OmegaConf.load("recall/best.yaml").score,
    ) == ("dev.recall", 0.5)


def test_smallest_score_and_a_folder_used_before(search: Callable[..., Jobs]) -> None:
    jobs = search("hydra.sweeper.trials=5", "hydra.sweeper.direction=minimize", *SPACE, folder="s")
    assert (
        search(
            "hydra.sweeper.trials=5", "hydra.sweeper.direction=minimize", *SPACE, folder="s"
        ).launched
        == jobs.launched
    )
    assert OmegaConf.load("s/best.yaml").score == min(
        good_near(words)["score"] for words in jobs.launched.values()
    )


def test_a_search_in_which_all_fails_ends(
    search: Callable[..., Jobs], capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(words: list[str]) -> dict[str, Any]:
        return {"status": "FAILED", "score": None}

    jobs = search("hydra.sweeper.trials=50", *SPACE, jobs=Jobs(fail), code=2)
    assert len(jobs.launched) == 3
    assert "all of 3 trials failed" in capsys.readouterr().out
    assert not Path("s/best.yaml").exists()


def test_what_was_tried_is_not_trained_again(
    search: Callable[..., Jobs], capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = search("hydra.sweeper.trials=12", "optimizer.C=0.1,1,10")
    assert sorted(words[-1] for words in jobs.launched.values()) == [
        "optimizer.C=0.1",
        "optimizer.C=1",
        "optimizer.C=10",
    ]
    assert states("s") == ["COMPLETE"] * 12
    assert "as trial" in capsys.readouterr().out


def test_a_killed_search_goes_on(search: Callable[..., Jobs]) -> None:
    words = ("hydra.sweeper.trials=9", "hydra.sweeper.startup=3", *SPACE)
    whole = search(*words, sweeper="bayesian", folder="whole")

    def killed_at_the_fifth(words: list[str]) -> dict[str, Any]:
        if len(jobs.launched) == 5:
            raise KeyboardInterrupt
        return good_near(words)

    jobs = Jobs(killed_at_the_fifth)
    search(*words, sweeper="bayesian", jobs=jobs, code=130)
    assert states("s") == ["COMPLETE"] * 4 + ["RUNNING"]
    rest = search(*words, "sweep.resume=true", sweeper="bayesian")
    assert sorted(rest.launched) == [4, 5, 6, 7, 8]
    assert states("s") == ["COMPLETE"] * 9
    again = {
        number: [word for word in words if word != "sweep.resume=true"]
        for number, words in rest.launched.items()
    }
    assert {**jobs.launched, **again} == whole.launched  # as if nothing had happened
    assert "sweep.resume=true" in rest.launched[4]
    assert not any("resume" in word for word in OmegaConf.load("s/best.yaml").overrides)
    assert search(*words, "sweep.resume=true", sweeper="bayesian").launched == {}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("optimizer.Cx=interval(0,1)",), "has no parameter 'Cx'. Did you mean 'C'?"),
        (("optimizer.C=interval(0,1)", "hydra.sweeper.trial=3"), "hydra.sweeper.trials"),
        (
            ("optimizer.C=interval(0,1)", "hydra.sweeper.trials=0"),
            "hydra.sweeper.trials=0 must be at least 1.",
        ),
        (("optimizer.C=interval(0,1)", "hydra.sweeper.pruner=meridian"), "Did you mean 'median'?"),
        (
            ("optimizer.C=interval(0,1)", f"task.train={__file__}"),
            "A search looks at the score of the dev split. Give task.dev.",
        ),
        (("optimizer.C=1",), "There is nothing to search over"),
    ],
)
def test_what_the_user_can_mend(
    search: Callable[..., Jobs],
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    message: str,
) -> None:
    jobs = search(*words, code=2)
    error = capsys.readouterr().err
    assert error.startswith("structopt: ") and message in error
    assert not jobs.launched
    assert not Path("s", search_trials.JOURNAL).exists()


def test_without_optuna(
    search: Callable[..., Jobs], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    search(*SPACE, code=2)
    assert "pip install 'structopt-trainer[sweep]'" in capsys.readouterr().err


# Judging and real training.


def study_of(folder: Path, scores: list[float], pruner: str = "median") -> Any:
    """A search that has seen trials with the same score after each of ten passes, and now runs
    another.
    """
    folder.mkdir()
    study = optuna.create_study(
        storage=search_trials.storage(folder), study_name=search_trials.STUDY, direction="maximize"
    )
    study.set_user_attr(
        search_trials.SETTINGS, {"metric": "dev.f1", "pruner": pruner, "startup": 1, "warmup": 2}
    )
    for score in scores:
        passes = dict.fromkeys(range(1, 11), score)
        study.add_trial(optuna.trial.create_trial(value=score, intermediate_values=passes))
    study.ask()
    return study


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    words = ["task=ner", "task.limit=60", "optimizer=dca", "optimizer.epochs=5", "tracker=none"]
    return validation.validate(composition.compose(words))


@pytest.mark.parametrize(("others", "passes"), [(0.99, 2), (0.01, 5)])
def test_a_hopeless_trial_is_stopped(
    tmp_path: Path, config: dict[str, Any], others: float, passes: int
) -> None:
    study_of(tmp_path / "s", [others] * 3)
    judge = search_trials.judge(tmp_path / "s", 3)
    stages.train(config, tmp_path / "s" / "3", judge)
    rows = history.read(tmp_path / "s" / "3" / "history.csv")
    assert len(rows) == passes
    assert judge.verdict.startswith(search_trials.PRUNED_BY) == (passes == 2)
    metrics = json.loads((tmp_path / "s/3/metrics.json").read_text())
    assert metrics["dev"]["f1"] == rows[-1]["dev.f1"]
    assert (tmp_path / "s/3/model").is_dir() == (passes == 5)  # pruned trials keep no model
    reported = search_trials.storage(tmp_path / "s").get_all_trials(0)[3].intermediate_values
    # after the last pass nothing is asked
    assert reported == {row["epoch"]: row["dev.f1"] for row in rows if row["epoch"] < 5}
    resumed = search_trials.judge(tmp_path / "s", 3)
    assert resumed.verdict == judge.verdict
    assert search_trials.judge(tmp_path / "s", 2) is None  # it came to its end
    assert search_trials.judge(tmp_path, 3) is None  # no search


@pytest.mark.parametrize("pruner", ["none", "median", "hyperband"])
def test_pruners_and_what_judging_costs(tmp_path: Path, pruner: str) -> None:
    study = study_of(tmp_path / "s", [], pruner)
    verdicts, seconds = [], []
    for number in range(20):
        judge = search_trials.judge(tmp_path / "s", number)
        score, verdict = 0.9 if number < 10 else 0.1, ""
        for epoch in range(1, 10):
            started = time.perf_counter()
            verdict = verdict or judge({"epoch": epoch, "dev.f1": score})
            seconds.append(time.perf_counter() - started)
        verdicts.append(verdict)
        study.tell(
            number, **({"state": optuna.trial.TrialState.PRUNED} if verdict else {"values": score})
        )
        study.ask()
    assert not any(verdicts[:10])
    assert any(verdicts[10:]) == (pruner != "none")
    assert not any("after pass 1 " in verdict for verdict in verdicts)  # the warm-up is two passes
    assert sorted(seconds)[len(seconds) // 2] < 0.05  # a line in the journal, synced to the disk
    with pytest.raises(
        ConfigError, match="metric=f1: the dev split has no such score. Did you mean 'f'"
    ):
        search_trials.judge(tmp_path / "s", 20)({"epoch": 10, "dev.f": 0.1})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Bayesian search on the shipped corpus, in which C = 1e-8 is hopeless."""
    folder = tmp_path_factory.mktemp("search") / "s"
    words = [
        "hydra/sweeper=bayesian",
        "hydra.sweeper.trials=6",
        "hydra.sweeper.startup=2",
        "hydra.sweeper.warmup=1",
    ]
    words += [
        "task.limit=200",
        "optimizer.epochs=3",
        "loss.gamma=1",
        "optimizer.C=tag(log,interval(1e-8,10))",
        "loss.beta=1,inf",
    ]
    assert main.main([*COMMON, *words, f"hydra.sweep.dir={folder}"]) == 0
    return folder


def test_the_best_is_the_best(folder: Path) -> None:
    best = OmegaConf.load(folder / "best.yaml")
    jobs = {
        int(path.parent.name): json.loads(path.read_text()) for path in folder.glob("*/job.json")
    }
    scores = {number: job["score"] for number, job in jobs.items() if job["status"] == "FINISHED"}
    assert sorted(jobs) == list(range(6))
    assert (best.trial, best.score) == max(sorted(scores.items()), key=lambda pair: pair[1])
    assert best.score > scores[0]
    assert best.metric == "dev.f1"
    assert shlex.split(best.command)[0] == "structopt"
    config = validation.validate(composition.compose(shlex.split(best.command)[1:]))
    assert config["optimizer"]["C"] == jobs[best.trial]["config"]["optimizer"]["C"]
    assert (folder / "search.png").stat().st_size > 10_000


def test_pruned_trials_say_so_and_are_short(folder: Path) -> None:
    jobs = {
        int(path.parent.name): json.loads(path.read_text())["status"]
        for path in folder.glob("*/job.json")
    }
    pruned = [number for number, status in jobs.items() if status == "PRUNED"]
    assert pruned
    assert [n for n, state in enumerate(states(str(folder))) if state == "PRUNED"] == sorted(pruned)
    passes = {number: len(history.read(folder / str(number) / "history.csv")) for number in jobs}
    assert all(passes[number] < 3 if number in pruned else passes[number] == 3 for number in jobs)
    models = {number: (folder / str(number) / "model").is_dir() for number in jobs}
    assert models == {number: status == "FINISHED" for number, status in jobs.items()}
