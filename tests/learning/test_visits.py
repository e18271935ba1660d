"""Orders of the visits of a pass: permutations, by blocks within windows, by seed and pass."""

import numpy as np
import pytest

from structopt.learning.visits import SHUFFLED, VisitOrder, windows_of_pass


@pytest.mark.parametrize("m", [0, 1, 7, 40, 41])
@pytest.mark.parametrize(
    "order",
    [SHUFFLED, VisitOrder(True, 4, 3), VisitOrder(True, 1, 1), VisitOrder(True, 100, 1)],
    ids=str,
)
def test_windows_are_a_permutation_that_seed_and_pass_decide(m, order):
    windows = order.windows(m, 3, 1)
    assert len(windows) == order.count(m)
    assert sorted(np.concatenate(windows).tolist()) == list(range(m))
    for one, other in zip(windows, order.windows(m, 3, 1), strict=True):
        np.testing.assert_array_equal(one, other)
    if m > 30 and order.block < m:
        assert np.concatenate(order.windows(m, 3, 2)).tolist() != np.concatenate(windows).tolist()


def test_a_window_holds_whole_blocks_which_are_shuffled_together():
    windows = VisitOrder(True, 4, 3).windows(41, 0, 0)
    blocks = [set((window // 4).tolist()) for window in windows]
    assert [len(one) for one in blocks] == [3, 3, 3, 2]
    assert not set.intersection(*blocks)
    assert len(windows[0]) in (12, 9) and sorted(windows[0].tolist()) != windows[0].tolist()


def test_shuffled_is_one_permutation_of_all():
    np.testing.assert_array_equal(
        SHUFFLED.windows(9, 5, 2)[0], np.random.default_rng([5, 2]).permutation(9)
    )


def test_the_windows_of_a_pass_are_drawn_once():
    order = VisitOrder(True, 4, 3)
    first = windows_of_pass(order, 41, 5, 2)
    assert windows_of_pass(order, 41, 5, 2) is first
    for other in (
        (order, 41, 5, 3),
        (order, 41, 6, 2),
        (order, 40, 5, 2),
        (VisitOrder(True, 4, 2), 41, 5, 2),
    ):
        assert windows_of_pass(*other) is not first
    for one, window in zip(windows_of_pass(order, 41, 5, 2), order.windows(41, 5, 2), strict=True):
        np.testing.assert_array_equal(one, window)
