"""Records are declared once: what one packs by name, kernels and plain Python open by the same
names.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Annotated, NamedTuple

import numba
import numpy as np
import pytest

from structopt.errors import StructoptError
from structopt.factor_graph.linear_chain import LinearChain
from structopt.features.attribute_rows import AttributeRows
from structopt.kernels.features.attributes import rows as kernels
from structopt.kernels.features.attributes.record import ROWS
from structopt.kernels.waist.fields import Flag, Float, Floats, Int, Ints, Long, Longs, Wide, Words
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.record import EMPTY, Record
from structopt.testing.problems import random_encoded


class Inner(NamedTuple):
    ends: Longs
    image: Floats


class Mixed(NamedTuple):
    values: Floats
    labels: Int
    table: Annotated[Ints, Wide(2)]
    codes: Annotated[Ints, Wide("labels")]
    inner: Inner
    rate: Float
    words: Words
    single_root: Flag
    passes: Long


class Alone(NamedTuple):
    ids: Ints
    values: Floats


MIXED, ALONE = RecordLayout(Mixed), RecordLayout(Alone)
VALUES = {
    "values": [0.5, 1.5],
    "labels": 3,
    "table": [[1, 2], [3, 4]],
    "codes": np.arange(6),
    "rate": 0.1,
    "single_root": True,
    "inner": {"ends": [0, 2**40], "image": 4},
    "words": np.array([2**63 + 1], np.uint64),
    "passes": 2**40,
}


RECORD = MIXED.pack(**VALUES)  # kept: what a kernel opens are views that own nothing


def opened(compiled: bool) -> Mixed:
    return (MIXED.compiled if compiled else MIXED.open)(RECORD)


@pytest.mark.parametrize("compiled", [False, True])
def test_values_come_back_under_their_names(compiled: bool) -> None:
    x = opened(compiled)
    assert (x.labels, x.rate, bool(x.single_root), x.passes) == (3, 0.1, True, 2**40)
    np.testing.assert_array_equal(x.values, [0.5, 1.5])
    np.testing.assert_array_equal(x.table, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(x.codes, [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(x.inner.ends, [0, 2**40])
    np.testing.assert_array_equal(x.inner.image, np.zeros(4))
    np.testing.assert_array_equal(x.words, np.array([2**63 + 1], np.uint64))
    assert (x.table.dtype, x.inner.ends.dtype, x.values.dtype, x.words.dtype) == (
        np.int32,
        np.int64,
        np.float64,
        np.uint64,
    )


def test_records_have_one_type() -> None:
    assert (
        numba.typeof(MIXED.pack(**VALUES))
        == numba.typeof(ALONE.pack(ids=0, values=0))
        == numba.typeof(EMPTY)
    )


def test_arrays_are_views_of_the_buffers() -> None:
    record = MIXED.pack(**VALUES)
    MIXED.open(record).inner.image[2] = 7.0
    assert record.floats.tolist() == [0.1, 0.5, 1.5, 0.0, 0.0, 7.0, 0.0]


REFUSED = {
    "missing": ({"rate": None}, "Record Mixed: there is no value for rate."),
    "unknown": (
        {"label": 1},
        "Record Mixed: there is no field label. Did you mean 'labels'? Its fields: values, labels,",
    ),
    "inner missing": ({"inner": {"ends": 1}}, "there is no value for inner.image."),
    "inner unknown": ({"inner": {"ends": 1, "image": 1, "x": 1}}, "there is no field inner.x."),
    "no mapping": ({"inner": 5}, "inner takes a mapping from ends, image to values."),
    "overflow": (
        {"table": np.array([[1, 2**31]])},
        "table takes whole numbers from -2147483648 to 2147483647, not 2147483648.",
    ),
    "single overflow": (
        {"labels": -(2**31) - 1},
        "labels takes whole numbers from -2147483648 to 2147483647, not -2147483649.",
    ),
    "unsigned": ({"passes": np.uint64(2**63)}, "passes takes whole numbers from"),
    "huge": ({"passes": 1e19}, "passes takes whole numbers from"),
    "larger than any": ({"passes": 10**30}, "passes takes numbers of type int64, not object."),
    "fraction": (
        {"codes": [0.0, 0.5, 1.0]},
        "codes takes whole numbers from -2147483648 to 2147483647, not 0.5.",
    ),
    "nan": ({"codes": [0.0, np.nan, 1.0]}, "not nan."),
    "imprecise": (
        {"values": [2**53 + 2]},
        "values takes whole numbers from -9007199254740992 to 9007199254740992",
    ),
    "text": ({"values": ["a"]}, "values takes numbers of type float64, not <U1."),
    "array for a number": (
        {"rate": [0.1]},
        "rate takes a single number, not an array of shape (1,).",
    ),
    "number for an array": (
        {"values": 0.5},
        "values takes an array, or the number of its zeros; not 0.5.",
    ),
    "negative size": ({"values": -1}, "values takes an array, or the number of its zeros; not -1."),
    "columns": (
        {"table": [[1, 2, 3], [4, 5, 6]]},
        "table takes an array with 2 columns, not one of shape (2, 3).",
    ),
    "named columns": (
        {"codes": np.arange(4)},
        "codes takes an array with 3 columns, not one of shape (4,).",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_values_that_do_not_fit_are_refused(name: str) -> None:
    change, message = REFUSED[name]
    values = VALUES | change
    if name == "missing":
        del values["rate"]
    with pytest.raises(StructoptError, match=re.escape(message)):
        MIXED.pack(**values)


def test_whole_floats_and_empty_arrays_of_any_type_fit() -> None:
    x = MIXED.open(
        MIXED.pack(
            **VALUES
            | {"codes": [0.0, 1.0, 2.0], "table": [], "values": np.arange(3, dtype=np.float32)}
        )
    )
    assert x.codes.tolist() == [[0, 1, 2]]
    assert x.table.shape == (0, 2)
    assert x.values.tolist() == [0.0, 1.0, 2.0]


def test_an_array_may_come_in_pieces() -> None:
    table = [np.arange(4).reshape(2, 2), np.array([4, 5], np.int32), np.zeros((0, 2))]
    x = MIXED.open(MIXED.pack(**VALUES | {"table": table, "values": [np.ones(1), np.zeros(2)]}))
    assert x.table.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert x.values.tolist() == [1.0, 0.0, 0.0]
    assert x.codes.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(
        StructoptError,
        match=re.escape("table takes an array with 2 columns, not one of shape (3,)."),
    ):
        MIXED.pack(**VALUES | {"table": [np.zeros((1, 2)), np.zeros(3)]})


def test_fields_must_be_annotated() -> None:
    with pytest.raises(TypeError, match="Unmarked.ids: annotate it Int, Flag"):
        RecordLayout(Unmarked)


class Unmarked(NamedTuple):
    ids: np.ndarray


def test_the_only_array_of_a_buffer_is_shared() -> None:
    ids, values = np.arange(3, dtype=np.int32), np.arange(8.0).reshape(2, 4)
    record = ALONE.pack(ids=ids, values=values)
    assert np.shares_memory(record.ints, ids)
    assert np.shares_memory(record.floats, values)
    for other in (ids.astype(np.int64), np.arange(6, dtype=np.int32)[::2]):
        assert not np.shares_memory(ALONE.pack(ids=other, values=0).ints, other)
    ids.flags.writeable = False  # kernels take writable arrays only
    assert ALONE.pack(ids=ids, values=0).ints.flags.writeable


@pytest.fixture
def rows():
    """A record of features, weights, and the parts of its instances."""
    encoded = random_encoded(3, (1, 4, 6), values=True)
    graph = LinearChain()
    structure = graph.build(encoded)
    scorer = AttributeRows().fit(encoded, structure, graph.gold(encoded, structure))
    return (
        scorer.record(encoded, structure),
        np.random.default_rng(0).normal(size=scorer.dimension),
        structure,
    )


def scores(record: Record, theta: np.ndarray, structure) -> list[list[float]]:
    listed = []
    for i, parts in enumerate(np.diff(structure.parts).tolist()):
        s = np.empty(parts)
        kernels.scores(record, theta, i, s, EMPTY)
        listed.append(s.tolist())
    return listed


def test_kernels_read_a_memory_map(tmp_path, rows) -> None:
    record, theta, structure = rows
    for name, buffer in record._asdict().items():
        np.save(tmp_path / f"{name}.npy", buffer)
    mapped = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="c") for name in record._fields}
    borrowed = ROWS.borrow(**mapped)
    assert all(np.shares_memory(mapped[name], getattr(borrowed, name)) for name in record._fields)
    assert numba.typeof(borrowed) == numba.typeof(record)
    assert scores(borrowed, theta, structure) == scores(record, theta, structure)
    assert len(kernels.scores.signatures) == 1


def test_kernels_read_slices_of_larger_buffers(rows) -> None:
    record, theta, structure = rows
    larger = {
        name: np.concatenate([buffer[:1], buffer, buffer[:1]])
        for name, buffer in record._asdict().items()
    }
    slices = {name: larger[name][1 : 1 + len(buffer)] for name, buffer in record._asdict().items()}
    borrowed = ROWS.borrow(**slices)
    assert all(np.shares_memory(larger[name], getattr(borrowed, name)) for name in record._fields)
    assert scores(borrowed, theta, structure) == scores(record, theta, structure)


def changed(record: Record, **buffers: np.ndarray) -> dict[str, np.ndarray]:
    return record._asdict() | buffers


def readonly(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def test_buffers_that_do_not_fit_are_not_borrowed() -> None:
    record = MIXED.pack(**VALUES)
    at, floats = record.at, record.floats
    outside, falling, early = at.copy(), at.copy(), at.copy()
    outside[2], falling[1], early[0] = 99, 13, 0
    codes = at.copy()
    codes[2] -= 1
    for change, message in [
        (
            {"longs": record.longs.astype(np.int32)},
            "longs must be a vector of int64, not int32 of shape (4,).",
        ),
        (
            {"floats": floats.reshape(1, -1)},
            "floats must be a vector of float64, not float64 of shape (1, 7).",
        ),
        (
            {"floats": np.repeat(floats, 2)[::2]},
            "floats must be contiguous and aligned to be borrowed.",
        ),
        ({"floats": readonly(floats)}, "floats is read-only, and kernels take writable arrays."),
        (
            {"floats": floats[:-1]},
            "the arrays end after 7 floats, of which there are 6. The buffer is cut off.",
        ),
        ({"at": outside}, "the arrays end after 99 ints, of which there are 12."),
        (
            {"at": falling},
            "[2, 13, 12] are no offsets of 2 arrays after 2 single numbers, its ints.",
        ),
        ({"at": early}, "are no offsets of 2 arrays after 2 single numbers, its ints."),
        ({"at": at[:-1]}, "are no offsets of 2 arrays after 1 single numbers, its floats."),
        ({"at": np.append(at, 0)}, "there are 1 offsets too many."),
        (
            {"at": codes},
            "cannot reshape array of size 5 into shape (3). Borrow what the same layout has "
            "packed.",
        ),
    ]:
        with pytest.raises(StructoptError, match="Record Mixed: .*" + re.escape(message)):
            MIXED.borrow(**changed(record, **change))


CODE = """
import sys
sys.path.insert(0, sys.argv[1])
import declared
print(declared.total(declared.LAYOUT.pack(count=2, values=[1.0, 2.5])), sum(declared.total.stats.cache_hits.values()))
"""
DECLARED = '''"""A module that declares a record, and a kernel that opens it."""

from __future__ import annotations

from typing import NamedTuple

from numba import types

from structopt.kernels.waist.fields import Floats, Int
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import RECORD, kernel


class Declared(NamedTuple):
    count: Int
    values: Floats


LAYOUT = RecordLayout(Declared)
open_declared = LAYOUT.compiled


@kernel(types.float64(RECORD))
def total(record):
    x = open_declared(record)
    return x.count * x.values.sum()
'''


@pytest.mark.nightly("rest")
def test_kernels_that_open_records_are_cached_on_disk(tmp_path) -> None:
    """In a second process nothing is compiled; when the declaration changes, everything is."""
    source = tmp_path / "declared.py"

    def run() -> str:
        done = subprocess.run(
            [sys.executable, "-c", CODE, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    source.write_text(DECLARED)
    assert run() == "7.0 0"
    assert run() == "7.0 1"
    source.write_text(
        DECLARED.replace(
            "    count: Int\n    values: Floats", "    values: Floats\n    count: Float"
        ).replace("import Floats, Int", "import Float, Floats")
    )
    assert run() == "7.0 0"
