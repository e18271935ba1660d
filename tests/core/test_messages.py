"""The texts of errors that `structopt.core` raises, in one table."""

from pathlib import Path

import pytest

from structopt.core import memory
from structopt.core.data import file_sets, in_memory, ranges, splits
from structopt.core.data.saved_state import SavedState
from structopt.errors import StructoptError

STATE = SavedState({"count": "three"}, {}, "features.")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: ranges.check_positive("C", 0.0),
            "C=0.0 must be greater than 0 and finite: from 1e-12 to 1e+12.",
        ),
        (
            lambda: ranges.check_at_least("task.coupling", -1),
            "task.coupling=-1 must be at least 0 and finite: from 0 to 1e+12.",
        ),
        (
            lambda: ranges.check_inverse_temperature("beta", 0),
            "beta=0 must be in (0, inf]: from 1e-12 to 1e+12, or inf. beta=1 gives CRFs, "
            "beta=inf margins.",
        ),
        (
            lambda: splits.divided(2, 0.2),
            "tail=0.2 of 2 training instances leaves one of the two parts empty. Give more data, "
            "or `dev`.",
        ),
        (
            lambda: file_sets.check_exists(Path("a.conll")),
            "a.conll: there is no such file. Check `train`, `dev` and `test`.",
        ),
        (
            lambda: file_sets.check_one_file("*.npz", "an npz"),
            "*.npz: this names several files, and an npz is read from one: give its path.",
        ),
        (
            lambda: in_memory.checked_weights([1, -1], 2),
            "instance 1: sample_weight=-1 must be at least 0.",
        ),
        (
            lambda: in_memory.checked_weights([0, 0], 2),
            "sample_weight must be above zero for at least one instance.",
        ),
        (
            lambda: STATE.refuse("count", "an integer"),
            "vocabulary.json: features.count must be an integer, and is 'three'.",
        ),
        (
            lambda: STATE.refuse_array("rows", "a vector"),
            "weights.safetensors: the array rows must be a vector, and is missing.",
        ),
        (
            lambda: memory.refuse_what_the_disk_lacks(1e18, Path("/"), "The folders", "Take less."),
            "The folders need 1000000000.0 GB of the disk of /, and",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised:
        call()
    assert str(raised.value).startswith(text)
