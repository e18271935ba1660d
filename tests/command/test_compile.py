"""`structopt compile` stores all kernels of a command, so that the command compiles none."""

from pathlib import Path

import structopt
from structopt import datasets
from structopt.command import main
from structopt.kernels.waist import disk_cache
from structopt.kernels.waist.compiling import STATE
from tests.command.commands import failed

DATASETS = Path(datasets.__file__).parent


def test_a_command_compiles_nothing_after_compile(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["task=multiclass", "optimizer=perceptron"]
    assert main.main(["compile", *words]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(f"{' '.join(words)}: ready in {disk_cache.folder()}, ")
    assert not shown.err
    assert not list(tmp_path.iterdir())
    compiled = STATE.compiled
    structopt.train(
        [*words, "task.limit=9", "optimizer.epochs=1", "tracker=none"], tmp_path / "run"
    )
    assert compiled == STATE.compiled


def test_compile_names_what_is_wrong(monkeypatch, capsys):
    assert "Did you mean 'optimizer'?" in failed(capsys, "compile", "optimiser=dca")
    monkeypatch.setattr(disk_cache, "folder", lambda: None)
    assert "Set NUMBA_CACHE_DIR to a folder of your own." in failed(capsys, "compile")


def test_a_prediction_compiles_nothing_after_compile_of_its_model(trained, tmp_path, capsys):
    model = trained("multiclass") / "model"
    assert main.main(["compile", f"model={model}"]) == 0
    assert capsys.readouterr().out.startswith(f"model={model}: ready in {disk_cache.folder()}, ")
    compiled = STATE.compiled
    words = [f"model={model}", f"input={DATASETS / 'dev.libsvm'}", f"output={tmp_path / 'out'}"]
    assert main.main(["predict", *words, "probabilities=true", "k_best=2"]) == 0
    assert compiled == STATE.compiled


def test_compile_of_a_model_takes_no_overrides(capsys):
    error = failed(capsys, "compile", "model=run", "loss=svm")
    assert "model=run cannot be combined with other arguments." in error
