"""Configs composed without Hydra equal those of Hydra."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest

from structopt.config import composition, plain_composition, registry, search_path, validation
from structopt.core import entry_points
from structopt.loss.family import LossFamily
from structopt.optimizer.sgd import SGD
from tests.parts import gate_cases

TASKS = list(registry.installed("task"))
CHOICES: list[dict[str, str]] = [
    {"task": "multilabel", "optimizer": "mira"},  # the optimizer's choice replaces the task's
    {"task": "coreference", "factor_graph": "span"},
    {"task": "ner", "optimizer": "dlpw"},  # with inference=kept/mplp, which extends mplp
    {"task": "summarization", "tracker": "none"},
    *(
        {"task": task, "optimizer": one}
        for task in TASKS
        for one in registry.installed("optimizer")
    ),
    *({"task": task, "loss": one} for task in TASKS for one in registry.installed("loss")),
    *(
        {kind: one}
        for kind in ("factor_graph", "inference", "features", "tracker", "executor")
        for one in registry.installed(kind)
    ),
]
VALUES: list[dict[str, Any]] = [
    {"task.default_C": 0.25, "storage.name": "disk"},
    {"task.default_C_by": {"gradient": 3.0}, "task.columns": {"word": 0}},
    {"loss.beta": inf, "loss.cost_weights": {"O": 0.5}, "task.default_C": 2},
    {"label": "${seed}", "features.templates": ["${a}"], "features.lists": {"a.b": "x"}},
    {"optimizr.etaa": 1, "sed": 2, "task.default_C_by.gradient": None},
]


def check(choices: dict[str, str], values: dict[str, Any]) -> None:
    plain = plain_composition.compose(choices, values)
    words = [f"{kind}={name}" for kind, name in choices.items()]
    expected = composition.compose(words, values)
    assert plain is not None and json.dumps(plain) == json.dumps(expected)
    if "sed" not in values:
        keys = [*choices, *values]
        assert validation.validate(plain, keys) == validation.validate(expected, keys)


@pytest.mark.parametrize("choices", gate_cases(CHOICES, "pairs", 3))
def test_choices(choices: dict[str, str]) -> None:
    check(choices, {})


@pytest.mark.parametrize("values", gate_cases(VALUES, "rest", VALUES[3:]))
def test_values(values: dict[str, Any]) -> None:
    check({"task": "ner", "optimizer": "sgd"}, values)


@pytest.mark.parametrize(
    ("kind", "cls", "key"), [("loss", LossFamily, "loss.beta"), ("optimizer", SGD, "optimizer.eta")]
)
def test_registered_classes(
    kind: str, cls: type, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_points, "_registered", {})
    entry_points.register(kind, "ours", cls)
    check({kind: "ours"}, {key: 2.0})


@pytest.mark.parametrize(
    ("choices", "values"),
    [
        ({"task": "nerr"}, {}),
        ({"task": 1}, {}),
        ({"experiment": "meshi2010_figure1_yeast"}, {}),
        ({}, {"label.x": 1}),
        ({}, {"features.templates.0": "bias"}),
        ({}, {"features.templates[0]": "bias"}),
        ({}, {"label": "???"}),
        ({"optimizer": "sgd"}, {"task.default_C_by": None}),
    ],
)
def test_hydra_composes_everything_else(choices: dict[str, str], values: dict[str, Any]) -> None:
    assert plain_composition.compose(choices, values) is None


FILES = {
    "understood": (
        "defaults: [{override /loss@_global_.loss: svm}]\nname: mine\neta: 1e-3\n",
        True,
    ),
    "another_package": ("# @package optimizer.x\nname: mine\n", False),
    "another_kind_of_default": ("defaults: [{/loss: svm}]\nname: mine\n", False),
    "without_a_package": ("defaults: [{override /loss: svm}]\nname: mine\n", False),
    "chosen_too_late": ("defaults: [{override /tracker@_global_.tracker: none}]\nname: a\n", False),
    "another_resolver": ("name: mine\nx: ${oc.env:HOME}\n", False),
    "within_text": ("name: mine\nx: a${seed}\n", False),
    "a_circle": ("name: mine\nx: ${optimizer.x}\n", False),
    "left_open": ("name: mine\nx: ???\n", False),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_plugins(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, understood = FILES[name]
    (tmp_path / "optimizer").mkdir()
    (tmp_path / "optimizer" / "mine.yaml").write_text(text)
    folders = [*search_path.conf_folders(), tmp_path]
    monkeypatch.setattr(plain_composition, "conf_folders", lambda: folders)
    config = plain_composition.compose({"optimizer": "mine"}, {})
    assert (config is not None) == understood
    if config:
        assert config["optimizer"] == {"name": "mine", "eta": 0.001}
        assert config["loss"]["name"] == "svm"
