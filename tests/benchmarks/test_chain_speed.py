"""Ratios against CRFsuite on one attribute file, in one run and one thread: `pytest tests/benchmarks -s`.

STRUCTOPT_ATTRIBUTES names a folder with train.txt and dev.txt in CRFsuite's format; without it the shipped corpus is used.
Nothing here decides whether the tests pass.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from structopt import corpus, registry
from structopt.decoding import best_outputs
from structopt.features import AttributeRows
from structopt.problem import Examples, Problem

pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is the peer to compare with (extra: dev)")
pytestmark = pytest.mark.benchmark


@pytest.fixture(scope="module")
def files() -> tuple[Path, Path]:
    folder = os.environ.get("STRUCTOPT_ATTRIBUTES")
    if folder:
        return Path(folder) / "train.txt", Path(folder) / "dev.txt"
    return corpus.path("train", "crfsuite"), corpus.path("dev", "crfsuite")


@pytest.fixture(scope="module")
def peer(files: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[float, object, list[list[list[str]]]]:
    """Seconds of one l2sgd pass (the difference of two runs), the tagger, and the dev sentences."""
    train, dev = map(_sentences, files)
    model = str(tmp_path_factory.mktemp("peer") / "model")
    seconds = {epochs: _train_peer(train, epochs, model) for epochs in (3, 9)}
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    return (seconds[9] - seconds[3]) / 6, tagger, [items for items, _ in dev]


def test_pass_and_decoding(files: tuple[Path, Path], peer: tuple[float, object, list[list[list[str]]]]) -> None:
    peer_pass, tagger, sentences = peer
    problem, dev = _problem(files)
    optimizer = registry.create("optimizer", {"name": "dca", "C": 0.1, "epochs": 5})
    state = optimizer.init(problem, np.zeros(problem.dimension))
    ours = [_timed(lambda: optimizer.step(problem, state)) for _ in range(5)]
    print(f"\none pass: dca {median(ours):.3f} s, crfsuite l2sgd {peer_pass:.3f} s, ratio {median(ours) / peer_pass:.2f}")

    tokens = sum(map(len, sentences))
    serial = registry.create("executor", {"name": "serial"})
    theirs = _timed(lambda: [tagger.tag(items) for items in map(pycrfsuite.ItemSequence, sentences)])  # type: ignore[attr-defined]
    packed = [pycrfsuite.ItemSequence(items) for items in sentences]
    theirs_packed = min(_timed(lambda: [tagger.tag(items) for items in packed]) for _ in range(3))  # type: ignore[attr-defined]
    mine = min(_timed(lambda: best_outputs(dev, problem.kernels, optimizer.weights(state), serial)) for _ in range(3))
    print(f"decoding: {tokens / mine:,.0f} tokens/s, crfsuite {tokens / theirs_packed:,.0f} on packed items")
    print(f"ratio {theirs_packed / mine:.1f} ({theirs / mine:.1f} where its items are packed as they come)")


def _timed(work: object) -> float:
    started = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - started


def _problem(files: tuple[Path, Path]) -> tuple[Problem, Examples]:
    task = registry.create("task", {"name": "attributes"})
    graph = registry.create("factor_graph", {"name": "linear_chain"})
    loss = registry.create("loss", {"name": "crf"})
    kernels = registry.create("inference", {"name": "exact"}).kernels("chain")
    encoded = task.fit(task.read(files[0]))
    structure = graph.build(encoded)
    gold = graph.gold(encoded, structure)
    rows = AttributeRows.fit(encoded, structure, gold)
    examples = Examples(encoded, structure, rows.record(encoded, structure), rows)
    cost = graph.cost(encoded, structure, np.ones(len(encoded.gold)))
    problem = Problem(examples, gold, cost, loss, kernels, 0.1)
    return problem, Examples.build(task.encode(task.read(files[1])), graph, rows)


def _sentences(path: Path) -> list[tuple[list[list[str]], list[str]]]:
    found: list[tuple[list[list[str]], list[str]]] = []
    for block in path.read_text(encoding="utf8").strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n")]
        found.append(([[a.replace("\\:", ":").replace("\\\\", "\\") for a in row[1:]] for row in rows], [row[0] for row in rows]))
    return found


def _train_peer(data: list[tuple[list[list[str]], list[str]]], epochs: int, model: str) -> float:
    trainer = pycrfsuite.Trainer(algorithm="l2sgd", verbose=False)
    trainer.set("max_iterations", epochs)
    for items, tags in data:
        trainer.append(items, tags)
    return _timed(lambda: trainer.train(model))
