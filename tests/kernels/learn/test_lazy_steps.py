"""Steps that are made together: as one after the other."""

import numpy as np
import pytest

from structopt.kernels.learn.lazy_regularization import after_missed

RATES = [0.0, 1e-300, 1e-12, 3e-6, 0.01, 1.0, 40.0]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("a", RATES)
def test_missed_steps_are_those_one_after_the_other(a, sparse):
    for w in (2.5, -0.003, 0.0):
        one = w
        for _ in range(60):
            one = np.sign(one) * max(0.0, abs(one) - a) if sparse else one / (1.0 + a)
        assert after_missed(w, a, 60, sparse) == pytest.approx(
            one, rel=1e-13, abs=1e-15 if sparse else 1e-300
        )
