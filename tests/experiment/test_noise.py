"""The statistics of verdicts: standard errors against simulation, and verdicts that are
combined.
"""

from statistics import stdev

import numpy as np
import pytest

from structopt.experiment.noise import (
    CRITERION,
    Arrival,
    Difference,
    Sample,
    Verdict,
    at_least,
    average,
    difference,
    every,
    higher,
    larger,
    most,
    ratio,
    some,
    sooner,
)

HOLDS, FAILS, NOISE, UNKNOWN = Verdict.HOLDS, Verdict.FAILS, Verdict.NOISE, Verdict.UNKNOWN


def sample(*values, first=0):
    return Sample(dict(enumerate(map(float, values), first)))


def test_a_sample_is_shown_as_mean_and_deviation():
    three = sample(90.0, 90.5, 91.0)
    assert (three.mean, three.sd, three.n) == (90.5, 0.5, 3)
    assert str(three) == "90.50 ± 0.50"
    assert three.text(1) == "90.5 ± 0.5"
    assert str(sample(90.0)) == "90.00"
    assert str(sample(1.0, 1.0)) == "1.00 ± 0.00"


@pytest.mark.parametrize("shared", [0.0, 3.0])
def test_the_standard_error_is_the_deviation_of_the_difference_over_many_sweeps(shared):
    """Paired by seed, what a seed does to both sides is no noise; unpaired it is."""
    generator = np.random.default_rng(0)
    paired, unpaired, values = [], [], []
    for _ in range(3000):
        seeds = shared * generator.standard_normal(5)
        first, second = (
            1.0 + seeds + generator.standard_normal(5),
            seeds + 2 * generator.standard_normal(5),
        )
        one = difference(sample(*first), sample(*second))
        values.append(one.value)
        paired.append(one.error)
        unpaired.append(difference(sample(*first), sample(*second, first=1)).error)
    assert np.mean(values) == pytest.approx(1.0, abs=0.05)
    assert np.sqrt(np.mean(np.square(paired))) == pytest.approx(stdev(values), rel=0.05)
    expected = np.sqrt((1 + 4 + 2 * shared**2) / 5)
    assert np.sqrt(np.mean(np.square(unpaired))) == pytest.approx(expected, rel=0.05)


def test_equal_systems_are_rarely_told_apart_and_different_ones_mostly():
    generator = np.random.default_rng(1)

    def told(lead, seeds):
        pairs = generator.standard_normal((2000, 2, seeds))
        return np.mean(
            [
                higher(sample(*(lead + first)), sample(*second)) is not NOISE
                for first, second in pairs
            ]
        )

    assert told(0.0, 3) == pytest.approx(0.184, abs=0.03)  # |t| of two degrees of freedom above 2
    assert told(0.0, 10) == pytest.approx(0.077, abs=0.02)
    assert told(3.0, 10) > 0.99


def test_verdicts_by_two_standard_errors():
    assert Difference(1.0, 0.5).above() is HOLDS
    assert Difference(0.9, 0.5).above() is NOISE
    assert Difference(-1.0, 0.5).above() is FAILS
    assert Difference(1.0, 0.1).above(1.1) is NOISE
    assert Difference(1.0, None).above() is UNKNOWN
    assert Difference(0.0, 0.0).above() is NOISE
    assert Difference(0.5, 0.1).within(0.0, 1.0) is HOLDS
    assert Difference(1.5, 0.1).within(0.0, 1.0) is FAILS
    assert Difference(0.9, 0.1).within(0.0, 1.0) is NOISE
    assert str(Difference(1.0, 0.5)) == "+1.00 ± 0.50"


def test_scores_that_agree_by_luck_have_a_least_error():
    assert higher(sample(90.05, 90.05), sample(90.0, 90.0)) is NOISE
    assert higher(sample(90.11, 90.11), sample(90.0, 90.0)) is HOLDS
    assert higher(sample(90.0), sample(80.0)) is UNKNOWN
    assert higher(sample(90.0, 90.0), sample(89.0, 89.0), by=2.0) is FAILS
    assert difference(sample(2.0, 2.0), sample(1.0, 1.0)).error == 0.0


def test_ratios_and_arrivals():
    slow, fast = sample(10.0, 20.0), sample(1.0, 2.0)
    assert ratio(slow, fast) == pytest.approx(10.0)
    assert larger(slow, fast, 9.0) is HOLDS
    assert larger(slow, fast, 11.0) is FAILS
    there, late, never = Arrival(fast, True), Arrival(slow, True), Arrival(slow, False)
    assert [sooner(there, one, 5.0) for one in (late, never)] == [HOLDS, HOLDS]
    assert sooner(there, never, 20.0) is UNKNOWN
    assert sooner(never, there) is FAILS
    assert sooner(Arrival(fast, False), late) is UNKNOWN
    assert never.text(1) == "not in 15.0 ± 7.1 s"


def test_combined_verdicts():
    assert every([HOLDS, HOLDS]) is HOLDS
    assert every([HOLDS, NOISE, FAILS]) is FAILS
    assert every([HOLDS, NOISE]) is NOISE
    assert every([]) is UNKNOWN
    assert some([FAILS, HOLDS, UNKNOWN]) is HOLDS
    assert some([FAILS, NOISE]) is NOISE
    assert some([FAILS, FAILS]) is FAILS
    assert at_least(2, [HOLDS, FAILS, NOISE]) is NOISE
    assert at_least(2, [HOLDS, FAILS, UNKNOWN]) is UNKNOWN
    assert at_least(2, [HOLDS, FAILS, FAILS, FAILS]) is FAILS
    assert most([HOLDS, HOLDS, HOLDS, FAILS, UNKNOWN]) is HOLDS
    assert most([HOLDS, HOLDS, FAILS, UNKNOWN]) is UNKNOWN
    assert most([UNKNOWN]) is UNKNOWN
    assert [~one for one in (HOLDS, FAILS, NOISE, UNKNOWN)] == [FAILS, HOLDS, NOISE, UNKNOWN]


def test_an_average_is_seed_by_seed():
    assert average([sample(1.0, 3.0), sample(3.0, 5.0, 9.0)]).values == {0: 2.0, 1: 4.0}


def test_the_criterion_says_its_numbers():
    assert "at least 2 standard errors" in CRITERION
    assert "at least 0.05 points" in CRITERION
