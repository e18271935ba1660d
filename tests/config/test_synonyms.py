"""Words of the field stand for what is installed, in the core and in plugins; and the core's file
says each once.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from structopt.command import compare, evaluate, predict
from structopt.command.main import COMMANDS, TRAIN
from structopt.config import registry
from structopt.config.composition import compose
from structopt.config.search_path import conf_dir
from structopt.config.synonyms import FILE, synonym_of, words_for
from structopt.config.validation import Settings
from structopt.core.data.config_keys import dotted
from structopt.errors import did_you_mean, form_of, near
from tests.config.test_registry import write_distribution

CORE = OmegaConf.to_container(OmegaConf.load(Path(conf_dir()) / FILE))
LATER = {"quiet"}
"""Keys that a word may stand for before they exist: nothing is suggested until they do."""


@pytest.mark.parametrize("section", CORE)
def test_every_word_stands_once_for_something_that_there_is(section: str) -> None:
    words = [form_of(str(word)) for entry in CORE[section] for word in entry["words"]]
    assert len(words) == len(set(words))
    names = {entry["name"] for entry in CORE[section]}
    if section in registry.CONTRACTS:
        known = set(registry.installed(section))
        assert not {form_of(name) for name in known} & set(words)
    elif section == "keys":
        components = [one for kind in registry.KINDS for one in registry.installed(kind).values()]
        parameters = {
            f"{one.kind}.{parameter.name}"
            for one in components
            for parameter in registry.described(one)
        }
        known = {
            *dotted(compose([])),
            *parameters,
            *Settings.__annotations__,
            *registry.KINDS,
            "hydra.run.dir",
            *LATER,
        }
    elif section == "options":
        known = {
            key
            for one in (predict, evaluate, compare)
            for key in one.SYNTAX.options.__annotations__
        }
    else:
        known = (
            {*COMMANDS, TRAIN}
            if section == "subcommands"
            else {"--multirun", "--help", "--version"}
        )
    assert names <= known


def test_a_plugin_has_words_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "structopt_words_conf/__init__.py": "",
        "structopt_words_conf/synonyms.yaml": "loss:\n  - {name: ramp, words: [quadratic_hinge, hinge], why: the nearest}\n",
    }
    write_distribution(
        tmp_path, "structopt-words", {"conf": {"words": "structopt_words_conf"}}, files
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "structopt_words_conf", raising=False)
    assert "Did you mean 'ramp'? The nearest. Installed: " in registry.not_installed(
        "loss", "Quadratic-Hinge"
    )
    found = synonym_of("loss", "hinge")
    assert found is not None and found.name == "svm"  # the core's words are the core's
    assert "hinge" in words_for("loss", "svm") and not words_for("loss", "ramp")[3:]


@pytest.mark.parametrize(
    ("name", "known", "names"),
    [
        ("NER", ["ner", "tagging"], ["ner"]),
        ("l-bfgs", ["sgd", "lbfgs"], ["lbfgs"]),
        ("c", ["C", "cost"], ["C"]),
        ("chain", ["linear_chain", "single"], ["linear_chain"]),
        (
            "martins",
            ["martins_table", "martins_figure", "meshi"],
            ["martins_table", "martins_figure"],
        ),
        ("betta", ["beta", "task"], ["beta"]),
        ("beta", ["task", "label"], []),
        ("f2", ["f1", "uas"], ["f1"]),
    ],
)
def test_near_names(name: str, known: list[str], names: list[str]) -> None:
    assert near(name, known) == names


def test_what_is_asked() -> None:
    assert did_you_mean("gama", ["gamma"], "loss.") == " Did you mean 'loss.gamma'?"
    assert did_you_mean("tree", ["tree_a", "tree_b"]) == " Did you mean 'tree_a' or 'tree_b'?"
    assert did_you_mean("zzz", ["gamma"]) == ""
