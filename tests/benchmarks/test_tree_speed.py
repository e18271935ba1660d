"""Sentences a second of the tree algorithms against peers, one thread: `pytest
tests/benchmarks/test_tree_speed.py -s`.

Scores are normal, of deviation 2. Each of ours is timed twice: in a compiled loop over the
sentences, as training calls it, and called from Python once a sentence. Peers: ufal.chu_liu_edmonds
(C++, one call a sentence) for the best tree; for log Z and marginals the matrix-tree formulas in
numpy, slogdet and inv of all sentences in one batch. Nothing here decides whether the tests pass
but the agreement of the values.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numba
import numpy as np
import pytest

from structopt.kernels.trees import arborescence, projective
from tests.benchmarks.attribute_file import timed

pytestmark = pytest.mark.benchmark

SENTENCES, REPEATS = 1000, 7  # the fastest of the repeats counts
LENGTHS = (10, 20, 40)
Array = np.ndarray[Any, Any]


def compiled_loop(function: Any) -> Any:
    """Compile a loop over sentences that calls one kernel and adds up its values."""

    def loop(scores, n, single_root, out, floats, ints):  # type: ignore[no-untyped-def]
        total = 0.0
        for i in range(len(scores)):
            total += function(scores[i], n, single_root, out, floats, ints)
        return total

    return numba.njit(nogil=True)(loop), loop


LOOPS = {
    (module.__name__.rpartition(".")[2], task): compiled_loop(getattr(module, task))
    for module in (arborescence, projective)
    for task in ("best_tree", "partition")
}


def one_thread() -> AbstractContextManager[Any]:
    """Keep numpy's linear algebra to one thread, where that can be asked for."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        return nullcontext()
    return threadpool_limits(1)  # type: ignore[no-any-return]


def rates(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Sentences a second of each; they take turns, so that the machine's mood is the same for
    all.
    """
    for work in works.values():
        work()
    seconds = dict.fromkeys(works, float("inf"))
    with one_thread():
        for _ in range(REPEATS):
            for name, work in works.items():
                seconds[name] = min(seconds[name], timed(work))
    return {name: SENTENCES / seconds[name] for name in works}


def ours(kind: str, task: str, scores: Array, single_root: bool) -> dict[str, Callable[[], object]]:
    """Both ways of calling a kernel."""
    n, module = (
        round(scores.shape[1] ** 0.5),
        {"arborescence": arborescence, "projective": projective}[kind],
    )
    out = np.zeros(n, np.int32) if task == "best_tree" else np.zeros(n * n)
    rest = (
        n,
        single_root,
        out,
        np.zeros(module.floats_needed(n)),
        np.zeros(module.ints_needed(n), np.int32),
    )
    compiled, plain = LOOPS[kind, task]
    name = "single root" if single_root else "several roots"
    return {
        f"{name}, compiled loop": lambda: compiled(scores, *rest),
        f"{name}, one call each": lambda: plain(scores, *rest),
    }


def report(title: str, found: dict[str, float], peer: str = "") -> None:
    """Print sentences a second, and the ratio to a peer."""
    print(f"\n{title}")
    for name, rate in found.items():
        print(
            f"  {rate:>11,.0f} sentences/s  {name}",
            f"  ratio {rate / found[peer]:.2f}" if peer not in ("", name) else "",
        )


def random_scores(n: int) -> Array:
    return 2.0 * np.random.default_rng(n).normal(size=(SENTENCES, n * n))


@pytest.mark.parametrize("n", LENGTHS)
def test_chu_liu_edmonds(n: int) -> None:
    ufal = pytest.importorskip(
        "ufal.chu_liu_edmonds", reason="the peer to compare with (extra: dev)"
    )
    scores = random_scores(n)
    matrices = np.full((SENTENCES, n + 1, n + 1), -np.inf)
    matrices[:, 1:, 1:] = scores.reshape(-1, n, n)
    matrices[:, 1:, 0] = scores[:, :: n + 1]
    matrices[:, np.arange(n + 1), np.arange(n + 1)] = -np.inf
    works = {
        f"best tree, {name}": work
        for single in (False, True)
        for name, work in ours("arborescence", "best_tree", scores, single).items()
    }
    peer = "ufal.chu_liu_edmonds, several roots, one call each"
    works[peer] = lambda: [ufal.chu_liu_edmonds(matrix) for matrix in matrices]
    theirs = sum(ufal.chu_liu_edmonds(matrix)[1] for matrix in matrices)
    assert works["best tree, several roots, compiled loop"]() == pytest.approx(theirs, rel=1e-12)
    report(f"Chu-Liu-Edmonds, n = {n}", rates(works), peer)


def matrix_tree_in_numpy(scores: Array) -> tuple[Array, Array]:
    """Log Z and marginals of all sentences, several roots."""
    n = round(scores.shape[1] ** 0.5)
    every = np.arange(n)
    weights = np.exp(scores.reshape(-1, n, n))
    kirchhoff = -weights
    kirchhoff[:, every, every] = weights.sum(axis=2)
    log_z, inverse = np.linalg.slogdet(kirchhoff)[1], np.linalg.inv(kirchhoff)
    diagonal = inverse[:, every, every]
    marginals = weights * (diagonal[:, :, None] - inverse.transpose(0, 2, 1))
    marginals[:, every, every] = weights[:, every, every] * diagonal
    return log_z, marginals


@pytest.mark.parametrize("n", LENGTHS)
def test_matrix_tree(n: int) -> None:
    scores = random_scores(n)
    works = {
        f"log Z and marginals, {name}": work
        for single in (False, True)
        for name, work in ours("arborescence", "partition", scores, single).items()
    }
    peer = "numpy slogdet and inv, several roots, one batch"
    works[peer] = lambda: matrix_tree_in_numpy(scores)
    theirs = matrix_tree_in_numpy(scores)[0].sum()
    assert works["log Z and marginals, several roots, compiled loop"]() == pytest.approx(
        theirs, rel=1e-12
    )
    report(f"matrix-tree, n = {n}", rates(works), peer)


@pytest.mark.parametrize("n", LENGTHS)
def test_projective(n: int) -> None:
    scores = random_scores(n)
    works = {
        f"{task}, {name}": work
        for task in ("best_tree", "partition")
        for name, work in ours("projective", task, scores, single_root=True).items()
    }
    report(f"Eisner and inside-outside, n = {n}", rates(works))
