"""Batch features: bundled or not, the same scores and the same gradient."""

import numpy as np
import pytest

from structopt.core.data.attribute_table import AttributeTable
from structopt.executor.serial import Serial
from structopt.executor.threads import Threads
from structopt.factor_graph.linear_chain import LinearChain
from structopt.features.batch import bundles
from structopt.features.batch.attribute_rows import BatchFeatures
from structopt.features.batch.bundles import Bundles
from structopt.inference.exact import Exact
from structopt.kernels.features.bundles import MOST, implied
from structopt.loss.family import LossFamily
from structopt.testing.problems import (
    loss_and_gradient,
    make_problem,
    random_encoded,
    random_weights,
)

WORDS = 12


def table_of(positions=200, seed=0):
    """Positions as templates make them: a word and its neighbour, each with attributes that it
    implies.
    """
    words = np.random.default_rng(seed).zipf(1.6, positions + 1) % WORDS
    rows = []
    for t in range(positions):
        row = [0]
        for place in (0, 1):
            word = int(words[t + place])
            row += [
                1 + place * 3 * WORDS + word,
                1 + (place * 3 + 1) * WORDS + word // 2,
                1 + (place * 3 + 2) * WORDS + word % 3,
            ]
        rows.append(row)
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return AttributeTable(offsets, np.concatenate(rows).astype(np.int32), None, 1 + 6 * WORDS)


@pytest.fixture(autouse=True)
def always_worthwhile(monkeypatch):
    monkeypatch.setattr(bundles, "WORTHWHILE", 1)


def counts(table):
    dense = np.zeros((len(table.offsets) - 1, table.size))
    for p in range(len(dense)):
        np.add.at(dense[p], table.ids[table.offsets[p] : table.offsets[p + 1]], 1.0)
    return dense


@pytest.mark.parametrize("seed", range(5))
def test_bundles_are_a_factorisation(seed):
    table = table_of(seed=seed)
    found = Bundles.find(table)
    assert found.count > 0
    assert len(found.table.ids) + len(found.members) < len(table.ids)
    members = np.eye(table.size + found.count)[:, : table.size]
    for b in range(found.count):
        members[table.size + b, found.members[found.starts[b] : found.starts[b + 1]]] = 1.0
    np.testing.assert_array_equal(counts(found.table) @ members, counts(table))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("least", [1, 3])
def test_attributes_imply_those_that_are_wherever_they_are(seed, least):
    table = table_of(seed=seed)
    ids = np.concatenate([np.sort(row) for row in np.split(table.ids, table.offsets[1:-1])]).astype(
        np.int32
    )
    has = counts(table) > 0
    columns = np.cumsum([0, *has.sum(axis=0)]).astype(np.int64)
    positions = np.concatenate([np.flatnonzero(column) for column in has.T]).astype(np.int32)
    starts, members = np.zeros(table.size + 1, np.int64), np.zeros(len(ids), np.int32)
    used = implied(table.offsets, ids, columns, positions, least, starts, members)
    assert used == starts[-1] > 0
    for a in range(table.size):
        found = members[starts[a] : starts[a + 1]].tolist()
        expected = (
            np.flatnonzero(has[has[:, a]].all(axis=0)).tolist() if has[:, a].sum() >= least else []
        )
        assert found == (expected if len(expected) > 1 else []), a


def test_nothing_is_implied_by_attributes_of_very_long_rows():
    size = MOST + 1
    offsets, ids = (
        np.array([0, size, 2 * size], np.int64),
        np.tile(np.arange(size, dtype=np.int32), 2),
    )
    columns, positions = np.arange(0, 2 * size + 1, 2), np.tile(np.arange(2, dtype=np.int32), size)
    starts, members = np.ones(size + 1, np.int64), np.zeros(2 * size, np.int32)
    assert implied(offsets, ids, columns, positions, 1, starts, members) == 0
    assert not starts.any()


def test_widen_and_fold_are_transposed():
    found, generator = Bundles.find(table_of()), np.random.default_rng(1)
    narrow, wide = (
        generator.normal(size=found.size * 3),
        generator.normal(size=(found.size + found.count) * 3),
    )
    widened, folded = np.zeros_like(wide), wide[: len(narrow)].copy()
    widened[: len(narrow)] = narrow
    found.widen(narrow, widened[len(narrow) :], 3)
    found.fold(wide[len(narrow) :], folded, 3)
    assert widened @ wide == pytest.approx(narrow @ folded)
    np.testing.assert_array_equal(widened[: len(narrow)], narrow)


def test_tables_that_cannot_be_bundled_stay_as_they_are():
    table = table_of()
    valued = AttributeTable(table.offsets, table.ids, np.ones(len(table.ids)), table.size)
    twice = AttributeTable(
        np.array([0, 3, 6], np.int64), np.array([1, 1, 2, 1, 1, 2], np.int32), None, 3
    )
    for one in (valued, twice):
        found = Bundles.find(one)
        assert found.count == 0
        assert found.table is one


def test_small_tables_are_not_worth_it(monkeypatch):
    table = table_of()
    monkeypatch.setattr(bundles, "WORTHWHILE", len(table.ids) + 1)
    assert Bundles.find(table).count == 0


@pytest.mark.parametrize("support", ["seen", "all"])
@pytest.mark.parametrize("executor", [Serial(shards=1), Threads(3, shards=2), Threads(3)])
def test_gradient_with_bundles(support, executor):
    lengths = (7, 1, 12, 20, 5, 9)
    encoded = random_encoded(3, lengths)
    table = table_of(int(encoded.offsets[-1]))
    encoded = type(encoded)(encoded.offsets, {"label": table}, encoded.labels, encoded.gold)
    problem = make_problem(encoded, LinearChain(), LossFamily(1.0, 1.0), Exact(), support=support)
    tables, dense = problem.scorer.tables(encoded, problem.structure)
    scorer = problem.scorer
    batch = BatchFeatures(
        scorer.pairs, scorer.pool, scorer.groups, tables, dense, problem.structure
    )
    assert batch.groups[0].bundles.count > 0
    problem.executor = executor
    weights = random_weights(problem, 1)
    single = [loss_and_gradient(problem, weights, i) for i in range(problem.m)]
    for _ in range(2):  # buffers are used again
        losses, gradient = problem.gradient(weights)
        assert losses == pytest.approx(sum(loss for loss, _ in single))
        np.testing.assert_allclose(gradient, sum(g for _, g in single), atol=1e-12)
