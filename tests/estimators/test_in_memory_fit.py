"""Estimators train without files, unless they get a folder."""

import os
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from structopt import DependencyParser, SequenceTagger
from structopt.config import composition
from structopt.learning.training import Callback, Training
from structopt.run.training_run import TrainingRun

X = [[{"w": "a"}, {"w": "b"}], [{"w": "b"}, {"w": "a"}, {"w": "a"}]]
Y = [["X", "Y"], ["Y", "X", "X"]]
WORDS, HEADS = [["Ann", "slept"], ["Oh"]], [[2, 0], [0]]
CASES = {
    "lbfgs": (SequenceTagger(optimizer="lbfgs", epochs=3), X, Y),
    "dev": (SequenceTagger(optimizer="adagrad", epochs=6, overrides={"patience": 2}), X, Y),
    "trees": (DependencyParser(epochs=2, overrides={"features.hash_bits": 10}), WORDS, HEADS),
}


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """Folders of the process and of temporary files, both empty."""
    folder, temporary = tmp_path / "here", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    for name in ("mkdtemp", "mkstemp"):
        monkeypatch.setattr(tempfile, name, None)
    monkeypatch.setattr(composition, "compose", None)
    return folder, temporary


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::structopt.ConvergenceWarning")
def test_a_fit_without_folder_equals_a_run(name, tmp_path):
    estimator, instances, outputs = CASES[name]
    dev = {"X_dev": instances[:1], "y_dev": outputs[:1]} if name == "dev" else {}
    in_memory = estimator.set_params(folder=None).fit(instances, outputs, **dev)
    model, metrics = in_memory.model_, in_memory.metrics_
    run = estimator.set_params(folder=tmp_path / "run").fit(instances, outputs, **dev)
    assert np.array_equal(model.weights, run.model_.weights)
    assert metrics.keys() == run.metrics_.keys()
    for split, values in metrics.items():
        assert values.keys() == run.metrics_[split].keys()
        for key, value in values.items():
            assert type(value) is type(run.metrics_[split][key])
            assert "second" in key or "overhead" in key or value == run.metrics_[split][key]
    kept, state = run.model_.trained, model.trained.state
    assert model.trained.folder is None and (tmp_path / "run" / "checkpoint").is_dir()
    assert state.keys() == kept.state.keys()


@pytest.mark.filterwarnings("ignore::structopt.ConvergenceWarning")
def test_a_fit_leaves_no_file(empty):
    tagger = SequenceTagger(optimizer="adagrad", epochs=2).fit(X, Y)
    tagger.partial_fit(X, [["X", "Z"], ["Y", "X", "X"]])
    assert tagger.classes_.tolist() == ["X", "Y", "Z"] and tagger.n_samples_seen_ == 4
    assert not [path for folder in empty for path in folder.iterdir()]


def test_an_interrupt_leaves_nothing(empty, monkeypatch):
    class Interrupting(Callback):
        def evaluated(self, training: Training, row):
            raise KeyboardInterrupt

    monkeypatch.setattr(TrainingRun, "followers", lambda self, data: [Interrupting()])
    tagger = SequenceTagger(optimizer="adagrad", epochs=2)
    with pytest.raises(KeyboardInterrupt):
        tagger.fit(X, Y)
    assert "model_" not in vars(tagger)
    assert not [path for folder in empty for path in folder.iterdir()]


@pytest.mark.nightly("rest")
def test_a_fit_needs_neither_hydra_nor_a_tracker(tmp_path):
    code = (
        "import sys, structopt as so\n"
        f"X, Y = {X!r}, {Y!r}\n"
        "tagger = so.SequenceTagger(optimizer='adagrad', epochs=1).fit(X, Y)\n"
        "written = []\n"
        "def note(event, arguments):\n"
        "    if event == 'open' and isinstance(arguments[1], str) and set(arguments[1]) & set('wax+'):\n"
        "        written.append(arguments[0])\n"
        "    if event in ('os.mkdir', 'os.rename', 'tempfile.mkdtemp'):\n"
        "        written.append(arguments)\n"
        "sys.addaudithook(note)\n"
        "tagger.fit(X, Y).partial_fit(X, Y).predict(X)\n"
        "print(sorted({'hydra', 'omegaconf', 'mlflow', 'matplotlib'} & set(sys.modules)), written)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[] []\n"
    assert not list(tmp_path.iterdir())
