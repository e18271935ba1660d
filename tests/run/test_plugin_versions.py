"""Versions of plugins in tags and in model folders."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import structopt
from structopt.core.entry_points import plugins
from structopt.core.tracker import Run
from structopt.errors import ConfigError
from structopt.tracker.facts import run_tags

CODE = """
from structopt.inference.exact import Exact
from structopt.loss.cost.hamming import Hamming

class Mine(Exact):
    pass

class Weighed(Hamming):
    pass
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distributions with an inference and a cost."""
    for name, points in (
        ("structopt-mine", "[structopt.inference]\nmine = structopt_mine:Mine\n"),
        ("structopt-weighed", "[structopt.cost]\nweighed = structopt_mine:Weighed\n"),
    ):
        metadata = tmp_path / f"{name.replace('-', '_')}-1.2.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (metadata / "entry_points.txt").write_text(points)
    (tmp_path / "structopt_mine.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "structopt_mine", raising=False)


def test_plugins_of_a_config(installed: None, tmp_path: Path) -> None:
    config = {
        "seed": 0,
        "loss": {"name": "svm", "cost": "weighed"},
        "inference": {"name": "mine"},
        "optimizer": {"name": "dca"},
        "task": {"name": "ner", "train": "mine"},
    }
    versions = {"structopt-mine": "1.2", "structopt-weighed": "1.2"}
    assert plugins(config) == versions
    assert plugins({"optimizer": {"name": "dca"}, "loss": {"cost": "hamming"}}) == {}
    tags = run_tags(Run(tmp_path, config, {}, "label"))
    assert {
        f"version.{name}": version for name, version in versions.items()
    }.items() <= tags.items()


def test_a_model_names_its_plugins(
    installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    words = ["task=ner", "task.limit=20", "optimizer.epochs=1", "tracker=none", "quiet=true"]
    structopt.train([*words, "inference.name=mine"], folder=folder)
    saved = folder / "model" / "config.json"
    assert json.loads(saved.read_text())["plugins"] == {"structopt-mine": "1.2"}
    structopt.load(folder)
    monkeypatch.undo()
    with pytest.raises(ConfigError, match=r"was saved with structopt-mine 1\.2") as raised:
        structopt.load(folder)
    assert raised.value.where == str(saved)
    structopt.train(words, folder=tmp_path / "other")
    assert "plugins" not in json.loads((tmp_path / "other/model/config.json").read_text())
