"""The exponential of many numbers against the library's."""

import numpy as np

from structopt.kernels.arrays.exponential import exp_nonpositive
from structopt.kernels.waist.signatures import VECTOR, kernel


@kernel(VECTOR(VECTOR))
def exponentials(x):
    out = np.empty_like(x)
    for j in range(len(x)):
        out[j] = exp_nonpositive(x[j])
    return out


def test_within_two_units_in_the_last_place():
    generator = np.random.default_rng(0)
    x = -np.concatenate(
        [generator.random(200_000) * scale for scale in (1e-9, 1e-3, 1.0, 30.0, 700.0)]
    )
    expected = np.exp(x)
    assert np.all(np.abs(exponentials(x) - expected) <= 2 * np.spacing(expected))


def test_ends():
    np.testing.assert_array_equal(
        exponentials(np.array([0.0, -0.0, -708.1, -1e4, -1e300, -np.inf])), [1, 1, 0, 0, 0, 0]
    )
    assert exponentials(np.array([-708.0]))[0] > 0
