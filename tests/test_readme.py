"""Commands and tables of the README must be those of the program; test_docs checks its Python and
its links.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from structopt.config import pairs, registry
from structopt.config.composition import compose, validate
from structopt.config.search_path import conf_folders
from tests.pages import ROOT, runs, trainings

README = (ROOT / "README.md").read_text(encoding="utf8")


def test_the_two_commands() -> None:
    install = 'python3 -m venv .venv && .venv/bin/pip install -e ".[dev]" && .venv/bin/python -m '
    assert f"    {install}structopt task=ner optimizer=dca loss.beta=1\n" in README
    assert f"    {install}pytest\n" in README


@pytest.mark.parametrize("line", [line for line in trainings(README) if "+experiment=" not in line])
def test_training_commands_compose(line: str) -> None:
    for overrides in runs(line):
        validate(compose(overrides))


def test_the_table_names_all_components() -> None:
    for folder in conf_folders():
        for file in Path(folder).glob("*/*.yaml"):
            assert file.stem in README, f"the README's table lacks {file.parent.name}={file.stem}"


def test_the_pairs_are_those_of_the_registry() -> None:
    core = {
        name
        for name, one in registry.installed("optimizer").items()
        if one.distribution == "structopt-trainer"
    }
    verdicts = {key: verdict for key, verdict in pairs.verdicts().items() if key[0] in core}
    assert pairs.table(verdicts) in README
