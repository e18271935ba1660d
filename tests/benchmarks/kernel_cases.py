"""Benchmarks of single epochs and kernels, next to peers that run the same algorithm."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from tests.benchmarks import end_to_end
from tests.benchmarks.measurement import NOT_INSTALLED, OURS, Case, Seconds, Sizes, installed, timer

CRFSUITE, UFAL = "python-crfsuite", "ufal.chu-liu-edmonds"
EPOCHS = {
    "dca": ("crf", "l2sgd", "CRF by `dca`; python-crfsuite: `l2sgd`"),
    "perceptron": (
        "perceptron",
        "ap",
        "averaged perceptron by `perceptron`; python-crfsuite: `ap`",
    ),
    "mira": ("svm", "pa", "SVM by `mira`; python-crfsuite: `pa`"),
    "lbfgs": ("crf", "lbfgs", "CRF by `lbfgs` (an iteration); python-crfsuite: `lbfgs`"),
}
"""Optimizers with their loss, the algorithm of CRFsuite, and the title of the row."""
WORDS = 20
"""Length of the sentences in the benchmarks of trees."""


def chains(sizes: Sizes, scratch: Path) -> Iterator[Case]:
    """Train epochs of linear chains on attribute files, and decode one.

    The files are those of STRUCTOPT_ATTRIBUTES, or have the features of `end_to_end`.
    """
    earlier = os.environ.get("STRUCTOPT_ATTRIBUTES")
    if not earlier:
        for name, sentences in zip(("train", "dev"), end_to_end.parts(sizes), strict=True):
            (scratch / f"{name}.txt").write_text(attribute_text(sentences), encoding="utf8")
        os.environ["STRUCTOPT_ATTRIBUTES"] = str(scratch)
    try:
        yield from _chains(sizes, scratch)
    finally:
        if not earlier:
            del os.environ["STRUCTOPT_ATTRIBUTES"]


def attribute_text(sentences: Iterable[end_to_end.Rows]) -> str:
    """Write sentences with the features of `end_to_end` in CRFsuite's format."""
    blocks = []
    for rows in sentences:
        lines = []
        for position, row in enumerate(rows):
            found = end_to_end.features(rows, position)
            names = [f"{k}={v}" if isinstance(v, str) else k for k, v in found.items() if v]
            escaped = (one.replace("\\", "\\\\").replace(":", "\\:") for one in names)
            lines.append("\t".join([row[-1], *escaped]))
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _chains(sizes: Sizes, scratch: Path) -> Iterator[Case]:
    from structopt.config import registry
    from structopt.objective.decoding import best_outputs
    from tests.benchmarks.attribute_file import component, dev, peer_pass, problem, sentences, timed

    model, peers = str(scratch / "chains"), installed(CRFSUITE) != NOT_INSTALLED
    for name, (loss, algorithm, title) in EPOCHS.items():
        optimizer = component("optimizer", name, C=0.1)
        made = problem(loss, 0.1, optimizer)
        states = [optimizer.init(made, np.zeros(made.dimension))]
        programs: dict[str, Callable[[], Seconds]] = {
            OURS: timer(name, lambda o=optimizer, m=made, s=states: s.append(o.step(m, s.pop())[0]))
        }
        if peers:
            programs[CRFSUITE] = lambda n=name, a=algorithm: {n: [max(0.0, peer_pass(a, model))]}
        yield Case({name: f"An epoch: {title}"}, programs, sizes.turns)
    optimizer = component("optimizer", "dca", C=0.1)
    made = problem("crf", 0.1)
    state, _ = optimizer.step(made, optimizer.init(made, np.zeros(made.dimension)))
    weights, serial = optimizer.weights(state), registry.create("executor", {"name": "serial"})
    items, held_out = [one for one, _ in sentences(1)], dev(made)
    programs = {
        OURS: timer("decoding", lambda: best_outputs(held_out, made.kernels, weights, serial))
    }
    if peers:
        import pycrfsuite

        peer_pass("l2sgd", model)
        tagger, packed = pycrfsuite.Tagger(), [pycrfsuite.ItemSequence(one) for one in items]
        tagger.open(model)
        programs[CRFSUITE] = lambda: {
            "decoding": [timed(lambda: [tagger.tag(one) for one in packed])]
        }
    tokens = sum(map(len, items))
    yield Case(
        {"decoding": f"Viterbi on encoded input: {len(items):,} sentences, {tokens:,} tokens"},
        programs,
        sizes.turns,
    )


def trees(sizes: Sizes, scratch: Path) -> Iterator[Case]:
    """Compute best trees and log-partition functions from random scores."""
    from tests.benchmarks.test_tree_speed import (
        SENTENCES,
        matrix_tree_in_numpy,
        one_thread,
        ours,
        random_scores,
    )

    scores = random_scores(WORDS)

    def per_sentence(name: str, work: Callable[[], object]) -> Callable[[], Seconds]:
        def run() -> Seconds:
            with one_thread():
                return {name: [timer(name, work)()[name][0] / SENTENCES]}

        return run

    def kernel(kind: str, task: str) -> Callable[[], object]:
        several = kind == "arborescence"
        works = ours(kind, task, scores, not several)
        return works[f"{'several roots' if several else 'single root'}, compiled loop"]

    best = {OURS: per_sentence("best tree", kernel("arborescence", "best_tree"))}
    if installed(UFAL) != NOT_INSTALLED:
        from ufal.chu_liu_edmonds import chu_liu_edmonds

        matrices = np.full((SENTENCES, WORDS + 1, WORDS + 1), -np.inf)
        matrices[:, 1:, 1:] = scores.reshape(-1, WORDS, WORDS)
        matrices[:, 1:, 0] = scores[:, :: WORDS + 1]
        matrices[:, np.arange(WORDS + 1), np.arange(WORDS + 1)] = -np.inf
        best[UFAL] = per_sentence(
            "best tree", lambda: [chu_liu_edmonds(matrix) for matrix in matrices]
        )
    yield Case(
        {"best tree": f"Best non-projective tree of {WORDS} words (Chu-Liu-Edmonds)"},
        best,
        sizes.turns,
    )
    yield Case(
        {
            "matrix-tree": f"Marginals of non-projective trees of {WORDS} words (matrix-tree theorem)"
        },
        {
            OURS: per_sentence("matrix-tree", kernel("arborescence", "partition")),
            "numpy": per_sentence("matrix-tree", lambda: matrix_tree_in_numpy(scores)),
        },
        sizes.turns,
    )
    yield Case(
        {"eisner": f"Best projective tree of {WORDS} words (Eisner)"},
        {OURS: per_sentence("eisner", kernel("projective", "best_tree"))},
        sizes.turns,
    )


def programs(sizes: Sizes, scratch: Path) -> Iterator[Case]:
    """Solve the linear programs of complete graphs."""
    from tests.benchmarks.test_lp_speed import VISITS, solvers

    for variables, labels in ((14, 2), (20, 4)):
        name = f"lp {variables} x {labels}"
        scores, visits = solvers(variables, labels, 1.0, "fresh")

        def run(visit: Callable[..., float], name: str = name, scores: object = scores) -> Seconds:
            work = timer(name, lambda: [visit(one) for one in scores])  # type: ignore[attr-defined]
            return {name: [work()[name][0] / VISITS]}

        yield Case(
            {name: f"Linear program of a complete graph: {variables} variables, {labels} labels"},
            {
                OURS: lambda run=run, visits=visits: run(visits["lp"]),
                "scipy's milp": lambda run=run, visits=visits: run(visits["milp"]),
            },
            sizes.turns,
        )


def configurations(sizes: Sizes, scratch: Path) -> Iterator[Case]:
    """Train epochs of the configurations that `tools/faster.py` times."""
    from tools.checkouts import Checkout, Worker
    from tools.checkouts import configurations as listed
    from tools.faster import Clock

    worker = Worker(Checkout.of("", scratch / "metadata"), scratch)
    try:
        for one in listed("benchmarks", sizes.configuration):
            if one.lacks_data:
                continue
            unit = "an evaluation" if one.measure == "evaluation" else "an epoch"
            clock = Clock(one, worker, scratch / one.name)
            yield Case(
                {one.name: f"`{one.name}`, {unit}"},
                {OURS: lambda clock=clock, name=one.name: {name: clock.times()}},
                min(2, sizes.turns),
            )
    finally:
        worker.close()
