"""Kernels of k-best lists load when lists are first read, also by two threads at the same time."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from threading import Barrier, Thread

import numpy as np

import structopt as so
from structopt.core.parts.parts import Parts
from structopt.inference.enumeration import Enumeration
from tools import operations

generator, scores = np.random.default_rng(0), {}
for graph in operations.GRAPHS:
    if graph not in ("`SecondOrder()`", "`Coverage()`"):  # they have no lists
        batch = operations.example(graph)
        scores[graph] = Parts(batch, generator.normal(size=len(batch.scores().flat)))
        so.argmax(scores[graph])
print([name for name in sys.modules if name.startswith("structopt.kernels") and "k_best" in name])
for graph, s in scores.items():
    barrier, lists = Barrier(2), []

    def read() -> None:
        barrier.wait()
        lists.append(so.k_best(s, 3).score)

    threads = [Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = so.k_best(s, 3, Enumeration()).score
    print(graph, [np.allclose(one, expected) for one in lists])
"""


def test_first_lists_of_every_graph_in_two_threads() -> None:
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", PROGRAM]
    lines = subprocess.run(command, cwd=root, text=True, stdout=subprocess.PIPE, check=True).stdout
    loaded, *graphs = lines.splitlines()
    assert loaded == "[]"
    assert len(graphs) == 10
    assert all(line.endswith("[True, True]") for line in graphs), lines
