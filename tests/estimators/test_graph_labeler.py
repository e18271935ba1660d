"""GraphLabeler: weights, predictions and objectives against the formulas of its docstring, forms of
input, and refusals.
"""

import pickle
from itertools import product

import numpy as np
import pytest
import scipy.sparse

import structopt as so
from structopt.estimators.graph_arrays import Classes, Graphs
from structopt.estimators.graph_labeler import _batch
from structopt.estimators.pair_weights import PairWeights
from structopt.testing.inference import finite_differences
from tests.messages import raises
from tests.parts import gate_cases

EXACT = {"inference": so.Exact(), "loss": so.CRF(), "optimizer": so.LBFGS(), "epochs": 30}
pytestmark = pytest.mark.filterwarnings("ignore::structopt.ConvergenceWarning")


def graphs(m=6, K=3, seed=0, turn=False):
    """Small graphs whose node features show the labels, and with two features per edge."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for i in range(m):
        n = 2 + i % 4
        y = rng.integers(0, K, n)
        edges = np.stack(np.triu_indices(n, 1), axis=1)[:: 1 + i % 2]
        if turn:
            edges = np.where(rng.random(len(edges))[:, None] < 0.5, edges[:, ::-1], edges)
        edge_x = np.stack([np.ones(len(edges)), rng.normal(size=len(edges))], axis=1)
        X.append((np.eye(K)[y] + rng.normal(scale=0.7, size=(n, K)), edges, edge_x))
        Y.append(y)
    return X, Y


def typed(m=6, seed=0):
    """Graphs with nodes of two types: three and two features, three and two labels."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for i in range(m):
        n, k = 1 + i % 3, i % 2 + 1
        one, other = rng.integers(0, 3, n), rng.integers(0, 2, k)
        nodes = [np.eye(3)[one] + rng.normal(scale=0.5, size=(n, 3)), rng.normal(size=(k, 2))]
        within = np.stack(np.triu_indices(n, 1), axis=1)
        across = np.array([(a, b) for a in range(n) for b in range(k) if (a + b) % 2 == 0])
        edges = [within, across.reshape(-1, 2), np.zeros((0, 2), int), []]
        edge_x = [np.ones((len(within), 1)), rng.normal(size=(len(across), 2)), [], np.ones((0, 1))]
        X.append((nodes, edges, edge_x))
        Y.append(np.concatenate([one, 3 + other]))
    edge_x[2] = np.zeros((0, 3))
    return X, Y


def score_of(x, y, nodes, pairs):
    """Return the score of labels by the formula."""
    features, edges, edge_x = x
    total = sum(f @ nodes[:, label] for f, label in zip(features, y, strict=True))
    for (i, j), e in zip(edges, edge_x, strict=True):
        total += e @ pairs[:, y[i], y[j]]
    return total


@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize(
    "tying", [{}, {"symmetric": [1]}, {"symmetric": [0], "antisymmetric": [1]}]
)
def test_outputs_are_those_of_the_formula(tying, turn):
    X, Y = graphs(turn=turn)
    labeler = so.GraphLabeler(**EXACT, C=10.0, **tying).fit(X, Y)
    predicted, marginals = labeler.predict(X), labeler.predict_marginals(X)
    for x, labels, table in zip(X, predicted, marginals, strict=True):
        n = len(labels)
        outputs = list(product(range(3), repeat=n))
        s = np.array([score_of(x, y, labeler.node_coef_, labeler.edge_coef_) for y in outputs])
        assert tuple(labels) == outputs[int(s.argmax())]
        p = np.exp(s - s.max())
        expected = (p / p.sum()) @ np.eye(3)[np.array(outputs)].reshape(len(outputs), -1)
        np.testing.assert_allclose(table, expected.reshape(n, 3), atol=1e-9)
    assert labeler.score(X, Y) > 0.8
    V = labeler.edge_coef_
    for f in tying.get("symmetric", ()):
        assert np.array_equal(V[f], V[f].T) and V[f].any()
    for f in tying.get("antisymmetric", ()):
        assert np.array_equal(V[f], -V[f].T) and V[f].any()


def problem_of(X, Y, loss=None, **tying):
    """Return weights and the problem of `fit`."""
    read = Graphs.of(X)
    classes = Classes.of(None, Y, read)
    sizes = tuple(map(len, classes.of_types))
    chosen = {"share": "all", "symmetric": (), "antisymmetric": ()} | tying
    weights = PairWeights(read.widths, sizes, **chosen)
    weights.check()
    batch = _batch(read, classes)
    gold, features = batch.gold(classes.ids(Y, read)), weights.features(batch, read)
    problem = so.Problem(batch, gold=gold, loss=loss or so.CRF(), C=0.7, **features)
    return weights, problem, read


TYINGS = [{}, {"symmetric": (0,), "antisymmetric": (1,)}]
SETS = [
    pytest.param(lambda: graphs(4), id="plain"),
    pytest.param(lambda: graphs(4, turn=True), id="turned"),
    pytest.param(lambda: typed(), id="types"),
]


@pytest.mark.parametrize("data", SETS)
@pytest.mark.parametrize("tying", TYINGS)
def test_scores_and_gradients(data, tying):
    """Training and prediction have the same scores; the gradient is that of P."""
    X, Y = data()
    if isinstance(X[0][0], list):
        tying = {name: (0,) for name in list(tying)[:1]}
    weights, problem, read = problem_of(X, Y, **tying)
    assert problem.dimension == weights.dimension
    w = np.random.default_rng(0).normal(size=weights.dimension)
    predicted = weights.scores(problem.batch, read, w)
    np.testing.assert_allclose(problem.scores(w).flat, predicted.flat, atol=1e-12)
    nodes, pairs = weights.tables_by_type(w)
    own = [*nodes, *(pairs[weights.blocks.index(b)] for b in range(max(weights.blocks) + 1))]
    assert sum((table**2).sum() for table in own) == pytest.approx(w @ w)
    slopes = finite_differences(lambda v: problem.value_and_gradient(v)[0], w)
    np.testing.assert_allclose(problem.value_and_gradient(w)[1], slopes, atol=1e-6)


def test_symmetric_weights_cost_as_full_tables_do():
    """P of symmetric weights is P of their tables without the constraint."""
    X, Y = graphs()
    weights, problem, _ = problem_of(X, Y, symmetric=(0,), antisymmetric=(1,))
    free, full, _ = problem_of(X, Y)
    w = np.random.default_rng(0).normal(size=weights.dimension)
    nodes, pairs = weights.tables(w)
    flat = np.concatenate([nodes.ravel(), pairs.ravel()])
    assert free.dimension == len(flat) > weights.dimension
    assert problem.value_and_gradient(w)[0] == pytest.approx(full.value_and_gradient(flat)[0])


def test_node_types():
    X, Y = typed()
    labeler = so.GraphLabeler(**EXACT, C=10.0, classes=[range(3), range(3, 5)]).fit(X, Y)
    assert [one.tolist() for one in labeler.classes_] == [[0, 1, 2], [3, 4]]
    assert [one.shape for one in labeler.node_coef_] == [(3, 3), (2, 2)]
    shapes = [(1, 3, 3), (2, 3, 2), (3, 2, 3), (1, 2, 2)]
    assert [one.shape for one in labeler.edge_coef_] == shapes
    for x, labels, table in zip(X, labeler.predict(X), labeler.predict_marginals(X), strict=True):
        n, k = len(x[0][0]), len(x[0][1])
        outputs = [(*a, *b) for a in product(range(3), repeat=n) for b in product((3, 4), repeat=k)]
        within, across = labeler.edge_coef_[:2]
        s = []
        for y in outputs:
            total = sum(x[0][0][i] @ labeler.node_coef_[0][:, y[i]] for i in range(n))
            total += sum(x[0][1][i] @ labeler.node_coef_[1][:, y[n + i] - 3] for i in range(k))
            total += sum(within[0, y[a], y[b]] for a, b in x[1][0])
            pairs = zip(x[1][1], x[2][1], strict=True)
            total += sum(e @ across[:, y[a], y[n + b] - 3] for (a, b), e in pairs)
            s.append(total)
        assert tuple(labels) == outputs[int(np.argmax(s))]
        assert table.shape == (n + k, 5)
        np.testing.assert_allclose(table[:n, 3:], 0.0)
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
    assert so.GraphLabeler(**EXACT, C=10.0).fit(X, Y).predict(X)[0].tolist() == (
        labeler.predict(X)[0].tolist()
    )
    alone = ([], np.ones((2, 2))), [[], [], [], [[0, 1]]]
    assert set(labeler.predict([alone])[0]) <= {3, 4}
    with raises(so.ArgumentError, match="a list per node type: 2", parameter="classes"):
        so.GraphLabeler(classes=range(5)).fit(X, Y)
    own = so.GraphLabeler(epochs=3).fit(X, Y)  # the default loss and inference
    assert own.score(X, Y) > 0.6


def test_edge_types():
    X, Y = graphs()
    lists = [
        (nodes, [edges[::2], edges[1::2]], [edge_x[::2], edge_x[1::2]])
        for nodes, edges, edge_x in X
    ]
    shared, own = (so.GraphLabeler(**EXACT, share=share).fit(lists, Y) for share in ("all", "type"))
    one = so.GraphLabeler(**EXACT).fit(X, Y)
    np.testing.assert_allclose(shared.edge_coef_[0], one.edge_coef_, atol=1e-4)
    assert shared.edge_coef_[0].tobytes() == shared.edge_coef_[1].tobytes()
    blocks = [
        (
            nodes,
            edges,
            np.concatenate([e * (np.arange(len(e)) % 2 == k)[:, None] for k in (0, 1)], axis=1),
        )
        for (nodes, edges, e) in X
    ]
    wide = so.GraphLabeler(**EXACT).fit(blocks, Y)
    np.testing.assert_allclose(np.concatenate(own.edge_coef_), wide.edge_coef_, atol=1e-4)


def test_forms_of_input():
    """Lists, sparse matrices, and edges without features, or with a constant one."""
    X, Y = graphs()
    first = so.GraphLabeler(epochs=2).fit([x[:2] for x in X], Y)
    objects = np.empty(len(X), object)
    objects[:] = [x[:2] for x in X]
    others = (
        objects,
        [([x[0]], [x[1]]) for x in X],
        [(x[0], x[1], None) for x in X],
        [[x[0].tolist(), x[1].tolist(), np.ones((len(x[1]), 1))] for x in X],
        [
            (scipy.sparse.csr_array(x[0]), x[1], scipy.sparse.csr_matrix(np.ones((len(x[1]), 1))))
            for x in X
        ],
        (x[:2] for x in X),
    )
    for other in others:
        again = so.GraphLabeler(epochs=2).fit(other, iter(Y))
        assert again.model_.weights.tobytes() == first.model_.weights.tobytes()


def test_text_labels_and_classes_that_y_lacks():
    X, Y = graphs()
    names = np.array(["sky", "sea", "land", "ship"])
    texts = [names[y].tolist() for y in Y]
    labeler = so.GraphLabeler(epochs=3).fit(X, texts)
    assert labeler.classes_.tolist() == ["land", "sea", "sky"]
    every = so.GraphLabeler(epochs=3, classes=names).fit(X, texts)
    assert every.node_coef_.shape == (3, 4)
    assert labeler.predict(X)[0].tolist() == every.predict(X)[0].tolist()
    assert labeler.score(X, [["ship"] * len(y) for y in Y]) == 0.0
    with raises(so.ArgumentError, parameter="y", value="ship", where="instance 1, node 0"):
        so.GraphLabeler(classes=names[:3]).fit(X[:2], [texts[0], ["ship", *texts[1][1:]]])
    texts[0][0] = None
    assert so.GraphLabeler(epochs=3).fit(X, texts).score(X, texts) > 0.6


def test_open_labels():
    """A graph whose labels are all open has no loss; sets of labels are labels that are known."""
    X, Y = graphs()
    some = so.GraphLabeler(**EXACT, C=1.0).fit(X[:4], Y[:4], sample_weight=[1, 1, 1, 1])
    opened = [*Y[:4], *(np.full(len(y), -1) for y in Y[4:])]
    more = so.GraphLabeler(**EXACT, C=1.0, classes=range(3)).fit(X, opened)
    np.testing.assert_allclose(more.node_coef_, some.node_coef_, atol=1e-3)
    sets = [np.eye(3, dtype=bool)[y] for y in Y]
    known = so.GraphLabeler(epochs=2, classes=range(3)).fit(X, sets)
    assert known.model_.weights.tobytes() == (
        so.GraphLabeler(epochs=2).fit(X, Y).model_.weights.tobytes()
    )
    assert known.score(X, sets) == known.score(X, Y)
    assert known.score(X, [np.ones_like(one) for one in sets]) == 1.0


def test_class_weights():
    X, Y = graphs(12)
    plain = so.GraphLabeler(C=0.1, epochs=30).fit(X, Y)
    ones = so.GraphLabeler(C=0.1, epochs=30, class_weight=[1, 1, 1]).fit(X, Y)
    assert ones.model_.weights.tobytes() == plain.model_.weights.tobytes()
    weighted = so.GraphLabeler(C=0.1, epochs=30, class_weight={2: 20.0}).fit(X, Y)
    counts = [sum((p == 2).sum() for p in one.predict(X)) for one in (plain, weighted)]
    assert counts[1] > counts[0]
    cost = so.CostMatrix(np.diag([1, 1, 20.0]) @ (1 - np.eye(3)))
    same = so.GraphLabeler(C=0.1, epochs=30, loss=so.SVM(cost)).fit(X, Y)
    np.testing.assert_allclose(weighted.model_.weights, same.model_.weights, atol=1e-12)


def test_empty_graphs():
    X, Y = graphs()
    empty = (np.zeros((0, 3)), np.zeros((0, 2), int), np.zeros((0, 2)))
    alone = (np.eye(3), [], [])
    labeler = so.GraphLabeler(epochs=3).fit([empty, *X, alone], [[], *Y, [0, 1, 2]])
    predicted = labeler.predict([empty, alone, ([], [])])
    assert [one.tolist() for one in predicted] == [[], [0, 1, 2], []]
    independent = so.GraphLabeler(epochs=3).fit([x[:1] + ([],) for x in X], Y)
    assert independent.predict([alone[:2]])[0].tolist() == [0, 1, 2]
    with raises(so.ArgumentError, match="no known label", parameter="y"):
        labeler.score([empty], [[]])
    with raises(so.ArgumentError, match="not empty", parameter="batch"):
        so.GraphLabeler(classes=range(2)).fit([empty], [[]])


NODES, EDGES = np.eye(3), np.array([[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("x", "y", "fields"),
    [
        (5, [0], {"parameter": "X", "where": "instance 0"}),
        ((NODES,), [0, 1, 2], {"parameter": "X", "where": "instance 0"}),
        ((NODES[0], EDGES), [0, 1, 2], {"parameter": "nodes", "where": "instance 0"}),
        ((NODES * np.nan, EDGES), [0, 1, 2], {"parameter": "nodes", "where": "instance 0, position 0, column 0"}),
        (([["a", "b"]], []), [0], {"parameter": "nodes"}),
        ((NODES, None), [0, 1, 2], {"parameter": "edges"}),
        ((NODES, scipy.sparse.csr_array(EDGES)), [0, 1, 2], {"parameter": "edges", "where": "instance 0"}),
        ((NODES, EDGES), [0, [1], 2], {"parameter": "y", "where": "instance 0"}),
        ((NODES, [[0, 3]]), [0, 1, 2], {"parameter": "edges", "value": 3, "where": "instance 0, position 0, end 1"}),
        ((NODES, [[0, -1]]), [0, 1, 2], {"parameter": "edges", "value": -1}),
        ((NODES, [[0, 1.5]]), [0, 1, 2], {"parameter": "edges", "value": 1.5}),
        ((NODES, [[0, 1, 2]]), [0, 1, 2], {"parameter": "edges"}),
        ((NODES, [[1, 1]]), [0, 1, 2], {"parameter": "edges", "where": "instance 0"}),
        ((NODES, [[0, 1], [1, 0]]), [0, 1, 2], {"parameter": "edges", "where": "instance 0"}),
        ((np.zeros((0, 3)), [[0, 1]]), [], {"parameter": "edges", "value": 0}),
        ((NODES, EDGES, np.ones((1, 2))), [0, 1, 2], {"parameter": "edge_features", "where": "instance 0"}),
        ((NODES, EDGES, np.ones(2)), [0, 1, 2], {"parameter": "edge_features"}),
        ((NODES, [EDGES, EDGES], np.ones((2, 1))), [0, 1, 2], {"parameter": "edge_features", "where": "instance 0"}),
        (([NODES, NODES], EDGES), [0, 1, 2] * 2, {"parameter": "edges", "where": "instance 0"}),
        (([NODES, NODES], [EDGES, EDGES]), [0, 1, 2] * 2, {"parameter": "edges"}),
        ((NODES, EDGES), [0, 1], {"parameter": "y", "where": "instance 0"}),
        ((NODES, EDGES), [0, 1, "a"], {"parameter": "y"}),
        ((NODES, EDGES), [0, 1, 7], {"parameter": "y", "value": 7, "where": "instance 0, node 2"}),
        ((NODES, EDGES), np.ones((3, 2), bool), {"parameter": "y", "where": "instance 0"}),
        ((NODES, EDGES), np.zeros((3, 3), bool), {"parameter": "allowed"}),
    ],
)  # fmt: skip
def test_malformed_graphs(x, y, fields):
    with raises(so.ArgumentError, **fields):
        so.GraphLabeler(classes=[range(3)] * 2 if len(y) == 6 else range(3)).fit([x], [y])


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({"share": "none"}, {"parameter": "share", "value": "none"}),
        ({"symmetric": [2]}, {"parameter": "symmetric", "value": 2}),
        ({"symmetric": [-1]}, {"parameter": "symmetric", "value": -1}),
        ({"symmetric": "all"}, {"parameter": "symmetric"}),
        ({"symmetric": [0], "antisymmetric": [0]}, {"parameter": "antisymmetric", "value": 0}),
        ({"classes": [1]}, {"parameter": "classes"}),
        ({"classes": 3}, {"parameter": "classes", "value": 3}),
        ({"classes": "abc"}, {"parameter": "classes", "value": "abc"}),
        ({"classes": [-1, 0, 1, 2]}, {"parameter": "classes"}),
        ({"classes": [0, 0, 1, 2]}, {"parameter": "classes"}),
        ({"class_weight": [1.0]}, {"parameter": "class_weight"}),
        ({"class_weight": "balanced"}, {"parameter": "class_weight", "value": "balanced", "match": "mapping"}),
        ({"class_weight": {5: 1.0}}, {"parameter": "class_weight", "value": 5}),
        ({"class_weight": [1, 1, 1], "loss": so.CRF(), "inference": so.Exact()}, {"parameter": "class_weight"}),
        ({"loss": so.CRF(), "inference": so.MPLP()}, {"parameter": "loss"}),
        ({"loss": 5}, {"parameter": "loss", "value": 5}),
        ({"C": 0.0}, {"parameter": "C", "value": 0.0}),
        ({"epochs": 0}, {"parameter": "epochs", "value": 0}),
    ],
)  # fmt: skip
def test_malformed_settings(settings, fields):
    X, Y = graphs()
    with raises(so.ArgumentError, **fields):
        so.GraphLabeler(**settings).fit(X, Y)


def test_other_refusals():
    X, Y = graphs()
    with raises(so.ArgumentError, match="length", parameter="y"):
        so.GraphLabeler().fit(X, Y[:2])
    with raises(so.ArgumentError, match="no graphs", parameter="X"):
        so.GraphLabeler().fit([], [])
    with raises(so.ArgumentError, match="features", parameter="nodes", where="instance 1"):
        so.GraphLabeler().fit([X[0], (np.eye(4), [], [])], Y[:2])
    with raises(so.ArgumentError, match="must be given", parameter="classes"):
        so.GraphLabeler().fit(X, [np.ones((len(y), 3), bool) for y in Y])
    with pytest.raises(so.StructoptError, match="'mplpp' is not installed. Did you mean"):
        so.GraphLabeler(inference="mplpp").fit(X, Y)
    with pytest.raises(ValueError, match="not fitted yet"):
        so.GraphLabeler().predict(X)
    labeler = so.GraphLabeler(epochs=1).fit(X, Y)
    with raises(so.ArgumentError, match="2 features, and other", parameter="nodes"):
        labeler.predict([(np.ones((2, 2)), [[0, 1]], [[1.0, 2.0]])])
    with raises(so.ArgumentError, match="1 features, and other", parameter="edge_features"):
        labeler.predict([x[:2] for x in X])
    with raises(so.ArgumentError, match="does not give marginals", parameter="inference"):
        labeler.predict_marginals(X)
    different = [(x[0], [x[1], x[1][:0]], [x[2], np.ones((0, 3))]) for x in X]
    with raises(so.ArgumentError, match="2 and 3 features", parameter="share"):
        so.GraphLabeler().fit(different, Y)


WORDS = [
    ("mplp", "dca"),
    ("ad3", "sgd"),
    ("lp", "cutting_plane"),
    ("lp", "sdca"),
    ("exact", "pegasos"),
]


@pytest.mark.parametrize(("inference", "optimizer"), gate_cases(WORDS, "rest", 1))
def test_words(inference, optimizer):
    X, Y = graphs(12)
    labeler = so.GraphLabeler(loss="svm", inference=inference, optimizer=optimizer, C=1.0)
    assert labeler.fit(X, Y).score(X, Y) > 0.7
    objects = so.component("inference", inference), so.component("optimizer", optimizer)
    labeler.set_params(inference=objects[0], optimizer=objects[1], loss=so.SVM())
    assert labeler.fit(X, Y).score(X, Y) > 0.7


def test_warm_starts():
    """Descent from the optimum stays there."""
    X, Y = graphs()
    labeler = so.GraphLabeler(**{**EXACT, "epochs": 100}, warm_start=True).fit(X, Y)
    first = labeler.model_.weights
    again = labeler.set_params(epochs=1).fit(X, Y).model_.weights
    np.testing.assert_allclose(again, first, atol=1e-3)
    with raises(so.ArgumentError, parameter="warm_start", match="these data need"):
        labeler.fit(*graphs(K=2))


def test_tolerance_and_history():
    X, Y = graphs()
    labeler = so.GraphLabeler(loss="crf", inference="exact", optimizer="sdca", epochs=200)
    labeler.set_params(tolerance=1e-3).fit(X, Y)
    assert labeler.n_iter_ < 200
    gap, primal = (labeler.history_[name][-1] for name in ("gap", "primal"))
    assert 0 <= gap <= 1e-3 * primal
    assert so.GraphLabeler(epochs=2).fit(X, Y).history_["primal"] == [None, None]
    assert None not in so.GraphLabeler(epochs=2, objective_every=1).fit(X, Y).history_["primal"]


def test_copies_and_searches():
    sklearn, selection = (pytest.importorskip(f"sklearn.{n}") for n in ("base", "model_selection"))
    X, Y = graphs(12)
    labeler = so.GraphLabeler(optimizer=so.AdaGrad(), epochs=2, symmetric=(0,))
    copied = sklearn.clone(labeler).set_params(optimizer__eta=0.3)
    assert copied.optimizer.eta == 0.3 != labeler.optimizer.eta
    assert labeler.get_params()["optimizer__eta"] == labeler.optimizer.eta
    words = so.GraphLabeler(optimizer="sgd").set_params(optimizer__eta=0.2, loss__gamma=2.0)
    assert (words.optimizer.eta, words.loss.gamma) == (0.2, 2.0)
    with raises(so.ArgumentError, match="Did you mean 'eta'", parameter="etta"):
        words.set_params(optimizer__etta=0.2)
    with raises(so.ArgumentError, match="not a parameter of GraphLabeler", parameter="optimiser"):
        labeler.set_params(optimiser="dca")
    grid = {"C": [0.01, 1.0], "optimizer__eta": [0.1]}
    search = selection.GridSearchCV(labeler.set_params(classes=range(3)), grid, cv=2).fit(X, Y)
    assert search.best_params_["optimizer__eta"] == 0.1
    assert repr(so.GraphLabeler(C=0.5)) == "GraphLabeler(C=0.5)"


def test_pickles_and_folders(tmp_path):
    X, Y = typed()
    labeler = so.GraphLabeler(epochs=2, inference=so.AD3()).fit(X, Y)
    labeler.save(tmp_path)
    copies = pickle.loads(pickle.dumps(labeler)), so.GraphLabeler.load(tmp_path)
    for copy in copies:
        assert [p.tolist() for p in copy.predict(X)] == [p.tolist() for p in labeler.predict(X)]
        assert [t.tolist() for t in copy.edge_coef_] == [t.tolist() for t in labeler.edge_coef_]
    assert so.load(tmp_path).weights.tobytes() == labeler.model_.weights.tobytes()
    refitted = copies[1].set_params(epochs=2).fit(X, Y)
    assert refitted.model_.weights.tobytes() == labeler.model_.weights.tobytes()
    other = so.Pairwise().batch([2], [[[0, 1]]], labels=2)
    problem = so.Problem(other, {"label": np.eye(2)}, other.gold([0, 1]))
    so.fit(problem, so.LBFGS()).model().save(tmp_path / "other")
    with pytest.raises(so.StructoptError, match="the estimator cannot be restored"):
        so.GraphLabeler.load(tmp_path / "other")
