"""Settings of a fit in the node of an optimizer: what they are made of, what is refused, and who
gets them.
"""

import inspect
from math import inf
from typing import ClassVar

import numpy as np
import pytest

import structopt as so
from structopt.config import fit_settings, registry
from structopt.config.composition import compose
from structopt.config.fit_settings import FitSettings
from structopt.config.validation import validate
from structopt.config.wording import keyed
from structopt.core import entry_points
from structopt.core.optimizer import Optimizer, Plan
from structopt.core.weights.penalty import L1, L2, Penalty
from structopt.errors import ArgumentError, ConfigError
from tests.messages import keys_of, raises

SHIPPED = [
    name
    for name, one in registry.installed("optimizer").items()
    if one.distribution == "structopt-trainer"
]


@pytest.fixture(autouse=True)
def words(monkeypatch):
    monkeypatch.setattr(entry_points, "_registered", {})


def settings_of(word, **values):
    """The settings of a word with the presets of its config file."""
    node = validate(compose([f"optimizer={word}"]))["optimizer"] | values
    return FitSettings.of(node, registry.create("optimizer", node))


def test_constructors_of_optimizers_have_no_settings_of_a_fit():
    names = set(inspect.signature(FitSettings).parameters)
    assert len(names) == 7
    for word in SHIPPED:
        cls = registry.load("optimizer", word)
        assert not names & set(inspect.signature(cls).parameters)
        assert {"C", "epochs"} <= {
            one.name for one in registry.described(registry.installed("optimizer")[word])
        }


def test_arguments_of_problems_are_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'C'"):
        so.SDCA(C=1)
    for name, home in (("C", "structopt.Problem"), ("epochs", "structopt.fit")):
        with raises(ConfigError, match=f"Give it to {home}", parameter=name, value=1):
            so.component("optimizer", "sdca", **{name: 1})


def test_config_files_set_them():
    assert settings_of("sdca", C=0.5) == FitSettings(0.5, 30)
    assert settings_of("cutting_plane").tolerance == 1e-3
    assert settings_of("adagrad", C=1.0, penalty="l1").goal.penalty == L1()
    assert settings_of("lbfgs", C=4.0, penalty="elastic").regulariser == Penalty(1.0, 1.0)
    assert settings_of("lbfgs", C=4.0, penalty="l1", c1=0.5).regulariser == Penalty(2.0, 0.0)
    assert settings_of("lbfgs", C=1e10, penalty="l1", c1=1e5).regulariser == Penalty(1e15, 0.0)
    assert settings_of("sgd", tolerance=0.1, certificate=True).goal == (L2(), 0.1, True)


@pytest.mark.parametrize(
    "values",
    [
        {"C": 0.0},
        {"C": -1.0},
        {"C": inf},
        {"epochs": -1},
        {"tolerance": -0.1},
        {"c1": -1.0, "penalty": "l1"},
        {"c2": -1.0, "penalty": "elastic"},
    ],
)
def test_numbers_out_of_range(values):
    name, value = next(iter(values.items()))
    with raises(ArgumentError, parameter=name, value=value):
        FitSettings(**values)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            {"penalty": "l1", "certificate": True},
            "optimizer.certificate=True bounds the optimum for optimizer.penalty=l2 only. Set "
            "optimizer.certificate=false or optimizer.penalty=l2.",
        ),
        (
            {"c1": 0.1},
            "optimizer.c1=0.1 has no effect with optimizer.penalty=l2. Set "
            "optimizer.penalty=l1 or elastic.",
        ),
        (
            {"c2": 0.1},
            "optimizer.c2=0.1 has no effect with optimizer.penalty=l2. Set "
            "optimizer.penalty=elastic, or optimizer.C=5 instead of optimizer.c2.",
        ),
        (
            {"penalty": "l1", "c2": 0.1},
            "optimizer.c2=0.1 has no effect with optimizer.penalty=l1. Set "
            "optimizer.penalty=elastic.",
        ),
        (
            {"penalty": "elastic", "c1": 0.0, "c2": 0.0},
            "optimizer.c1=0 and optimizer.c2=0 would leave the weights free to grow without "
            "bound. Set a number above 0.",
        ),
        (
            {"penalty": "l1", "c1": 0.0},
            "optimizer.c1=0 would leave the weights free to grow without bound. Set a number "
            "above 0.",
        ),
    ],
)
def test_settings_that_exclude_each_other(values, text):
    with pytest.raises(ConfigError) as raised, keyed(keys_of("optimizer")):
        FitSettings(**values)
    assert str(raised.value) == text


@pytest.mark.parametrize("word", SHIPPED)
def test_a_tolerance_needs_a_gap(word):
    if word in ("adadelta", "adagrad", "dlpw", "pegasos", "sgd"):
        needed = r"optimizer\.tolerance needs a certified gap; add optimizer\.certificate=true"
        with pytest.raises(ConfigError, match=needed):
            settings_of(word, tolerance=0.1)
        assert settings_of(word, tolerance=0.1, certificate=True).goal.tolerance == 0.1
    elif word in ("dca", "mira", "perceptron"):
        with pytest.raises(ConfigError, match=f"optimizer={word} has no certified gap"):
            settings_of(word, tolerance=0.1)
    else:
        assert settings_of(word, tolerance=0.1).goal.tolerance == 0.1


def test_penalties_of_a_word():
    none = "optimizer.penalty=elastic is none of: l2, l1."
    with pytest.raises(ConfigError, match=none):
        validate(compose(["optimizer=adagrad", "optimizer.penalty=elastic"]))
    assert fit_settings.replaced({"penalty": "l1", "c1": 0.1}) == {"C": "c1"}
    assert fit_settings.replaced({"penalty": "elastic", "c1": 0.1}) == {}


class Descent(Optimizer):
    """Steps down the gradient of P, without settings of a fit."""

    plan: ClassVar[Plan] = Plan("batch")

    def __init__(self, eta: float = 0.1) -> None:
        self.eta = eta

    def init(self, problem, weights):
        return {"theta": weights.copy()}

    def step(self, problem, state):
        _, gradient = problem.gradient(state["theta"])
        whole = problem.regularization * state["theta"] + gradient / problem.m
        return {"theta": state["theta"] - self.eta * whole}

    def weights(self, state):
        return state["theta"]


class Earlier(Descent):
    """The same with C, epochs and tolerance, as plugins of earlier versions have them."""

    def __init__(
        self, eta: float = 0.1, C: float = 1.0, epochs: int = 3, tolerance: float = 0.0
    ) -> None:
        super().__init__(eta)
        self.C, self.epochs, self.tolerance = C, epochs, tolerance


def test_plugins_with_and_without_settings(tmp_path):
    so.register("optimizer", "descent")(Descent)
    so.register("optimizer", "earlier")(Earlier)
    weights = {}
    for word in ("descent", "earlier"):
        chosen = [f"optimizer={word}", "optimizer.C=0.5", "optimizer.epochs=2"]
        common = ["task=ner", "task.limit=10", "tracker=none", "loss=crf"]
        model = so.train([*common, *chosen], folder=tmp_path / word)
        weights[word] = model.weights
        rows = (tmp_path / word / "history.csv").read_text().splitlines()
        assert len(rows) == 1 + 2
    assert np.array_equal(*weights.values())
    node = {"name": "earlier", "C": 0.5, "epochs": 2, "tolerance": 0.25}
    made = registry.create("optimizer", node)
    assert (made.C, made.epochs, made.tolerance) == (0.5, 2, 0.25)
    assert FitSettings.of(node, made) == FitSettings(0.5, 2, 0.25)
    assert FitSettings.of({"name": "earlier"}, Earlier(epochs=7)).epochs == 7


def test_settings_in_the_plan_of_a_plugin():
    """Plans of earlier versions have the penalty, the tolerance and the certificate."""
    method = Earlier()
    vars(method)["plan"] = Plan(tolerance=0.1, certificate=True)
    settings = FitSettings.of({"name": "earlier", "C": 0.5}, method)
    assert (settings.tolerance, settings.certificate, settings.regulariser) == (0.1, True, so.L2())
    vars(method)["plan"] = Plan(penalty=so.L1())
    assert FitSettings.of({"name": "earlier", "C": 0.5}, method).regulariser == so.L1()
    assert method.plan.minimizes_with(so.L1()) and not method.plan.minimizes_with(so.L2())


def test_fit_sets_the_settings_of_a_copy_of_such_plugins():
    chain = so.LinearChain().batch(lengths=[2, 3], labels=2)
    gold, seen = chain.gold([[0, 1], [1, 1, 0]]), []

    class Seen(Earlier):
        def init(self, problem, weights):
            seen.append((self.C, self.epochs, self.tolerance))
            return super().init(problem, weights)

    own = Seen()
    problem = so.Problem(chain, x={"label": np.eye(5)}, gold=gold, C=2.0)
    so.fit(problem, own, epochs=4)
    assert seen == [(2.0, 4, 0.0)]
    assert (own.C, own.epochs) == (1.0, 3)


@pytest.mark.parametrize("optimizer", [so.DCA(), so.SDCA(), so.LBFGS()])
def test_two_problems_share_an_optimizer(optimizer):
    """Steps in turn are those of optimizers of their own."""
    chain = so.LinearChain().batch(lengths=[2, 3], labels=2)
    gold, x = chain.gold([[0, 1], [1, 1, 0]]), {"label": np.eye(5)}
    problems = [
        so.Problem(chain, x=x, gold=gold, loss=so.CRF(), C=C).under(optimizer) for C in (0.1, 10.0)
    ]
    states = [optimizer.init(problem, np.zeros(problem.dimension)) for problem in problems]
    for _ in range(3):
        states = [
            optimizer.step(problem, state)[0]
            for problem, state in zip(problems, states, strict=True)
        ]
    for problem, state in zip(problems, states, strict=True):
        alone = type(optimizer)()
        own = alone.init(problem, np.zeros(problem.dimension))
        for _ in range(3):
            own = alone.step(problem, own)[0]
        assert alone.weights(own).tobytes() == optimizer.weights(state).tobytes()
