"""Opinosis and GUM: what is read, the program that learns nothing, and bounds on every document."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structopt.core.inference import Inference
from structopt.factor_graph.coverage import Coverage
from structopt.inference.ad3 import AD3
from structopt.inference.greedy import Greedy
from structopt.inference.ilp import ILP
from structopt.inference.lp import LP
from structopt.kernels.waist.record import Array
from structopt.task.summarization.summarization import Summarization
from structopt.testing.inference import run

DATA = os.environ.get("STRUCTOPT_DATA")
WHY = "STRUCTOPT_DATA is not set: Opinosis and GUM are not here"
pytestmark = [pytest.mark.nightly("data"), pytest.mark.skipif(DATA is None, reason=WHY)]


@pytest.fixture(scope="module")
def opinosis() -> tuple[Summarization, Any, Any]:
    archive = Path(str(DATA)) / "opinosis/opinosis.tar.gz"
    task = Summarization(references=f"{archive}:summaries-gold/**", budget=25)
    corpus = task.read(f"{archive}:topics/*.data")
    return task, corpus, task.fit(corpus)


def solved(
    inference: Inference, encoded: Any, scores: list[Array], budget: Any = "length_budget"
) -> tuple[Array, list[Array]]:
    structure = inference.prepare(Coverage(budget).build(encoded))
    solve = inference.kernels(structure.kind).solve
    values, points = zip(
        *(run(solve, structure, i, s, 0.0) for i, s in enumerate(scores)), strict=True
    )
    return np.array(values), list(points)


def by_counts(encoded: Any) -> list[Array]:
    counts = np.diff(encoded.holders[0]).astype(float)
    worth = np.split(np.where(counts > 1, counts, 0.0), encoded.bigrams[1:-1])
    return [
        np.concatenate([np.zeros(n), own])
        for n, own in zip(np.diff(encoded.offsets), worth, strict=True)
    ]


def test_bounds_on_every_topic(opinosis: tuple[Summarization, Any, Any]) -> None:
    """greedy <= ilp <= ad3 <= lp, and ad3 that knows the budget's row alone is lp; the unlearned
    program scores 15.
    """
    task, corpus, encoded = opinosis
    scores = by_counts(encoded)
    greedy, _ = solved(Greedy(), encoded, scores)
    ilp, summaries = solved(ILP(), encoded, scores)
    lp, _ = solved(LP(), encoded, scores)
    exactly = {"passes": 20_000, "tolerance": 1e-5}
    ad3, _ = solved(AD3(**exactly), encoded, scores)
    linear, _ = solved(AD3(**exactly), encoded, scores, "linear_budget")
    assert (greedy <= ilp + 1e-6).all() and (ilp <= ad3 + 1e-6).all() and (ad3 <= lp + 1e-4).all()
    np.testing.assert_allclose(linear, lp, rtol=2e-5)
    assert (ad3 < lp - 1.0).sum() > len(lp) / 2  # knowing what fits together tells more
    chosen = (
        np.concatenate([z[:n] for z, n in zip(summaries, np.diff(encoded.offsets), strict=True)])
        > 0.5
    )
    scored = task.evaluate(corpus, task.decode(encoded, chosen))
    assert scored["rouge2_recall"] > 0.15 and scored["oracle_rouge2_recall"] > 0.23


def test_opinosis(opinosis: tuple[Summarization, Any, Any]) -> None:
    """40 topics, 11 of them in cp1252; several references each."""
    _, corpus, encoded = opinosis
    assert (len(corpus), int(encoded.offsets[-1])) == (40, 5461)
    assert all(len(own) >= 4 for own in corpus.references)
    assert not any("\ufffd" in sentence for sentence in corpus.sentences)


def test_gum() -> None:
    """Texts by their newdoc id, references by people."""
    folder = Path(str(DATA)) / "gum"
    corpus = Summarization(references=str(folder / "summaries.jsonl.gz"), budget=50).read(
        folder / "dep.dev.conllu.gz"
    )
    assert len(corpus) == 30 and all(name.startswith("GUM_") for name in corpus.names)
    assert sorted(map(len, corpus.references)) == [1] * 8 + [5] * 22
