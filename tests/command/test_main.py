"""Commands, exit codes, and messages, as a user meets them."""

from __future__ import annotations

import os
import subprocess
import sys
import types
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hydra.core.global_hydra import GlobalHydra

import structopt
from structopt.command import main, prediction
from structopt.config import registry
from structopt.errors import DataError

ROOT = Path(__file__).resolve().parents[2]


class Session(types.ModuleType):
    """Stands in for structopt.run.session: records the calls, and raises what it is told to."""

    def __init__(self) -> None:
        super().__init__("structopt.run.session")
        self.calls: list[tuple[Any, ...]] = []
        self.error: BaseException | None = None

    def _called(self, *call: Any) -> dict[str, Any]:
        self.calls.append(call)
        if self.error:
            raise self.error
        return {"train": {}}

    @staticmethod
    def JobOfSweep(*_: Any) -> None:
        """Stands in for the class."""

    model = types.SimpleNamespace(task=types.SimpleNamespace(main_metric="f1"))

    def train(self, config: dict[str, Any], folder: Path, *_: Any, **__: Any) -> Any:
        self._called("train", config, folder)
        return self.model

    def resume(self, folder: Path, overrides: list[str]) -> dict[str, Any]:
        return self._called("resume", folder, overrides)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    fake = Session()
    monkeypatch.setitem(sys.modules, "structopt.run.session", fake)
    monkeypatch.setattr(structopt, "session", fake, raising=False)
    monkeypatch.chdir(tmp_path)
    yield fake
    GlobalHydra.instance().clear()


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command that the user must mend; return its one message."""
    assert main.main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("structopt: ")
    assert error.count("\n") == 1
    return error.removeprefix("structopt: ").strip()


def run(*words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "structopt", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def test_train(session: Session, tmp_path: Path) -> None:
    assert main.main(["task=attributes", "loss.beta=inf", "tracker=none", "hydra.run.dir=here"]) == 0
    (command, config, folder) = session.calls[0]
    assert (command, folder) == ("train", tmp_path / "here")
    assert (config["task"]["name"], config["loss"]["beta"], config["optimizer"]["C"]) == ("attributes", float("inf"), 0.1)
    assert "hydra" not in config
    assert (tmp_path / "here/.hydra/config.yaml").is_file()


def test_default_folders(session: Session, tmp_path: Path) -> None:
    assert main.main(["tracker=none"]) == 0
    assert session.calls[0][2].relative_to(tmp_path).parts[0] == "outputs"
    assert main.main(["--multirun", "tracker=none", "loss.beta=1,3,inf"]) == 0
    folders = [call[2].relative_to(tmp_path) for call in session.calls[1:]]
    assert [folder.parts[:2] for folder in folders] == [("outputs", "multirun")] * 3
    assert [folder.name for folder in folders] == ["0", "1", "2"]
    assert [call[1]["loss"]["beta"] for call in session.calls[1:]] == [1.0, 3.0, float("inf")]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("optimizer=dac", "optimizer 'dac' is not installed. Did you mean 'dca'? Installed: adadelta (structopt-trainer), "),
        ("optimizer.epochs=abc", "optimizer.epochs=abc is not an int."),
        (
            "optimizer.epoch=3",
            "optimizer=dca has no parameter 'epoch'. Did you mean 'epochs'? It takes C: float = 1.0, epochs: int",
        ),
        ("+loss.betta=3", "loss=family has no parameter 'betta'. Did you mean 'beta'? It takes beta: float = 1.0, gamma: "),
        ("optimzer=dca", "There is no key 'optimzer'. Did you mean 'optimizer'? Keys: "),
        ("+optimizer=dca", "optimizer appears more than once in the final defaults list"),
        ("task=null", "A group takes the name of a choice, such as task=ner."),
        ("word", "'word' cannot be read. Type KEY=VALUE"),
        ("optimizer.C=1,2", "'optimizer.C=1,2' has several values. To run each: --multirun."),
        ("sweep.resume=true", "sweep.resume=true goes on with a sweep: add --multirun."),
        ("hydra.run.dir=${nope}", "hydra.run.dir: Interpolation key 'nope' not found."),
    ],
)
def test_what_the_user_can_mend(session: Session, capsys: pytest.CaptureFixture[str], word: str, text: str) -> None:
    before = os.environ.get("HYDRA_FULL_ERROR")
    assert failed(capsys, word, "tracker=none").startswith(text)
    assert not session.calls
    assert os.environ.get("HYDRA_FULL_ERROR") == before


def test_errors_of_the_job(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    session.error = DataError("train.conll", 3, "2 columns instead of 4.")
    assert failed(capsys, "tracker=none") == "train.conll:3: 2 columns instead of 4."
    assert main.main(["--multirun", "tracker=none", "seed=0,1"]) == 2
    shown = capsys.readouterr()
    assert "structopt: job 0 (seed=0): train.conll:3: 2 columns instead of 4.\n" in shown.err
    assert "structopt: job 1 (seed=1): train.conll:3: 2 columns instead of 4.\n" in shown.err
    assert "2 jobs: 2 failed\n" in shown.out
    assert len(session.calls) == 3


def test_interrupted(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    session.error = KeyboardInterrupt()
    assert main.main(["tracker=none"]) == 130
    assert "structopt resume=RUN_FOLDER" in capsys.readouterr().err
    assert main.main(["--multirun", "tracker=none", "seed=0,1", "hydra.sweep.dir=s"]) == 130
    command = "structopt --multirun tracker=none seed=0,1 hydra.sweep.dir=s sweep.resume=true"
    shown = capsys.readouterr()
    assert shown.err.endswith(f"structopt: interrupted. The sweep goes on with: {command}\n")
    assert "1 job: 1 killed\n" in shown.out
    assert len(session.calls) == 2


@pytest.mark.parametrize("error", [ValueError("a bug"), ZeroDivisionError("a bug")])
def test_bugs_go_through(session: Session, error: Exception) -> None:
    session.error = error
    with pytest.raises(type(error), match="a bug"):
        main.main(["tracker=none"])


def test_bugs_do_not_end_a_sweep(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session.error = ZeroDivisionError("a bug")
    assert main.main(["--multirun", "tracker=none", "seed=0,1", "hydra.sweep.dir=s"]) == 1
    shown = capsys.readouterr().err
    assert f"structopt: job 1 (seed=1): ZeroDivisionError: a bug (traceback: {tmp_path}/s/1)\n" in shown
    assert "Traceback" not in shown
    assert "Traceback" in (tmp_path / "s/1/structopt.log").read_text()


def test_typing_errors_in_sweeps_leave_nothing(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert failed(capsys, "--multirun", "tracker=none", "loss.betta=1,2").startswith("loss=family has no parameter 'betta'.")
    assert failed(capsys, "--multirun", "tracker=none", "optimizer=dca,dac").startswith("optimizer 'dac' is not installed.")
    assert "There is no hydra/launcher 'joblub'." in failed(capsys, "--multirun", "tracker=none", "hydra/launcher=joblub")
    assert not session.calls
    assert not list(tmp_path.iterdir())


def test_the_flag_of_a_sweep_may_stand_anywhere(session: Session) -> None:
    assert main.main(["tracker=none", "-m", "seed=0,1"]) == 0
    assert [call[1]["seed"] for call in session.calls] == [0, 1]


@pytest.mark.parametrize(
    ("sweeper", "text"), [("basic", "hydra/sweeper=basic cannot run this"), ("random", "A search cannot run this")]
)
def test_experiments_bring_their_own_sweeper(
    session: Session, capsys: pytest.CaptureFixture[str], sweeper: str, text: str
) -> None:
    assert main.main(["tracker=none", "+experiment=bartlett2004_figure4", f"hydra/sweeper={sweeper}"]) == 2
    assert f"structopt: {text} experiment" in capsys.readouterr().err
    assert not session.calls


def test_a_refused_sweep_leaves_the_one_before_it(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["tracker=none", "--multirun", "seed=0,1", "hydra.sweep.dir=s"]) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    assert {"job.json", "sweep.json", "multirun.yaml"} <= {path.name for path in before}
    assert main.main(["tracker=none", "+experiment=bartlett2004_figure4", "scale=smal", "hydra.sweep.dir=s"]) == 2
    assert "scale=smal: there is no such scale." in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()} == before


def test_a_sweep_without_a_folder(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s").write_text("no folder")
    assert main.main(["--multirun", "tracker=none", "seed=0,1", "hydra.sweep.dir=s/t"]) == 2
    text = f"structopt: hydra.sweep.dir={tmp_path}/s/t: this folder cannot be made (Not a directory). Name another.\n"
    assert capsys.readouterr().err.endswith(text)
    assert not session.calls


@pytest.mark.parametrize("content", ["[]", "{}", "{"])
def test_a_sweep_that_cannot_be_read(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s/sweep.json").write_text(content)
    words = ["--multirun", "tracker=none", "seed=0,1", "hydra.sweep.dir=s"]
    assert "sweep.json: this cannot be read (" in failed(capsys, *words, "sweep.resume=true")
    assert "sweep.resume=tru is neither true nor false." in failed(capsys, *words, "sweep.resume=tru")
    assert not session.calls


def test_resume(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run").mkdir()
    assert main.main(["optimizer.epochs=9", "resume=run"]) == 0
    assert session.calls == [("resume", Path("run"), ["optimizer.epochs=9"])]
    assert main.main(["resume=null", "tracker=none"]) == 0
    assert session.calls[1][0] == "train"
    assert failed(capsys, "resume=nowhere") == (
        "resume=nowhere: there is no such run folder. Name the folder that holds checkpoint/ and .hydra/."
    )
    assert (
        failed(capsys, "--multirun", "resume=run")
        == "resume=run goes on with that one run and cannot be combined with --multirun."
    )


def test_predict_and_evaluate(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, dict[str, Any]]] = []
    for name in ("predict", "evaluate"):
        monkeypatch.setattr(prediction, name, lambda options, name=name: calls.append((name, options)))
    assert main.main(["predict", "model=m", "input=a=b.txt", "output=o", "probabilities=true", "k_best=5"]) == 0
    assert main.main(["evaluate", "model=m", "input=a", "inference=ad3", "threads=2"]) == 0
    predict = {"model": "m", "input": "a=b.txt", "inference": "", "threads": 1, "output": "o"}
    predict |= {"probabilities": True, "k_best": 5, "partial": False, "picture": "", "sentence": 1}
    assert calls == [("predict", predict), ("evaluate", {"model": "m", "input": "a", "inference": "ad3", "threads": 2})]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["predict"], "predict needs model=... and input=... and output=.... Usage: structopt predict model=MODEL input=FILE "),
        (["evaluate", "model=m"], "evaluate needs input=.... Usage: structopt evaluate model=MODEL input=FILE"),
        (["predict", "modle=m"], "predict has no option 'modle'. Did you mean 'model'? Usage: structopt predict "),
        (["evaluate", "output=m"], "evaluate has no option 'output'."),
        (["predict", "model=m", "input=i", "output=o", "k_best=x"], "k_best=x is not an int."),
        (["predict", "model=m", "input=i", "output=o", "k_best=0"], "k_best=0 is too small: at least 1."),
        (["predict", "model=m", "input=i", "output=o", "probabilities=yes"], "probabilities=yes is not a bool."),
        (["predict", "model="], "predict: 'model=' gives model no value; type model=VALUE."),
        (["components", "optimiser"], "There is no kind of component called 'optimiser'. Did you mean 'optimizer'? Kinds: "),
        (["compare", "r", "seed=-1"], "seed=-1 is too small: at least 0."),
        (["components", "task", "loss"], "components takes one kind. Usage: structopt components [task|features|factor_graph|"),
    ],
)
def test_options_that_the_user_can_mend(
    session: Session, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert failed(capsys, *words).startswith(text)
    assert not session.calls


@pytest.mark.parametrize("command", ["predict", "evaluate", "compare", "components"])
def test_usage_of_sub_commands(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: structopt {command} ")


def test_components(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["components"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["kind", "name", "package", "parameters"]
    rows = {tuple(line.split()[:2]): line for line in lines[1:]}
    assert list(rows) == [(kind, name) for kind in registry.CONTRACTS for name in registry.installed(kind)]
    assert "structopt-trainer" in rows["optimizer", "dca"]
    assert "C: float = 1.0, epochs: int = 30, tolerance: float = 0.0" in rows["optimizer", "dca"]
    assert "beta: float = inf, gamma: float = 1.0" in rows["loss", "svm"]
    assert main.main(["components", "pairs", "second_order"]) == 0
    assert "| sdca | enumeration | enumeration | enumeration, ilp, lp |" in capsys.readouterr().out
    assert main.main(["components", "loss"]) == 0
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]} == {"loss"}


def test_components_is_quick(tmp_path: Path) -> None:
    run("components", folder=tmp_path)
    before = os.times()
    assert run("components", folder=tmp_path).returncode == 0
    after = os.times()  # of the processor: whatever else the machine does
    assert after.children_user + after.children_system - before.children_user - before.children_system < 1.5


def test_help_needs_hydra_only(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom structopt.command.main import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'mlflow', 'numba', 'cvxpy', 'scipy', 'numpy', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'imported: {sorted(heavy)}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "structopt trains linear structured predictors" in done.stdout
    for group in (
        "task: attributes, chunking, dependency, grid, multiclass, multilabel, ner, synthetic, tagging",
        "optimizer: adadelta, adagrad, cutting_plane, dca, dlpw, eg, lbfgs",
        "loss: crf, family, perceptron, ramp, risk, softmax_margin, svm",
    ):
        assert group in done.stdout


@pytest.mark.parametrize("full", ["0", "1"])
def test_as_a_process(tmp_path: Path, full: str) -> None:
    done = run("--cfg", "job", folder=tmp_path, HYDRA_FULL_ERROR=full)
    assert done.returncode == 0
    assert "factor_graph:\n  name: linear_chain" in done.stdout
    done = run("optimizer=dac", folder=tmp_path, HYDRA_FULL_ERROR=full)
    assert done.returncode == 2
    assert done.stderr.startswith("structopt: optimizer 'dac' is not installed. Did you mean 'dca'? Installed: adadelta (")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_wheel_contains_the_config_files(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("structopt_trainer-*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    conf, installed = ROOT / "conf", tmp_path / "site/structopt/conf"
    assert {p.relative_to(conf) for p in conf.rglob("*.yaml")} == {p.relative_to(installed) for p in installed.rglob("*.yaml")}
    done = run("--info", "searchpath", folder=tmp_path / "site")
    assert str(installed) in done.stdout
