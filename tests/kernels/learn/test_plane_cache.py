"""The arrays of cached planes against a list of dense ones, through additions, removals, moves and
merges at random.
"""

import numpy as np
import pytest

from structopt.core.optimizer_state import values_of
from structopt.errors import ConfigError
from structopt.kernels.learn.plane_cache import (
    append,
    combine,
    drop,
    drop_all,
    duals,
    entries_in_use,
    fits,
    grow_older,
    offsets_in_use,
    relate,
    remove,
    values_at,
)
from structopt.learning.plane_cache import INACTIVE, PlaneArrays, PlaneCache
from tests.optimizer.cutting import cache_bytes

SIZES = (5, 9, 3, 7)
CAP = 2.0


def cache_of(limit=10**6):
    offsets = np.cumsum([0, *SIZES]).astype(np.int64)
    arrays = PlaneArrays(**PlaneCache.create(len(SIZES), CAP, limit))
    return PlaneCache(arrays, offsets, limit)


def maps(generator):
    """A dense F^T for every instance."""
    return [generator.normal(size=(size, 6)) for size in SIZES]


def add(cache, features, i, r, offset):
    while not fits(cache.planes, i, r):
        cache.make_room()
    planes = cache.planes
    append(planes, i, r, offset)
    relate(
        planes, i, features[i] @ (features[i].T @ r), float((r @ features[i]) @ (r @ features[i]))
    )


def sparse(generator, size):
    r = generator.integers(-1, 2, size) * (generator.random(size) < 0.6)
    return r.astype(float)


def agree(cache, features, expected):
    """Rows, Gram matrices, values and counts are those of the list."""
    planes, scratch = cache.planes, np.zeros(100)
    assert planes.counts.tolist() == [len(rows) for rows in expected]
    assert (planes.counts <= planes.rooms).all()
    for i, rows in enumerate(expected):
        planes_of_i = cache.rows(i)
        dense = np.array([r for r, _, _ in rows])
        np.testing.assert_allclose([plane.residual for plane in planes_of_i], dense, atol=1e-12)
        np.testing.assert_allclose(
            [plane[1:] for plane in planes_of_i], [row[1:] for row in rows], atol=1e-12
        )
        pulled = dense @ features[i]
        np.testing.assert_allclose(cache.gram(i), pulled @ pulled.T, atol=1e-11)
        s = features[i] @ np.arange(6.0)
        top = values_at(planes, i, s, scratch)
        values = dense @ s + [b for _, b, _ in rows]
        np.testing.assert_allclose(scratch[: len(rows)], values, atol=1e-10)
        assert top == pytest.approx(values.max(), abs=1e-10)
    assert entries_in_use(planes) == sum(
        int((r != 0).sum()) for rows in expected for r, _, _ in rows
    )
    assert offsets_in_use(planes) == pytest.approx(
        sum(a * b for rows in expected for _, b, a in rows)
    )


def fresh(i):
    return [(np.zeros(SIZES[i]), 0.0, CAP)]


@pytest.mark.parametrize("seed", range(6))
def test_follows_a_list_of_dense_planes(seed):
    generator = np.random.default_rng(seed)
    cache, features = cache_of(limit=20_000), maps(generator)
    expected = [fresh(i) for i in range(len(SIZES))]
    agree(cache, features, expected)
    for turn in range(120):
        i = int(generator.integers(len(SIZES)))
        action = generator.choice(["add", "add", "remove", "mass", "drop", "rebuild"])
        if action == "add":
            r, offset = sparse(generator, SIZES[i]), float(generator.random())
            add(cache, features, i, r, offset)
            expected[i].append((r, offset, 0.0))
        elif action == "remove" and len(expected[i]) > 1:
            j = int(generator.integers(1, len(expected[i])))
            remove(cache.planes, i, j)
            del expected[i][j]
        elif action == "mass":
            masses = (
                generator.dirichlet(np.ones(len(expected[i])))
                * CAP
                * (generator.random(len(expected[i])) < 0.7)
            )
            duals(cache.planes, i)[:] = masses
            expected[i] = [
                (r, b, float(a)) for (r, b, _), a in zip(expected[i], masses, strict=True)
            ]
        elif action == "drop":
            drop(cache.planes, i, -1)
            expected[i] = [row for j, row in enumerate(expected[i]) if j == 0 or row[2] > 0]
        elif action == "rebuild":
            cache._rebuild(0, 0.1)
        if turn % 10 == 0:
            agree(cache, features, expected)
    agree(cache, features, expected)


def test_combination_of_rows():
    generator = np.random.default_rng(0)
    cache, features = cache_of(), maps(generator)
    rows = [sparse(generator, SIZES[1]) for _ in range(4)]
    for r in rows:
        add(cache, features, 1, r, 1.0)
    weights, out = np.array([9.0, 1.0, 0.0, -0.5, 2.0]), np.ones(SIZES[1])
    combine(cache.planes, 1, weights, out)
    np.testing.assert_allclose(out, weights[1:] @ rows)


def test_idle_rows_age_and_the_oldest_go_first():
    generator = np.random.default_rng(1)
    cache, features = cache_of(), maps(generator)
    for _ in range(3):
        add(cache, features, 0, np.ones(SIZES[0]), 1.0)
        grow_older(cache.planes)
    first = int(cache.planes.firsts[0])
    assert cache.planes.idle[first + 1 : first + 4].tolist() == [2, 1, 0]
    duals(cache.planes, 0)[1] = 0.5
    drop_all(cache.planes, 1)
    assert cache.planes.counts.tolist() == [3, 1, 1, 1]
    grow_older(cache.planes)
    first = int(cache.planes.firsts[0])
    assert cache.planes.idle[first + 1 : first + 3].tolist() == [0, 1]
    drop_all(cache.planes, INACTIVE)
    assert cache.planes.counts[0] == 3


def test_a_full_cache_drops_idle_rows_before_it_merges_active_ones():
    generator = np.random.default_rng(2)
    cache, features = cache_of(), maps(generator)
    for j in range(6):
        for i in range(len(SIZES)):
            add(cache, features, i, sparse(generator, SIZES[i]), float(j))
            duals(cache.planes, i)[j + 1] = 0.1 * (j % 2)
    grow_older(cache.planes)
    add(cache, features, 0, np.ones(SIZES[0]), 9.0)
    active = cache._needed(0)
    cache.limit = int(0.95 * active)
    cache.planes.used[3] = 5
    cache.make_room()
    assert cache.planes.counts.tolist() == [5, 4, 4, 4]
    cache.limit = int(0.95 * cache._needed(0))
    gains = offsets_in_use(cache.planes)
    cache.make_room()
    assert cache_bytes(cache) <= cache.limit
    assert cache.planes.counts.min() < 4
    assert all(duals(cache.planes, i)[1:].sum() == pytest.approx(0.3) for i in range(len(SIZES)))
    assert offsets_in_use(cache.planes) == pytest.approx(gains)
    assert cache.rows(0)[-1].offset == 9.0  # nobody has looked at it yet
    for i in range(len(SIZES)):
        pulled = np.array([plane.residual for plane in cache.rows(i)]) @ features[i]
        np.testing.assert_allclose(cache.gram(i), pulled @ pulled.T, atol=1e-12)


def test_grows_within_its_limit_and_says_what_it_needs():
    generator = np.random.default_rng(3)
    cache, features = cache_of(limit=1500), maps(generator)
    sizes = []
    with pytest.raises(
        ConfigError,
        match=r"cache_mb=0\.0015` is too small: the planes .* need 0\.0\d+ MB",
    ):
        for _ in range(20):
            for i in range(len(SIZES)):
                # none is ever active or idle: nothing may go
                add(cache, features, i, np.ones(SIZES[i]), 1.0)
                sizes.append(cache_bytes(cache))
    assert len(sizes) > len(SIZES)
    assert max(sizes) <= 1500


def test_no_array_can_be_taken_for_weights():
    assert values_of(cache_of().state).keys() == set(PlaneArrays.names("instances"))
