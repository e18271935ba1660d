"""Log-partition functions of tensors, forward and backward, next to pytorch-crf and torch-struct:
`pytest tests/benchmarks/test_torch_speed.py -s`.

Peers that are not installed are left out. Use an idle machine; threads of PyTorch are set to one.
Nothing here decides whether the tests pass but the agreement of the values.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

import structopt as so
from tests.benchmarks.measurement import seconds_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import structopt.torch as st  # noqa: E402

pytestmark = pytest.mark.benchmark

B, TURNS = 64, 15
Call = Callable[[], Any]


def measured(name: str, calls: dict[str, Call], tensors: list[Any]) -> None:
    """Print the seconds of forward and backward of each, and compare the values."""
    values, seconds = {}, {}
    for who, call in calls.items():

        def step(call: Call = call) -> None:
            for tensor in tensors:
                tensor.grad = None
            call().sum().backward()

        values[who] = call().detach().double()
        step()
        seconds[who] = min(seconds_of(step) for _ in range(TURNS))
    ours = seconds.pop("structopt")
    print(f"\n{name}: structopt {1e3 * ours:.2f} ms", end="")
    for who, theirs in seconds.items():
        assert torch.allclose(values[who], values["structopt"], rtol=1e-3, atol=1e-2), who
        print(f"; {who} {1e3 * theirs:.2f} ms, ratio {theirs / ours:.1f}", end="")
    print()


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_chain() -> None:
    length, labels = 50, 9
    torch.manual_seed(0)
    emissions = torch.randn(B, length, labels, requires_grad=True)
    transitions = torch.randn(labels, labels, requires_grad=True)
    batch = so.LinearChain().batch(lengths=[length] * B, labels=labels)
    scores = {"label": emissions, "transition": transitions}
    calls: dict[str, Call] = {"structopt": lambda: st.log_partition(batch, scores)}
    if find_spec("torchcrf"):
        crf = import_module("torchcrf").CRF(labels, batch_first=True)
        crf.start_transitions.data.zero_()
        crf.end_transitions.data.zero_()
        crf.transitions = torch.nn.Parameter(transitions.detach().clone())
        mask = torch.ones(length, B, dtype=torch.bool)
        calls["pytorch-crf"] = lambda: crf._compute_normalizer(emissions.transpose(0, 1), mask)
    if find_spec("torch_struct"):
        chain = import_module("torch_struct").LinearChainCRF

        def theirs() -> Any:
            edges = emissions[:, 1:, :, None] + transitions.T  # to, from
            first = torch.zeros_like(edges)
            first[:, 0] = emissions[:, 0, None, :]
            return chain(edges + first).partition

        calls["torch-struct"] = theirs
    measured(f"chain, B={B}, T={length}, L={labels}", calls, [emissions, transitions])


@pytest.mark.parametrize("projective", [False, True])
def test_trees(projective: bool) -> None:
    length = 32
    torch.manual_seed(0)
    arcs = torch.randn(B, length, length + 1, requires_grad=True)
    # torch-struct has one root in all trees, and any number in projective ones
    graph = so.ArcFactored(projective=projective, single_root=not projective)
    batch = graph.batch(lengths=[length] * B)
    calls: dict[str, Call] = {"structopt": lambda: st.log_partition(batch, {"arc": arcs})}
    if find_spec("torch_struct"):
        name = "DependencyCRF" if projective else "NonProjectiveDependencyCRF"
        theirs = getattr(import_module("torch_struct"), name)

        def partition() -> Any:
            # head, modifier; the root's scores are on the diagonal
            pairs = arcs[:, :, 1:].transpose(1, 2)
            own = torch.eye(length, dtype=torch.bool)
            return theirs(torch.where(own, arcs[:, :, 0, None].transpose(1, 2), pairs)).partition

        calls["torch-struct"] = partition
    measured(f"{'projective' if projective else 'all'} trees, B={B}, N={length}", calls, [arcs])


def test_spans() -> None:
    length = 32
    torch.manual_seed(0)
    spans = torch.randn(B, length, length + 1, requires_grad=True)
    rule, steps = ("X", "X", "X"), [("X", "w"), ("ROOT", "X")]
    batch = so.Grammar().batch(lengths=[length] * B, tags=["w"], rules=[rule], steps=steps)

    def ours() -> Any:
        nodes = spans.new_zeros(*spans.shape, 2, len(batch.symbols))
        nodes[..., 0, batch.symbols.index("X")] = spans
        return st.log_partition(batch, {"node": nodes})

    calls: dict[str, Call] = {"structopt": ours}
    if find_spec("torch_struct"):
        tree = import_module("torch_struct").TreeCRF

        def partition() -> Any:
            several = spans[:, :, 1:] * (1 - torch.eye(length))  # begin, last; no single words
            return tree(several[..., None]).partition

        calls["torch-struct"] = partition
    measured(f"binary trees of spans, B={B}, N={length}", calls, [spans])
