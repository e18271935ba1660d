"""The texts of errors that `structopt.loss` raises, as the command line writes them, in one table."""

from math import inf

import numpy as np
import pytest

from structopt.config.wording import keyed
from structopt.errors import StructoptError
from structopt.loss.cost.coreference import Coreference
from structopt.loss.cost.weighted import Weighted
from structopt.loss.difference import LossDifference
from structopt.loss.family import LossFamily
from tests.messages import keys_of

LABELS = ("O", "PER"), np.zeros(1, int), np.ones(1, int)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: Weighted().check({}),
            "loss.cost=weighted needs loss.cost_weights. Set for example "
            "'loss.cost_weights={O: 0.5}'.",
        ),
        (
            lambda: Weighted().check({"O": -1.0}),
            "loss.cost_weights.O=-1.0 must be at least 0 and finite: from 0 to 1e+12.",
        ),
        (
            lambda: Weighted().of_variables(*LABELS, {"PRE": 2.0}),
            "loss.cost_weights has the label 'PRE', which the training data do not have. Did "
            "you mean 'PER'? Labels: O, PER.",
        ),
        (
            lambda: Coreference().check({"false_link": 1.0}),
            "loss.cost_weights has the key 'false_link', which loss.cost=coreference does not "
            "have. Did you mean 'false_new'? Keys: false_anaphor, false_new, wrong_link.",
        ),
        (
            lambda: LossDifference(gamma=0.0),
            "loss.gamma=0.0 makes the difference L_{beta,gamma} - L_{beta,0} equal to 0 "
            "everywhere. Set loss.gamma=1.",
        ),
        (
            lambda: LossDifference(convex_passes=-1),
            "loss.convex_passes=-1 must be auto or at least 0. Set 0 to start with risk "
            "(beta=1, gamma=1) itself.",
        ),
        (
            lambda: LossDifference(inf).kernel("prediction"),
            "optimizer.variant=prediction does not exist for the loss ramp (beta=inf, "
            "gamma=1). Set optimizer.variant=max_loss.",
        ),
        (
            lambda: LossFamily(1.0, 1.0).kernel("prediction"),
            "optimizer.variant=prediction needs loss.beta=inf, and the loss is softmax_margin "
            "(beta=1, gamma=1). Set loss.beta=inf, or optimizer.variant=max_loss.",
        ),
        (
            lambda: LossFamily(beta=0.0),
            "loss.beta=0.0 must be in (0, inf]: from 1e-12 to 1e+12, or inf. beta=1 gives "
            "CRFs, beta=inf margins.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised, keyed(keys_of("loss")):
        call()
    assert str(raised.value) == text
