"""Graphs that do not fit into memory are refused before their parts are made."""

import pytest

from structopt.core import memory
from structopt.errors import ConfigError
from structopt.factor_graph.antecedent import Antecedent
from structopt.factor_graph.arc_factored import ArcFactored
from structopt.factor_graph.second_order import SecondOrder
from structopt.task.coreference.coreference import Coreference
from structopt.testing.problems import random_trees

TREES = random_trees(lengths=(12,), labels=2)


def mentions(count):
    """A document with so many mentions."""
    document = {"sentences": [["a"] * count], "mentions": [[i, i + 1] for i in range(count)]}
    task = Coreference()
    return task.fit(task.labelled([document], [[[[i, i + 1]] for i in range(count)]]))


CASES = {
    "arcs": (
        lambda: ArcFactored().build(TREES),
        10_000,
        "144 arcs of 1 sentences with up to 12 words need",
        "`max_words`",
    ),
    "relations": (
        lambda: ArcFactored(labeled=True).build(TREES),
        20_000,
        "144 arcs of 1 sentences with up to 12 words and 2 relations need",
        "`max_words`",
    ),
    "siblings": (
        lambda: SecondOrder(siblings="all").build(TREES),
        20_000,
        "`siblings='all'` makes",
        "max_heads=10",
    ),
    "grandparents": (
        lambda: SecondOrder(siblings="none").build(TREES),
        20_000,
        "`grandparents=True` makes",
        "`max_words`",
    ),
    "links": (
        lambda: Antecedent(distance=None).build(mentions(20)),
        5_000,
        "`distance=None` makes 210 links",
        "`distance`",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_parts_that_do_not_fit(monkeypatch, case):
    build, free, problem, setting = CASES[case]
    build()
    monkeypatch.setattr(memory, "ALWAYS_FITS", 0)
    monkeypatch.setattr(memory, "free_bytes", lambda: float(free))
    with pytest.raises(ConfigError) as raised:
        build()
    assert raised.value.problem.startswith(problem)
    assert setting in (raised.value.remedy or "")
