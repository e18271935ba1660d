"""Threads of a verb divide its instances, and change no bit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import structopt as so
from structopt.core.ability import Ability
from structopt.errors import ArgumentError, InfeasibleError
from structopt.verbs import given_scores

L = 4


def chain(instances: int) -> tuple[Any, so.Parts]:
    generator = np.random.default_rng(0)
    batch = so.LinearChain().batch(lengths=generator.integers(1, 9, instances), labels=L)
    groups = {
        name: generator.normal(size=batch.layout(name).padded_shape) for name in batch.layouts
    }
    return batch, batch.scores(**groups)


def large(instances: int) -> tuple[Any, so.Parts]:
    """Return chains whose inferences are not quick, so that all threads start at once."""
    generator = np.random.default_rng(1)
    batch = so.LinearChain().batch(lengths=[60] * instances, labels=30)
    return batch, batch.scores(label=generator.normal(size=(instances, 60, 30)))


@pytest.fixture
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide even the smallest batches."""
    monkeypatch.setattr(given_scores, "cores", lambda: 64)
    monkeypatch.setattr(given_scores, "FEW_PARTS", 0)


@pytest.mark.usefixtures("many_cores")
@pytest.mark.parametrize("threads", [2, 3, 17])
@pytest.mark.parametrize("make", [chain, large])
@pytest.mark.parametrize("instances", [1, 2, 9, 200])
def test_bits_do_not_depend_on_threads(
    make: Callable[[int], Any], instances: int, threads: int
) -> None:
    batch, s = make(instances)
    gold = batch.gold(so.argmax(s)["labels"] * 0)
    calls: dict[str, Callable[[int], Any]] = {
        "values": lambda t: so.log_partition(s, threads=t),
        "marginals": lambda t: so.marginals(s, threads=t).flat,
        "entropy": lambda t: so.entropy(s, threads=t),
        "log_prob": lambda t: so.log_prob(s, gold, threads=t),
        "divergence": lambda t: so.kl(s, 0.5 * s, threads=t),
        "best": lambda t: so.argmax(s, threads=t)["labels"],
        "losses": lambda t: so.value_and_gradient(so.SVM(), s, gold, threads=t)[0],
        "gradient": lambda t: so.value_and_gradient(so.CRF(), s, gold, threads=t)[1].flat,
        "covariance": lambda t: so.covariance_product(s, s, threads=t).flat,
    }
    if make is chain:
        calls["samples"] = lambda t: so.sample(s, 2, seed=0, threads=t)["labels"]
        calls["k best"] = lambda t: so.k_best(s, 2, threads=t)["labels"]
    for name, call in calls.items():
        assert np.array_equal(call(1), call(threads)), name


@pytest.mark.usefixtures("many_cores")
@pytest.mark.parametrize("threads", [1, 2])
def test_drivers_of_several_threads_are_compiled_ahead(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = "structopt.kernels.passes.together"
    monkeypatch.delitem(sys.modules, together, raising=False)
    so.compile(chain(2)[0], loss=so.SVM(), threads=threads)
    assert (together in sys.modules) == (threads > 1)


def test_scratch_is_used_again_unless_a_call_fails() -> None:
    batch, s = chain(3)
    so.marginals(s)
    solver = given_scores.solver_of(batch, None, Ability(0))
    free = solver._free[False, 1]
    (first,) = free
    so.marginals(s)
    assert len(free) == 1 and free[0] is first
    with pytest.raises(ValueError, match="halted"), solver._space(False) as space:
        assert space is first
        raise ValueError("halted")
    assert not free


@pytest.mark.usefixtures("many_cores")
def test_few_grids_are_divided() -> None:
    grids = so.Pairwise().batch(sizes=[9] * 3, edges=[so.grid_edges(3, 3)] * 3, labels=2)
    s = grids.scores(label=np.random.default_rng(0).normal(size=(3, 9, 2)))
    one, two = (so.argmax(s, so.AD3(), threads=count) for count in (1, 2))
    assert np.array_equal(one["labels"], two["labels"]) and np.array_equal(one.upper, two.upper)


@pytest.mark.usefixtures("many_cores")
def test_instances_without_output_are_named() -> None:
    batch, s = large(40)
    flat = s.flat.copy()
    begin = int(batch.offsets[7])
    flat[begin : begin + 60 * 30] = -np.inf
    with pytest.raises(InfeasibleError) as caught:
        so.marginals(so.Parts(batch, flat), threads=4)
    assert list(caught.value.instances) == [7]


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, None])
def test_refusals(threads: Any) -> None:
    _, s = chain(2)
    with pytest.raises(ArgumentError, match="threads"):
        so.marginals(s, threads=threads)


def test_little_work_starts_no_thread() -> None:
    from structopt.kernels.passes.together import help_together, visit_together
    from structopt.kernels.waist.crew import STARTED, new_crew, tiled

    for make, instances, started in ((chain, 12, 0), (large, 400, 3)):
        batch, s = make(instances)
        solver = given_scores.solver_of(batch, None, so.Exact().provides(batch.structure.kind))
        if not solver.kernels.compiled:
            pytest.skip("kernels are not compiled")
        crew = new_crew(help_together, instances, 3)
        values, marginals = np.zeros(instances), np.zeros(len(s.flat))
        rest = False, 1.0, s.flat, values, marginals, crew, False
        space = tiled(solver.examples.space(gradients=False), 3)
        visit_together(solver.kernels, solver.examples.data(), space, *rest)
        assert crew[STARTED] <= started and np.array_equal(marginals, so.marginals(s).flat)
        assert crew[STARTED] > 0 or not started
