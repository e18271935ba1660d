"""Pair steps against a general-purpose solver, and where ascent in single coordinates gets
stuck.
"""

import numpy as np
import pytest

from structopt.kernels.learn.mira_program import pair_steps
from structopt.reference.mira_program import k_best_step

CAPS = (0.01, 0.1, 1.0, 10.0)


def random_list(trial):
    """Rows and heights as a k-best list has them: small counts, whole costs, rows that depend on
    one another, ties.
    """
    generator = np.random.default_rng([7, trial])
    k, d = 1 + trial % 10, int(generator.integers(1, 15))
    rows = generator.integers(-2, 3, (k, d)).astype(float)
    if trial % 3 == 0:
        rows = rows * generator.normal(size=(k, 1)) + generator.normal(size=d)
    if k > 3 and trial % 4 == 0:
        rows[3] = rows[1] + rows[2]
    heights = generator.integers(0, 5, k) + (trial % 2) * generator.normal(size=k)
    return rows, heights, CAPS[(trial // 2) % 4]


def program(rows, heights, cap):
    """The arrays that `pair_steps` works on, with all mass on the null plane."""
    gram = np.zeros((len(rows) + 1, len(rows) + 1))
    gram[1:, 1:] = rows @ rows.T
    alpha = np.zeros(len(rows) + 1)
    alpha[0] = cap
    return gram, np.concatenate([[0.0], heights]), alpha


def violation(values, alpha, rows):
    """The largest value less the smallest value of an active row: 0 at the optimum."""
    return values[:rows].max() - values[:rows][alpha[:rows] > 0].min()


def clipped_ascent(rows, heights, cap, sweeps=1000):
    """Hildreth's steps, one coordinate at a time, clipped where the sum is full."""
    alpha = np.zeros(len(rows))
    for _ in range(sweeps):
        for j, row in enumerate(rows):
            if row @ row > 0:
                wanted = alpha[j] + (heights[j] - row @ (rows.T @ alpha)) / (row @ row)
                alpha[j] = np.clip(wanted, 0.0, cap - (alpha.sum() - alpha[j]))
    return -rows.T @ alpha


@pytest.mark.nightly("optima")
def test_solves_the_program_of_forty_lists():
    full, stuck = 0, 0
    for trial in range(40):
        rows, heights, cap = random_list(trial)
        gram, values, alpha = program(rows, heights, cap)
        pair_steps(gram, values, alpha, len(alpha), 1e-12, 100_000)
        assert (alpha >= 0).all()
        assert alpha.sum() == pytest.approx(cap, rel=1e-12)
        move = -rows.T @ alpha[1:]
        np.testing.assert_allclose(
            values, np.concatenate([[0.0], heights + rows @ move]), atol=1e-10
        )
        assert violation(values, alpha, len(alpha)) <= 1e-12
        expected = k_best_step(np.zeros(rows.shape[1]), rows, heights, cap)
        np.testing.assert_allclose(move, expected, atol=1e-6)
        full += alpha[0] == 0.0
        stuck += np.abs(clipped_ascent(rows, heights, cap) - expected).max() > 1e-3
    assert full >= 10
    assert stuck >= 5  # else the lists are too easy to tell the two methods apart


def test_sticking_by_hand():
    """The first coordinate takes all mass; the optimum shares it equally."""
    rows, heights = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([10.0, 10.0])
    gram, values, alpha = program(rows, heights, 1.0)
    pair_steps(gram, values, alpha, 3, 1e-12, 100)
    np.testing.assert_allclose(alpha, [0.0, 0.5, 0.5], atol=1e-12)
    np.testing.assert_allclose(clipped_ascent(rows, heights, 1.0), [-1.0, -1.0])


def test_the_first_step_is_the_step_of_one_output():
    row = np.array([[2.0, 1.0]])
    for height, cap, expected in (
        (1.0, 5.0, 0.2),
        (30.0, 5.0, 5.0),
        (-1.0, 5.0, 0.0),
        (0.0, 5.0, 0.0),
    ):
        gram, values, alpha = program(row, np.array([height]), cap)
        assert pair_steps(gram, values, alpha, 2, 1e-12, 10) == (expected > 0)
        assert alpha[1] == pytest.approx(expected)


def test_parallel_rows_hand_over_everything():
    """Of two rows with one direction only the higher one counts; between them the norm is 0."""
    rows, heights = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([5.0, 7.0])
    gram, values, alpha = program(rows, heights, 2.0)
    alpha[:] = 0.0, 2.0, 0.0
    values[1:] -= 2.0
    pair_steps(gram, values, alpha, 3, 1e-12, 10)
    np.testing.assert_array_equal(alpha, [0.0, 0.0, 2.0])


def test_stops_at_the_most_steps_and_goes_on_from_there():
    for trial in range(40):
        rows, heights, cap = random_list(trial)
        whole, parts = program(rows, heights, cap), program(rows, heights, cap)
        steps = pair_steps(*whole, len(rows) + 1, 1e-12, 100_000)
        if steps > 2:
            assert pair_steps(*parts, len(rows) + 1, 1e-12, 2) == 2
            assert violation(*parts[1:], len(rows) + 1) > 1e-12
            assert pair_steps(*parts, len(rows) + 1, 1e-12, 100_000) == steps - 2
            np.testing.assert_array_equal(parts[2], whole[2])


def test_only_the_first_rows_are_looked_at():
    gram, values, alpha = program(np.eye(3), np.array([1.0, 2.0, 99.0]), 10.0)
    pair_steps(gram, values, alpha, 3, 1e-12, 100)
    np.testing.assert_allclose(alpha, [7.0, 1.0, 2.0, 0.0])
    assert violation(values, alpha, 3) <= 1e-12
    assert violation(values, alpha, 4) == pytest.approx(99.0)


def test_a_tolerance_bounds_the_distance_to_the_optimum():
    """With values that differ by at most e, the objective is within cap * e of the least."""
    for trial in range(20):
        rows, heights, cap = random_list(trial)
        gram, values, alpha = program(rows, heights, cap)
        pair_steps(gram, values, alpha, len(alpha), 0.1, 100_000)
        move, best = -rows.T @ alpha[1:], k_best_step(np.zeros(rows.shape[1]), rows, heights, cap)
        reached, least = (
            x @ x / 2 + cap * max(0.0, (rows @ x + heights).max()) for x in (move, best)
        )
        assert least - 1e-9 <= reached <= least + cap * 0.1 + 1e-9
