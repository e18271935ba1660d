"""Both arrays for the mean of the iterates, filled step by step as their definitions say."""

from types import SimpleNamespace

import numpy as np
import pytest

from structopt.learning.averaging import (
    add_to_total,
    empty_mean,
    linear_weight,
    mean_by_lag,
    mean_by_total,
)

PROBLEM = SimpleNamespace(dimension=4)


def test_without_averaging_the_arrays_are_empty_and_the_mean_is_the_last_iterate():
    mean = empty_mean(PROBLEM, False)
    state = SimpleNamespace(theta=np.arange(4.0), lag=mean, total=mean)
    assert len(state.lag) == 0
    add_to_total(state, 1.0)
    assert len(state.total) == 0
    assert mean_by_lag(state, 3.0) is state.theta
    assert mean_by_total(state, 3.0) is state.theta


@pytest.mark.parametrize("weighted", [False, True])
def test_both_arrays_give_the_mean_of_the_iterates_before_each_update(weighted):
    generator, iterates, weights = np.random.default_rng(0), [], []
    means = {name: empty_mean(PROBLEM, True) for name in ("lag", "total")}
    state = SimpleNamespace(theta=generator.normal(size=4), **means)
    assert mean_by_lag(state, 0.0) is state.theta  # before the first visit
    assert mean_by_total(state, 0.0) is state.theta
    for t in range(1, 8):
        weights.append(float(t) if weighted else 1.0)
        iterates.append(state.theta.copy())
        add_to_total(state, weights[-1])
        step = generator.normal(size=4)
        state.theta += step
        state.lag += sum(weights) * step
    count = linear_weight(7.0) if weighted else 7.0
    assert count == sum(weights)
    expected = np.average(iterates, axis=0, weights=weights)
    np.testing.assert_allclose(mean_by_lag(state, count), expected, atol=1e-14)
    np.testing.assert_allclose(mean_by_total(state, count), expected, atol=1e-14)
