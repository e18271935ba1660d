"""The list of configurations of tools/equal.py and tools/faster.py, and what they report."""

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from structopt.config import registry
from structopt.config.composition import compose
from structopt.config.validation import validate
from tools import checkouts, equal, faster

pytestmark = pytest.mark.nightly("rest")

ROOT = Path(__file__).parents[1]
SECTIONS = ("configurations", "benchmarks")
NAMES = [(section, one.name) for section in SECTIONS for one in checkouts.configurations(section)]
NODES = ("features", "factor_graph", "inference", "loss", "optimizer")


@cache
def composed(section, name):
    """Return a configuration's settings that this tree knows, and the config that they compose."""
    (one,) = checkouts.configurations(section, f"^{name}$")
    optional = checkouts._file()["optional"]
    settings = {key: value for key, value in one.settings.items() if key not in optional}
    return one.settings, validate(compose(checkouts.overrides(settings)))


@pytest.mark.parametrize("kind", [*checkouts.KINDS, "cost"])
def test_every_component_has_a_configuration(kind):
    core = {
        name
        for name, one in registry.installed(kind).items()
        if one.distribution == "structopt-trainer"
    }
    configs = [composed(section, name)[1] for section, name in NAMES if section == SECTIONS[0]]
    used = {one["loss"]["cost"] if kind == "cost" else one[kind]["name"] for one in configs}
    assert not core - used, f"add configurations to {checkouts.SETTINGS.name}"


@pytest.mark.parametrize(("section", "name"), NAMES)
def test_every_key_whose_default_may_change_is_set(section, name):
    settings, config = composed(section, name)
    keys = {
        f"{node}.{key}"
        for node in NODES
        for key, value in config[node].items()
        if key != "name" and value is not None
    }
    keys |= {*checkouts.KINDS, "seed", "threads", "tracker", "keep"}
    assert not keys - settings.keys(), f"add them to `settings` of {checkouts.SETTINGS.name}"


def test_names_are_unique():
    assert len(set(NAMES)) == len(NAMES)


def results(folder, weights, objective=1.0, loss=2.0, predicted="O\nB-PER\n"):
    """Write what a run leaves."""
    (folder / "run" / "model").mkdir(parents=True)
    save_file({"weights": np.array(weights)}, folder / "run" / "model" / "weights.safetensors")
    metrics = {"train": {"objective": objective, "seconds": np.random.default_rng().random()}}
    (folder / "run" / "metrics.json").write_text(json.dumps(metrics))
    (folder / "run" / "history.csv").write_text(f"epoch,seconds,loss,dual\n1,0.5,{loss},\n")
    (folder / "predictions").write_text(predicted)
    return folder


def test_equal_runs_have_no_differences(tmp_path):
    base, head = (results(tmp_path / side, [0.5, -2.0]) for side in ("base", "head"))
    assert equal.compare(base, head) == []


@pytest.mark.parametrize(
    ("change", "text", "size"),
    [
        ({"weights": [0.5, -2.5]}, "1 of 2 values, by 0.5 at most, relative 0.2", 0.2),
        ({"weights": [0.5, 2.0, 0.0]}, "float64[2] / float64[3]", np.inf),
        ({"weights": [0.5, np.nan]}, "1 of 2 values", np.inf),
        ({"objective": 1.25}, "metrics train.objective: 1.0 / 1.25, relative 0.2", 0.2),
        ({"objective": None}, "metrics train.objective: 1.0 / None", np.inf),
        ({"loss": 4.0}, "history loss[1]: 2.0 / 4.0, relative 0.5", 0.5),
        ({"predicted": "O\nO\n"}, "predictions: 1 of 2 lines", 0.5),
        ({"predicted": "O\nB-PER\nO\nO\n"}, "predictions: 2 of 4 lines", 0.5),
    ],
)
def test_differences_say_what_and_how_much(tmp_path, change, text, size):
    base = results(tmp_path / "base", [0.5, -2.0])
    head = results(tmp_path / "head", **{"weights": [0.5, -2.0], **change})
    (difference,) = equal.compare(base, head)
    assert text in str(difference)
    assert difference.size == pytest.approx(size)


def test_signed_zeros_and_types_differ(tmp_path):
    base = results(tmp_path / "base", [0.0])
    assert equal.compare(base, results(tmp_path / "zero", [-0.0]))
    assert equal.compare(base, results(tmp_path / "type", np.zeros(1, np.float32)))


def test_values_are_written_in_the_grammar_of_overrides():
    values = {"a": None, "b": True, "c": ["word[-1]", "x"], "d": {"O": 0.5}, "e": "it's"}
    assert checkouts.overrides({**values, "f": float("inf"), "g": "kept/mplp"}) == [
        "a=null",
        "b=true",
        "c=['word[-1]',x]",
        "d={O:0.5}",
        "e='it\\'s'",
        "f=inf",
        "g=kept/mplp",
    ]


def test_configurations_need_data_and_components(monkeypatch, tmp_path):
    (data,) = checkouts.configurations("configurations", "^data-yeast-dlpw$")
    monkeypatch.delenv("STRUCTOPT_DATA", raising=False)
    assert data.lacks_data
    monkeypatch.setenv("STRUCTOPT_DATA", "/data")
    assert not data.lacks_data
    tree = checkouts.Checkout.of("", tmp_path)
    assert tree.lacks(data.settings) == []
    assert tree.lacks({**data.settings, "optimizer": "newton"}) == ["optimizer=newton"]


@pytest.mark.parametrize("tool", [equal, faster])
def test_an_unknown_revision_is_refused(tool, capsys):
    assert tool.main(["no-such-revision"]) == 2
    assert "Name a revision of this repository, or the folder" in capsys.readouterr().err


@pytest.mark.parametrize("tool", ["equal", "faster"])
def test_help(tool):
    command = [sys.executable, str(ROOT / "tools" / f"{tool}.py"), "--help"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "--only PATTERN" in printed


def copy_of_the_tree(folder):
    """Copy what a checkout needs."""
    for name in ("structopt", "conf"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_a_new_default_is_equal_and_other_data_differ(tmp_path, capsys):
    changed, only = copy_of_the_tree(tmp_path), ["--only", "^multiclass-lbfgs$"]
    preset = changed / "conf" / "optimizer" / "lbfgs.yaml"
    preset.write_text(preset.read_text().replace("memory: 10 ", "memory: 3 "))
    assert equal.main([str(ROOT), str(changed), *only]) == 0
    assert "1 equal" in capsys.readouterr().out
    data = changed / "structopt" / "datasets" / "dev.libsvm"
    data.write_text("".join(data.read_text().splitlines(keepends=True)[:-2]))
    assert equal.main([str(ROOT), str(changed), *only]) == 1
    printed = capsys.readouterr().out
    assert "predictions: 2 of " in printed
    assert "metrics dev." in printed
    assert "history dev." in printed


def test_times_are_printed_with_their_ratio(tmp_path, capsys):
    assert faster.main([str(ROOT), "--only", "^help$", "--repeats", "1", "--check"]) in (0, 1)
    row = capsys.readouterr().out.splitlines()[-1].split()
    assert row[0] == "help"
    assert float(row[3]) == pytest.approx(float(row[2]) / float(row[1]), abs=0.01)
