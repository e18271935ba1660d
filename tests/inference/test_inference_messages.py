"""The texts of errors that `structopt.inference` raises, as the command line writes them, in one table."""

from math import inf

import pytest

from structopt.config.wording import keyed
from structopt.errors import StructoptError
from structopt.factor_graph.kinds import CHAIN
from structopt.inference import refusals
from structopt.inference.ad3 import AD3
from structopt.inference.exact import Exact
from structopt.inference.greedy import Greedy
from structopt.inference.ilp import ILP
from structopt.inference.loopy_bp import LoopyBP
from structopt.inference.mplp import MPLP
from structopt.inference.trw_bp import TRWBP
from tests.messages import keys_of


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: AD3(passes=0),
            "inference.passes=0 must be at least 1. Set the maximum number of passes over the "
            "factors, such as 500.",
        ),
        (
            lambda: AD3(tolerance=0.0),
            "inference.tolerance=0.0 must be a finite number above 0.",
        ),
        (
            lambda: AD3(eta=inf),
            "inference.eta=inf must be a finite number above 0.",
        ),
        (
            lambda: Exact(max_table=0),
            "inference.max_table=0 must be at least 1. A million entries take about 40 MB.",
        ),
        (
            lambda: Greedy(-1.0),
            "inference.scaling=-1.0 must be a finite number, at least 0. Set 1 to divide gains "
            "by lengths, or 0 to use gains as they are.",
        ),
        (
            lambda: ILP(time_limit=0.0),
            "inference.time_limit=0.0 must be above 0. Set the seconds per instance, or inf.",
        ),
        (
            lambda: ILP(gap=-1.0),
            "inference.gap=-1.0 must be a finite number, at least 0. Set 0 for exact "
            "solutions, or 0.01 for bounds within 1 % of them.",
        ),
        (
            lambda: LoopyBP(passes=0),
            "inference.passes=0 must be at least 1. Ten passes are usual.",
        ),
        (
            lambda: LoopyBP(damping=1.0),
            "inference.damping=1.0 must be at least 0 and below 1; 0 means no damping.",
        ),
        (
            lambda: LoopyBP(decoding_temperature=-1.0),
            "inference.decoding_temperature=-1.0 must be 0 or a finite number above 0. Set 1 "
            "to predict from the marginals, or 0 for the best output found.",
        ),
        (
            lambda: MPLP(passes=-1),
            "inference.passes=-1 must be at least 0. Set the maximum number of passes over the "
            "variables, such as 10.",
        ),
        (
            lambda: MPLP(smoothing=-1.0),
            "inference.smoothing=-1.0 must be 0 or a finite number above 0.",
        ),
        (
            lambda: TRWBP(passes=-1),
            "inference.passes=-1 must be at least 0; 0 keeps the first bound. Twenty passes "
            "are usual.",
        ),
        (
            lambda: refusals.check_temperature("AD3", 1.0),
            "inference=ad3 only maximises: it has no marginals at temperature 1.",
        ),
        (
            lambda: refusals.check_kind("AD3", CHAIN),
            "inference=ad3 solves factor graphs of kind 'factors', not 'chain'. Use "
            "inference=exact.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised, keyed(keys_of("inference")):
        call()
    assert str(raised.value) == text
