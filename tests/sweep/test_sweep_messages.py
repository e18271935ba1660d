"""The texts of errors that `structopt.sweep` raises, in one table."""

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from structopt.errors import StructoptError
from structopt.sweep.experiment_plan import Plan
from structopt.sweep.resuming import is_asked
from structopt.sweep.search_space import read_space


def space(*words):
    """Read the space of a search."""
    return read_space(OverridesParser.create().parse_overrides(list(words)))


PLAN = {"title": "T", "report": "table", "settings": {"a": ["loss=crf"]}}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: space("seed=1"),
            "There is nothing to search over: no key has several values. Write for example "
            "'optimizer.C=tag(log,interval(0.01,10))' loss.beta=1,3,inf 'loss.gamma=range(0,6)'",
        ),
        (
            lambda: space("optimizer.C=tag(lgo,interval(1,2))"),
            "'optimizer.C=tag(lgo,interval(1,2))': the tag 'lgo' is unknown. Did you mean "
            "'log'? The only tag is log.",
        ),
        (
            lambda: space("optimizer.C=interval(2,1)"),
            "'optimizer.C=interval(2,1)': the interval is empty; its first end, 2, must be "
            "below its second, 1.",
        ),
        (
            lambda: space("optimizer.C=tag(log,interval(0,1))"),
            "'optimizer.C=tag(log,interval(0,1))': a log scale begins above 0, not at 0. Write "
            "a small positive number there.",
        ),
        (
            lambda: space("seed=range(5,1)"),
            "'seed=range(5,1)': the range is empty. Write range(START,STOP) or "
            "range(START,STOP,STEP); STOP is not among the values.",
        ),
        (
            lambda: is_asked(OmegaConf.create({"sweep": {"resume": "tru"}})),
            "sweep.resume=tru must be true or false. Set sweep.resume=true to resume an "
            "earlier sweep.",
        ),
        (
            lambda: Plan.read("e", {"title": "T"}),
            "e: hydra.sweeper.report is missing. An experiment needs a title, a report and "
            "settings.",
        ),
        (
            lambda: Plan.read("e", PLAN | {"seeds": 3}),
            "e: hydra.sweeper.seeds: this must be a list of integers from 0, such as [0, 1, 2].",
        ),
        (
            lambda: Plan.read("e", PLAN | {"grids": {}}),
            "e: hydra.sweeper: there is no key 'grids' here. Did you mean 'grid'? Keys: title, "
            "report, files, settings, grid, seeds, small, full.",
        ),
        (
            lambda: Plan.read("e", PLAN).scale("big", None),
            "scale=big: there is no such scale. Scales: small, full.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised:
        call()
    assert str(raised.value) == text
