"""Commands, tables and numbers of the README, the tour and the page of components must be those of
the program; test_docs checks their Python and their links.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from structopt.config import pairs, registry
from structopt.config.composition import compose
from structopt.config.search_path import conf_folders
from structopt.config.validation import validate
from structopt.testing.components import run_words
from tests.pages import ROOT, runs, trainings
from tests.test_real_data import FIGURES

README = (ROOT / "README.md").read_text(encoding="utf8")
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf8")
COMPONENTS = (ROOT / "docs" / "components.md").read_text(encoding="utf8")


def test_the_two_commands() -> None:
    environment = "python3 -m venv .venv && .venv/bin/pip install "
    start = " && .venv/bin/python -m "
    assert f"    {environment}.{start}structopt task=ner optimizer=dca loss.beta=1\n" in README
    assert f'    {environment}-e ".[dev]"{start}pytest\n' in README


@pytest.mark.parametrize(
    "line", [line for line in trainings(README + TOUR) if "+experiment=" not in line]
)
@pytest.mark.nightly("documents")
def test_training_commands_compose(line: str) -> None:
    for overrides in runs(line):
        validate(compose(overrides))


def test_the_table_names_all_components() -> None:
    for folder in conf_folders():
        for file in Path(folder).glob("*/*.yaml"):
            name = f"{file.parent.name}={file.stem}"
            assert file.stem in COMPONENTS, f"docs/components.md lacks {name}"


def test_the_pairs_are_those_of_the_registry() -> None:
    core = {
        name
        for name, one in registry.installed("optimizer").items()
        if one.distribution == "structopt-trainer"
    }
    verdicts = {key: verdict for key, verdict in pairs.verdicts().items() if key[0] in core}
    assert pairs.table(verdicts) in COMPONENTS


def test_the_readme_names_all_tasks_and_counts_optimizers() -> None:
    components = {
        kind: [
            name
            for name, one in registry.installed(kind).items()
            if one.distribution == "structopt-trainer"
        ]
        for kind in ("task", "optimizer")
    }
    assert len(components["task"]) == 12 and "twelve tasks" in README
    assert len(components["optimizer"]) == 14 and "fourteen optimizers" in README
    for name in components["task"]:
        assert re.search(rf"`(task=)?{name}`", README), name


def test_counts_of_verdicts_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "observations.md").read_text(encoding="utf8")
    judged = page.partition("\n## ")[0]
    counts = Counter(re.findall(r"\| \*\*(.+?)\*\*[^|]*\|", judged))
    assert (
        f"{sum(counts.values())} statements of the papers are judged, some of them on several data "
        f"sets: {counts['holds']} hold here, "
        f"{counts['does not hold']} do not hold, {counts['within noise']} are within noise, and "
        f"{counts['undecided']} are undecided"
    ) in " ".join(README.split())
    between = re.findall(r"for losses between SVMs and CRFs \| \*\*(.+?)\*\* \|", page)
    assert between and "holds" not in between


@pytest.mark.parametrize("name", FIGURES)
def test_scores_are_those_of_the_nightly_tests(name: str) -> None:
    score = f"{100 * FIGURES[name][2]:.4g}"
    assert re.search(rf"\b{re.escape(score)}\b", README + TOUR), score


def test_the_citation_has_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text("utf8")


SUMMARY = re.compile(r"^ *(\w+)-(\w+)-\w+: (\d+) instances, (\d+) weights.*$", re.MULTILINE)
PASSES = re.compile(r"(\d+) epochs in .* objective ([\d.]+)")
KEPT = re.compile(
    r"kept: epoch (\d+), the best on the dev split \(([\d.]+); epoch (\d+): ([\d.]+)\)"
)
SCORES = re.compile(r"^ *(\w+) +(\d+\.\d\d) +(\d+\.\d\d)$", re.MULTILINE)
SHOWN = {
    summary.group().strip(): text[summary.start() :]
    for text in (README, TOUR)
    for summary in SUMMARY.finditer(text)
}
"""Outputs of training commands, by their first lines."""
POINTS = 0.3  # scores differ by so much between processors
EPOCHS = 2  # and the best epoch by so many


def shown_by(text: str) -> str:
    """Return the output of the first run in a text."""
    first, *others = SUMMARY.finditer(text)
    end = others[0].start() if others else len(text)
    return text[first.start() : end].split("\n\n")[0]


def kept_by(text: str) -> list[float]:
    """Return the numbers of the kept epoch: its index and score, the last epoch and its score."""
    kept = KEPT.search(shown_by(text))
    return [float(number) for number in kept.groups()] if kept else []


def numbers_of(text: str) -> tuple[list[int], list[float], dict[str, list[float]]]:
    """Sizes, passes with objective, and scores that a run prints; of the first run in a text."""
    shown = shown_by(text)
    first, trained = SUMMARY.search(shown), PASSES.search(shown)
    assert first is not None and trained is not None
    scores = {name: [float(dev), float(test)] for name, dev, test in SCORES.findall(shown)}
    sizes = [int(size) for size in first.group(3, 4)]
    return sizes, [float(number) for number in trained.groups()], scores


def overrides_of(summary: str) -> list[str]:
    """The first training command of README and tour with the task and the optimizer of a summary."""
    named = SUMMARY.match(summary)
    assert named is not None
    words = [f"task={named[1]}", f"optimizer={named[2]}"]
    return next(
        overrides
        for line in trainings(README + TOUR)
        if "+experiment=" not in line
        for overrides in runs(line)
        if all(word in overrides for word in words)
    )


def approximately(kept: list[float]) -> list[Any]:
    """Return the numbers of a kept epoch with the tolerances between processors."""
    tolerances = (EPOCHS, POINTS, 0, POINTS)
    return [pytest.approx(one, abs=by) for one, by in zip(kept, tolerances, strict=bool(kept))]


@pytest.mark.parametrize(
    "summary",
    [
        one if number == 0 else pytest.param(one, marks=pytest.mark.nightly("documents"))
        for number, one in enumerate(SHOWN)
    ],
)
def test_outputs_show_the_numbers_of_the_program(summary: str, tmp_path: Path) -> None:
    done = run_words(tmp_path, *overrides_of(summary), "tracker=none", "hydra.run.dir=run")
    assert done.code == 0
    shown, printed = numbers_of(SHOWN[summary]), numbers_of(done.err + done.out)
    assert printed[0] == shown[0]
    assert printed[1] == pytest.approx(shown[1], rel=0.01)
    assert kept_by(done.err + done.out) == approximately(kept_by(SHOWN[summary]))
    assert printed[2].keys() == shown[2].keys()
    assert len(shown[2]) > 0
    for name, scores in shown[2].items():
        assert printed[2][name] == pytest.approx(scores, abs=POINTS)
