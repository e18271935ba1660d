"""Functions of scores against a listing of all outputs, for every graph that makes batches."""

from __future__ import annotations

import gc
import importlib
import pickle
import pkgutil
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import structopt as so
from structopt.core.parts.batch import Batch
from structopt.core.parts.parts import Parts
from structopt.errors import ArgumentError, InfeasibleError
from structopt.kernels.waist.record import Array
from tests.messages import raises

TRIANGLE = [(0, 1), (2, 1), (0, 2)]
PHRASES: dict[str, Any] = {
    "tags": ["V", "N"],
    "rules": [("S", "NP", "VP"), ("NP", "N", "N"), ("VP", "V", "NP"), ("S", "S", "S")],
    "steps": [("ROOT", "S"), ("ROOT", "NP"), ("NP", "N"), ("S", "VP"), ("ROOT", "NP", "N")]
    + [("ROOT", "N"), ("VP", "V"), ("ROOT", "S", "VP")],
}
EXACT: dict[str, Callable[[], Batch]] = {
    "chain": lambda: so.LinearChain().batch([3, 1, 0, 4], labels=3),
    "anchored": lambda: so.LinearChain().batch([3, 1, 2], labels=2, tied=False),
    "second": lambda: so.LinearChain(2).batch([4, 1, 2], labels=2),
    "forbidden": lambda: so.LinearChain().batch(
        [3, 2], labels=3, forbidden=[(None, 1), (0, 2), (2, None)]
    ),
    "masked": lambda: so.LinearChain().batch(
        mask=[[True, False, True, True], [False, False, True, False]], labels=2
    ),
    "single": lambda: so.Single().batch(3, labels=4),
    "trees": lambda: so.ArcFactored().batch([3, 1, 0, 2]),
    "roots": lambda: so.ArcFactored(single_root=False).batch([3, 2]),
    "projective": lambda: so.ArcFactored(projective=True).batch([4, 2]),
    "mentions": lambda: so.Antecedent(distance=2).batch([3, 0, 4]),
    "labeled": lambda: so.ArcFactored(labeled=True).batch([2, 3], labels=2),
    "grammar": lambda: so.Grammar().batch([3, 0, 1, 2], **PHRASES),
    "graphs": lambda: so.Pairwise().batch([3, 0, 2], [TRIANGLE, [], [(1, 0)]], labels=2),
    "spans": lambda: so.Span().batch([3, 0, 1, 2], **PHRASES),
}
LOOPY: dict[str, Callable[[], Batch]] = {
    "triangle": lambda: so.Pairwise().batch([3, 2], [TRIANGLE, [(1, 0)]], labels=2),
    "pairs of arcs": lambda: so.SecondOrder().batch([3, 0, 2]),
    "summaries": lambda: so.Coverage().batch(
        [[2, 3, 4], [], [1, 1]], [5, 1, 1], [[[0, 1], [2], [0]], [], [[0], [1]]]
    ),
    "complete": lambda: so.Pairwise("complete").batch([3, 0, 2], labels=2),
}


def random_scores(batch: Batch, seed: int = 0) -> Parts:
    generator = np.random.default_rng(seed)
    return batch.zeros() + Parts(batch, generator.normal(size=int(batch.offsets[-1])))


def vertices(batch: Batch) -> list[Array]:
    """Indicators of all outputs of each instance, shape (outputs, parts)."""
    structure, listed = batch.structure, []
    assert structure.kind.vertices is not None
    for i in range(len(structure)):
        parts = int(structure.parts[i + 1] - structure.parts[i])
        listed.append(structure.kind.vertices(structure.record, i, parts, 10_000))
    return listed


def expected(batch: Batch, scores: Parts, T: float) -> tuple[Array, Array, Array]:
    """Values, marginals and entropies by the listing."""
    values, flat, entropies = np.zeros(len(batch)), [np.zeros(0)], np.zeros(len(batch))
    for i, Z in zip(batch.kept.tolist(), vertices(batch), strict=True):
        s = Z @ scores.flat[int(batch.offsets[i]) : int(batch.offsets[i + 1])] / T
        p = np.exp(s - s.max())
        values[i] = T * (np.log(p.sum()) + s.max())
        p /= p.sum()
        entropies[i] = -(p * np.log(p)).sum()
        flat.append(p @ Z)
    return values, np.concatenate(flat), entropies


@pytest.mark.parametrize("name", EXACT)
def test_values_marginals_and_entropies(name: str) -> None:
    batch = EXACT[name]()
    s = random_scores(batch)
    values, flat, entropies = expected(batch, s, 0.7)
    found = so.infer(s, temperature=0.7, threads=2)
    assert found.guarantee == "exact"
    np.testing.assert_allclose(found.value, values, atol=1e-9)
    np.testing.assert_allclose(found.marginals.flat, flat, atol=1e-9)
    np.testing.assert_allclose(so.entropy(s, temperature=0.7), entropies, atol=1e-8)
    again = so.infer(s, temperature=0.7)
    assert np.array_equal(again.value, found.value)
    assert np.array_equal(again.marginals.flat, found.marginals.flat)
    r = random_scores(batch, 1)
    divergence = so.kl(s, r)
    assert (divergence >= -1e-9).all()
    np.testing.assert_allclose(so.kl(s, s), 0.0, atol=1e-9)


@pytest.mark.parametrize("name", EXACT)
def test_covariance_product_is_the_derivative_of_the_marginals(name: str) -> None:
    batch = EXACT[name]()
    s, v = random_scores(batch), random_scores(batch, 2)
    found = so.covariance_product(s, v).flat
    for i, Z in zip(batch.kept.tolist(), vertices(batch), strict=True):
        own = slice(int(batch.offsets[i]), int(batch.offsets[i + 1]))
        p = np.exp(Z @ s.flat[own])
        p /= p.sum()
        mean = p @ Z
        covariance = (Z * p[:, None]).T @ Z - np.outer(mean, mean)
        np.testing.assert_allclose(found[own], covariance @ v.flat[own], atol=1e-6)


@pytest.mark.parametrize("name", EXACT)
def test_best_outputs_lists_and_gold(name: str) -> None:
    batch = EXACT[name]()
    s = random_scores(batch)
    best = so.argmax(s)
    lists = so.k_best(s, 3)
    for i, Z in zip(batch.kept.tolist(), vertices(batch), strict=True):
        own = slice(int(batch.offsets[i]), int(batch.offsets[i + 1]))
        order = np.sort(Z @ s.flat[own])[::-1]
        assert best.score[i] == pytest.approx(order[0])
        known = min(3, len(order))
        np.testing.assert_allclose(lists.score[:known, i], order[:known])
        assert (lists.score[known:, i] == -np.inf).all()
    assert best.optimal.all()
    if name == "mentions":  # gold is a set of antecedents
        return
    if name.startswith("labeled"):
        gold = batch.gold(
            heads=[best[i][0] for i in range(len(batch))],
            relations=[best[i][1] for i in range(len(batch))],
        )
    else:
        gold = batch.gold([best[i] for i in range(len(batch))])
    assert np.array_equal(gold.parts.flat, best.parts.flat)
    values, _, _ = expected(batch, s, 1.0)
    np.testing.assert_allclose(so.log_prob(s, gold), best.score - values, atol=1e-9)


@pytest.mark.parametrize(
    "name",
    ["chain", "second", "single", "trees", "labeled", "projective", "mentions", "grammar", "spans"],
)
def test_samples_have_the_frequencies_of_outputs(name: str) -> None:
    batch = EXACT[name]()
    s = random_scores(batch)
    drawn = so.sample(s, 1500, seed=1)
    again = so.sample(s, 2, seed=1)
    assert len(drawn) == 1500 and again.score.shape == (2, len(batch))
    i, Z = int(batch.kept[0]), vertices(batch)[0]
    scores = Z @ s.flat[int(batch.offsets[i]) : int(batch.offsets[i + 1])]
    p = np.exp(scores - scores.max())
    p /= p.sum()
    found = np.array([np.abs(drawn.score[:, i] - one).argmin() >= 0 for one in scores])
    counts = np.array([(np.abs(drawn.score[:, i] - one) < 1e-9).mean() for one in scores])
    assert found.all()
    np.testing.assert_allclose(counts, p, atol=5 * np.sqrt(0.25 / 1500))


@pytest.mark.parametrize("loss", [so.CRF(), so.SVM(), so.SoftmaxMargin(), so.PerceptronLoss()])
@pytest.mark.parametrize("name", EXACT)
def test_losses_and_gradients(name: str, loss: Any) -> None:
    batch = EXACT[name]()
    s = random_scores(batch)
    best = so.argmax(random_scores(batch, 5))
    outputs = [best[i] for i in range(len(batch))]
    gold = (
        batch.gold(heads=[h for h, _ in outputs], relations=[r for _, r in outputs])
        if name == "labeled"
        else batch.gold(outputs)
    )
    value, gradient = so.value_and_gradient(loss, s, gold)
    assert value.shape == (len(batch),) and (value >= -1e-12).all()
    h, v = 1e-6, random_scores(batch, 7)
    above = so.value_and_gradient(loss, s + h * v, gold)[0]
    below = so.value_and_gradient(loss, s - h * v, gold)[0]
    np.testing.assert_allclose((above - below) / (2 * h), gradient @ v, atol=1e-5)
    if loss.gamma == 0.0 and loss.beta == 1.0 and name != "mentions":
        np.testing.assert_allclose(value, -so.log_prob(s, gold), atol=1e-9)


@pytest.mark.parametrize("name", LOOPY)
def test_relaxations_bound_the_best_output(name: str) -> None:
    batch = LOOPY[name]()
    s = random_scores(batch)
    best = so.argmax(s, so.AD3())
    for i, Z in zip(batch.kept.tolist(), vertices(batch), strict=True):
        scores = Z @ s.flat[int(batch.offsets[i]) : int(batch.offsets[i + 1])]
        assert best.score[i] <= scores.max() + 1e-9
        assert best.upper[i] >= scores.max() - 1e-4
    if batch.structure.kind.exact is None:
        with pytest.raises(ArgumentError) as raised:
            so.argmax(s)
        assert raised.value.parameter == "inference"


def test_layouts() -> None:
    batch = so.LinearChain().batch([2, 0, 3], labels=2)
    U = np.arange(10.0).reshape(5, 2)
    padded = np.full((3, 3, 2), np.nan)
    padded[0, :2], padded[2] = U[:2], U[2:]
    T = np.array([[1.0, 2.0], [3.0, -np.inf]])
    by_form = [
        batch.scores(label=U, transition=T),
        batch.scores(label=padded, transition=np.stack([T] * 3)),
        batch.scores(label=[U[:2], np.zeros((0, 2)), U[2:]], transition=[T] * 3),
        batch.scores(label=padded.tolist(), transition=T.tolist()),
    ]
    for s in by_form:
        assert np.array_equal(s["label"], U)
        assert np.array_equal(s[2]["label"], U[2:])
        assert np.array_equal(s[0]["transition"], T)
        assert np.array_equal(s.flat, by_form[0].flat)
    s = by_form[0]
    assert np.array_equal(s.padded("label", 0.0)[0], [[0, 1], [2, 3], [0, 0]])
    assert np.array_equal((0.5 * s)["label"], 0.5 * U)
    v = np.array([1.0, 2.0, 3.0])
    assert np.array_equal((v[:, None] * batch.scores(label=U))["label"][2:], 3 * U[2:])
    keep = np.ones((5, 2), bool)
    keep[0, 1] = False
    assert so.argmax(s.restricted(label=keep))["labels"][0] == 0
    assert np.array_equal(batch.index("label").ravel(), batch.layout("label").indices)


def test_arcs_have_a_table_per_sentence() -> None:
    trees = so.ArcFactored().batch([2, 3])
    A = [np.random.default_rng(i).normal(size=(n, n + 1)) for i, n in enumerate((2, 3))]
    t = trees.scores(arc=A)
    own = t[1]["arc"]
    assert own.shape == (3, 4) and np.isneginf(own[0, 1]) and own[0, 0] == A[1][0, 0]
    mu = so.marginals(t)
    np.testing.assert_allclose(mu[1]["arc"].sum(axis=1), 1.0)
    assert mu[1]["arc"][0, 1] == 0.0
    padded = np.full((2, 3, 4), 7.0)
    padded[0, :2, :3], padded[1] = A[0], A[1]
    assert np.array_equal(trees.scores(arc=padded).flat, t.flat)
    masked = so.ArcFactored().batch(mask=[[True, False, True], [True, True, True]])
    wide = np.zeros((2, 3, 4))
    wide[0][np.ix_([0, 2], [0, 1, 3])], wide[1] = A[0], A[1]
    assert np.array_equal(masked.scores(arc=wide).flat, t.flat)


def test_edges_go_either_way_round() -> None:
    W = np.arange(4.0).reshape(1, 2, 2)
    one = so.Pairwise().batch([2], [[(0, 1)]], labels=2).scores(edge=W)
    other = so.Pairwise().batch([2], [[(1, 0)]], labels=2).scores(edge=W.swapaxes(1, 2))
    assert np.array_equal(one.flat, other.flat)
    assert np.array_equal(other["edge"], W.swapaxes(1, 2))


@pytest.mark.parametrize("convert", [np.array, list])
def test_wrong_edges_name_their_instance(convert: Callable[[Any], Any]) -> None:
    right = convert([[0, 1]])
    for wrong in ([[1, 1]], [[0, 1], [1, 0]], [[0, 2]], [[-1, 0]]):
        with raises(ArgumentError, parameter="edges", match="^instance 1[:,]"):
            so.Pairwise().batch([2, 2], [right, convert(wrong)], labels=2)


def test_open_gold_is_a_set_of_outputs() -> None:
    batch = so.LinearChain().batch([2, 2], labels=2)
    s = random_scores(batch)
    gold = batch.gold([[0, -1], [1, 1]])
    value, _ = so.value_and_gradient(so.CRF(), s, gold)
    both = [so.value_and_gradient(so.CRF(), s, batch.gold([[0, y], [1, 1]]))[0][0] for y in (0, 1)]
    assert value[0] == pytest.approx(-np.logaddexp(-both[0], -both[1]))
    assert gold.open.tolist() == [True, False]
    with pytest.raises(ArgumentError):
        _ = gold.parts
    padded = so.LinearChain().batch([2, 1], labels=2).gold([[0, 1], [1, -1]])
    assert not padded.open.any()


def test_antecedents_of_one_entity_are_all_right() -> None:
    batch = so.Antecedent().batch([3])
    s = random_scores(batch)
    gold = batch.gold([-1, 0, 1])
    keep = np.ones((3, 4), bool)
    keep[1:, 0] = keep[0, 1:] = False
    loss = so.value_and_gradient(so.CRF(), s, gold)[0]
    agreeing = so.log_partition(s.restricted(link=[keep]))
    np.testing.assert_allclose(loss, so.log_partition(s) - agreeing)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda b: b.scores(lable=np.zeros((3, 2))), "group"),
        (lambda b: b.scores(label=np.zeros((4, 2))), "label"),
        (lambda b: b.scores(label=np.full((3, 2), np.nan)), "label"),
        (lambda b: b.scores(label=np.full((3, 2), "a")), "label"),
        (lambda b: b.scores(label=[np.zeros((2, 2)), np.zeros((3, 2))]), "label"),
        (lambda b: b.zeros() + so.LinearChain().batch([2, 1], labels=2).zeros(), "other"),
        (lambda b: b.scores(label=["a", "b"]), "label"),
        (lambda b: b.scores(label=None), "label"),
        (lambda b: b.scores(label=[None, None]), "label"),
        (lambda b: b.gold([[0, 2], [0]]), "labels"),
        (lambda b: b.gold([[0], [0]]), "labels"),
        (lambda b: so.infer(b.zeros(), temperature=-1.0), "temperature"),
        (lambda b: so.marginals(b.zeros(), temperature=0.0), "temperature"),
        (lambda b: so.k_best(b.zeros(), 0), "k"),
        (lambda b: so.infer(np.zeros(3), temperature=1.0), "scores"),
        (lambda b: so.argmax(b.zeros(), threads=0), "threads"),
        (lambda b: so.LinearChain().batch([1], labels=2, forbidden=[(0, 5)]), "forbidden"),
        (lambda b: so.LinearChain().batch([-1], labels=2), "lengths"),
        (lambda b: so.Pairwise().batch([2], [[(0, 0)]], labels=2), "edges"),
        (lambda b: so.Pairwise().batch([2], [[(0, 2)]], labels=2), "edges"),
        (lambda b: so.Pairwise().batch([2], [[(0, 1), (1, 0)]], labels=2), "edges"),
        (lambda b: so.ArcFactored().batch([2]).gold([[3, 0]]), "heads"),
        (lambda b: so.Antecedent().batch([2]).gold([[-1, 1]]), "choices"),
        (lambda b: so.Coverage().batch([[1]], [1], [[[1]]]), "concepts"),
        (lambda b: so.Coverage().batch([[1]], [1], []), "lengths"),
        (lambda b: so.ArcFactored().batch([2]).gold([[1, 0]]), "heads"),
    ],
)
def test_arguments_are_checked(call: Callable[[Batch], Any], parameter: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        call(so.LinearChain().batch([2, 1], labels=2))
    assert raised.value.parameter == parameter


def test_instances_without_an_output_are_named() -> None:
    batch = so.LinearChain().batch([1, 2], labels=2)
    s = batch.scores(label=[[0.0, 0.0], [-np.inf, -np.inf], [0.0, 0.0]])
    for verb in (so.argmax, so.log_partition):
        with pytest.raises(InfeasibleError) as raised:
            verb(s)
        assert raised.value.instances == (1,)


def test_no_public_name_is_hidden_by_a_submodule() -> None:
    for module in pkgutil.iter_modules(so.__path__):
        if module.name not in ("__main__", "torch"):  # PyTorch may be missing
            importlib.import_module(f"structopt.{module.name}")
    assert not [name for name in so.__all__ if isinstance(getattr(so, name), ModuleType)]


def test_bits_depend_on_no_other_instance_and_no_thread() -> None:
    one = so.LinearChain().batch([6], labels=4)
    many = so.LinearChain().batch([6] * 40, labels=4)
    s = random_scores(one)
    tiled = Parts(many, np.tile(s.flat, 40), -np.inf)
    with ThreadPoolExecutor(4) as pool:
        values = list(pool.map(lambda _: so.log_partition(s)[0], range(8)))
    assert set(values) == {so.log_partition(tiled)[17]}
    labels = np.array([0, 1, 3, 3, 2, 0])
    value, gradient = so.value_and_gradient(so.SoftmaxMargin(), s, one.gold(labels))
    values, gradients = so.value_and_gradient(
        so.SoftmaxMargin(), tiled, many.gold(np.tile(labels, 40))
    )
    assert values[17] == value[0]
    assert np.array_equal(np.tile(gradient.flat, 40), gradients.flat)
    assert np.array_equal(so.argmax(s)["labels"], so.argmax(tiled)["labels"][:6])


def test_batches_are_pickled_and_freed_after_use() -> None:
    batch = so.Pairwise().batch([2], [[(1, 0)]], labels=2)
    chain = so.LinearChain().batch([2, 0, 1], labels=2)
    s, gold = random_scores(chain), chain.gold([[0, 1], [], [1]])
    value = so.value_and_gradient(so.SVM(), s, gold)[0]
    again, other, pair = pickle.loads(pickle.dumps((s, gold, random_scores(batch))))
    assert np.array_equal(so.value_and_gradient(so.SVM(), again, other)[0], value)
    assert pair["edge"].shape == (1, 2, 2)
    known = weakref.ref(chain), weakref.ref(gold)
    del chain, s, gold
    gc.collect()
    assert [one() for one in known] == [None, None]


def test_graphs_are_refused_before_their_first_use() -> None:
    for graph, options in [
        (so.LinearChain(9), {"lengths": [2], "labels": 9}),
        (so.Pairwise("none"), {"sizes": [2], "labels": 1}),
    ]:
        with pytest.raises(so.StructoptError):
            graph.batch(**options)


@pytest.mark.parametrize("lengths", [[3, 3], [3, 2], [3], [0, 0], [2, 0, 2]])
def test_groups_are_copies_in_the_order_of_their_indices(lengths: list[int]) -> None:
    batch = so.LinearChain().batch(lengths=lengths, labels=2)
    numbers = np.random.default_rng(0).normal(size=int(batch.offsets[-1]))
    s = so.Parts(batch, numbers)
    for name in batch.layouts:
        group = s[name]
        assert np.array_equal(group, numbers[batch.index(name)])
        assert np.array_equal(batch.scores(**{name: group})[name], group)
        group[...] = 0.0
        assert np.array_equal(s.flat, numbers) and (not len(numbers) or numbers.any())
