"""Small treebanks of random trees, encoded as tasks encode them."""

from dataclasses import replace

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import Candidates, EncodedConstituents
from structopt.factor_graph.grammar.charts import cells_of
from structopt.factor_graph.grammar.grammar import Grammar

CATEGORIES = ("ROOT", "A", "B", "C")
TAGS = ("t", "u", "v")


def random_tree(generator, begin, end, above, rows):
    """Append random constituents over begin..end, parents first."""
    label = int(generator.integers(1, len(CATEGORIES)))
    if label != above:
        rows.append((label, begin, end))
    if end - begin == 1:
        return
    cuts = generator.choice(
        np.arange(begin + 1, end),
        size=int(generator.integers(1, min(3, end - begin))),
        replace=False,
    )
    for b, e in zip([begin, *sorted(cuts.tolist())], [*sorted(cuts.tolist()), end], strict=True):
        if e - b > 1 or generator.random() < 0.4:
            random_tree(generator, b, e, label, rows)


def random_treebank(seed, lengths, allowed=1, branching=False):
    """Sentences of the given lengths; every word may have `allowed` tags, its own among them.

    With `branching`, each second root of several words has several children.
    """
    generator = np.random.default_rng(seed)
    trees = []
    for n in lengths:
        rows = [(0, 0, n)]
        if branching and n > 1 and len(trees) % 2 == 0:
            cut = int(generator.integers(1, n))
            random_tree(generator, 0, cut, 0, rows)
            if n - cut > 1:
                random_tree(generator, cut, n, 0, rows)
        else:
            random_tree(generator, 0, n, 0, rows)
        trees.append(rows)
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    words = int(offsets[-1])
    gold = generator.integers(0, len(TAGS), words).astype(np.int32)
    masks = np.argsort(generator.random((words, len(TAGS))), axis=1) < allowed - 1
    masks[np.arange(words), gold] = True
    constituents = np.array([row for rows in trees for row in rows], np.int32)
    table = AttributeTable(
        np.arange(words + 1, dtype=np.int64),
        generator.integers(0, 4, words).astype(np.int32),
        None,
        4,
    )
    return EncodedConstituents(
        offsets,
        {"label": table},
        TAGS,
        gold,
        masks,
        categories=CATEGORIES,
        words=["w"] * words,
        constituents=(np.cumsum([0, *map(len, trees)]).astype(np.int64), constituents),
    )


def thinned(encoded, grammar: Grammar, seed, kept):
    """The corpus with a random share of the symbols of every span, and those of its gold trees."""
    generator, cells, rules = (
        np.random.default_rng(seed),
        cells_of(encoded, grammar.rules),
        grammar.rules,
    )
    structure = grammar.build(encoded)
    gold, _ = structure.active_in("node", grammar.gold(encoded, structure))
    sizes = cells.sizes
    span = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(len(span)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    keep = generator.random(len(span)) < kept
    keep[gold] = True
    lists = cells.lists[span]
    symbols, below = cells.symbols[cells.starts[lists] + within], within < cells.bottoms[lists]
    bottoms = np.bincount(span[keep & below], minlength=len(sizes)).astype(np.int32)
    offsets = np.concatenate(
        [[0], np.cumsum(np.bincount(span[keep], minlength=len(sizes)))]
    ).astype(np.int64)
    candidates = Candidates(
        rules.symbols, cells.spans, offsets, bottoms, symbols[keep].astype(np.int32)
    )
    return replace(encoded, candidates=candidates)
