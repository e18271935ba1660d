"""Seconds a pass of hashed templates over English EWT, one thread: `STRUCTOPT_DATA=... pytest
tests/benchmarks -s`.

Nothing here decides whether the tests pass.
"""

from __future__ import annotations

import gzip
import os
import resource
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pytest

from structopt.core.data.encoded import EncodedTrees
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.factor_graph.arc_factored import arc_tokens, candidate_arcs, gold_arcs
from structopt.factor_graph.kinds import ARBORESCENCE
from structopt.features.hashed_templates import HashedTemplates
from structopt.kernels.waist.record import EMPTY

FILE = Path(os.environ.get("STRUCTOPT_DATA", "")) / "ud" / "en_ewt-ud-train.conllu.gz"
pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.skipif(
        "STRUCTOPT_DATA" not in os.environ or not FILE.is_file(),
        reason=f"STRUCTOPT_DATA has no {FILE.name}",
    ),
]
COLUMNS = ("form", "lemma", "upos", "xpos", "prefix(form,5)")
SINGLE = ["form", "lemma", "upos", "xpos", "form & {}.upos", "upos[-1]", "upos[1]"]
TEMPLATES = [
    "bias",
    *(f"{role}.{text.format(role)}" for role in "hm" for text in SINGLE),
    "h.form & m.form",
    "h.lemma & m.lemma",
    "h.upos & m.upos",
    "h.xpos & m.xpos",
    "h.form & m.upos",
    "h.upos & m.form",
    "h.lemma & m.upos",
    "h.upos & m.lemma",
    "h.form & h.upos & m.upos",
    "h.upos & m.form & m.upos",
    "h.form & h.upos & m.form",
    "h.form & m.form & m.upos",
    "h.form & h.upos & m.form & m.upos",
    "h.prefix(form,5) & m.prefix(form,5)",
    "h.prefix(form,5) & m.upos",
    "h.upos & m.prefix(form,5)",
    "h.upos & h.upos[1] & m.upos[-1] & m.upos",
    "h.upos & h.upos[-1] & m.upos[-1] & m.upos",
    "h.upos & h.upos[1] & m.upos[1] & m.upos",
    "h.upos & h.upos[-1] & m.upos[1] & m.upos",
    "h.upos & h.upos[1] & m.upos",
    "h.upos & h.upos[-1] & m.upos",
    "h.upos & m.upos & m.upos[-1]",
    "h.upos & m.upos & m.upos[1]",
    "h.xpos & h.xpos[1] & m.xpos[-1] & m.xpos",
    "h.upos & between.upos & m.upos",
    "h.xpos & between.xpos & m.xpos",
]
LABELS = [
    "bias",
    "h.upos",
    "m.upos",
    "m.form",
    "m.lemma",
    "h.lemma",
    "h.upos & m.upos",
    "h.lemma & m.upos",
    "h.upos & m.lemma",
]


def read(path: Path) -> EncodedTrees:
    """Words, lemmas and tags of a CoNLL-U file as codes."""
    vocabularies: list[dict[str, int]] = [{} for _ in COLUMNS]
    relations: dict[str, int] = {}
    codes, heads, gold, offsets = [], [], [], [0]
    with gzip.open(path, "rt", encoding="utf8") as lines:
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if cells[0].isdigit():
                values = [*cells[1:5], cells[1][:5]]
                codes.append(
                    [
                        v.setdefault(value, len(v) + 2)
                        for v, value in zip(vocabularies, values, strict=True)
                    ]
                )
                heads.append(int(cells[6]) - 1 if cells[6] != "0" else len(codes) - 1 - offsets[-1])
                gold.append(relations.setdefault(cells[7], len(relations)))
            elif line == "\n":
                offsets.append(len(codes))
    arrays = [np.array(numbers, np.int32) for numbers in (codes, heads, gold)]
    return EncodedTrees(
        np.array(offsets, np.int64),
        {},
        tuple(relations),
        arrays[2],
        columns=COLUMNS,
        codes=arrays[0],
        heads=arrays[1],
    )


def lay_out(trees: EncodedTrees, labeled: bool) -> tuple[Structure, SparseVectors]:
    """Arcs, and labels on them, and the gold parts."""
    arcs, heads = candidate_arcs(trees)
    owned, L = arcs[trees.offsets], len(trees.labels) if labeled else 0
    groups = (PartGroup("label", L, owned), PartGroup("arc", 1, owned))[0 if labeled else 1 :]
    part_tokens = {"arc": arc_tokens(trees.offsets, arcs, heads)}
    memory = np.zeros(len(trees) + 1, np.int64)
    structure = Structure(
        EMPTY, groups, part_offsets(groups), ARBORESCENCE, memory, part_tokens=part_tokens
    )
    found = gold_arcs(trees)
    if not labeled:
        return structure, SparseVectors(trees.offsets, found.astype(np.int32), np.ones(len(found)))
    assert trees.gold is not None
    sentence = np.repeat(np.arange(len(trees)), np.diff(trees.offsets))
    parts = np.stack([found * L + trees.gold, np.diff(owned)[sentence] * L + found], axis=1).ravel()
    return structure, SparseVectors(2 * trees.offsets, parts.astype(np.int32), np.ones(len(parts)))


@pytest.mark.parametrize("labeled", [False, True])
def test_passes(labeled: bool) -> None:
    trees = read(FILE)
    structure, gold = lay_out(trees, labeled)
    begin = process_time()
    fitted = HashedTemplates(templates=TEMPLATES, labels=LABELS).fit(trees, structure, gold)
    print(f"\nfit in {process_time() - begin:.1f} s (first time: with compilation): {fitted.note}")
    k, record, scratch = (
        fitted.kernels,
        fitted.record(trees, structure),
        fitted.scratch(trees, structure),
    )
    assert fitted.support is not None
    generator, parts = np.random.default_rng(0), structure.parts
    theta, lag = (
        generator.normal(size=fitted.dimension) * fitted.support * 0.01,
        np.zeros(fitted.dimension),
    )
    s = np.zeros(int(np.diff(parts).max()))
    r = generator.normal(size=len(s))
    sparse = r * (generator.random(len(s)) < 0.02)
    for clock in (perf_counter, process_time):
        seconds = dict.fromkeys(
            ("scores", "dense pullback", "add_both", "dot", "sparse pullback"), 0.0
        )
        for i in range(len(trees)):
            size = int(parts[i + 1] - parts[i])
            times = [clock()]
            k.scores(record, theta, i, s[:size], EMPTY)
            times.append(clock())
            k.pullback(record, i, r[:size], scratch.gradient)
            times.append(clock())
            k.add_both(record, theta, lag, scratch.gradient, 1e-9, 1e-9)
            times.append(clock())
            k.dot(record, theta, scratch.gradient)
            times.append(clock())
            k.pullback(record, i, sparse[:size], scratch.gradient)
            times.append(clock())
            for name, first, last in zip(seconds, times[:-1], times[1:], strict=True):
                seconds[name] += last - first
        told = ", ".join(f"{name} {value:.2f}" for name, value in seconds.items())
        print(
            f"{'labelled' if labeled else 'unlabelled'}, seconds a pass over {parts[-1]:,} parts "
            f"({clock.__name__}): {told}"
        )
        print(f"scores of {len(trees.codes) / seconds['scores']:,.0f} tokens a second; ", end="")
        print(f"memory so far {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
