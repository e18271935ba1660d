"""A plugin that is gone, cannot be imported or ends the process costs a warning and nothing else."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from structopt.command import main
from structopt.config import registry
from structopt.config.composition import compose
from structopt.core import entry_points
from structopt.errors import ConfigError

BROKEN = {
    "gone": (None, "ModuleNotFoundError: No module named 'gone'"),
    "unimportable": ("import a_module_that_moved", "No module named 'a_module_that_moved'"),
    "exiting": ("import sys; sys.exit(3)", "SystemExit: 3"),
}


@pytest.fixture(params=BROKEN)
def plugin(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str]:
    """The name of a broken plugin, and the reason that the warning gives."""
    name = request.param
    source, reason = BROKEN[name]
    metadata = tmp_path / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        f"[structopt.optimizer]\n{name} = {name}:Optimizer\n[structopt.conf]\n{name} = {name}.conf\n"
    )
    if source is not None:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(source)
    entry_points._warn_once.cache_clear()
    monkeypatch.syspath_prepend(tmp_path)
    return name, reason


def test_commands_work(
    plugin: tuple[str, str],
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name, reason = plugin
    caplog.set_level(logging.WARNING, "structopt")
    assert main.main(["--help"]) == 0
    assert main.main(["components", "optimizer"]) == 0
    listed = capsys.readouterr().out
    assert f"{name}:Optimizer cannot be imported" in listed and "\noptimizer  dca " in listed
    assert compose(["optimizer=dca"])["optimizer"]["name"] == "dca"
    assert main.main(["components", "optimizr"]) == 2
    (warning,) = [text for text in caplog.messages if "is ignored" in text]
    assert f"'{name} = {name}.conf' of {name} is ignored" in warning and reason in warning


def test_its_component_is_refused_with_the_reason(plugin: tuple[str, str]) -> None:
    name, reason = plugin
    with pytest.raises(ConfigError) as raised:
        registry.load("optimizer", name)
    assert (raised.value.parameter, raised.value.value) == ("optimizer", name)
    assert reason in str(raised.value)
    assert name not in registry.importable("optimizer")
    assert "dca" in registry.importable("optimizer")
