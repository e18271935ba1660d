"""Batches of grammars and of span charts."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import structopt as so
from structopt.core.parts.batch import Batch
from structopt.errors import InfeasibleError
from tests import messages
from tests.verbs.test_verbs import PHRASES, random_scores, vertices

GRAPHS = pytest.mark.parametrize("graph", [so.Grammar, so.Span])
EVERY_STEP = {
    "tags": ["a"],
    "rules": [("X", "Y", "X"), ("X", "X", "Y")],
    "steps": [("ROOT", "X"), ("X", "a"), ("Y", "X"), ("Y", "Z", "X"), ("Y", "a")],
}
"""Two steps lead from X to Y."""


def test_rules_and_steps_are_in_the_order_of_the_user() -> None:
    batch = so.Grammar().batch([2, 1], **PHRASES)
    names = [one.name for one in batch.structure.groups if one.name in batch.layouts]
    assert names == ["rule", "step", "label", "node"]
    assert batch.steps[: len(PHRASES["steps"])] == tuple(PHRASES["steps"])
    assert batch.symbols == ("ROOT", "NP", "S", "VP", "V", "N")
    for k, rule in enumerate(PHRASES["rules"]):
        s = batch.scores(rule=[float(j == k) for j in range(4)])
        assert np.array_equal(s["rule"][0], np.eye(4)[k])
        at = batch.index("rule")[0, k]
        name = batch.graph.configuration_names("rule")[at]
        assert name.replace("/", "") == f"{rule[0]} → {rule[1]} {rule[2]}"
    derivation = [[0, 2, 1, 1, 1], [0, 1, 0, 1, 9], [1, 2, 0, 1, 9]]
    derivation[1][4] = derivation[2][4] = batch.steps.index(("N",))
    gold = batch.gold([derivation, [[0, 1, 0, 1, 4]]])
    assert np.array_equal(gold.parts["rule"], [[0, 1, 0, 0], [0, 0, 0, 0]])
    assert gold.parts["step"][1].tolist() == np.eye(len(batch.steps))[4].tolist()
    assert np.array_equal(gold.parts["label"], [[0, 1]] * 3)
    nodes = np.argwhere(gold.parts.padded("node")[0])
    assert nodes.tolist()[:2] == [[0, 1, 0, 5], [0, 1, 1, 5]]


@GRAPHS
def test_steps_with_equal_ends_are_different_outputs(graph: Any) -> None:
    batch = graph().batch([3], **EVERY_STEP)
    s, (Z,) = random_scores(batch), vertices(batch)
    lists = so.k_best(s, len(Z))
    assert lists["derivations"].shape == (len(Z), 5, 5)
    assert len({one.tobytes() for one in lists["derivations"]}) == len(Z)
    np.testing.assert_allclose(np.sort(Z @ s.flat), lists.score[::-1, 0])
    for rank in (0, len(Z) - 1):
        gold = batch.gold(lists["derivations"][rank])
        assert s @ gold.parts == pytest.approx(lists.score[rank])
    p = np.exp(Z @ s.flat - so.log_partition(s))
    drawn = so.sample(s, 1500, seed=3)
    counts = [(np.abs(drawn.score[:, 0] - one) < 1e-9).mean() for one in Z @ s.flat]
    np.testing.assert_allclose(counts, p, atol=5 * np.sqrt(0.25 / 1500))
    again = so.sample(s, 1500, seed=3)
    assert np.array_equal(again["derivations"], drawn["derivations"])


@GRAPHS
def test_nodes_are_a_table_of_words_and_symbols(graph: Any) -> None:
    masked = graph().batch(mask=[[1, 0, 1, 1], [0, 1, 0, 0]], **PHRASES)
    plain = graph().batch([3, 1, 0], **PHRASES)
    columns = [[0, 2, 3], [1]]
    table = np.random.default_rng(0).normal(size=(2, 4, 5, 2, 6))
    own = [table[i][np.ix_(c, [0, *(t + 1 for t in c)])] for i, c in enumerate(columns)] + [
        np.zeros((0, 1, 2, 6))
    ]
    values = so.log_partition(plain.scores(node=own))
    np.testing.assert_allclose(so.log_partition(masked.scores(node=table)), values[:2])
    mu = so.marginals(plain.scores(node=own))
    np.testing.assert_allclose(mu[0]["node"][0, 3, 1], np.eye(6)[0])
    assert values[2] == 0.0


def test_a_span_scores_its_edges_by_their_places() -> None:
    batch = so.Span().batch([2, 0, 3], **PHRASES)
    places = batch.positions("edge")
    s = so.Grammar().batch([2, 0, 3], **PHRASES)
    rule, step, label = (np.random.default_rng(1).normal(size=n) for n in (4, len(s.steps), 2))
    tied = s.scores(rule=rule, step=step, label=np.tile(label, (5, 1)))
    number, split = places[:, 3], places[:, 2]
    edge = np.choose(
        np.sign(split) + 1, [n[np.minimum(number, len(n) - 1)] for n in (label, step, rule)]
    )
    scores = batch.scores(edge=edge)
    np.testing.assert_allclose(so.log_partition(scores), so.log_partition(tied))
    assert np.array_equal(so.argmax(scores)["derivations"], so.argmax(tied)["derivations"])


@GRAPHS
def test_sentences_without_a_tree_are_named(graph: Any) -> None:
    batch = graph().batch([1, 0, 2], tags=["a"], rules=[], steps=[("ROOT", "a")])
    s = batch.scores()
    for verb in (
        so.argmax,
        so.log_partition,
        lambda s: so.sample(s, 2, 0),
        lambda s: so.k_best(s, 2),
    ):
        with pytest.raises(InfeasibleError) as raised:
            verb(s)
        assert raised.value.instances == (2,)
    assert so.argmax(batch.graph.batch([1, 0], tags=["a"], rules=[]).scores()).optimal.all()


@GRAPHS
def test_gold_must_be_a_derivation(graph: Any) -> None:
    batch = graph().batch([3, 0, 2], **PHRASES)
    best = so.argmax(batch.scores())
    right = [best[i] for i in range(3)]
    assert batch.gold(best["derivations"]).parts @ batch.zeros() == pytest.approx(0.0)
    assert batch.gold([one[::-1] for one in right]).parts.flat.tolist() == best.parts.flat.tolist()
    for row, column, value, problem in [
        (0, 2, 2, "has no first word of a right half."),
        (1, 2, 1, "has no first word of a right half."),
        (1, 0, 1, "has no span of the sentence."),
        (0, 3, 9, "has a rule or a tag that there is not."),
        (0, 4, 99, "has a step that there is not."),
        (0, 4, -1, "has a number that is not an index."),
        (0, 4, batch.steps.index(("V",)), "has a step from another symbol."),
    ]:
        wrong = [one.copy() for one in right]
        wrong[2][row, column] = value
        with messages.raises(
            so.ArgumentError,
            parameter="trees",
            where=f"instance 2, position {row}",
            problem=problem,
        ):
            batch.gold(wrong)
    twice = [one.copy() for one in right]
    twice[2][2] = twice[2][1]
    with messages.raises(so.ArgumentError, problem="has a span that is there twice."):
        batch.gold(twice)
    with messages.raises(so.ArgumentError, parameter="trees", where="instance 2"):
        batch.gold([right[0], right[1], right[0]])


@pytest.mark.parametrize(
    ("call", "parameter", "where"),
    [
        (lambda b: b.scores(rule=np.zeros(9)), "rule", None),
        (lambda b: b.scores(label=[np.zeros((2, 2)), np.zeros((3, 2))]), "label", "instance 1"),
        (lambda b: b.scores(edge=[0.0]), "group", None),
        (lambda b: b.graph.batch([1], tags=[], rules=[]), "tags", None),
        (lambda b: b.graph.batch([1], tags="ab", rules=[]), "tags", None),
        (lambda b: b.graph.batch([1], tags=["a"], rules=[("a", "a", "a")]), "rules", "index 0"),
        (lambda b: b.graph.batch([1], tags=["a"], rules=["AB"]), "rules", "index 0"),
        (lambda b: b.graph.batch([1], tags=["a"], rules=[("A", "a", "a")] * 2), "rules", "index 1"),
        (lambda b: b.graph.batch([1], tags=["a"], rules=[], steps=[("A", "a")]), "steps", None),
        (
            lambda b: b.graph.batch([1], tags=["a"], rules=[], steps=[("a", "A")]),
            "steps",
            "index 0",
        ),
        (lambda b: b.graph.batch([1], tags=["a"], rules=[], root="a"), "root", None),
        (lambda b: b.variables, "scores", None),
        (lambda b: so.argmax(b.scores(), so.AD3()), "inference", None),
    ],
)
def test_arguments_are_checked(
    call: Callable[[Batch], Any], parameter: str, where: str | None
) -> None:
    with messages.raises(so.ArgumentError, parameter=parameter, where=where):
        call(so.Grammar().batch([2, 1], **PHRASES))


@pytest.mark.parametrize("loss", [so.CRF(), so.SoftmaxMargin()])
def test_forests_have_the_optimum_of_charts(loss: Any) -> None:
    batch = so.Grammar().batch([3, 0, 1, 2], **PHRASES)
    gold = batch.gold(so.argmax(random_scores(batch))["derivations"])
    problem = so.Problem(batch, gold=gold, loss=loss, C=10.0)
    primal = [so.fit(problem, one, 60).certificate.primal for one in (so.LBFGS(), so.SDCA())]
    assert primal[0] == pytest.approx(primal[1], rel=1e-4)


def test_models_of_grammars_are_saved_and_gold_is_pickled(tmp_path: Any) -> None:
    batch = so.Grammar().batch([3, 0, 1, 2], **PHRASES)
    target = so.argmax(random_scores(batch))
    gold = batch.gold(target["derivations"])
    problem = so.Problem(batch, gold=gold, loss=so.CRF(), C=10.0)
    model = so.fit(problem, so.LBFGS(), epochs=20).model()
    s = model.scores(lengths=[2])
    assert np.array_equal(model.coef["rule"], s["rule"])
    model.save(tmp_path / "model")
    again = so.load(tmp_path / "model").predict(lengths=[4])
    assert np.array_equal(again["derivations"], model.predict(lengths=[4])["derivations"])
    one, other = pickle.loads(pickle.dumps((problem.scores(np.zeros(problem.dimension)), gold)))
    assert so.value_and_gradient(so.SVM(), one, other)[0].shape == (4,)
    with messages.raises(so.ArgumentError, parameter="x['node']"):
        so.Problem(batch, x={"node": np.ones((batch.layout("node").positions, 1))}, gold=gold)
