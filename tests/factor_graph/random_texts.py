"""Random documents of sentences with bigrams, as arrays."""

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import EncodedTexts
from structopt.core.parts.ragged import ends_of


def random_texts(seed, sizes, words=6):
    """Documents of so many sentences each; budgets fit at least one, and gold is a random choice
    within them.
    """
    generator = np.random.default_rng(seed)
    lengths, budgets, gold, bigrams, counts, holders, worth = [], [], [], [], [], [], []
    for n in sizes:
        own = generator.integers(1, 9, n)
        budget = int(generator.integers(own.min(), max(own.sum(), own.min() + 1)))
        inside = np.zeros(n, np.int32)
        for j in generator.permutation(n):
            inside[j] = own[inside == 1].sum() + own[j] <= budget
        has = generator.random((words, n)) < 0.4
        has = has[has.any(axis=1)]
        bigrams.append(len(has))
        counts += has.sum(axis=1).tolist()
        holders += [j for row in has for j in np.flatnonzero(row)]
        worth += (generator.integers(0, 3, len(has)) / 10).tolist()
        lengths, budgets, gold = [*lengths, *own], [*budgets, budget], [*gold, *inside]
    sentence, bigram = (
        AttributeTable(
            np.arange(count + 1),
            generator.integers(0, 3, count).astype(np.int32),
            generator.normal(size=count),
            3,
        )
        for count in (len(lengths), len(counts))
    )
    return EncodedTexts(
        offsets=ends_of(sizes),
        tables={"sentence": sentence, "bigram": bigram},
        labels=("out", "in"),
        gold=np.array(gold, np.int32),
        lengths=np.array(lengths, np.int32),
        budgets=np.array(budgets, np.int32),
        bigrams=ends_of(bigrams),
        holders=(ends_of(counts), np.array(holders, np.int32)),
        worth=np.array(worth),
    )
