"""What the README tells a user to type must be what the program takes."""

from __future__ import annotations

import re
import shlex
from itertools import product
from pathlib import Path

import pytest

from structopt import pairs, registry
from structopt.configuration import compose, validate
from structopt.hydra_glue import conf_folders

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf8")
TYPED = re.findall(r"^ +.*python -m structopt (.*)$", README, re.MULTILINE)
OTHER = ("predict", "evaluate", "components", "resume=RUN_FOLDER")
TRAINING = [line for line in TYPED if line.split()[0] not in OTHER]


def test_the_two_commands() -> None:
    install = 'python3 -m venv .venv && .venv/bin/pip install -e ".[dev]" && .venv/bin/python -m '
    assert f"    {install}structopt task=ner optimizer=dca loss.beta=1\n" in README
    assert f"    {install}pytest\n" in README


@pytest.mark.parametrize("line", TRAINING)
def test_training_commands_compose(line: str) -> None:
    words = [word for word in shlex.split(line) if word != "--multirun"]
    choices = [[word] for word in words]
    if "--multirun" in line:
        choices = [[f"{word.partition('=')[0]}={value}" for value in word.partition("=")[2].split(",")] for word in words]
    for overrides in product(*choices):
        validate(compose(list(overrides)))


def test_python_blocks_compile() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        compile(block, "README.md", "exec")


def test_the_table_names_what_is_there() -> None:
    for folder in conf_folders():
        for file in Path(folder).glob("*/*.yaml"):
            assert file.stem in README, f"the README's table lacks {file.parent.name}={file.stem}"


def test_the_pairs_are_those_of_the_registry() -> None:
    core = {name for name, one in registry.installed("optimizer").items() if one.distribution == "structopt-trainer"}
    found = {key: verdict for key, verdict in pairs.verdicts().items() if key[0] in core}
    assert pairs.table(found) in README


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#:]+)\)", README))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).is_file()
