"""Training from the command line: folders, sweeps, and what the user can mend."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import structopt
from structopt.command import main
from structopt.errors import DataError, NumericalError, StructoptError, SystemRefusal
from tests.command.commands import Stages, failed
from tests.parts import gate_cases


def test_train(stages: Stages, tmp_path: Path) -> None:
    assert (
        main.main(["task=attributes", "loss.beta=inf", "tracker=none", "hydra.run.dir=here"]) == 0
    )
    (command, config, folder) = stages.calls[0]
    assert (command, folder) == ("train", tmp_path / "here")
    assert (config["task"]["name"], config["loss"]["beta"], config["optimizer"]["C"]) == (
        "attributes",
        float("inf"),
        0.1,
    )
    assert "hydra" not in config
    assert (tmp_path / "here/.hydra/config.yaml").is_file()


@pytest.mark.parametrize("sweep", [[], ["--multirun"]])
def test_relative_paths_refer_to_the_folder_of_the_start(
    sweep: list[str], stages: Stages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[Path] = []

    def train(config: object, folder: Path, *_: object, **__: object) -> object:
        folders.extend([Path.cwd(), folder])
        return stages.model

    monkeypatch.setattr(stages, "train", train)
    words = ["hydra.job.chdir=true", "tracker=none", "hydra.run.dir=r", "hydra.sweep.dir=s"]
    assert main.main([*sweep, *words]) == 0
    assert folders == [tmp_path, tmp_path / ("s/0" if sweep else "r")]


@pytest.mark.nightly("runs")
def test_default_folders(stages: Stages, tmp_path: Path) -> None:
    assert main.main(["tracker=none"]) == 0
    assert stages.calls[0][2].relative_to(tmp_path).parts[0] == "outputs"
    assert main.main(["--multirun", "tracker=none", "loss.beta=1,3,inf"]) == 0
    folders = [call[2].relative_to(tmp_path) for call in stages.calls[1:]]
    assert [folder.parts[:2] for folder in folders] == [("outputs", "multirun")] * 3
    assert [folder.name for folder in folders] == ["0", "1", "2"]
    assert [call[1]["loss"]["beta"] for call in stages.calls[1:]] == [1.0, 3.0, float("inf")]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (
            "optimizer=dac",
            "optimizer 'dac' is not installed. Did you mean 'dca'? Installed: adadelta "
            "(structopt-trainer), ",
        ),
        ("optimizer.epochs=abc", "optimizer.epochs=abc is not an int."),
        (
            "optimizer.epoch=3",
            "optimizer=dca has no parameter 'epoch'. Did you mean 'epochs'? It takes C: float = "
            "task.default_C, epochs: int",
        ),
        (
            "+loss.betta=3",
            "loss=family has no parameter 'betta'. Did you mean 'beta'? It takes beta: float = "
            "1.0, gamma: ",
        ),
        ("optimzer=dca", "There is no key 'optimzer'. Did you mean 'optimizer'? Keys: "),
        (
            "+optimizer=dca",
            "'+optimizer=' adds a second optimizer: there is one already. Write optimizer=NAME, ",
        ),
        ("task=null", "A group takes the name of a choice, such as task=ner."),
        (
            "flurb",
            "'flurb' is neither a subcommand nor KEY=VALUE. Write for example task=ner; structopt "
            "--help shows more.",
        ),
        ("optimizer.C=1,2", "'optimizer.C=1,2' has several values. To run each: --multirun."),
        ("sweep.resume=true", "sweep.resume=true goes on with a sweep: add --multirun."),
        ("hydra.run.dir=${nope}", "hydra.run.dir: Interpolation key 'nope' not found."),
    ],
)
def test_what_the_user_can_mend(
    stages: Stages, capsys: pytest.CaptureFixture[str], word: str, text: str
) -> None:
    before = os.environ.get("HYDRA_FULL_ERROR")
    assert failed(capsys, word, "tracker=none").startswith(text)
    assert not stages.calls
    assert os.environ.get("HYDRA_FULL_ERROR") == before


def test_errors_of_the_job(stages: Stages, capsys: pytest.CaptureFixture[str]) -> None:
    stages.error = DataError("train.conll", 3, "2 columns instead of 4.")
    assert failed(capsys, "tracker=none") == "train.conll:3: 2 columns instead of 4."
    assert main.main(["--multirun", "tracker=none", "seed=0,1"]) == 2
    shown = capsys.readouterr()
    assert "structopt: job 0 (seed=0): train.conll:3: 2 columns instead of 4.\n" in shown.err
    assert "structopt: job 1 (seed=1): train.conll:3: 2 columns instead of 4.\n" in shown.err
    assert "2 jobs: 2 failed\n" in shown.out
    assert len(stages.calls) == 3


REFUSED = (
    ["task.train=missing.txt"],
    ["task.train=bad.conll"],
    ["features.dense=[missing.npy]"],
    ["tracker=mlflow", "tracker.uri=https://***@host"],
)


@pytest.mark.parametrize("words", gate_cases(REFUSED, "rest", 2))
def test_a_refused_command_leaves_no_run_folder(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.conll").write_text("a A\nb\n")
    Path("kept").mkdir()
    before = sorted(tmp_path.rglob("*"))
    words = ("task=ner", "tracker=none", "hydra.run.dir=a/b/run", *words)
    assert main.main(words) == 2
    with pytest.raises(StructoptError):
        structopt.train(words)
    assert sorted(tmp_path.rglob("*")) == before
    assert main.main([*words, "hydra.run.dir=kept"]) == 2
    assert Path("kept/.hydra/config.yaml").is_file()  # a folder that was there is not emptied


def test_a_run_that_fails_later_keeps_its_folder(stages: Stages) -> None:
    for error in (NumericalError("inf"), SystemRefusal(OSError("full")), KeyboardInterrupt()):
        stages.error = error
        folder = type(error).__name__
        assert main.main(["tracker=none", f"hydra.run.dir={folder}"]) in (2, 130)
        assert Path(folder, ".hydra/config.yaml").is_file()


def test_bugs_do_not_end_a_sweep(
    stages: Stages, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stages.error = ZeroDivisionError("a bug")
    assert main.main(["--multirun", "tracker=none", "seed=0,1", "hydra.sweep.dir=s"]) == 1
    shown = capsys.readouterr().err
    assert (
        f"structopt: job 1 (seed=1): ZeroDivisionError: a bug (traceback: {tmp_path}/s/1)\n"
        in shown
    )
    assert "Traceback" not in shown
    assert "Traceback" in (tmp_path / "s/1/structopt.log").read_text()


def test_typing_errors_in_sweeps_leave_nothing(
    stages: Stages, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failed(capsys, "--multirun", "tracker=none", "loss.betta=1,2").startswith(
        "loss=family has no parameter 'betta'."
    )
    assert failed(capsys, "--multirun", "tracker=none", "optimizer=dca,dac").startswith(
        "optimizer 'dac' is not installed."
    )
    assert "There is no hydra/launcher 'joblub'." in failed(
        capsys, "--multirun", "tracker=none", "hydra/launcher=joblub"
    )
    assert not stages.calls
    assert not list(tmp_path.iterdir())


def test_the_flag_of_a_sweep_may_stand_anywhere(stages: Stages) -> None:
    assert main.main(["tracker=none", "-m", "seed=0,1"]) == 0
    assert [call[1]["seed"] for call in stages.calls] == [0, 1]


@pytest.mark.parametrize(
    ("sweeper", "text"),
    [("basic", "hydra/sweeper=basic cannot run this"), ("random", "A search cannot run this")],
)
def test_experiments_bring_their_own_sweeper(
    stages: Stages, capsys: pytest.CaptureFixture[str], sweeper: str, text: str
) -> None:
    assert (
        main.main(["tracker=none", "+experiment=bartlett2004_figure4", f"hydra/sweeper={sweeper}"])
        == 2
    )
    assert f"structopt: {text} experiment" in capsys.readouterr().err
    assert not stages.calls


def test_a_refused_sweep_leaves_the_one_before_it(
    stages: Stages, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["tracker=none", "--multirun", "seed=0,1", "hydra.sweep.dir=s"]) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    assert {"job.json", "sweep.json", "multirun.yaml"} <= {path.name for path in before}
    assert (
        main.main(
            ["tracker=none", "+experiment=bartlett2004_figure4", "scale=smal", "hydra.sweep.dir=s"]
        )
        == 2
    )
    assert "scale=smal: there is no such scale." in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()} == before


def test_a_sweep_without_a_folder(
    stages: Stages, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s").write_text("no folder")
    assert main.main(["--multirun", "tracker=none", "seed=0,1", "hydra.sweep.dir=s/t"]) == 2
    text = (
        f"structopt: hydra.sweep.dir={tmp_path}/s/t: this folder cannot be made (Not a "
        "directory). Name another.\n"
    )
    assert capsys.readouterr().err.endswith(text)
    assert not stages.calls


@pytest.mark.parametrize("content", ["[]", "{}", "{"])
def test_a_sweep_that_cannot_be_read(
    stages: Stages, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s/sweep.json").write_text(content)
    words = ["--multirun", "tracker=none", "seed=0,1", "hydra.sweep.dir=s"]
    assert "sweep.json: this cannot be read (" in failed(capsys, *words, "sweep.resume=true")
    assert "sweep.resume=tru must be true or false." in failed(capsys, *words, "sweep.resume=tru")
    assert not stages.calls
