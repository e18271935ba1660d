"""The task on CRFsuite's text: encoding and its state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from structopt.errors import ConfigError
from structopt.task.attributes import AttributeLabelling

TEXT = "B-X\ta\tb:2\nI-X\ta\n\nO\tc\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "t.txt").write_text(TEXT)
    return tmp_path / "t.txt"


def test_fit(path: Path) -> None:
    task = AttributeLabelling()
    encoded = task.fit(task.read(path))
    assert (task.labels, task.scheme, task.attribute_names()) == (
        ("B-X", "I-X", "O"),
        "iob2",
        ["a", "b", "c"],
    )
    assert encoded.gold is not None and encoded.gold.tolist() == [0, 1, 2]
    table = encoded.tables["label"]
    assert (table.offsets.tolist(), table.ids.tolist(), table.values.tolist()) == (
        [0, 2, 3, 4],
        [0, 1, 0, 2],
        [1, 2, 1, 1],
    )


def test_rare_and_unknown_attributes(path: Path) -> None:
    task = AttributeLabelling(features={"min_count": 2})
    task.fit(task.read(path))
    assert task.attribute_names() == ["a"]
    table = task.encode(task.corpus([[["new", "a"], {}], []])).tables["label"]
    assert (table.offsets.tolist(), table.ids.tolist(), table.size) == ([0, 1, 1], [0], 1)


def test_state(path: Path) -> None:
    task, other = AttributeLabelling(), AttributeLabelling()
    task.fit(task.read(path))
    other.restore(*task.state())
    assert (other.labels, other.scheme, other.attribute_names()) == (
        task.labels,
        task.scheme,
        task.attribute_names(),
    )
    sentence = [[{"a": 1.0, "b": 0.5}, ["c"]]]
    one, two = (each.encode(each.corpus(sentence)).tables["label"] for each in (task, other))
    for name in ("offsets", "ids", "values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("features", [{"min_count": 0}, {"templates": ["bias"]}])
def test_features_that_are_refused(features: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="features"):
        AttributeLabelling(features=features)
