"""Sums of iterates in closed form against the sums themselves."""

import numpy as np
import pytest

from structopt.kernels.learn.averaging import arithmetic_sum, geometric_sum, settle_total

COUNTS = (1, 2, 7, 1000)


@pytest.mark.parametrize("a", [0.0, 1e-14, 1e-3, 0.5, 20.0])
@pytest.mark.parametrize("t", COUNTS)
def test_geometric_sum(a, t):
    assert geometric_sum(a, t) == pytest.approx(sum((1 + a) ** -n for n in range(t)), rel=1e-11)


@pytest.mark.parametrize("a", [1e-4, 0.3, 0.5, 1.0, 20.0])
@pytest.mark.parametrize("t", COUNTS)
def test_arithmetic_sum(a, t):
    """With a = 0.5 the third term is exactly zero."""
    assert arithmetic_sum(1.0, a, t) == pytest.approx(
        sum(max(0.0, 1.0 - a * n) for n in range(t)), rel=1e-11
    )


def test_settled_totals_are_sums_of_iterates():
    """Iterates are scale * v; `total` is less b d after every step of v."""
    generator, v, total, scale, scale_sum, iterates = (
        np.random.default_rng(1),
        np.ones(3),
        np.zeros(3),
        1.0,
        0.0,
        [],
    )
    for _ in range(5):
        iterates.append(scale * v)
        scale_sum += scale
        step = generator.normal(size=3)
        total -= scale_sum * step
        v += step
        scale *= 0.8
    settle_total(v, total, scale_sum)
    np.testing.assert_allclose(total, np.sum(iterates, axis=0), atol=1e-13)
    settle_total(v, np.zeros(0), scale_sum)  # without averaging
