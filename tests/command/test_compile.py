"""`structopt compile` stores all kernels of a command, so that the command compiles none."""

import structopt
from structopt.command import main
from structopt.kernels.waist import disk_cache
from structopt.kernels.waist.compiling import STATE
from tests.command.commands import failed


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
