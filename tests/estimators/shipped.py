"""The shipped corpora as X and y."""

from functools import cache
from itertools import pairwise

import numpy as np

from structopt import datasets
from structopt.formats import crfsuite
from structopt.formats.vectors import libsvm_multilabel


@cache
def tagged(count=60, split="train"):
    """Sentences of lists of attributes, and their labels."""
    corpus = crfsuite.read(datasets.path(split, "crfsuite"), count)
    ends, bounds = corpus.attribute_offsets.tolist(), corpus.offsets.tolist()
    tokens = [[corpus.attributes[j] for j in corpus.ids[a:b]] for a, b in pairwise(ends)]
    return [tokens[a:b] for a, b in pairwise(bounds)], [
        corpus.labels[a:b] for a, b in pairwise(bounds)
    ]


@cache
def label_sets(count=60):
    """A matrix, an indicator matrix, and the names of its columns."""
    corpus = libsvm_multilabel.read(datasets.path("train", "multilabel"), count)
    X = np.zeros((count, max(map(int, corpus.attributes))))
    for i, (a, b) in enumerate(pairwise(corpus.offsets.tolist())):
        X[i, [int(corpus.attributes[j]) - 1 for j in corpus.ids[a:b]]] = corpus.values[a:b]
    return (
        X,
        np.array([[name in labels for name in corpus.names] for labels in corpus.labels]).astype(
            int
        ),
        corpus.names,
    )
