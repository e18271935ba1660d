"""Scores and gradients of links by tables, against a weight read for every feature of every link,
in numpy.
"""

import time
from statistics import median

import numpy as np
import pytest

from structopt.config.composition import compose
from structopt.factor_graph.antecedent import Antecedent
from structopt.features.mention_templates import MentionTemplates
from structopt.kernels.waist.record import EMPTY
from structopt.task.coreference.mention_columns import COLUMNS
from tests.random_documents import random_documents

TYPES, WORDS = 12, 200


def seconds(call, times=5):
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return median(taken)


@pytest.mark.parametrize("mentions", [100, 300, 1000])
def test_links(mentions):
    """Three documents with the shipped templates; words of 200 kinds, mentions of 12 types."""
    config = compose(["task=coreference"])["features"]
    lists = {name: list(config[name]) for name in ("new", "links", "joined")}
    atoms = [atom for lines in lists.values() for line in lines for atom in line.split(" & ")]
    names = dict.fromkeys(atom.partition(".")[2] for atom in atoms if "." in atom)
    generator, total = np.random.default_rng(0), 3 * mentions
    encoded = random_documents(0, (mentions,) * 3)
    columns = tuple(name.replace(" ", "") for name in names)
    sizes = [TYPES if name in ("type", "gender", "length") else WORDS for name in columns]
    codes = np.stack([generator.integers(0, size, total) for size in sizes], axis=1)
    encoded = encoded.__class__(
        **{
            **vars(encoded),
            "columns": columns,
            "codes": codes.astype(np.int32),
            "compared_columns": COLUMNS,
            "compared": generator.integers(-1, WORDS, (total, len(COLUMNS))).astype(np.int32),
        }
    )
    graph = Antecedent()
    structure = graph.build(encoded)
    features = MentionTemplates(**lists, hash_bits=20).fit(
        encoded, structure, graph.gold(encoded, structure)
    )
    record, scratch = (
        features.record(encoded, structure),
        features.scratch(encoded, structure).gradient,
    )
    theta, links = generator.normal(size=features.dimension), int(structure.parts[1])
    s, r = np.empty(links), generator.normal(size=links)
    scoring = seconds(lambda: features.kernels.scores(record, theta, 0, s, EMPTY))
    pulling = seconds(lambda: features.kernels.pullback(record, 0, r, scratch))
    templates = len(features.layout.conjunctions[1])
    indices = generator.integers(0, features.dimension, (links, templates))
    reading = seconds(lambda: theta[indices].sum(axis=1))
    print(
        f"\n{mentions} mentions, {links} links, {templates} features of each: scores "
        f"{1e9 * scoring / links:.0f} ns a link, "
        f"gradients {1e9 * pulling / links:.0f}; all weights in numpy "
        f"{1e9 * reading / links:.0f}: {reading / scoring:.1f} x"
    )
    assert np.isfinite(s).all()
