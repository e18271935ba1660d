"""Contract suites on one component, without a file of tests."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import SkipTest

import numpy as np

from structopt.core.component import Component
from structopt.core.cost import Cost
from structopt.core.data.structure import Structure
from structopt.core.executor import Executor
from structopt.core.factor_graph import FactorGraph
from structopt.core.factor_kind import FactorKind
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.optimizer import Optimizer
from structopt.core.scorer import Scorer
from structopt.core.task import Task
from structopt.core.tracker import Tracker
from structopt.errors import ArgumentError, ConfigError, StructoptError
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.loss.presets import CRF, SVM, PerceptronLoss
from structopt.testing.problems import random_encoded, random_graphs
from structopt.testing.promises import DEFAULTS
from structopt.verbs.problem import Problem

SUITES: Mapping[type[Component], str] = {
    Loss: "loss.LossSuite",
    Optimizer: "optimizer.OptimizerSuite",
    Inference: "inference.InferenceSuite",
    FactorGraph: "factor_graph.FactorGraphSuite",
    Cost: "cost.CostSuite",
    Tracker: "tracker.TrackerSuite",
    Scorer: "scorer.ScorerContract",
    FactorKind: "factor_kind.FactorKindSuite",
    Executor: "executor.ExecutorSuite",
    Task: "task.TaskSuite",
}
"""Modules of this package, and their suites. Those of the last four kinds import pytest."""


COPIED = ("loss", "structure", "scorer")
"""Fixtures that tests change."""


def check(component: Component, **fixtures: Any) -> None:
    """Check the promises that a component makes by its contract.

    Parameters
    ----------
    component : Component
        A component of any kind.
    **fixtures
        Values of fixtures of its suite (`structopt.testing`), in place of small chains, and of its
        attributes, such as ``many=30``. Graphs need ``encoded``, tasks ``path``, a labelled file,
        and kinds of factors ``factor``. Trackers take ``broken``, a function that creates one whose
        store cannot be written.

    Raises
    ------
    StructoptError
        With every promise that it breaks, and where to look.

    Examples
    --------
    >>> check(Focal())
    """
    if not __debug__:
        raise StructoptError(
            "structopt.check needs assertions.", remedy="Run Python without the option -O."
        )
    contract = next((one for one in SUITES if isinstance(component, one)), None)
    if contract is None:
        names = ", ".join(one.__name__ for one in SUITES)
        raise ArgumentError(
            f"must be an instance of {names}.",
            parameter="component",
            value=component,
            remedy="Write a test with the suite of its kind (structopt.testing).",
        )
    suite = _suite(contract)
    given = {**_fixtures(component), **fixtures}
    for name in [one for one in fixtures if isinstance(getattr(suite, one, None), (int, float))]:
        setattr(suite, name, given.pop(name))
    with TemporaryDirectory() as folder:
        given = {"tmp_path": Path(folder), **given}
        broken = [text for name in dir(suite) if (text := _broken(suite, name, given))]
    if broken:
        reasons = "\n".join(broken)
        raise StructoptError(f"{type(component).__name__} breaks its contract.\n{reasons}")


def _suite(contract: type[Component]) -> Any:
    """Return the suite of a kind."""
    module, _, name = SUITES[contract].partition(".")
    try:
        return vars(import_module(f"structopt.testing.{module}"))[name]()
    except ImportError as error:
        if error.name != "pytest":
            raise
        raise StructoptError(
            f"structopt.check needs pytest for a {contract.__name__}.",
            remedy="Run: pip install pytest",
        ) from error


def _broken(suite: Any, name: str, given: Mapping[str, Any]) -> str:
    """Run a test of a suite; return the text of its failure, or an empty string."""
    if not name.startswith("test_"):
        return ""
    test = getattr(suite, name)
    arguments = {one: _value(suite, one, given) for one in inspect.signature(test).parameters}
    try:
        test(**arguments)
    except (SkipTest, ConfigError):  # components may refuse
        return ""
    except AssertionError as error:
        return str(error)
    except StructoptError as error:
        return f"{name}: {error}"
    return ""


def _value(suite: Any, name: str, given: Mapping[str, Any]) -> Any:
    """Return the value of a fixture: given, or the default of its suite."""
    if name in given:
        return deepcopy(given[name]) if name in COPIED else given[name]
    function = _default(suite, name)
    own = list(inspect.signature(function).parameters)[1:]
    return function(suite, **{one: _value(suite, one, given) for one in own})


def _default(suite: Any, name: str) -> Callable[..., Any]:
    for cls in type(suite).__mro__:
        if (key := f"{cls.__name__}.{name}") in DEFAULTS:
            return DEFAULTS[key]
    raise ArgumentError(
        "is a fixture without a default.",
        parameter=name,
        remedy=f"Give it: structopt.check(component, {name}=...).",
    )


def _fixtures(component: Component) -> dict[str, Any]:
    """Return fixtures with small chains, or pairwise graphs if the component needs loops."""
    if isinstance(component, Loss):
        return {"problem": _problem(component)}
    if isinstance(component, Inference):
        return {"inference": component, "structure": _structure(component)}
    if isinstance(component, Task):
        return {"task": lambda: deepcopy(component)}
    if isinstance(component, Tracker):
        return {"tracker": lambda: deepcopy(component)}
    if isinstance(component, Scorer):
        return {"scorer": component, "encoded": random_encoded(1, (3, 1, 2, 4, 1))}
    names = {FactorGraph: "graph", Cost: "cost", FactorKind: "kind", Executor: "executor"}
    for contract, name in names.items():
        if isinstance(component, contract):
            return {name: component}
    optimizer: Any = component
    return {
        "optimizer": lambda: deepcopy(optimizer),
        "problem": lambda seed=0, **_: _problem_of(optimizer, seed),
    }


def _structure(inference: Inference) -> Structure:
    chain = LinearChain()
    if not inference.refusal(chain) and inference.provides(chain.kind):
        return inference.prepare(chain.build(random_encoded(0)))
    graph = Pairwise()
    if inference.refusal(graph) or not inference.provides(graph.kind):
        raise ArgumentError(
            "must be given: the inference works neither on chains nor on pairwise graphs.",
            parameter="structure",
        )
    return inference.prepare(graph.build(random_graphs(0)))


def _problem(loss: Loss) -> Problem:
    """Return a small problem of chains with a loss."""
    generator = np.random.default_rng(0)
    batch = LinearChain().batch(lengths=[1, 2, 3], labels=3)
    x = {"label": generator.normal(size=(6, 4))}
    return Problem(batch, x=x, gold=batch.gold(generator.integers(0, 3, 6)), loss=loss, C=10.0)


def _problem_of(optimizer: Optimizer, seed: int) -> Problem:
    """Return a small problem with the first loss that an optimizer takes."""
    for loss in _losses():
        try:
            return _problem(loss).under(optimizer, seed)
        except ArgumentError as error:
            refused = error
    raise refused


def _losses() -> Iterator[Loss]:
    yield from (CRF(), SVM(), PerceptronLoss())
