"""Seconds of summaries by every inference, on the shipped corpus and, where it is there, on
Opinosis.
"""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from structopt import datasets
from structopt.factor_graph.coverage import Coverage
from structopt.inference.ad3 import AD3
from structopt.inference.greedy import Greedy
from structopt.inference.ilp import ILP
from structopt.inference.lp import LP
from structopt.task.summarization.summarization import Summarization
from structopt.testing.inference import run

DATA = os.environ.get("STRUCTOPT_DATA")


def corpus(name):
    if name == "shipped":
        task = Summarization(budget=25)
        return task.fit(task.read(datasets.path("train", "jsonl")))
    if DATA is None:
        pytest.skip("STRUCTOPT_DATA is not set: Opinosis is not here")
    archive = Path(DATA) / "opinosis/opinosis.tar.gz"
    task = Summarization(budget=25, references=f"{archive}:summaries-gold/**")
    return task.fit(task.read(f"{archive}:topics/*.data"))


@pytest.mark.parametrize("name", ["shipped", "opinosis"])
def test_inferences(name):
    """Bigrams scored by document counts; the second visit of every document, when programs are
    there.
    """
    encoded = corpus(name)
    counts, sentences = np.diff(encoded.holders[0]), np.diff(encoded.offsets)
    worth = np.split(np.where(counts > 1, counts, 0.0), encoded.bigrams[1:-1])
    scores = [np.concatenate([np.zeros(n), own]) for n, own in zip(sentences, worth, strict=True)]
    totals = {}
    for label, inference in {
        "lp": LP(),
        "ilp": ILP(),
        "ad3": AD3(),
        "greedy": Greedy(),
    }.items():
        structure = inference.prepare(Coverage().build(encoded))
        solve = inference.kernels(structure.kind).solve
        for _ in range(2):
            taken, values = [], []
            for i, s in enumerate(scores):
                start = time.perf_counter()
                value, _ = run(solve, structure, i, s, 0.0)
                taken.append(time.perf_counter() - start)
                values.append(value)
        totals[label] = sum(taken)
        print(
            f"\n{name}, {len(scores)} documents, {label}: {sum(taken):.3f} s, median "
            f"{np.median(taken):.4f}, "
            f"longest {max(taken):.3f}; {sum(taken) / totals['lp']:.2f} x lp; values "
            f"{sum(values):.1f}",
            end="",
        )
    assert min(totals.values()) > 0
