"""Exact inference on graphs of small tree-width against pgmpy, a library of graphical models.

`.ci/nightly pgmpy` installs pgmpy in an environment of its own.
"""

from itertools import combinations

import numpy as np
import pytest

import structopt as so

inference = pytest.importorskip("pgmpy.inference", reason="pgmpy is not installed")
models = pytest.importorskip("pgmpy.models")
discrete = pytest.importorskip("pgmpy.factors.discrete")

pytestmark = pytest.mark.nightly("rest")

GRAPHS = {
    "tree": (7, [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5), (5, 6)], 3),
    "cycle": (6, [(i, (i + 1) % 6) for i in range(6)], 3),
    "grid": (12, so.grid_edges(3, 4).tolist(), 2),
    "complete": (6, list(combinations(range(6), 2)), 2),
}


@pytest.fixture(params=GRAPHS)
def graph(request):
    """Scores of a graph, and the network of pgmpy with the same factors."""
    variables, edges, states = GRAPHS[request.param]
    edges = [tuple(sorted(edge)) for edge in edges]
    generator = np.random.default_rng(variables)
    U = generator.normal(size=(variables, states))
    V = generator.normal(size=(len(edges), states, states))
    scores = so.Pairwise().batch([variables], [edges], labels=states).scores(label=U, edge=V)
    model = models.MarkovNetwork()
    model.add_nodes_from(map(str, range(variables)))
    model.add_edges_from([(str(a), str(b)) for a, b in edges])
    for v, row in enumerate(U):
        model.add_factors(discrete.DiscreteFactor([str(v)], [states], np.exp(row)))
    for (a, b), table in zip(edges, V, strict=True):
        model.add_factors(
            discrete.DiscreteFactor([str(a), str(b)], [states, states], np.exp(table))
        )
    return scores, model, edges


def test_marginals_and_partition_function(graph):
    scores, model, edges = graph
    own, peer = so.marginals(scores, inference=so.Exact()), inference.BeliefPropagation(model)
    np.testing.assert_allclose(
        so.log_partition(scores, inference=so.Exact()),
        np.log(model.get_partition_function()),
        rtol=1e-10,
    )
    for v, row in enumerate(own["label"]):
        found = peer.query([str(v)], show_progress=False)
        np.testing.assert_allclose(row, found.values, atol=1e-10)
    for (a, b), table in zip(edges, own["edge"], strict=True):
        found = peer.query([str(a), str(b)], show_progress=False)
        axes = [found.variables.index(str(one)) for one in (a, b)]
        np.testing.assert_allclose(table, found.values.transpose(axes), atol=1e-10)


def test_best_output(graph):
    scores, model, _ = graph
    best = so.argmax(scores, inference=so.Exact())["labels"]
    names = list(map(str, range(len(best))))
    found = inference.VariableElimination(model).map_query(names, show_progress=False)
    assert [found[name] for name in names] == np.asarray(best).tolist()
