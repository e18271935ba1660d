"""Numbers with exponents of their own against long doubles."""

import numpy as np
import pytest

from structopt.kernels.arrays.scaled_numbers import NOTHING, exp_scaled, normalized
from structopt.kernels.waist.signatures import VECTOR, kernel


@kernel(VECTOR(VECTOR, VECTOR))
def exponentials(m, E):
    """Replace m by exp(m)."""
    for j in range(len(m)):
        m[j], E[j] = exp_scaled(m[j])
    return m


@kernel(VECTOR(VECTOR, VECTOR))
def normal(m, E):
    """Normalize m 2^E."""
    for j in range(len(m)):
        m[j], E[j] = normalized(m[j], E[j])
    return m


@pytest.fixture(params=[True, False], ids=["compiled", "plain"])
def functions(request):
    return (exponentials, normal) if request.param else (exponentials.py_func, normal.py_func)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 700.0, 2e3])
def test_exponentials(functions, scale):
    x = np.random.default_rng(0).normal(size=500) * scale
    m, E = x.copy(), np.zeros(len(x))
    functions[0](m, E)
    assert (np.floor(E) == E).all()
    assert ((m > 0.49) & (m <= 1.0)).all()
    right = np.ldexp(m.astype(np.longdouble), E.astype(np.int64))
    np.testing.assert_allclose((right / np.exp(x.astype(np.longdouble))).astype(float), 1.0, 1e-15)


def test_exponentials_of_any_number(functions):
    x = np.array([0.0, -np.inf, 1e18, -1e18, 1e308, -1e308])
    m, E = x.copy(), np.zeros(len(x))
    functions[0](m, E)
    assert np.isfinite(m).all()
    assert (m[0], E[0]) == (1.0, 0.0)
    assert (m[1], E[1]) == (0.0, NOTHING)
    assert (m[2:] > 0.49).all()
    np.testing.assert_allclose(E[2:4], x[2:4] / np.log(2.0), rtol=1e-15)
    assert NOTHING + E[4] < 2e6 * E[5]  # below the exponent of any tree


def test_normal_numbers(functions):
    m = np.array([1.0, 0.75, 3.0, 1e300, 2.3e-308, 0.0])
    E = np.array([0.0, 5.0, -7.0, 1e9, 0.0, 3.0])
    before = m.copy(), E.copy()
    functions[1](m, E)
    assert ((m[:5] >= 1.0) & (m[:5] < 2.0)).all()
    shift = (E - before[1])[:5].astype(np.int64)
    np.testing.assert_array_equal(np.ldexp(m[:5], shift), before[0][:5])
    assert (m[5], E[5]) == (0.0, NOTHING)
