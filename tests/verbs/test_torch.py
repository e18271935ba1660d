"""Functions of tensors: gradients against differences, and values against those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import structopt as so
from structopt.errors import ArgumentError, InfeasibleError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

import structopt.torch as st  # noqa: E402
from structopt.torch.copies import array_type, to_arrays, to_tensors  # noqa: E402

MASK = np.array([[1, 1, 0, 1, 1], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]], bool)
L = 3


def drawn(*shape: int, seed: int = 0) -> Any:
    numbers = np.random.default_rng(seed).normal(size=shape)
    return torch.tensor(numbers, requires_grad=True)


def chain() -> Any:
    return so.LinearChain().batch(mask=MASK, labels=L)


def emissions() -> dict[str, Any]:
    return {"label": drawn(*MASK.shape, L), "transition": drawn(L, L, seed=1)}


TAGS = np.array([[0, 2, 7, -100, 1], [1, -1, 0, 9, 9], [5, 5, 5, 5, 5]])
"""Numbers outside the mask are ignored."""


def cases() -> dict[str, tuple[Any, dict[str, Any], Any]]:
    """A batch of each kind of graph, with scores and gold outputs."""
    trees = so.ArcFactored(single_root=True).batch(lengths=[3, 4])
    labeled = so.ArcFactored(labeled=True, projective=True).batch(lengths=[3], labels=2)
    second = so.LinearChain(order=2).batch(lengths=[4, 1], labels=2)
    grid = so.Pairwise().batch(sizes=[4], edges=[so.grid_edges(2, 2)], labels=2)
    return {
        "chain": (chain(), emissions(), torch.tensor(np.where(MASK, np.maximum(TAGS, 0), 0))),
        "second order": (
            second,
            {
                "label": drawn(2, 4, 2),
                "transition": drawn(2, 2, seed=1),
                "3-gram": drawn(2, 2, 2, seed=2),
            },
            torch.zeros(2, 4, dtype=torch.int64),
        ),
        "trees": (
            trees,
            {"arc": drawn(2, 4, 5)},
            torch.tensor([[0, 1, 2, -100], [2, 0, 2, 3]]),
        ),
        "labelled trees": (
            labeled,
            {"arc": drawn(1, 3, 4), "label": drawn(1, 3, 4, 2, seed=1)},
            {"heads": torch.tensor([[0, 1, 2]]), "relations": torch.tensor([[0, 1, 1]])},
        ),
        "grid": (
            grid,
            {"label": drawn(1, 4, 2), "edge": drawn(1, 4, 2, 2, seed=1)},
            torch.tensor([[0, 1, 1, 0]]),
        ),
    }


@pytest.mark.parametrize("name", ["chain", "second order", "trees", "labelled trees", "grid"])
def test_gradients_are_differences(name: str) -> None:
    batch, scores, gold = cases()[name]
    names, tensors = tuple(scores), tuple(scores.values())

    def named(*values: Any) -> dict[str, Any]:
        return dict(zip(names, values, strict=True))

    def log_partition(*values: Any) -> Any:
        return st.log_partition(batch, named(*values), temperature=0.7)

    def marginals(*values: Any) -> Any:
        return tuple(st.marginals(batch, named(*values)).values())

    assert gradcheck(log_partition, tensors)
    assert gradgradcheck(log_partition, tensors, atol=1e-4)
    assert gradcheck(marginals, tensors, atol=1e-4)
    assert gradcheck(lambda *values: st.entropy(batch, named(*values)), tensors, atol=1e-4)
    for loss in (so.CRF(), so.SoftmaxMargin()):
        of = lambda *values: st.loss(loss, batch, named(*values), gold)  # noqa: B023, E731
        assert gradcheck(of, tensors)
        assert gradgradcheck(of, tensors, atol=1e-4)


@pytest.mark.parametrize("name", ["chain", "second order", "trees", "labelled trees", "grid"])
def test_values_are_those_of_numpy(name: str) -> None:
    batch, scores, gold = cases()[name]
    own = batch.scores(**{key: value.detach().numpy() for key, value in scores.items()})
    assert np.array_equal(st.log_partition(batch, scores).detach(), so.log_partition(own))
    assert np.array_equal(st.entropy(batch, scores).detach(), so.entropy(own))
    arguments = {key: value.numpy() for key, value in gold.items()} if name[0] == "l" else None
    expected = batch.gold(**arguments) if arguments else batch.gold(gold.numpy().clip(-1))
    for loss in (so.CRF(), so.SVM(), so.PerceptronLoss()):
        value, gradient = so.value_and_gradient(loss, own, expected)
        leaves = {key: one.detach().clone().requires_grad_() for key, one in scores.items()}
        found = st.loss(loss, batch, leaves, gold)
        assert np.array_equal(found.detach(), value)
        found.sum().backward()
        for key, one in leaves.items():
            group = batch.layout(key).summed(gradient[key], tuple(one.shape))
            assert np.allclose(one.grad, group, rtol=0, atol=1e-15)


def test_outputs_are_padded() -> None:
    batch, scores = chain(), emissions()
    best = st.argmax(batch, scores)
    assert best.shape == MASK.shape and best.dtype == torch.int64
    assert ((best >= 0).numpy() == MASK).all()
    drawn = st.sample(batch, scores, 20, seed=1)
    assert drawn.shape == (20, *MASK.shape) and ((drawn >= 0).numpy() == MASK).all()
    trees, arcs, _ = cases()["labelled trees"]
    heads, relations = st.argmax(trees, arcs)
    assert heads.shape == relations.shape == (1, 3)


def test_labels_outside_the_mask_are_ignored_and_unknown_ones_are_free() -> None:
    batch, scores = chain(), emissions()
    gold = torch.tensor(TAGS)
    known = np.where(TAGS == -100, -1, TAGS)
    known[~MASK] = 0
    found = st.loss(so.CRF(), batch, scores, gold)
    assert torch.equal(found, st.loss(so.CRF(), batch, scores, torch.tensor(known)))
    # log sum over all labels minus log sum over those that are right
    right = torch.zeros(*MASK.shape, L, dtype=torch.float64)
    for place in zip(*np.nonzero(MASK), strict=True):
        if known[place] >= 0:
            right[place] = -torch.inf
            right[(*place, known[place])] = 0.0
    restricted = scores | {"label": scores["label"] + right}
    expected = st.log_partition(batch, scores) - st.log_partition(batch, restricted)
    assert torch.allclose(found, expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_types_of_tensors(dtype: Any) -> None:
    batch = chain()
    scores = {key: one.detach().to(dtype).requires_grad_() for key, one in emissions().items()}
    found = st.loss(so.SVM(), batch, scores, torch.tensor(TAGS))
    assert found.dtype == dtype and found.shape == (3,)
    found.sum().backward()
    for key, one in scores.items():
        assert one.grad.dtype == dtype
        assert st.marginals(batch, scores)[key].dtype == dtype
    assert not scores["label"].grad[~torch.tensor(MASK)].any()


def test_gradients_are_summed_over_broadcast_dimensions() -> None:
    batch, scores = chain(), emissions()
    shared = {"label": drawn(L), "transition": scores["transition"]}
    whole = {key: one.detach().clone().requires_grad_() for key, one in shared.items()}
    st.log_partition(batch, shared).sum().backward()
    label = whole["label"].expand(*MASK.shape, L)
    transition = whole["transition"].expand(len(batch), L, L)
    st.log_partition(batch, {"label": label, "transition": transition}).sum().backward()
    for key in shared:
        assert torch.allclose(shared[key].grad, whole[key].grad)
    counts = st.marginals(batch, {"label": label, "transition": transition})["transition"]
    assert counts.shape == (3, L, L)
    assert torch.allclose(counts.sum(dim=(1, 2)), torch.tensor([3.0, 2.0, 0.0]).double())


def test_flat_scores_and_threads_give_the_same_numbers() -> None:
    batch, scores = chain(), emissions()
    flat = scores | {"label": scores["label"][torch.tensor(MASK)]}
    expected = st.log_partition(batch, scores)
    assert torch.equal(st.log_partition(batch, flat), expected)
    assert torch.equal(st.log_partition(batch, scores, threads=3), expected)
    assert st.marginals(batch, flat)["label"].shape == (MASK.sum(), L)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"label": torch.zeros(2, 5, L)}, "has the shape"),
        ({"labels": torch.zeros(3, 5, L)}, "is not a group of parts"),
        ({"label": np.zeros((3, 5, L))}, "must be a tensor of real numbers"),
        ({"label": torch.zeros(3, 5, L, dtype=torch.int64)}, "must be a tensor of real numbers"),
        ({"label": torch.full((3, 5, L), torch.nan)}, "label=nan must be"),
        (None, "must be a mapping"),
    ],
    ids=lambda _: "",
)
def test_refusals_of_scores(change: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        st.log_partition(chain(), emissions() | change if change else torch.zeros(3))


def test_other_refusals() -> None:
    batch, scores = chain(), emissions()
    with pytest.raises(ArgumentError, match="must be integers"):
        st.loss(so.CRF(), batch, scores, torch.zeros(3, 5))
    with pytest.raises(ArgumentError, match="a number above 2"):
        st.loss(so.CRF(), batch, scores, torch.full((3, 5), 3))
    with pytest.raises(ArgumentError, match="must be above 0"):
        st.log_partition(batch, scores, temperature=0.0)
    with pytest.raises(InfeasibleError):
        st.argmax(batch, scores | {"label": torch.full((3, 5, L), -torch.inf)})
    total = st.entropy(batch, scores).sum()
    (first,) = torch.autograd.grad(total, scores["label"], create_graph=True)
    with pytest.raises(ArgumentError, match="first derivatives only"):
        first.sum().backward()
    total = st.loss(so.SVM(), batch, scores, torch.tensor(TAGS)).sum()
    (first,) = torch.autograd.grad(total, scores["label"], create_graph=True)
    with pytest.raises(ArgumentError, match="no second derivatives at beta = inf"):
        first.sum().backward()


def test_shared_scores_are_copied_once_and_in_their_type() -> None:
    shared = torch.randn(L, L, requires_grad=True)
    (array,) = to_arrays([shared.expand(5, L, L)])
    assert array.strides[0] == 0 and array.dtype == np.float32 and array.shape == (5, L, L)
    turned = np.arange(6.0).reshape(2, 3)[:, ::-1]
    (back,) = to_tensors([turned], [shared])
    assert back.dtype == torch.float32 and np.array_equal(back, turned)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_share_memory_with_arrays_that_nobody_else_has(dtype: Any) -> None:
    like = torch.empty(0, dtype=dtype)
    numbers = np.linspace(0, 1, 6).astype(array_type(dtype))
    locked = numbers.copy()
    locked.flags.writeable = False
    given, copied, viewed = to_tensors([numbers, locked, numbers[:3]], [like] * 3)
    assert given.dtype == dtype and torch.equal(given, copied) and torch.equal(viewed, copied[:3])
    given[:] = 2.0
    assert (numbers == 2.0).all() == (dtype != torch.bfloat16)
    assert locked.max() == 1.0 and torch.equal(viewed, copied[:3])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_tensors_of_a_gpu() -> None:
    batch, scores = chain(), emissions()
    moved = {key: one.detach().cuda().requires_grad_() for key, one in scores.items()}
    found = st.loss(so.CRF(), batch, moved, torch.tensor(TAGS, device="cuda"))
    expected = st.loss(so.CRF(), batch, scores, torch.tensor(TAGS))
    assert found.is_cuda and torch.equal(found.cpu(), expected)
    found.sum().backward()
    expected.sum().backward()
    assert all(torch.equal(moved[key].grad.cpu(), one.grad) for key, one in scores.items())
