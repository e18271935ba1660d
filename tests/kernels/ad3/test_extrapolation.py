"""Extrapolated passes of dual decomposition against least squares."""

import numpy as np
import pytest

from structopt.inference.ad3 import AD3
from structopt.kernels.ad3.extrapolation import PASSES, go_back, weigh_moves
from structopt.kernels.ad3.work import WORK
from tests.inference.small_graphs import complete, structure_of

C, P = 3 * 4 * 2, 8
"""Copies and parts of four variables with two states each: every part has three copies."""


def work():
    """A work record whose copies are of the parts in turn."""
    w = WORK.open(AD3().prepare(structure_of([complete([2, 2, 2, 2])])).work)
    w.part[:C] = np.arange(C) % P
    w.degree[:P] = 3.0
    return w


def test_weights_make_the_shortest_combination_of_moves():
    w, moves = work(), np.random.default_rng(0).normal(size=(PASSES, C))
    w.moves[:] = moves.ravel()
    assert weigh_moves(C, w)
    lacks = np.append(w.shares, 1.0)
    weights = np.diff(lacks)
    assert lacks[0] == 0.0
    assert weights.sum() == pytest.approx(1.0)
    images = moves @ moves.T @ weights
    # moving weight between two moves gains nothing
    np.testing.assert_allclose(images, images.mean(), rtol=1e-6)


def test_an_affine_map_is_followed_to_its_fixed_point():
    """In three dimensions, six moves tell where it is; lambda and u are read off the point."""
    generator, eta = np.random.default_rng(1), 0.7
    basis = generator.normal(size=(C, 3))
    turn = np.linalg.qr(generator.normal(size=(3, 3)))[0] * 0.97
    w, x, goal = work(), generator.normal(size=3), generator.normal(size=3)
    for number in range(PASSES):
        image = goal + turn @ (x - goal)
        w.moves[number * C : (number + 1) * C] = basis @ (image - x)
        x = image
    point = basis @ x
    mean = point.reshape(3, P).mean(axis=0)
    w.mean[:P], w.multipliers[:C] = mean, eta * (point - np.tile(mean, 3))
    assert weigh_moves(C, w)
    go_back(C, P, eta, w)
    np.testing.assert_allclose(
        np.tile(w.mean[:P], 3) + w.multipliers[:C] / eta, basis @ goal, atol=1e-3
    )
    np.testing.assert_allclose(w.multipliers[:C].reshape(3, P).sum(axis=0), 0.0, atol=1e-9)


def test_nothing_moves():
    w = work()
    w.moves[:] = 0.0
    assert not weigh_moves(C, w)
