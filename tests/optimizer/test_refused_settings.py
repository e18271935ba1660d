"""Arguments and losses that optimizers refuse, and their messages."""

from math import inf

import pytest

from structopt.core.ability import Ability
from structopt.errors import ArgumentError, CompatibilityError
from structopt.loss.difference import LossDifference
from structopt.loss.family import LossFamily
from structopt.optimizer.adadelta import AdaDelta
from structopt.optimizer.adagrad import AdaGrad
from structopt.optimizer.cutting_plane import CuttingPlane
from structopt.optimizer.dca import DCA
from structopt.optimizer.eg import EG
from structopt.optimizer.lbfgs import LBFGS
from structopt.optimizer.mira import MIRA
from structopt.optimizer.online_cutting_plane import OnlineCuttingPlane
from structopt.optimizer.pegasos import Pegasos
from structopt.optimizer.perceptron import Perceptron
from structopt.optimizer.sdca import SDCA
from structopt.optimizer.sgd import SGD
from structopt.optimizer.smo import SMO
from tests.messages import raises
from tests.optimizer.composed import abilities, check

REFUSED = {
    AdaDelta: [
        ({"epsilon": 0.0}, None),
        ({"epsilon": inf}, None),
        ({"batch_size": 0}, None),
    ],
    AdaGrad: [
        ({"eta": -0.5}, None),
        ({"eta": inf}, None),
        ({"constant": 0}, None),
        ({"batch_size": 0}, None),
    ],
    CuttingPlane: [
        ({"cache_mb": 0}, None),
    ],
    DCA: [
        ({"planes": 0}, None),
        ({"inner_tolerance": 0.0}, None),
    ],
    EG: [
        ({"eta": 0.0}, None),
        ({"smo_passes": 0}, None),
        ({"eta": "theorem"}, None),
    ],
    LBFGS: [
        ({"gradient_tolerance": -0.1}, None),
        ({"memory": 0}, None),
    ],
    MIRA: [
        ({"k_best": 0}, None),
    ],
    OnlineCuttingPlane: [
        ({"steps": 0}, None),
        ({"cache_mb": -5}, None),
    ],
    Pegasos: [
        ({"delay": -1.0}, None),
        ({"batch_size": 0}, None),
    ],
    SDCA: [
        ({"planes": -1}, None),
        ({"sampling": "gaps"}, r"sampling=gaps must be 'uniform' or 'gap'\."),
        (
            {"entropy": "open"},
            r"entropy=open must be 'closed' or 'hypograph'\.",
        ),
    ],
    SGD: [
        ({"eta": 0.0}, None),
        ({"eta": inf}, None),
    ],
    SMO: [
        ({"steps": 0}, None),
    ],
}
"""Arguments and messages by class; None if the first argument is out of its bounds."""


@pytest.mark.parametrize("optimizer", REFUSED)
def test_refuses(optimizer):
    for arguments, message in REFUSED[optimizer]:
        name, value = next(iter(arguments.items()))
        bound = {} if message else {"parameter": name, "value": value}
        with raises(ArgumentError, match=message, **bound):
            optimizer(**arguments)


MARGIN, SOFT, PERCEPTRON = LossFamily(inf, 1.0), LossFamily(1.0, 1.0), LossFamily(inf, 0.0)
NEEDS = {
    "beta": r"optimizer={} needs loss\.beta=inf",
    "gamma": r"optimizer={} needs loss\.gamma > 0",
    "smooth": r"optimizer={} needs a differentiable loss, loss\.beta < inf",
    "neither": r"loss\.beta=inf and loss\.gamma=0 \(this is .*\)\. Use loss=perceptron",
    "family": "optimizer={} climbs the dual of the loss family, of which .* is no member",
    "smo beta": r"optimizer={} optimizer\.initial=smo needs loss\.beta=inf",
    "smo gamma": r"optimizer={} optimizer\.initial=smo needs loss\.gamma > 0",
}
AFTER_SMO = EG(initial="smo")
LOSSES = [
    ("cutting_plane", CuttingPlane(), LossFamily(1.0, 0.0), "beta"),
    ("cutting_plane", CuttingPlane(), PERCEPTRON, "gamma"),
    ("online_cutting_plane", OnlineCuttingPlane(), LossFamily(2.0, 1.0), "beta"),
    ("online_cutting_plane", OnlineCuttingPlane(), PERCEPTRON, "gamma"),
    ("mira", MIRA(), SOFT, "beta"),
    ("mira", MIRA(), PERCEPTRON, "gamma"),
    ("smo", SMO(), SOFT, "beta"),
    ("smo", SMO(), PERCEPTRON, "gamma"),
    ("lbfgs", LBFGS(), MARGIN, "smooth"),
    ("lbfgs", LBFGS(), LossDifference(inf, 1.0), "smooth"),
    ("perceptron", Perceptron(), LossFamily(), "neither"),
    ("perceptron", Perceptron(), MARGIN, "neither"),
    ("perceptron", Perceptron(), SOFT, "neither"),
    ("sdca", SDCA(), LossDifference(inf, 1.0), "family"),
    ("eg", EG(), LossDifference(1.0), "family"),
    ("eg", AFTER_SMO, SOFT, "smo beta"),
    ("eg", AFTER_SMO, PERCEPTRON, "smo gamma"),
]


def test_refuses_losses():
    for name, optimizer, loss, need in LOSSES:
        with pytest.raises(CompatibilityError, match=NEEDS[need].format(name)):
            check(optimizer, loss)
    for optimizer in (CuttingPlane(), OnlineCuttingPlane(), MIRA(), SMO(), AFTER_SMO):
        check(optimizer, MARGIN)


@pytest.mark.parametrize("optimizer", [AdaDelta, AdaGrad, Pegasos, SGD])
def test_certificates_need_a_bound(optimizer):
    assert Ability.UPPER | Ability.CONVEX in abilities(optimizer(), certificate=True)
    assert Ability.UPPER not in abilities(optimizer())
    check(optimizer(), MARGIN)
    check(optimizer(), MARGIN, certificate=True)
    with pytest.raises(CompatibilityError, match=r"needs a convex loss, which ramp .* is not"):
        check(optimizer(), LossDifference(inf, 1.0), certificate=True)
