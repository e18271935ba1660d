"""Problems of arrays, training on them, and classes of users: losses and optimizers."""

import re
from dataclasses import dataclass
from math import inf

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import structopt as so
from structopt.optimizer.adagrad import AdaGrad
from structopt.optimizer.dca import DCA
from structopt.optimizer.lbfgs import LBFGS
from structopt.optimizer.sdca import SDCA
from structopt.run.resumable import Resumable
from tests.messages import raises

LENGTHS = [3, 0, 5, 2]


def refused(words, **fields):
    """Check that the block raises an `ArgumentError` with these words and fields."""
    return raises(so.ArgumentError, match=re.escape(words), **fields)


class Focal(so.Loss):
    """(1 - p)^2 (-log p) of the probability p of the gold output."""

    convex = False

    def value_and_gradient(self, s, gold, infer):
        a = infer(s, temperature=1.0)
        nll = a.value - s @ gold.parts
        p = np.exp(-nll)
        slope = (1 - p) ** 2 + 2 * p * (1 - p) * nll
        return (1 - p) ** 2 * nll, slope[:, None] * (a.marginals - gold.parts)


class LogLoss(so.Loss):
    """-log p, in NumPy."""

    def value_and_gradient(self, s, gold, infer):
        a = infer(s, temperature=1.0)
        return a.value - s @ gold.parts, a.marginals - gold.parts


class Descent(so.Optimizer):
    """Gradient descent with steps of one length."""

    def init(self, problem, w):
        return {"w": w}

    def step(self, problem, state):
        return {"w": state["w"] - 0.1 * problem.value_and_gradient(state["w"])[1]}

    def weights(self, state):
        return state["w"]


@dataclass
class Point:
    """Weights, and a number."""

    w: np.ndarray
    steps: int = 0


class TypedDescent(so.Optimizer):
    """The same, with a dataclass as its state."""

    state_type = Point

    def init(self, problem, w):
        return Point(w)

    def step(self, problem, state):
        gradient = problem.value_and_gradient(state.w)[1]
        return Point(state.w - 0.1 * gradient, state.steps + 1)

    def weights(self, state):
        return state.w


@pytest.fixture(scope="module")
def chain():
    return so.LinearChain().batch(lengths=LENGTHS, labels=3)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(10, 4))


@pytest.fixture(scope="module")
def gold(chain):
    return chain.gold(np.random.default_rng(1).integers(0, 3, 10))


def problem_of(chain, X, gold, loss=None, **options):
    return so.Problem(chain, x={"label": X}, gold=gold, loss=loss, **{"C": 0.5} | options)


def check_gradient(problem, seed=3):
    """Compare a gradient with differences at random weights."""
    w = np.random.default_rng(seed).normal(size=problem.dimension)

    def value(v):
        return problem.value_and_gradient(v)[0]

    numeric = scipy.optimize.approx_fprime(w, value, 1e-7)
    assert problem.value_and_gradient(w)[1] == pytest.approx(numeric, rel=1e-4, abs=1e-5)


def test_scores_are_products_of_features_and_weights(chain, X, gold):
    problem = problem_of(chain, X, gold)
    w = np.random.default_rng(2).normal(size=problem.dimension)
    coef = so.fit(problem, Descent(), epochs=1, start=w).model().coef
    assert {name: table.shape for name, table in coef.items()} == {
        "label": (4, 3),
        "transition": (1, 9),
    }
    s = problem.scores(w)
    assert s["label"] == pytest.approx(X @ w[:12].reshape(4, 3))
    assert s["transition"][1] == pytest.approx(w[12:].reshape(3, 3))


@pytest.mark.parametrize("form", ["padded", "list", "sparse", "float32"])
def test_features_in_every_form(chain, X, gold, form):
    offsets = np.cumsum([0, *LENGTHS])
    pieces = [X[a:b] for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    padded = np.zeros((4, 5, 4))
    for row, piece in zip(padded, pieces, strict=True):
        row[: len(piece)] = piece
    given = {
        "padded": padded,
        "list": pieces,
        "sparse": scipy.sparse.csr_array(X),
        "float32": X.astype(np.float32),
    }[form]
    w = np.random.default_rng(2).normal(size=21)
    expected = problem_of(chain, X, gold).value_and_gradient(w)[0]
    assert problem_of(chain, given, gold).value_and_gradient(w)[0] == pytest.approx(
        expected, rel=1e-6
    )


@pytest.mark.parametrize(
    "loss", [so.CRF(), so.SoftmaxMargin(), so.LossFamily(2.0, 0.5), Focal(), LogLoss()]
)
def test_gradients(chain, X, gold, loss):
    check_gradient(problem_of(chain, X, gold, loss))


def test_objective_is_the_sum_of_its_parts(chain, X, gold):
    """R and mean loss by their definitions; empty instances do not count."""
    weights = [0.5, 1.0, 2.0, 0.0]
    problem = problem_of(chain, X, gold, so.CRF(), sample_weight=weights)
    w = np.random.default_rng(2).normal(size=problem.dimension)
    losses = -so.log_prob(problem.scores(w), gold)
    expected = w @ w / (2 * 0.5 * 3) + (losses @ weights) / 3
    assert problem.value_and_gradient(w)[0] == pytest.approx(expected)


def test_a_plain_loss_equals_its_kernel(chain, X, gold):
    w = np.random.default_rng(2).normal(size=21)
    for options in ({}, {"sample_weight": [1.0, 2.0, 0.5, 3.0]}):
        ours = problem_of(chain, X, gold, so.CRF(), **options)
        plain = problem_of(chain, X, gold, LogLoss(), **options)
        assert plain.value_and_gradient(w)[0] == pytest.approx(ours.value_and_gradient(w)[0])
        assert plain.value_and_gradient(w)[1] == pytest.approx(ours.value_and_gradient(w)[1])
        assert plain.certificate(w) == pytest.approx(ours.certificate(w))
    s = ours.scores(w)
    value, gradient = so.value_and_gradient(LogLoss(), s, gold)
    assert value == pytest.approx(-so.log_prob(s, gold))
    assert gradient.flat == pytest.approx(so.value_and_gradient(so.CRF(), s, gold)[1].flat)


@pytest.mark.parametrize(
    ("loss", "optimizer"),
    [
        (so.CRF(), SDCA()),
        (so.SVM(), SDCA()),
        (so.CRF(), LBFGS()),
        (LogLoss(), LBFGS()),
    ],
)
def test_certified_optimum(chain, X, gold, loss, optimizer):
    """Weights within the tolerance, whichever optimizer made them; C is the problem's alone."""
    problem = problem_of(chain, X, gold, loss)
    fit = so.fit(problem, optimizer, epochs=300, tolerance=1e-5)
    assert 0 <= fit.certificate.gap <= 1e-5 * fit.certificate.primal
    assert fit.certificate.primal == pytest.approx(problem.value_and_gradient(fit.weights)[0])
    assert len(fit.history["primal"]) == len(fit.history["epoch"]) < 300
    assert fit.history["gap"][-1] <= 1e-5 * fit.history["primal"][-1]


def test_the_same_seed_gives_the_same_weights(chain, X, gold):
    optimizer = DCA()
    fit = so.fit(problem_of(chain, X, gold, so.SVM()), optimizer, epochs=5, seed=1)
    assert fit.history["epoch"] == [1, 2, 3, 4, 5]
    again = so.fit(problem_of(chain, X, gold, so.SVM()), DCA(), epochs=5, seed=1)
    assert fit.weights.tobytes() == again.weights.tobytes()


def test_evaluations_of_the_objective(chain, X, gold):
    """They do not change the weights of methods that are not guarded."""
    problem = problem_of(chain, X, gold, so.SVM())
    never, seldom, always = (
        so.fit(problem, so.DCA(), epochs=4, objective_every=every) for every in (0, 3, 1)
    )
    assert never.history["primal"] == [None] * 4
    assert [value is None for value in seldom.history["primal"]] == [True, True, False, False]
    assert seldom.history["primal"][-1] == always.history["primal"][-1] == always.certificate.primal
    assert np.isnan(never.certificate.primal) and never.certificate.dual is None
    assert never.weights.tobytes() == always.weights.tobytes()
    gap = so.fit(problem, so.SDCA(), epochs=50, tolerance=0.1, objective_every=0).certificate.gap
    assert gap is not None
    with refused("must be at least 0", parameter="objective_every"):
        so.fit(problem, so.DCA(), objective_every=-1)


def test_penalties(chain, X, gold):
    problem = problem_of(chain, X, gold, penalty=so.L1(), C=1.0)
    fit = so.fit(problem, LBFGS(), epochs=200)
    assert 5 < (fit.weights == 0).sum() < 21
    assert problem.certificate(fit.weights).dual is None
    assert 0 <= fit.certificate.gap < 1e-3
    w = np.ones(problem.dimension)
    m, losses = 3, -so.log_prob(problem.scores(w), gold).sum()
    assert problem.value_and_gradient(w)[0] == pytest.approx((21 + losses) / m)
    online = so.fit(problem, AdaGrad(), epochs=5)
    assert online.history["primal"][-1] < problem.value_and_gradient(np.zeros(21))[0]
    with refused("the penalty L2() only", parameter="penalty"):
        so.fit(problem, DCA())
    for l1, l2, parameter in [
        (0, 0, "penalty"),
        (-1, 1, "l1"),
        (1, -1, "l2"),
        (np.nan, 1, "l1"),
        ("a", 1, "l1"),
    ]:
        with pytest.raises(so.ArgumentError) as raised:
            problem_of(chain, X, gold, penalty=so.Penalty(l1, l2))
        assert raised.value.parameter == parameter


def test_open_gold(chain, X):
    """The loss of a set of outputs; nothing is certified."""
    gold = chain.gold(np.array([0, -1, 2, -1, -1, 1, 0, 0, 1, -1]))
    problem = problem_of(chain, X, gold, so.CRF())
    check_gradient(problem)
    assert problem.certificate(np.zeros(21)).dual is None
    with refused("gold outputs that are known in full", parameter="optimizer"):
        so.fit(problem, SDCA())


def test_a_sparse_map_ties_weights_freely(chain, gold):
    A = scipy.sparse.random_array((int(chain.offsets[-1]), 6), density=0.3, random_state=0)
    problem = so.Problem(chain, features=so.SparseMap(A.tocsr()), gold=gold, loss=so.SVM())
    w = np.random.default_rng(2).normal(size=6)
    assert problem.scores(w).flat == pytest.approx(A @ w)
    fit = so.fit(problem, DCA(), epochs=3)
    new = fit.model().predict(features=so.SparseMap(A.tocsr()), lengths=LENGTHS)
    assert new.score == pytest.approx(so.argmax(problem.scores(fit.weights)).score)
    check_gradient(so.Problem(chain, features=so.SparseMap(A.tocsr()), gold=gold, loss=so.CRF()))


def test_trees_and_grids():
    trees = so.ArcFactored(single_root=True, labeled=True).batch(lengths=[3, 4], labels=2)
    gold = trees.gold(heads=[2, 0, 2, 0, 1, 2, 3], relations=[0, 1, 0, 1, 1, 0, 0])
    count = len(trees.positions("arc"))
    x = {"arc": np.random.default_rng(0).normal(size=(count, 5))}
    problem = so.Problem(trees, x=x, gold=gold, loss=so.CRF(), C=0.5)
    check_gradient(problem)
    fit = so.fit(problem, SDCA(), epochs=100, tolerance=1e-4)
    assert fit.certificate.gap <= 1e-4 * fit.certificate.primal
    grid = so.Pairwise().batch(sizes=[6], edges=[so.grid_edges(2, 3)], labels=2)
    x = {"label": np.random.default_rng(0).normal(size=(6, 2))}
    gold = grid.gold([0, 1, 0, 1, 1, 0])
    problem = so.Problem(grid, x=x, gold=gold, loss=so.SVM(), inference=so.AD3())
    fit = so.fit(problem, DCA(), epochs=5)
    edges = [so.grid_edges(2, 3)]
    assert len(fit.model().predict(x=x, sizes=[6], edges=edges)[0]) == 6
    turned = so.Pairwise().batch(sizes=[1, 3], edges=[[], [(0, 1), (2, 1)]], labels=2)
    with refused("joins the variables 2 and 1 of instance 1", parameter="edges"):
        so.Problem(turned, gold=turned.gold([[0], [0, 1, 0]]), loss=so.SVM(), inference=so.AD3())
    arcs = so.SecondOrder().batch(lengths=[2])
    with refused("Exact does not work on SecondOrder", parameter="inference"):
        so.Problem(arcs, gold=arcs.gold([2, 0]), loss=so.SVM())


def test_models_predict_other_batches(chain, X, gold):
    model = so.fit(problem_of(chain, X, gold), LBFGS(), epochs=20).model()
    found = model.predict(x={"label": X[:3]}, lengths=[3])
    scores = X[:3] @ model.coef["label"]
    own = so.LinearChain().batch(lengths=[3], labels=3)
    best = so.argmax(own.scores(label=scores, transition=model.coef["transition"].reshape(3, 3)))
    assert found[0].tolist() == best[0].tolist()
    with refused("has 2 features, and training had 4", parameter="x['label']"):
        model.predict(x={"label": X[:3, :2]}, lengths=[3])
    with refused("must have the groups label", parameter="x"):
        model.predict(lengths=[3])


def test_focal_loss_and_descent(chain, X, gold):
    problem = problem_of(chain, X, gold, Focal(), C=1.0)
    fit = so.fit(problem, Descent(), epochs=30)
    assert np.all(np.diff(fit.history["primal"]) < 0)
    losses = [problem.losses(fit.weights), fit.history["loss"][-1]]
    assert losses[0] == losses[1]  # of the weights, since the optimizer reports none
    assert fit.certificate.dual is None
    assert fit.stopped == "the last epoch"


def test_passes_take_losses_in_numpy(chain, X, gold):
    problem = problem_of(chain, X, gold, Focal(), C=1.0)
    fit = so.fit(problem, AdaGrad(), epochs=5)
    assert fit.history["primal"][-1] < fit.history["primal"][0]
    own, kernel = (
        so.fit(problem_of(chain, X, gold, loss), AdaGrad(), epochs=3)
        for loss in (LogLoss(), so.CRF())
    )
    np.testing.assert_allclose(own.weights, kernel.weights, rtol=1e-10)
    risk = problem_of(chain, X, gold, so.ExpectedCost())
    with refused("is not available to a loss in NumPy", parameter="gold.encoded"):
        so.fit(risk, AdaGrad())


def test_states_may_be_dataclasses(chain, X, gold, tmp_path):
    problem = problem_of(chain, X, gold)
    expected = so.fit(problem, Descent(), epochs=4).weights
    assert so.fit(problem, TypedDescent(), epochs=4).weights.tobytes() == expected.tobytes()
    for epochs in (2, 4):  # through a checkpoint
        training = Resumable(problem, TypedDescent(), epochs, folder=tmp_path)
        if not training.resume():
            training.start(np.zeros(problem.dimension))
        training.run()
    assert training.weights().tobytes() == expected.tobytes()
    assert training.state.steps == 4
    unnamed = TypedDescent()
    vars(unnamed)["state_type"] = dict
    with pytest.raises(so.StructoptError, match="must return a state of its state_type, dict"):
        so.fit(problem, unnamed)


def test_callbacks(chain, X, gold):
    seen = []

    def stop(epoch):
        seen.append(epoch.row["primal"])
        return "enough" if len(seen) == 3 else None

    fit = so.fit(problem_of(chain, X, gold), Descent(), epochs=30, callbacks=[stop])
    assert fit.stopped == "enough"
    assert fit.history["primal"] == seen
    with pytest.warns(so.ConvergenceWarning, match="2 epochs did not suffice"):
        so.fit(problem_of(chain, X, gold), LBFGS(), epochs=2)


class Annealed(so.LossFamily):
    """A family loss whose inverse temperature is the number of the epoch."""

    def at_epoch(self, epoch):
        return so.LossFamily(beta=float(epoch), gamma=1.0)


class CoolingLogLoss(LogLoss):
    """A plain loss with less weight in later epochs."""

    def __init__(self, weight=1.0):
        self.weight = weight

    def at_epoch(self, epoch):
        return CoolingLogLoss(1.0 / epoch)

    def value_and_gradient(self, s, gold, infer):
        value, gradient = super().value_and_gradient(s, gold, infer)
        return self.weight * value, self.weight * gradient


@pytest.mark.parametrize(
    ("loss", "of_epoch", "optimizer"),
    [
        (Annealed(), lambda epoch: so.LossFamily(float(epoch), 1.0), AdaGrad()),
        (Annealed(), lambda epoch: so.LossFamily(float(epoch), 1.0), DCA()),
        (CoolingLogLoss(), lambda epoch: CoolingLogLoss(1.0 / epoch), Descent()),
    ],
)
def test_a_loss_that_follows_the_epoch(chain, X, gold, loss, of_epoch, optimizer):
    """P and gap of an epoch are those of its loss."""
    weights = []
    problem = problem_of(chain, X, gold, loss)
    fit = so.fit(problem, optimizer, epochs=3, callbacks=[lambda e: weights.append(e.weights)])
    for epoch, w in enumerate(weights, 1):
        expected = problem_of(chain, X, gold, of_epoch(epoch)).value_and_gradient(w)[0]
        assert fit.history["primal"][epoch - 1] == pytest.approx(expected)
    assert fit.certificate.primal == pytest.approx(expected)


def test_dual_variables_belong_to_one_loss(chain, X, gold):
    with refused("the loss changes every epoch", parameter="optimizer"):
        so.fit(problem_of(chain, X, gold, Annealed()), SDCA())


def test_options_of_a_fit(chain, X, gold):
    """Shards of online and dual methods, a convex start, and a guard against long steps."""
    problem = problem_of(chain, X, gold, so.CRF(), C=10.0)
    alone = so.fit(problem, SDCA(), epochs=60)
    divided = so.fit(problem, SDCA(), epochs=60, shards=2)
    assert divided.certificate.gap == pytest.approx(0.0, abs=1e-3)
    assert divided.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-3)
    one = so.fit(problem, DCA(), epochs=4, shards=1).weights
    assert one == pytest.approx(so.fit(problem, DCA(), epochs=4).weights)
    two = [so.fit(problem, DCA(), epochs=4, shards=2).weights for _ in range(2)]
    assert two[0].tobytes() == two[1].tobytes() != one.tobytes()
    ramp = problem_of(chain, X, gold, so.LossDifference(inf, convex_passes=2))
    assert [len(so.fit(ramp, AdaGrad(), epochs=3).history["epoch"])] == [5]
    assert len(so.fit(ramp, AdaGrad(), epochs=3, convex_epochs=0).history["epoch"]) == 3
    steep = problem_of(chain, 100 * X, gold, so.CRF(), C=1e3)
    careful, careless = (
        so.fit(steep, AdaGrad(eta=100.0), epochs=3, guard=guard).history["primal"]
        for guard in (True, False)
    )
    assert careful[0] < careless[0]
    mapped = so.Problem(chain, gold=gold, features=so.SparseMap(scipy.sparse.eye_array(57)))
    for words, options in [
        ("LBFGS needs the whole batch", {"optimizer": LBFGS()}),
        ("SparseMap and `restricted`", {"problem": mapped}),
    ]:
        with refused(words, parameter="shards"):
            so.fit(**{"problem": problem, "optimizer": DCA()} | options, shards=2)


class Wrong(so.Loss):
    """A loss that returns arrays instead of parts."""

    def value_and_gradient(self, s, gold, infer):
        return s @ gold.parts, s.flat


class Unlucky(Descent):
    """An optimizer whose weights overflow."""

    def step(self, problem, state):
        return {"w": state["w"] + inf}


def test_refusals(chain, X, gold):
    other = so.LinearChain().batch(lengths=LENGTHS, labels=3)
    for words, parameter, options in [
        ("must be gold of the batch", "gold", {"gold": other.gold(np.zeros(10, int))}),
        ("must be above 0", "C", {"C": 0.0}),
        ("must be above 0", "C", {"C": -1}),
        ("must be L2()", "penalty", {"penalty": "l2"}),
        ("AD3 does not work on LinearChain", "inference", {"inference": so.AD3()}),
        ("Give x or features", "features", {"features": so.SparseMap(scipy.sparse.eye(69))}),
        ("must be SparseMap(A)", "features", {"x": None, "features": X}),
        ("is not a group of parts", "group", {"x": {"labels": X}}),
        ("has one position per instance", "x['transition']", {"x": {"transition": X}}),
        ("(positions, features)", "x['label']", {"x": {"label": X[:, 0]}}),
        ("has the shape (9, 4)", "x['label']", {"x": {"label": X[:9]}}),
        ("has 9 rows", "x['label']", {"x": {"label": scipy.sparse.csr_array(X[:9])}}),
        (
            "instance 0, position [1, 2]: x['label']=nan must be a finite number",
            "x['label']",
            {"x": {"label": np.where(X > 1, np.nan, X)}},
        ),
    ]:
        arguments = {"x": {"label": X}, "gold": gold} | options
        with refused(words, parameter=parameter):
            so.Problem(chain, **arguments)
    problem = problem_of(chain, X, gold)
    for words, parameter, options in [
        ("at least 1", "epochs", {"epochs": 0}),
        ("at least 0", "convex_epochs", {"convex_epochs": -1}),
        ("shape", "start", {"start": np.zeros(3)}),
        ("must be an optimizer", "optimizer", {"optimizer": "sdca"}),
        ("must be a function of an Epoch", "callbacks[1]", {"callbacks": [print, so.Callback]}),
    ]:
        with refused(words, parameter=parameter):
            so.fit(problem, **{"optimizer": Descent()} | options)
    with refused("must return an array of shape (4,)", parameter="loss"):
        problem_of(chain, X, gold, Wrong()).value_and_gradient(np.zeros(21))
    with pytest.raises(so.StructoptError, match="came out as nan"):
        so.fit(problem, Unlucky())
    with pytest.raises(so.StructoptError, match="must return"):
        so.fit(problem, type("Silent", (Descent,), {"step": lambda *_: None})())


def test_compile_ahead(chain):
    """Nothing is compiled, or read from disk, by calls after it."""
    from structopt.kernels.waist.compiling import STATE

    so.compile(chain, loss=so.SVM())
    so.compile(so.Pairwise().batch([2], edges=[[(0, 1)]], labels=2), so.AD3(), so.SVM())
    seconds = STATE.seconds
    s = chain.scores(label=np.ones((10, 3)))
    so.value_and_gradient(so.SVM(), s, chain.gold(np.zeros(10, int)))
    so.marginals(s)
    assert STATE.seconds == seconds
    with refused("must be a batch with an instance", parameter="batch"):
        so.compile(so.LinearChain().batch(lengths=[0], labels=2))


def test_long_compiling_is_one_warning(monkeypatch, caplog):
    from structopt.kernels.waist import compiling

    monkeypatch.setattr(compiling, "STATE", compiling.Compiling())
    monkeypatch.setattr(compiling, "PATIENCE", 1e-9)
    for compiled in (0, 1, 1):
        with compiling.under_way("viterbi"):
            compiling.STATE.compiled += compiled
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    caplog.clear()
    monkeypatch.setattr(compiling, "STATE", compiling.Compiling(shown=True))
    with compiling.under_way("viterbi"):
        compiling.STATE.compiled += 1
    assert not caplog.records
