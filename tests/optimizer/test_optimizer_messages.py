"""The texts of errors that `structopt.optimizer` raises, in one table."""

from math import inf

import pytest

from structopt.errors import StructoptError
from structopt.optimizer.adadelta import AdaDelta
from structopt.optimizer.adagrad import AdaGrad
from structopt.optimizer.dca import DCA
from structopt.optimizer.eg import EG
from structopt.optimizer.lbfgs import LBFGS


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: AdaDelta(rho=1.0),
            "optimizer.rho=1.0 must be at least 0 and below 1.",
        ),
        (
            lambda: AdaGrad(penalty="l1", certificate=True),
            "optimizer.certificate=True bounds the optimum for optimizer.penalty=l2 only. Set "
            "optimizer.certificate=false or optimizer.penalty=l2.",
        ),
        (
            lambda: DCA(inner="exact", variant="prediction"),
            "optimizer.inner=exact minimises the loss, whose maximiser "
            "optimizer.variant=prediction does not use. Set optimizer.variant=max_loss or "
            "optimizer.inner=taylor.",
        ),
        (
            lambda: EG(initial=inf),
            "optimizer.initial=inf must be a number from -1e+12 to 1e+12, auto or smo.",
        ),
        (
            lambda: EG(initial="sgd"),
            "optimizer.initial=sgd must be a number from -1e+12 to 1e+12, auto or smo.",
        ),
        (
            lambda: EG(mixing=0.0),
            "optimizer.mixing=0.0 must be above 0 and below 1.",
        ),
        (
            lambda: EG(form="primal"),
            "optimizer.form=primal has one vector for the potentials of all instances, which "
            "starts at 0 and has no updates per instance. Set optimizer.online=false "
            "optimizer.initial=0, or optimizer.form=dual.",
        ),
        (
            lambda: LBFGS(c1=0.1),
            "optimizer.c1=0.1 has no effect with optimizer.penalty=l2. Set "
            "optimizer.penalty=l1 or elastic.",
        ),
        (
            lambda: LBFGS(c2=0.1),
            "optimizer.c2=0.1 has no effect with optimizer.penalty=l2. Set "
            "optimizer.penalty=elastic, or optimizer.C=5 instead of optimizer.c2.",
        ),
        (
            lambda: LBFGS(penalty="l1", c2=0.1),
            "optimizer.c2=0.1 has no effect with optimizer.penalty=l1. Set "
            "optimizer.penalty=elastic.",
        ),
        (
            lambda: LBFGS(penalty="elastic", c1=0.0, c2=0.0),
            "optimizer.c1=0 and optimizer.c2=0 would leave the weights free to grow without "
            "bound. Set a number above 0.",
        ),
        (
            lambda: LBFGS(penalty="l1", c1=0.0),
            "optimizer.c1=0 would leave the weights free to grow without bound. Set a number "
            "above 0.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised:
        call()
    assert str(raised.value) == text
