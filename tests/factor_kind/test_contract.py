"""The core's kinds, and those of a plugin's tests, keep the contract of factor kinds."""

import pytest

from structopt.config import registry
from structopt.testing.factor_kind import FactorKindSuite, OneFactor
from tests.inference import own_kinds

ARCS = tuple(x for m in range(3) for h in range(3) for x in (m, h))
CORE = [
    ("automaton", OneFactor((1,) * 4, 15)),
    ("budget", OneFactor((1,) * 4, 0, (2,))),
    ("coverage", OneFactor((1,) * 4, 1)),
    ("coverage", OneFactor((1,) * 3, 3)),
    ("coverage", OneFactor((1,), 2)),
    ("exactly_one", OneFactor((1,) * 4)),
    ("length_budget", OneFactor((1,) * 4, 0, (5, 3, 2, 0, 7))),
    ("linear_budget", OneFactor((1,) * 4, 0, (5, 3, 2, 0, 7))),
    ("pairs", OneFactor((1,) * 4, 2)),
    ("table", OneFactor((3, 2), 6)),
    ("tree", OneFactor((1,) * 9, 0, (3, 0, 0, *ARCS))),
    ("tree", OneFactor((1,) * 9, 0, (3, 1, 1, *ARCS))),
]
OWN = [
    (own_kinds.AtLeastOne, OneFactor((1,) * 4)),
    (own_kinds.ExactlyK, OneFactor((1,) * 4, 0, (2,))),
    (own_kinds.AnyOn, OneFactor((1,) * 3, 1)),
    (own_kinds.SameState, OneFactor((3, 3, 3), 3, (3,))),
]


class TestKinds(FactorKindSuite):
    @pytest.fixture(
        params=[*CORE, *OWN],
        ids=lambda case: case[0] if isinstance(case[0], str) else case[0].__name__,
    )
    def case(self, request):
        return request.param

    @pytest.fixture
    def kind(self, case):
        return (
            registry.create("factor_kind", {"name": case[0]})
            if isinstance(case[0], str)
            else case[0]()
        )

    @pytest.fixture
    def factor(self, case):
        return case[1]
