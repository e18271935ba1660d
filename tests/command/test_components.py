"""The table of what is installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from structopt.command import main
from structopt.config import registry
from tests.command.commands import run


def test_components(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["components"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["kind", "name", "package", "parameters"]
    rows = {tuple(line.split()[:2]): line for line in lines[1:]}
    assert list(rows) == [
        (kind, name) for kind in registry.CONTRACTS for name in registry.installed(kind)
    ]
    assert "structopt-trainer" in rows["optimizer", "dca"]
    assert (
        "C: float = task.default_C, epochs: int = 30, tolerance: float = 0.0"
        in rows["optimizer", "dca"]
    )
    assert "beta: float = inf, gamma: float = 1.0" in rows["loss", "svm"]
    assert main.main(["components", "loss"]) == 0
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]} == {"loss"}


@pytest.mark.nightly("pairs")
def test_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["components", "pairs", "second_order"]) == 0
    assert "| sdca | enumeration | enumeration | enumeration, ilp, lp |" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["optimizer=sgd"], ["optimizer", "sgd"], ["sgd"]])
def test_one_component(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main.main(["components", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "optimizer=sgd (structopt-trainer)"
    assert {"  C: float = task.default_C_by.gradient", "  epochs: int = 30"} <= set(lines)
    assert "      Passes over the data." in lines


@pytest.mark.nightly("rest")
def test_components_is_quick(tmp_path: Path) -> None:
    run("components", folder=tmp_path)
    before = os.times()
    assert run("components", folder=tmp_path).returncode == 0
    after = os.times()  # of the processor: whatever else the machine does
    assert (
        after.children_user + after.children_system - before.children_user - before.children_system
        < 1.5
    )


def test_every_parameter_is_described() -> None:
    described = [
        (kind, name, parameter)
        for kind in registry.CONTRACTS
        for name, one in registry.installed(kind).items()
        for parameter in registry.described(one)
    ]
    assert [(kind, name, one.name) for kind, name, one in described if not one.doc] == []
    # a description does not refer to docstrings of modules, which the command does not show
    assert not [
        str(one) for *_, one in described if "structopt." in one.doc or one.doc[:4] == "See "
    ]
