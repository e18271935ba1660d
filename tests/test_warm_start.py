"""The weights of an earlier model as a start."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import structopt
from structopt import history

QUICK = ["task=ner", "task.limit=60", "tracker=none"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    structopt.train([*QUICK, "optimizer.epochs=3"], folder)
    return folder


def test_same_data(run: Path, tmp_path: Path) -> None:
    start = structopt.train([*QUICK, "optimizer.epochs=0", f"warm_start={run}"], tmp_path / "zero")
    np.testing.assert_array_equal(start.weights, structopt.load(run).weights)
    structopt.train([*QUICK, "optimizer.epochs=1", f"warm_start={run / 'model'}"], tmp_path / "one")
    assert history.read(tmp_path / "one/history.csv")[0]["loss"] < 0.5 * history.read(run / "history.csv")[0]["loss"]


def named(model: structopt.Model) -> dict[tuple[str, str, int], float]:
    """Non-zero weights by part group, attribute name and configuration number."""
    found, start = {}, 0
    for group in model.feature_map.groups:
        names = [*model.task.attribute_names(group.name), ""]
        block = model.weights[start : start + group.size * group.width].reshape(group.size, group.width)
        found |= {(group.name, names[a], int(y)): float(block[a, y]) for a, y in zip(*np.nonzero(block), strict=True)}
        start += block.size
    return found


def test_matched_by_name(run: Path, tmp_path: Path) -> None:
    """Other words, one label new and others gone: what both have is carried over, and no more."""
    text = "Oslo NNP B-NP B-LOC\n, , O O\nZq NNP B-NP B-NEW\n\nJan NNP B-NP B-PER\nslept VBD B-VP O\n"
    (tmp_path / "train.txt").write_text(text)
    words = [*QUICK, "optimizer.epochs=0", f"task.train={tmp_path / 'train.txt'}", f"warm_start={run}"]
    old, new = structopt.load(run), structopt.train(words, tmp_path / "run")
    assert new.labels == ("B-LOC", "B-NEW", "B-PER", "O")
    before, after = named(old), named(new)
    label = {(a, new.labels[y]): w for (group, a, y), w in after.items() if group == "label"}
    known = {(a, old.labels[y]): w for (group, a, y), w in before.items() if group == "label"}
    assert label and set(label) <= set(known)
    assert all(w == known[key] for key, w in label.items())
    assert not any(name == "B-NEW" for _, name in label)
    L, K = len(new.labels), len(old.labels)
    pairs = {(new.labels[y // L], new.labels[y % L]): w for (group, _, y), w in after.items() if group == "transition"}
    past = {(old.labels[y // K], old.labels[y % K]): w for (group, _, y), w in before.items() if group == "transition"}
    assert pairs == {key: w for key, w in past.items() if set(key) <= set(new.labels)}
    assert pairs


@pytest.mark.parametrize("task", ["multilabel", "synthetic"])
def test_graphs_whose_variables_have_weights_of_their_own(task: str, tmp_path: Path) -> None:
    """The width of their parts is no power of the number of states."""
    quick = [f"task={task}", "task.limit=20", "tracker=none", "optimizer=dlpw"]
    model = structopt.train([*quick, "optimizer.epochs=1"], tmp_path / "run")
    start = structopt.train([*quick, "optimizer.epochs=0", f"warm_start={tmp_path / 'run'}"], tmp_path / "zero")
    np.testing.assert_array_equal(start.weights, model.weights)


def test_fewer_labels(tmp_path: Path) -> None:
    """What the kept labels and the edges between them have is carried over."""
    quick = ["task=multilabel", "task.limit=60", "tracker=none", "optimizer=dlpw"]
    model = structopt.train([*quick, "optimizer.epochs=1"], tmp_path / "run")
    few = [*quick, "task.most_frequent=3", "optimizer.epochs=0", f"warm_start={tmp_path / 'run'}"]
    start = structopt.train(few, tmp_path / "few")
    assert len(start.task.names) == 3 < len(model.task.names)
    kept = [model.task.names.index(name) for name in start.task.names]
    blocks = [one.weights[: len(one.task.attribute_names()) * 2 * len(one.task.names)] for one in (model, start)]
    tables = [block.reshape(-1, len(one.task.names), 2) for block, one in zip(blocks, (model, start), strict=True)]
    np.testing.assert_array_equal(tables[1], tables[0][:, kept])
