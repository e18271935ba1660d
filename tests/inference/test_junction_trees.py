"""Exact inference on graphs of small tree-width: against listings, chains, integer programs; orders
of elimination, and refusals.
"""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import structopt
import structopt as so
from structopt.core.structure_kind import StructureKind
from structopt.errors import CompatibilityError
from structopt.factor_graph import kinds
from structopt.factor_graph.factor_rows import FactorRows
from structopt.inference.elimination import elimination
from structopt.inference.exact import Exact
from structopt.kernels.junction.record import WORK
from structopt.kernels.loopy.factors import TABLE
from structopt.testing.inference import InferenceSuite, finite_differences
from tests.inference.small_graphs import binary, complete, mixed, structure_of
from tests.messages import raises


def random_row(seed, variables, share, most):
    """Tables between a share of all pairs, in either order, of variables with 2 to `most` states."""
    generator = np.random.default_rng(seed)
    widths = generator.integers(2, most + 1, variables)
    row = FactorRows(widths.astype(np.int32))
    for pair in combinations(range(variables), 2):
        if generator.random() < share:
            a, b = generator.permutation(pair)
            row.add(TABLE, [a, b], int(widths[a] * widths[b]))
    return row


def covered():
    """Three binary variables under a factor with three private parts; one is in no factor."""
    row = binary(4)
    row.add("coverage", [2, 0, 1], 3)
    return row


def tables(*rows):
    return Exact().prepare(replace(structure_of(rows), kind=kinds.TABLES))


ROWS = {
    "several components": lambda: (random_row(0, 6, 0.2, 3), random_row(1, 1, 0.0, 4)),
    "cycles": lambda: (random_row(2, 5, 0.6, 3), complete([3, 2, 4], loose=2)),
    "no edges": lambda: (complete([3], loose=2),),
    "other kinds": lambda: (mixed(np.random.default_rng(0)), covered()),
}


class TestJunctionTrees(InferenceSuite):
    @pytest.fixture
    def inference(self):
        return Exact()

    @pytest.fixture(params=ROWS)
    def structure(self, request):
        return tables(*ROWS[request.param]())


def test_equal_graphs_share_a_tree():
    one, other = complete([2, 2, 2]), complete([2, 3])
    trees = WORK.open(tables(one, other, one, other, one).work).trees
    assert trees.graph.tolist() == [0, 1, 0, 1, 0]
    assert len(trees.buckets) == 3


def test_chains():
    """The values, marginals and lists of the chain's own algorithms."""
    generator, n, K = np.random.default_rng(0), 6, 3
    U, V = generator.normal(size=(n, K)), generator.normal(size=(n - 1, K, K))
    path = so.Pairwise().batch([n], [[(i, i + 1) for i in range(n - 1)]], labels=K)
    a = path.scores(label=U, edge=V)
    b = so.LinearChain().batch([n], labels=K, tied=False).scores(label=U, transition=V)
    for T in (0.0, 0.7):
        one, other = (so.infer(s, temperature=T) for s in (a, b))
        np.testing.assert_allclose(one.value, other.value)
        np.testing.assert_allclose(one.marginals["label"], other.marginals["label"], atol=1e-12)
    np.testing.assert_array_equal(so.k_best(a, 20)["labels"], so.k_best(b, 20)["labels"])
    np.testing.assert_allclose(so.entropy(a), so.entropy(b))


def test_grids():
    """The best score of integer programs."""
    generator = np.random.default_rng(0)
    grid = so.Pairwise().batch([20], [so.grid_edges(4, 5)], labels=2)
    s = grid.scores(label=generator.normal(size=(20, 2)), edge=generator.normal(size=(31, 2, 2)))
    best = so.argmax(s)
    np.testing.assert_allclose(best.score, so.argmax(s, so.ILP()).score)
    assert best.optimal.all()
    assert (so.log_partition(s) <= so.log_partition(s, so.TRWBP()) + 1e-9).all()


@pytest.mark.parametrize(
    ("edges", "width"),
    [
        ([], 0),
        ([(0, 1), (1, 2), (1, 3)], 1),
        ([(i, (i + 1) % 8) for i in range(8)], 2),
        (list(combinations(range(7), 2)), 6),
        (so.grid_edges(3, 9).tolist(), 3),
    ],
)
def test_width_of_the_order(edges, width):
    n = 1 + max((v for edge in edges for v in edge), default=0)
    found = elimination([3] * n, [tuple(edge) for edge in edges], 10**6)
    assert sorted(found.order) == list(range(n))
    assert (found.width, found.largest) == (width, 3 ** (width + 1))


def test_a_sweep_replaces_an_order_with_too_large_tables():
    edges = [tuple(edge) for edge in so.grid_edges(12, 24).tolist()]
    found = elimination([2] * 288, edges, 1)
    assert found.width <= 13


def test_wide_graphs_are_refused():
    batch = so.Pairwise("complete").batch([3, 6], labels=3)
    s, inference = batch.zeros(), Exact(max_table=700)
    with raises(
        CompatibilityError,
        match=r"the largest table has 729 entries \(one variable and 5 neighbours: width 5\)",
        parameter="max_table",
        value=700,
        where="instance 1",
        remedy="Use AD3(), LP() or ILP() for the best output, LoopyBP() or TRWBP() for "
        "marginals, or a larger `max_table`.",
    ):
        so.log_partition(s, inference)
    np.testing.assert_allclose(
        so.log_partition(s, Exact(max_table=729)), np.log(3.0) * np.array([3, 6])
    )
    with raises(CompatibilityError, match="at least", parameter="max_table"):
        so.log_partition(so.Pairwise("complete").batch([70], labels=2).zeros())


def test_samples():
    """Their frequencies are the marginals."""
    batch = so.Pairwise("complete").batch([3], labels=2)
    s = batch.scores(label=[[0.0, 1.0], [0.5, 0.0], [0.0, 0.3]])
    drawn = so.sample(s, 400, seed=0)["labels"]
    np.testing.assert_allclose(drawn.mean(axis=0), so.marginals(s)["label"][:, 1], atol=0.08)


def graphs_problem(loss):
    """Three complete graphs of random attributes and gold labels."""
    generator = np.random.default_rng(0)
    batch = so.Pairwise("complete").batch([4, 3, 4], labels=2)
    x, gold = {"label": generator.normal(size=(11, 3))}, batch.gold(generator.integers(0, 2, 11))
    return so.Problem(batch, x=x, gold=gold, loss=loss, C=0.5, inference=Exact())


@pytest.mark.parametrize(
    ("optimizer", "loss"),
    [
        (so.SDCA(), so.CRF()),
        (so.SDCA(), so.SVM()),
        (so.EG(), so.CRF()),
        (so.CuttingPlane(), so.SVM()),
    ],
)
def test_certificates_close(optimizer, loss):
    """The dual values prove the minimum that a gradient method reaches."""
    problem = graphs_problem(loss)
    fit = so.fit(problem, optimizer, epochs=200, tolerance=1e-5)
    assert 0.0 <= fit.certificate.gap <= 1e-5 * fit.certificate.primal
    if loss == so.CRF():
        least = so.fit(problem, so.LBFGS(), epochs=200).certificate.primal
        assert fit.certificate.dual - 1e-9 <= least <= fit.certificate.primal + 1e-9


def test_gradients():
    """Central differences of P."""
    problem = graphs_problem(so.SoftmaxMargin())
    w = np.random.default_rng(1).normal(size=problem.dimension)
    slopes = finite_differences(lambda at: problem.value_and_gradient(at)[0], w)
    np.testing.assert_allclose(problem.value_and_gradient(w)[1], slopes, atol=1e-6)


LIBSVM = """b,a 1:3 2:4
c 2:1
a 1:2 2:5
c,a 1:1
b 1:1 2:1
"""


@pytest.mark.nightly("rest")
def test_runs_of_label_sets(tmp_path):
    """Training by the command's settings: a certificate, the minimum by `lbfgs`, marginals."""
    (tmp_path / "train.svm").write_text(LIBSVM)
    words = ["task=multilabel", f"task.train={tmp_path / 'train.svm'}", "tracker=none", "loss=crf"]
    words += ["inference=exact", "optimizer.C=0.5", "optimizer.epochs=100"]
    ways = ["optimizer=sdca", "optimizer.tolerance=1e-4"], ["optimizer=lbfgs"]
    certified, other = (
        structopt.train([*words, *more], folder=tmp_path / more[0]) for more in ways
    )
    found, least = (
        json.loads((tmp_path / more[0] / "metrics.json").read_text())["train"] for more in ways
    )
    assert found["gap"] <= 1e-4 * found["objective"]
    assert found["dual"] <= least["objective"] <= (1 + 1e-4) * found["objective"]
    vectors = other.task.read(tmp_path / "train.svm")
    for model in (certified, other):
        for table in model.view_marginals(model.examples(vectors)):
            np.testing.assert_allclose(table.sum(axis=1), 1.0)


def test_kinds_with_their_own_algorithms_keep_their_scratch():
    """Plugins may have exact algorithms on variables and factors."""
    structure = structure_of([complete([2, 2])])
    own = StructureKind("own", lambda: None, loopy=True)
    for kind in (own, kinds.LOOPY):
        other = replace(structure, kind=kind)
        assert Exact().prepare(other) is other
