"""The contract of scorers on the core's features; and any scorer where sparse features were: the
same problem, the same steps.
"""

from math import inf

import numpy as np
import pytest

from structopt.config import compatibility, registry
from structopt.core.needs import Goal
from structopt.core.scorer import Scorer
from structopt.core.weights.penalty import LASSO, RIDGE
from structopt.errors import CompatibilityError, ConfigError
from structopt.factor_graph.arc_factored import ArcFactored
from structopt.factor_graph.linear_chain import LinearChain
from structopt.features.attribute_rows import AttributeRows
from structopt.features.hashed_templates import HashedTemplates
from structopt.inference.exact import Exact
from structopt.loss.family import LossFamily
from structopt.model.restoring import restored_scorer
from structopt.objective import scoring
from structopt.objective.decoding import best_outputs, k_best, marginals
from structopt.objective.drivers import predicting
from structopt.objective.pass_shards import Passes
from structopt.optimizer.adadelta import AdaDelta
from structopt.optimizer.adagrad import AdaGrad
from structopt.optimizer.dca import DCA
from structopt.optimizer.lbfgs import LBFGS
from structopt.optimizer.mira import MIRA
from structopt.optimizer.online_cutting_plane import OnlineCuttingPlane
from structopt.optimizer.perceptron import Perceptron
from structopt.optimizer.sdca import SDCA
from structopt.optimizer.sgd import SGD
from structopt.testing.problems import make_problem, random_encoded, random_trees, random_weights
from structopt.testing.scorer import ScorerContract
from tests.parts import gate_cases


class Plain(Scorer):
    """Attribute rows of which nothing is known but scores and gradient."""

    def __init__(self, rows=None):
        self.rows = rows or AttributeRows("all")
        self.dimension = self.rows.dimension

    def fit(self, encoded, structure, gold):
        return Plain(self.rows.fit(encoded, structure, gold))

    def prepare(self, encoded, structure):
        return self.rows.prepare(encoded, structure)

    def scores(self, theta, prepared, instances):
        return self.rows.scores(theta, prepared, instances)

    def pullback(self, theta, prepared, instances, residuals):
        return self.rows.pullback(theta, prepared, instances, residuals)

    def state(self):
        return self.rows.state()

    @classmethod
    def restore(cls, layout, arrays):
        return cls(AttributeRows.restore(layout, arrays))


class TestAttributeRows(ScorerContract):
    @pytest.fixture(params=["seen", "all"])
    def scorer(self, request):
        return AttributeRows(request.param)


class TestHashedTemplates(ScorerContract):
    @pytest.fixture
    def scorer(self):
        return HashedTemplates(
            hash_bits=10, label_bits=4, templates=["h.form & m.form", "m.upos"], labels=["m.form"]
        )

    @pytest.fixture
    def graph(self):
        return ArcFactored()

    @pytest.fixture
    def encoded(self):
        return random_trees(1, (3, 1, 2, 4))


class TestPlain(ScorerContract):
    @pytest.fixture
    def scorer(self):
        return Plain()


def pair(loss=None, graph=None, penalty=RIDGE, **options):
    """The same problem with sparse features, and with a scorer of which nothing is known."""
    encoded = random_encoded(3, (2, 1, 4, 3, 2, 5, 1), **options)
    return [
        make_problem(
            encoded,
            graph or LinearChain(),
            loss or LossFamily(1.0, 0.5),
            Exact(),
            C=0.5,
            seed=2,
            scorer=one,
            penalty=penalty,
        )
        for one in (AttributeRows("all"), Plain())
    ]


OPTIMIZERS = [
    (lambda average: SGD(eta=0.5, average=average), RIDGE),
    (lambda average: AdaGrad(eta=0.3, average=average), RIDGE),
    (lambda average: AdaGrad(eta=0.3, batch_size=3, average=average, constant=1), RIDGE),
    (lambda average: AdaGrad(eta=0.3, batch_size=2, average=average), LASSO),
    (lambda average: AdaDelta(epsilon=1e-2, average=average), RIDGE),
    (lambda average: AdaDelta(epsilon=1e-2, batch_size=3, average=average), RIDGE),
]


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(("make", "penalty"), gate_cases(OPTIMIZERS, "pairs", 2))
@pytest.mark.parametrize("warm", [False, True])
def test_minibatch_learners_take_the_same_steps_with_any_scorer(make, penalty, average, warm):
    results = []
    for problem in pair(penalty=penalty, values=True):
        method = make(average)
        state = method.init(
            problem, random_weights(problem, 4, 0.3) if warm else np.zeros(problem.dimension)
        )
        for _ in range(3):
            state, report = method.step(problem, state)
        results.append((method.weights(state), report.loss))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-9, atol=1e-11)
    assert results[0][1] == pytest.approx(results[1][1], rel=1e-9)


def test_lbfgs_takes_any_scorer_and_proves_nothing_there():
    results = []
    for problem in pair():
        method = LBFGS()
        state = method.init(problem, np.zeros(problem.dimension))
        for _ in range(15):
            state, report = method.step(problem, state)
        results.append((problem.objective(method.weights(state)), report.dual))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-8)
    assert results[0][1] is not None
    assert results[1][1] is None


@pytest.mark.parametrize("graph", [LinearChain(), LinearChain(2)])
def test_outputs_marginals_and_lists_are_the_same(graph):
    sparse, plain = pair(graph=graph)
    weights, thread, results = random_weights(sparse, 1), registry.serial(), []
    for problem in (sparse, plain):
        examples, kernels = problem.examples, predicting(problem.scorer, graph, Exact())
        lists = k_best(examples, problem.list_kernels, weights, 3, thread)
        scores = np.concatenate([one.scores for one in lists])
        tables = np.concatenate(
            [one.ravel() for one in marginals(examples, kernels, weights, "label", thread)]
        )
        best = best_outputs(examples, kernels, weights, thread)
        results.append(
            (best.offsets, best.parts, best.values, scores, tables, problem.losses(weights))
        )
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_any_scorer_over_shards():
    """A pass on shards, whose states are mixed, is that of sparse features if all shards count for
    all weights.
    """
    from structopt.learning.mixing import Mixed

    def all_count(*arguments):
        passes = Passes(*arguments)
        passes.coordinates = [None for _ in passes.bounds]
        return passes

    results = []
    for problem in pair():
        method = Mixed(AdaGrad(eta=0.3), 2, all_count)
        state = method.init(problem, np.zeros(problem.dimension))
        for _ in range(3):
            state, _ = method.step(problem, state)
        results.append(method.weights(state))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-9, atol=1e-11)


def test_a_checkpoint_knows_the_data_of_any_scorer():
    one, other = (pair(values=values)[1].fingerprint for values in (False, True))
    assert one.digest != other.digest
    assert pair()[1].fingerprint.digest == one.digest


@pytest.mark.parametrize(
    ("optimizer", "goal", "text"),
    [
        (
            SDCA(),
            Goal(),
            "optimizer=sdca needs scores that are linear in the weights, with sparse columns, and "
            "those of features=Plain are any "
            "function of them. Take one that needs their gradients alone: adadelta, adagrad, "
            "dca, lbfgs, sgd.",
        ),
        (
            DCA(inner="exact"),
            Goal(),
            "optimizer.inner=exact needs scores that are linear in the weights, with sparse "
            "columns, and those of features=Plain are any function of them. Leave "
            "optimizer.inner=exact out.",
        ),
        (
            AdaGrad(),
            Goal(certificate=True),
            "optimizer.certificate=true needs scores that are linear in the weights, with sparse "
            "columns, and those of "
            "features=Plain are any function of them, so that nothing bounds the least "
            "objective. Leave optimizer.certificate "
            "out.",
        ),
        (
            LBFGS(),
            Goal(tolerance=1e-3),
            "optimizer.tolerance needs scores that are linear in the weights, with sparse "
            "columns, and those of features=Plain "
            "are any function of them, so that nothing bounds the least objective. Set "
            "optimizer.tolerance=0.",
        ),
    ],
)
def test_optimizers_that_need_sparse_features(optimizer, goal, text):
    components = optimizer, LossFamily(), LinearChain()
    compatibility.check_features(AttributeRows(), *components, goal)
    with pytest.raises(CompatibilityError) as refused:
        compatibility.check_features(Plain(), *components, goal)
    assert str(refused.value) == text


@pytest.mark.parametrize(
    "optimizer", [AdaGrad(), AdaDelta(), SGD(), LBFGS(), DCA(), MIRA(), OnlineCuttingPlane()]
)
def test_optimizers_that_do_not(optimizer):
    compatibility.check_features(Plain(), optimizer, LossFamily(inf, 1.0), LinearChain())


def test_a_driver_that_needs_kernels_says_so():
    problem = pair()[1]
    method = Perceptron()
    with pytest.raises(
        NotImplementedError, match="these features have no kernels for visits of single instances"
    ):
        method.step(problem, method.init(problem, np.zeros(problem.dimension)))


def test_scores_of_another_length_are_refused():
    problem = pair()[1]
    problem.scorer.scores = lambda *_: np.zeros(3)
    with pytest.raises(
        ConfigError,
        match=r"features=Plain gave scores of shape \(3,\), where \(\d+,\) was asked for",
    ):
        problem.losses(np.zeros(problem.dimension))


def test_weights_without_names_are_not_carried_over():
    with pytest.raises(ConfigError, match="warm_start: the weights of Plain have no names"):
        Plain().carried(Plain(), None, np.zeros(0))


def test_models_of_the_first_version_load():
    """Their layouts call the name ``block``."""
    layout, arrays = make_problem(
        random_encoded(), LinearChain(), LossFamily(), Exact()
    ).scorer.state()
    restored = restored_scorer({"block": "attribute_rows", **layout}, arrays)
    assert scoring.stored(restored)[0] == {"name": "attribute_rows", **layout}
