"""Objectives, orders, outputs and checks of a problem."""

from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from structopt.core.data.encoded import Encoded
from structopt.core.inference import InferenceKernels
from structopt.core.optimizer_state import values_of
from structopt.errors import ConfigError, InfeasibleError, StructoptError
from structopt.executor.threads import Threads
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.loss.family import LossFamily
from structopt.objective import decoding
from structopt.objective.drivers import compose
from structopt.objective.examples import Examples
from structopt.reference.primal import Listed, minimum
from structopt.run.checks import check_gradient, check_inference, check_steps
from structopt.testing.components import component
from structopt.testing.factor_graph import dense
from structopt.testing.problems import (
    loss_and_gradient,
    make_problem,
    outputs,
    random_encoded,
    random_weights,
)

LENGTHS = (1, 2, 3, 5, 4, 2, 3)


def problem_of(
    beta=1.0,
    gamma=1.0,
    inference=None,
    order=1,
    seed=0,
    C=0.5,
    support="all",
    positional=False,
    **options,
):
    encoded = random_encoded(1, **{"lengths": LENGTHS, **options})
    loss, graph = LossFamily(beta, gamma), LinearChain(order)
    return make_problem(
        encoded, graph, loss, inference or Exact(), C, seed, support, positional=positional
    )


@pytest.mark.parametrize("beta", [1.0, inf])
def test_objective_is_ridge_plus_mean_loss(beta):
    problem = problem_of(beta)
    weights = random_weights(problem, 1)
    losses = [loss_and_gradient(problem, weights, i)[0] for i in range(problem.m)]
    assert problem.losses(weights) == pytest.approx(sum(losses))
    ridge = 1 / (problem.C * problem.m)
    assert problem.regularization == ridge
    assert problem.objective(weights) == pytest.approx(
        ridge / 2 * weights @ weights + np.mean(losses)
    )
    assert problem.judge(weights) == -problem.objective(weights)


OPTIONS = [
    {},
    {"order": 2},
    {"anchored": True},
    {"values": True},
    {"support": "seen"},
    {"positional": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("inference", [Exact(), Enumeration()], ids=["exact", "enumeration"])
def test_gradient_is_the_sum_over_the_instances(inference, options):
    problem = problem_of(inference=inference, **options)
    weights = random_weights(problem, 2)
    single = [loss_and_gradient(problem, weights, i) for i in range(problem.m)]
    losses, gradient = problem.gradient(weights)
    assert losses == pytest.approx(sum(loss for loss, _ in single))
    np.testing.assert_allclose(gradient, sum(g for _, g in single), atol=1e-12)


def test_batch_work_gives_the_same_bits_on_any_number_of_threads():
    lengths = tuple(np.random.default_rng(0).integers(1, 6, 40))
    weights = random_weights(problem_of(lengths=lengths), 2)
    results = []
    for executor in (None, Threads(2), Threads(3)):
        problem = problem_of(lengths=lengths)
        problem.executor = executor or problem.executor
        results.append((problem.objective(weights), problem.gradient(weights)))
    for objective, (losses, gradient) in results[1:]:
        assert (objective, losses) == (results[0][0], results[0][1][0])
        np.testing.assert_array_equal(gradient, results[0][1][1])


def minimum_of(problem):
    listings = []
    for i in range(problem.m):
        listed = outputs(problem, i)
        listings.append(Listed((listed.vertices - listed.gold) @ listed.features, listed.costs))
    loss = problem.loss
    return minimum(listings, problem.C, loss.beta, loss.gamma)


@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (inf, 1.0), (2.0, 0.5)])
def test_certificate_bounds_the_minimum(beta, gamma):
    problem = problem_of(beta, gamma)
    best = minimum_of(problem)
    for scale in (0.0, 0.1, 1.0):
        weights = random_weights(problem, 3, scale)
        primal, dual = problem.certificate(weights)
        assert primal == pytest.approx(problem.objective(weights))
        assert 0 <= dual <= best.value + 1e-7 <= primal + 2e-7
    if beta < inf:
        primal, dual = problem.certificate(best.weights)
        assert primal - dual <= 1e-6


def test_certificate_at_full_step_is_the_gradient_norm():
    problem = problem_of(1.0, 0.0)
    weights = minimum_of(problem).weights * 0.98
    primal, dual = problem.certificate(weights)
    gradient = problem.regularization * weights + problem.gradient(weights)[1] / problem.m
    assert primal - dual == pytest.approx(
        gradient @ gradient / (2 * problem.regularization), rel=1e-6
    )


def test_too_many_dual_variables_are_refused(monkeypatch):
    problem = problem_of()
    monkeypatch.setattr("structopt.core.memory.ALWAYS_FITS", 0)
    monkeypatch.setattr("structopt.core.memory.free_bytes", lambda: 100.0)
    with pytest.raises(
        ConfigError,
        match=r"optimizer: marginals of all 7 instances need .* of memory, and 0.0001 MB are free",
    ):
        problem.part_vector("marginals")


def test_objective_of_the_prediction_variant_is_the_loss():
    encoded, loss = random_encoded(1), LossFamily(inf, 1.0)
    one, other = (
        make_problem(encoded, LinearChain(), loss, Exact(), variant=v)
        for v in ("max_loss", "prediction")
    )
    weights = random_weights(one, 2)
    assert one.objective(weights) == other.objective(weights)


def test_order_is_a_permutation_of_seed_and_pass():
    problem = problem_of(seed=3)
    assert sorted(problem.order(0)) == list(range(problem.m))
    assert problem.order(4).tolist() == problem_of(seed=3).order(4).tolist()
    assert any(problem.order(0).tolist() != problem.order(e).tolist() for e in (1, 2))
    assert any(problem.order(e).tolist() != problem_of(seed=4).order(e).tolist() for e in (0, 1))


@pytest.mark.parametrize(
    "options", [{}, {"order": 2, "constrained": True}, {"anchored": True, "partial": True}]
)
@pytest.mark.parametrize("workers", [1, 2])
def test_decoding_equals_listing(options, workers):
    problem, executor = problem_of(**options), Threads(workers)
    weights, examples, kernels = random_weights(problem, 3), problem.examples, problem.kernels
    best = decoding.best_outputs(examples, kernels, weights, executor)
    tables = decoding.marginals(examples, kernels, weights, "label", executor, 2.0)
    lists = decoding.k_best(examples, problem.list_kernels, weights, 4, executor)
    for i, n in enumerate(LENGTHS):
        listed = outputs(problem, i)
        labels = listed.vertices[:, : n * 3].reshape(-1, n, 3)
        scores = listed.vertices @ (listed.features @ weights)
        order = np.argsort(-scores)
        p = np.exp((scores - scores.max()) / 2.0)
        np.testing.assert_array_equal(dense(best, i, len(listed.gold)), listed.vertices[order[0]])
        np.testing.assert_allclose(
            tables[i].reshape(n, 3), np.tensordot(p / p.sum(), labels, 1), atol=1e-10
        )
        np.testing.assert_allclose(lists[i].scores, scores[order[:4]], atol=1e-10)
        found = [dense(lists[i].outputs, q, len(listed.gold)) for q in range(len(lists[i].scores))]
        np.testing.assert_array_equal(found, listed.vertices[order[:4]])


def test_decoding_says_which_instance_has_no_output(serial):
    problem = problem_of()
    base = problem.examples.encoded
    allowed = np.ones((len(base.gold), 3), bool)
    allowed[1:3] = False
    encoded = Encoded(base.offsets, base.tables, base.labels, None, allowed)
    examples = Examples.build(encoded, LinearChain(), problem.examples.scorer)
    with pytest.raises(
        InfeasibleError,
        match="instance 1: The constraints allow no output. Loosen the partial labels",
    ):
        decoding.best_outputs(examples, problem.kernels, np.zeros(problem.dimension), serial)


def test_decoding_of_nothing(serial):
    problem = problem_of()
    encoded = random_encoded(1, ())
    examples = Examples.build(encoded, LinearChain(), problem.examples.scorer)
    best = decoding.best_outputs(examples, problem.kernels, np.zeros(problem.dimension), serial)
    assert (best.offsets.tolist(), len(best.parts), len(best.values)) == ([0], 0, 0)
    assert (
        decoding.marginals(examples, problem.kernels, np.zeros(problem.dimension), "label", serial)
        == []
    )
    assert (
        decoding.k_best(examples, problem.list_kernels, np.zeros(problem.dimension), 3, serial)
        == []
    )


def test_lists_that_do_not_fit_are_refused(serial):
    problem = problem_of()
    kernels = problem.list_kernels
    with pytest.raises(
        ConfigError,
        match=r"^Lists of the 1,000,000,000,000,000 best outputs, of up to \d+ parts, need .* GB",
    ):
        decoding.k_best(problem.examples, kernels, np.zeros(problem.dimension), 10**15, serial)


def test_kernels_without_lists_refuse_to_list_outputs() -> None:
    from structopt.kernels.waist.stand_ins import NO_LISTS

    problem = problem_of()
    none, some = np.zeros(0), np.zeros(0, np.int64)
    parts = np.zeros(0, np.int32)
    of = problem.structure.record, 0, np.zeros(4), 1, none, some, parts, none, problem.space.work
    with pytest.raises(NotImplementedError, match=NO_LISTS):
        problem.kernels.k_best(*of)


def test_no_k_best(serial):
    problem = problem_of()
    kernels = compose(problem.scorer.kernels, InferenceKernels(problem.kernels.solve))
    message = r"no lists of the k best outputs; Exact\(\) and Enumeration\(\) have"
    with pytest.raises(ConfigError, match=message):
        decoding.k_best(problem.examples, kernels, np.zeros(problem.dimension), 3, serial)


@pytest.mark.parametrize(
    "broken",
    [{"forbidden_starts": (2,)}, {"forbidden_ends": (1,)}, {"forbidden_transitions": ((0, 1),)}],
    ids=["start", "end", "transition"],
)
def test_gold_that_breaks_constraints_is_refused(broken):
    base = random_encoded(0, (1, 3))
    gold = np.array([0, 2, 0, 1], np.int32)
    encoded = Encoded(base.offsets, base.tables, base.labels, gold, **broken)
    with pytest.raises(
        InfeasibleError,
        match="instance 1: The gold output has a label sequence that the constraints forbid",
    ):
        make_problem(encoded, LinearChain(), LossFamily(), Exact())


@pytest.mark.parametrize("beta", [0.5, 1.0, inf])
@pytest.mark.parametrize(
    "options", [{}, {"order": 2}, {"anchored": True, "constrained": True, "partial": True}]
)
def test_check_passes(beta, options):
    problem = problem_of(beta, **options)
    message = check_inference(problem, random_weights(problem, 1), 0)
    assert message.startswith(
        "inference agrees with the reference on 7 instances (largest difference "
    )


@pytest.mark.parametrize("beta", [1.0, inf])
def test_check_of_long_instances_uses_differences(beta):
    problem = problem_of(beta, lengths=(30, 40, 2))
    message = check_inference(problem, random_weights(problem, 1), 0)
    assert "on 3 instances, 2 of them by finite differences (largest" in message


class Wrong(Exact):
    """Inference that is a little off, in its values or in its marginals."""

    def __init__(self, value=0.0, marginals=0.0):
        self.value, self.marginals = value, marginals

    def kernels(self, kind):
        exact = Exact().kernels(kind)

        def solve(structure, i, s, temperature, z, memory, work):
            value = exact.solve(structure, i, s, temperature, z, memory, work)
            z[0] += self.marginals
            return value + self.value

        return InferenceKernels(solve)


@pytest.mark.parametrize("beta", [1.0, inf])
@pytest.mark.parametrize("lengths", [(2, 3), (40,)])
@pytest.mark.parametrize(
    "wrong", [Wrong(value=1e-2), Wrong(marginals=1e-2)], ids=["value", "marginals"]
)
def test_check_fails(beta, lengths, wrong):
    if lengths == (40,) and wrong.value and beta == 1.0:
        pytest.skip("a constant offset has no slope")
    problem = problem_of(beta, inference=wrong, lengths=lengths)
    with pytest.raises(
        StructoptError, match="inference does not agree with the reference: on training instance"
    ):
        check_inference(problem, random_weights(problem, 1), 0)


@pytest.mark.parametrize(
    "loss",
    [
        LossFamily(0.5, 1.0),
        LossFamily(inf, 1.0),
        component("loss", "risk"),
        component("loss", "ramp"),
    ],
    ids=["family", "svm", "risk", "ramp"],
)
def test_gradient_of_a_loss_is_checked(loss, monkeypatch):
    problem = make_problem(random_encoded(1, LENGTHS), LinearChain(1), loss, Exact())
    message = check_gradient(problem, random_weights(problem, 1), 0)
    assert message.startswith(
        "the gradient of the loss agrees with finite differences on 7 instances"
    )
    right = problem.loss_at
    monkeypatch.setattr(problem, "loss_at", lambda i, s: (right(i, s)[0], 1.01 * right(i, s)[1]))
    with pytest.raises(StructoptError, match="loss does not agree with finite differences: on"):
        check_gradient(problem, random_weights(problem, 1), 0)


def test_ties_of_a_maximum_are_skipped():
    problem = problem_of(inf, gamma=0.0)
    message = check_gradient(problem, np.zeros(problem.dimension), 0)
    assert message == (
        "the gradient of the loss was not compared; 7 instances skipped, on which two outputs are "
        "best"
    )


def test_steps_are_checked_and_left_alone():
    from structopt.optimizer.mira import MIRA

    problem, method = problem_of(inf, 1.0), MIRA(k_best=3)
    state, _ = method.step(problem, method.init(problem, np.zeros(problem.dimension)))
    before = {name: np.copy(value) for name, value in values_of(state).items()}
    message = check_steps(problem, method, state, seed=0, sample=5)
    assert message.startswith("steps agree with the reference on 5 instances (largest difference ")
    assert all(np.array_equal(before[name], value) for name, value in values_of(state).items())


def test_steps_that_differ_fail_the_run():
    problem = problem_of()
    wrong = SimpleNamespace(verify=lambda problem, state, instances: 0.5)
    with pytest.raises(
        StructoptError,
        match=r"steps do not agree with the reference: on 7 instances they differ by 0.5",
    ):
        check_steps(problem, wrong, {}, seed=0)
    with pytest.raises(StructoptError, match="the model of the run is kept"):
        check_steps(problem, SimpleNamespace(verify=lambda *_: float("nan")), {}, seed=0)
