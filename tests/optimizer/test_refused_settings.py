"""Arguments and losses that optimizers refuse, and their messages."""

from math import inf

import pytest

from structopt.core.ability import Ability
from structopt.errors import CompatibilityError, ConfigError
from structopt.loss.difference import LossDifference
from structopt.loss.family import LossFamily
from structopt.optimizer.adadelta import AdaDelta
from structopt.optimizer.adagrad import AdaGrad
from structopt.optimizer.cutting_plane import CuttingPlane
from structopt.optimizer.dca import DualCoordinateAscent
from structopt.optimizer.eg import ExponentiatedGradient
from structopt.optimizer.lbfgs import LBFGS
from structopt.optimizer.mira import Mira
from structopt.optimizer.online_cutting_plane import OnlineCuttingPlane
from structopt.optimizer.pegasos import Pegasos
from structopt.optimizer.perceptron import AveragedPerceptron
from structopt.optimizer.sdca import StochasticDualCoordinateAscent
from structopt.optimizer.sgd import StochasticGradientDescent
from structopt.optimizer.smo import FactoredSMO
from tests.optimizer.composed import abilities, check

REFUSED = {
    AdaDelta: [
        ({"epsilon": 0.0}, r"optimizer\.epsilon=0\.0 must be greater than 0 and finite"),
        ({"epsilon": inf}, r"optimizer\.epsilon=inf must be greater than 0 and finite"),
        ({"batch_size": 0}, r"optimizer\.batch_size=0 must be at least 1"),
        (
            {"tolerance": 0.1},
            r"optimizer\.tolerance needs a certified gap; add optimizer\.certificate=true",
        ),
    ],
    AdaGrad: [
        ({"eta": -0.5}, r"optimizer\.eta=-0\.5 must be greater than 0 and finite"),
        ({"eta": inf}, r"optimizer\.eta=inf must be greater than 0 and finite"),
        ({"constant": 0}, r"optimizer\.constant=0 must be at least 1"),
        ({"batch_size": 0}, r"optimizer\.batch_size=0 must be at least 1"),
        (
            {"tolerance": 0.1},
            r"optimizer\.tolerance needs a certified gap; add optimizer\.certificate=true",
        ),
        ({"penalty": "l3"}, r"optimizer\.penalty=l3 is unknown\. There are: l2, l1\."),
    ],
    CuttingPlane: [
        ({"tolerance": -0.1}, r"optimizer\.tolerance=-0\.1 must be at least 0"),
        ({"cache_mb": 0}, r"optimizer\.cache_mb=0 must be greater than 0 and finite"),
    ],
    DualCoordinateAscent: [
        ({"tolerance": 0.1}, "optimizer=dca has no certified gap"),
        ({"planes": 0}, r"optimizer\.planes=0 must be at least 1"),
        ({"inner_tolerance": 0.0}, r"optimizer\.inner_tolerance=0\.0 must be greater than 0"),
    ],
    ExponentiatedGradient: [
        ({"tolerance": -0.1}, r"optimizer\.tolerance=-0\.1 must be at least 0"),
        ({"eta": 0.0}, r"optimizer\.eta=0\.0 must be greater than 0"),
        ({"smo_passes": 0}, r"optimizer\.smo_passes=0 must be at least 1"),
    ],
    LBFGS: [
        ({"tolerance": -0.1}, r"optimizer\.tolerance=-0\.1 must be at least 0 and finite"),
        (
            {"gradient_tolerance": -0.1},
            r"optimizer\.gradient_tolerance=-0\.1 must be at least 0 and finite",
        ),
        ({"memory": 0}, r"optimizer\.memory=0 must be at least 1"),
        ({"penalty": "l3"}, r"optimizer\.penalty=l3 is unknown\. There are: l2, l1, elastic\."),
        ({"penalty": "l1", "c1": -1.0}, r"optimizer\.c1=-1\.0 must be at least 0 and finite"),
        ({"penalty": "elastic", "c2": -1.0}, r"optimizer\.c2=-1\.0 must be at least 0 and finite"),
    ],
    Mira: [
        ({"tolerance": 0.1}, "optimizer=mira has no certified gap"),
        ({"k_best": 0}, r"optimizer\.k_best=0 must be at least 1"),
    ],
    OnlineCuttingPlane: [
        ({"tolerance": -1.0}, r"optimizer\.tolerance=-1\.0 must be at least 0"),
        ({"steps": 0}, r"optimizer\.steps=0 must be at least 1"),
        ({"cache_mb": -5}, r"optimizer\.cache_mb=-5 must be greater than 0 and finite"),
    ],
    Pegasos: [
        ({"delay": -1.0}, r"optimizer\.delay=-1.0 must be at least 0"),
        ({"batch_size": 0}, r"optimizer\.batch_size=0 must be at least 1"),
        (
            {"tolerance": 0.1},
            r"optimizer\.tolerance needs a certified gap; add optimizer\.certificate=true",
        ),
    ],
    AveragedPerceptron: [
        ({"tolerance": 0.1}, "optimizer=perceptron has no certified gap"),
    ],
    StochasticDualCoordinateAscent: [
        ({"tolerance": -0.1}, r"optimizer\.tolerance=-0\.1 must be at least 0"),
        ({"planes": -1}, r"optimizer\.planes=-1 must be at least 0"),
        ({"sampling": "gaps"}, r"optimizer\.sampling=gaps is unknown\. There are: uniform, gap\."),
        (
            {"entropy": "open"},
            r"optimizer\.entropy=open is unknown\. There are: closed, hypograph\.",
        ),
    ],
    StochasticGradientDescent: [
        ({"eta": 0.0}, r"optimizer\.eta=0\.0 must be greater than 0 and finite"),
        ({"eta": inf}, r"optimizer\.eta=inf must be greater than 0 and finite"),
        (
            {"tolerance": 0.1},
            r"optimizer\.tolerance needs a certified gap; add optimizer\.certificate=true",
        ),
        (
            {"tolerance": -0.1, "certificate": True},
            r"optimizer\.tolerance=-0\.1 must be at least 0",
        ),
    ],
    FactoredSMO: [
        ({"tolerance": -0.1}, r"optimizer\.tolerance=-0\.1 must be at least 0"),
        ({"steps": 0}, r"optimizer\.steps=0 must be at least 1"),
    ],
}
"""Arguments and messages by class."""
COMMON = [
    ({"C": 0.0}, r"optimizer\.C=0\.0 must be greater than 0 and finite"),
    ({"C": -1.0}, r"optimizer\.C=-1\.0 must be greater than 0 and finite"),
    ({"C": inf}, r"optimizer\.C=inf must be greater than 0 and finite"),
    ({"epochs": -1}, r"optimizer\.epochs=-1 must be at least 0"),
]


@pytest.mark.parametrize("optimizer", REFUSED)
def test_refuses(optimizer):
    for arguments, message in [*COMMON, *REFUSED[optimizer]]:
        with pytest.raises(ConfigError, match=message):
            optimizer(**arguments)


MARGIN, SOFT, PERCEPTRON = LossFamily(inf, 1.0), LossFamily(1.0, 1.0), LossFamily(inf, 0.0)
NEEDS = {
    "beta": r"optimizer={} needs loss\.beta=inf",
    "gamma": r"optimizer={} needs loss\.gamma > 0",
    "smooth": r"optimizer={} needs a differentiable loss, loss\.beta < inf",
    "neither": r"loss\.beta=inf and loss\.gamma=0 \(this is .*\)\. Set loss=perceptron",
    "family": "optimizer={} climbs the dual of the loss family, of which .* is no member",
    "smo beta": r"optimizer={} optimizer\.initial=smo needs loss\.beta=inf",
    "smo gamma": r"optimizer={} optimizer\.initial=smo needs loss\.gamma > 0",
}
AFTER_SMO = ExponentiatedGradient(initial="smo")
LOSSES = [
    ("cutting_plane", CuttingPlane(), LossFamily(1.0, 0.0), "beta"),
    ("cutting_plane", CuttingPlane(), PERCEPTRON, "gamma"),
    ("online_cutting_plane", OnlineCuttingPlane(), LossFamily(2.0, 1.0), "beta"),
    ("online_cutting_plane", OnlineCuttingPlane(), PERCEPTRON, "gamma"),
    ("mira", Mira(), SOFT, "beta"),
    ("mira", Mira(), PERCEPTRON, "gamma"),
    ("smo", FactoredSMO(), SOFT, "beta"),
    ("smo", FactoredSMO(), PERCEPTRON, "gamma"),
    ("lbfgs", LBFGS(), MARGIN, "smooth"),
    ("lbfgs", LBFGS(), LossDifference(inf, 1.0), "smooth"),
    ("perceptron", AveragedPerceptron(), LossFamily(), "neither"),
    ("perceptron", AveragedPerceptron(), MARGIN, "neither"),
    ("perceptron", AveragedPerceptron(), SOFT, "neither"),
    ("sdca", StochasticDualCoordinateAscent(), LossDifference(inf, 1.0), "family"),
    ("eg", ExponentiatedGradient(), LossDifference(1.0), "family"),
    ("eg", AFTER_SMO, SOFT, "smo beta"),
    ("eg", AFTER_SMO, PERCEPTRON, "smo gamma"),
]


def test_refuses_losses():
    for name, optimizer, loss, need in LOSSES:
        with pytest.raises(CompatibilityError, match=NEEDS[need].format(name)):
            check(optimizer, loss)
    for optimizer in (CuttingPlane(), OnlineCuttingPlane(), Mira(), FactoredSMO(), AFTER_SMO):
        check(optimizer, MARGIN)


@pytest.mark.parametrize("optimizer", [AdaDelta, AdaGrad, Pegasos, StochasticGradientDescent])
def test_certificates_need_a_bound(optimizer):
    assert Ability.UPPER | Ability.CONVEX in abilities(optimizer(certificate=True))
    assert Ability.UPPER not in abilities(optimizer())
    check(optimizer(), MARGIN)
    check(optimizer(certificate=True), MARGIN)
    with pytest.raises(CompatibilityError, match=r"needs a convex loss, which ramp .* is not"):
        check(optimizer(certificate=True), LossDifference(inf, 1.0))
