"""The texts of errors that `structopt.optimizer` raises, as the command line writes them, in one table."""

from math import inf

import pytest

from structopt.config.wording import keyed
from structopt.errors import StructoptError
from structopt.optimizer.adadelta import AdaDelta
from structopt.optimizer.dca import DCA
from structopt.optimizer.eg import EG
from tests.messages import keys_of


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: AdaDelta(rho=1.0),
            "optimizer.rho=1.0 must be at least 0 and below 1.",
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
            lambda: EG(initial=1e13),
            "optimizer.initial=10000000000000.0 must be a number from -1e+12 to 1e+12, auto or smo.",
        ),
        (
            lambda: EG(mixing=0.0),
            "optimizer.mixing=0.0 must be above 0 and below 1.",
        ),
        (
            lambda: EG(form="primal"),
            "optimizer.form=primal has one vector for the potentials of all instances, which "
            "SMO cannot start and which has no updates per instance. Set optimizer.online=false "
            "optimizer.initial=0, or optimizer.form=dual.",
        ),
        (
            lambda: EG(eta="theorem"),
            "optimizer.eta=theorem is the step length of batch steps. Set optimizer.online=false.",
        ),
        (
            lambda: EG(eta="theorem", online=False, initial="smo"),
            "optimizer.eta=theorem belongs to steps from the first pass on. Set optimizer.initial "
            "to auto or a number.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised, keyed(keys_of("optimizer")):
        call()
    assert str(raised.value) == text
