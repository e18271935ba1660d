"""The library as its users see it: every function in one program, with annotations."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import structopt as so

Floats = npt.NDArray[np.float64]


class Focal(so.Loss):
    """(1 - p)^2 (-log p) of the probability p of the gold output."""

    convex = False

    def value_and_gradient(
        self, s: so.Parts, gold: so.Gold, infer: Callable[..., so.Inferred]
    ) -> tuple[Floats, so.Parts]:
        a = infer(s, temperature=1.0)
        nll = a.value - s @ gold.parts
        p = np.exp(-nll)
        slope = (1 - p) ** 2 + 2 * p * (1 - p) * nll
        return (1 - p) ** 2 * nll, slope[:, None] * (a.marginals - gold.parts)


class Descent(so.Optimizer):
    """Gradient descent with steps of one length."""

    def init(self, problem: Any, w: Floats) -> dict[str, Any]:
        return {"w": w}

    def step(self, problem: Any, state: dict[str, Any]) -> dict[str, Any]:
        return {"w": state["w"] - 0.1 * problem.value_and_gradient(state["w"])[1]}

    def weights(self, state: dict[str, Any]) -> Floats:
        w: Floats = state["w"]
        return w


def scores() -> None:
    """Batches, scores, inferences, outputs and losses."""
    rng = np.random.default_rng(0)
    chain = so.LinearChain(order=1).batch(lengths=[5, 7], labels=3)
    trees = so.ArcFactored(single_root=True, labeled=True).batch(lengths=[5, 7], labels=40)
    grid = so.Pairwise().batch(sizes=[6], edges=[so.grid_edges(2, 3)], labels=4)
    s = chain.scores(label=rng.normal(size=(12, 3)), transition=rng.normal(size=(3, 3)))
    arcs = [rng.normal(size=(n, n + 1)) for n in (5, 7)]
    labels = [rng.normal(size=(n, n + 1, 40)) for n in (5, 7)]
    t = trees.scores(arc=arcs, label=labels)
    keep = np.ones((12, 3), bool)
    cost, v = chain.zeros(), np.ones(2)
    assert s["label"].shape == (12, 3)
    assert s[1]["label"].shape == (7, 3)
    assert s.padded("label", 0.0).shape == (2, 7, 3)
    assert np.array_equal(s.restricted(label=keep).flat, s.flat)
    assert np.array_equal((s + 0.5 * cost).flat, (v[:, None] * s).flat)
    assert chain.positions("transition").shape == (2, 0)
    assert chain.index("transition").shape == (2, 3, 3)
    a = so.infer(s, inference=None, temperature=1.0, threads=1)
    assert a.value.shape == (2,)
    assert a.marginals.batch is chain
    assert a.guarantee == "exact"
    gold = chain.gold([np.zeros(5, int), np.zeros(7, int)], allowed=None)
    so.marginals(s), so.entropy(s), so.log_prob(s, gold), so.kl(s, s), so.log_partition(s)
    so.covariance_product(s, s)
    best = so.argmax(grid.scores(label=rng.normal(size=(6, 4)), edge=np.zeros((7, 4, 4))), so.AD3())
    assert best.score[0] <= best.upper[0] + 1e-6
    assert best.optimal.shape == (1,)
    assert best["labels"].shape == best[0].shape == (6,)
    assert best.padded(-1).shape == (1, 6)
    assert best.parts.batch is grid
    assert so.k_best(s, 5).score.shape == (5, 2)
    assert so.sample(t, 100, seed=0)["heads"].shape == (100, 12)
    so.argmax(chain.scores(label=so.marginals(s)["label"]))
    M = 1.0 - np.eye(3)
    for loss in (
        so.SVM(cost=so.CostMatrix(M)),
        so.CRF(),
        so.SoftmaxMargin(),
        so.ExpectedCost(),
        so.LossFamily(2.0, 0.5),
    ):
        value, gradient = so.value_and_gradient(loss, s, gold)
        assert value.shape == (2,)
        assert gradient.batch is chain
    mask = np.array([[True, True, False], [True, True, True]])
    assert len(so.LinearChain().batch(mask=mask, labels=9)) == 2


def training() -> None:
    """Problems, fits, models, and classes of users."""
    rng = np.random.default_rng(0)
    chain = so.LinearChain(order=1).batch(lengths=[5, 7], labels=3)
    X, gold = rng.normal(size=(12, 4)), chain.gold(rng.integers(0, 3, 12))
    problem = so.Problem(
        chain,
        x={"label": X},
        gold=gold,
        loss=so.CRF(),
        C=0.1,
        inference=None,
        features=None,
        penalty=so.L2(),
        sample_weight=None,
    )
    w = np.zeros(problem.dimension)
    value, gradient = problem.value_and_gradient(w)
    assert value > 0
    assert gradient.shape == w.shape
    certificate = problem.certificate(w)
    assert certificate.gap is not None
    assert certificate.gap >= 0
    fit = so.fit(problem, so.SDCA(), epochs=50, tolerance=1e-3, seed=0, start=None, callbacks=())
    assert fit.weights.shape == w.shape
    assert fit.history["primal"][-1] < value
    assert fit.certificate.gap is not None
    assert fit.stopped
    model = fit.model()
    assert model.coef["label"].shape == (4, 3)
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        loaded = so.load(folder, components=None)
    found = model.predict(x={"label": X[:4]}, lengths=[4])
    again = loaded.predict(x={"label": X[:4]}, lengths=[4])
    assert found[0].tolist() == again[0].tolist()
    so.check(Focal())
    so.fit(so.Problem(chain, x={"label": X}, gold=gold, loss=Focal(), C=1.0), Descent(), epochs=50)
    so.compile(chain, None, so.CRF())
    assert so.component("optimizer", "sdca", planes=3).planes == 3
    sentences = [[{"word": word} for word in ("Ann", "slept")]] * 4
    tagger = so.SequenceTagger(loss=so.SVM(), optimizer=so.DCA(), C=0.1, epochs=10)
    assert tagger.fit(sentences, [["PER", "O"]] * 4).predict(sentences[:1])
