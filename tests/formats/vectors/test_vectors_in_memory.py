"""Sparse vectors in memory, and the text of every error."""

import numpy as np
import pytest

from structopt.errors import DataError
from structopt.formats.vectors.vectors_in_memory import vectors


def rows(instances):
    bounds, values = instances.offsets.tolist(), instances.values.tolist()
    pairs = [(instances.indices[j], value) for j, value in zip(instances.ids, values, strict=True)]
    return [dict(pairs[a:b]) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]


def test_mappings_and_rows_of_values():
    instances = vectors([{3: 0.5, "7": 2}, [0.0, 1.5, 0.0], np.array([1, 0, 2]), ()])
    assert rows(instances) == [{"3": 0.5, "7": 2.0}, {"2": 1.5}, {"1": 1.0, "3": 2.0}, {}]
    assert instances.labels == [""] * 4
    assert rows(vectors(np.eye(2), first=0)) == [{"0": 1.0}, {"1": 1.0}]


@pytest.mark.parametrize(
    ("instance", "message"),
    [
        ({1: "x"}, "the value 'x' of index 1 is not a finite number"),
        ([1.0, float("nan")], "the value nan of index 2 is not a finite number"),
        ({1: None}, "the value None of index 1 is not a finite number"),
        ({1.0: 2}, "the index 1.0 is neither an integer nor a name"),
        ({True: 2}, "the index True is neither an integer nor a name"),
        ({-1: 2}, "the index -1 is negative; indices are at least 0"),
        (3.0, "an instance is 3.0. Give a list of instances, each a mapping from index to value: "),
        ([[1.0]], r"an instance is \[\[1.0\]\]\."),
        (["a"], r"an instance is \['a'\]\."),
        ("word", "an instance is 'word'."),
    ],
)
def test_what_is_refused(instance, message):
    with pytest.raises(DataError, match=f"^<memory>:2: {message}"):
        vectors([{}, instance])
