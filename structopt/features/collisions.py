"""How many hashed features share a weight: counted over the features of gold outputs, estimated
over those of all parts.
"""

from __future__ import annotations

from math import exp

import numpy as np

from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure
from structopt.features.template_layout import KINDS, Layout
from structopt.kernels.waist.record import Array, Record

MOST = 2**22
"""About how many occurrences of features are looked at, where all parts have them."""
WORTH_MENTIONING = 0.05


def collisions(
    layout: Layout, record: Record, structure: Structure, gold: SparseVectors | None
) -> str:
    """A sentence on how many distinct features there are, and how many of them share their weight
    with others.

    Parameters
    ----------
    layout : Layout
    record : Record
        Of the corpus, as the kernels read it.
    structure : Structure
    gold : SparseVectors or None
        The gold parts, whose features are counted exactly; None: the features of all parts,
        estimated from a sample of them.
    """
    sentences = []
    which = "gold parts" if gold is not None else "all parts"
    for rows, size, key, what in (
        (False, layout.weights, "hash_bits", "weights"),
        (True, layout.rows, "label_bits", "rows of label weights"),
    ):
        features, alone = _counts(layout, record, structure, gold, rows, size) if size else (0, 0.0)
        if features:
            sentences.append(
                _sentence(
                    f"{features:,} distinct features of {which}", features, alone, size, key, what
                )
            )
    return "; ".join(sentences)


def _counts(
    layout: Layout,
    record: Record,
    structure: Structure,
    gold: SparseVectors | None,
    rows: bool,
    size: int,
) -> tuple[int, float]:
    """Number of distinct features, and of those that share their weight with no other."""
    from structopt.kernels.features.template_occurrences import occurrences

    features, once, often = 0, np.zeros(size, bool), np.zeros(size, bool)
    groups = [k for k, group in enumerate(structure.groups) if (group.name == "label") == rows]
    occurring = sum(
        int(structure.groups[k].offsets[-1]) * len(layout.ordered(structure.groups[k].name))
        for k in groups
    )
    # one feature of 2^sample is looked at
    sample = 0 if gold is not None else (occurring // MOST).bit_length()
    for k in groups:
        name = structure.groups[k].name
        offsets, parts = _chosen(k, structure, gold)
        first = sum(len(layout.ordered(kind)) for kind in list(KINDS)[: list(KINDS).index(name)])
        for t in range(first, first + len(layout.ordered(name))):
            none = np.zeros(0, np.int64)
            keys = np.zeros(occurrences(record, k, t, offsets, parts, sample, none, none), np.int64)
            indices = np.zeros_like(keys)
            if not len(keys):
                continue
            occurrences(record, k, t, offsets, parts, sample, keys, indices)
            _, unlike = np.unique(keys, return_index=True)
            features += len(unlike)
            indices, counts = np.unique(indices[unlike], return_counts=True)
            often[indices] |= once[indices] | (counts > 1)
            once[indices] = True
    if not sample:
        return features, float(np.count_nonzero(once & ~often))
    features <<= sample
    return features, features * exp(-features / size)


def _chosen(k: int, structure: Structure, gold: SparseVectors | None) -> tuple[Array, Array]:
    """Parts of a group whose features count, numbered within the instance's group: the gold ones,
    or all.
    """
    group, sizes = structure.groups[k], np.diff(structure.groups[k].offsets)
    if gold is None:
        local = np.arange(int(group.offsets[-1])) - np.repeat(group.offsets[:-1], sizes)
        return np.ascontiguousarray(group.offsets), local.astype(np.int32)
    before: tuple[PartGroup, ...] = structure.groups[:k]
    start = sum((np.diff(g.offsets) * g.width for g in before), np.zeros(len(structure), np.int64))
    instance = np.repeat(np.arange(len(structure)), np.diff(gold.offsets))
    local = gold.parts - start[instance]
    inside = (local >= 0) & (local < (sizes * group.width)[instance])
    owner, part = instance[inside], local[inside] // group.width
    order = np.lexsort((part, owner))
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(structure)))]), part[
        order
    ].astype(np.int32)


def _sentence(subject: str, features: int, alone: float, size: int, key: str, what: str) -> str:
    share = 1.0 - alone / features
    text = f"{subject} on {size:,} {what}: {share:.0%} share theirs"
    if share < WORTH_MENTIONING:
        return text
    bits = size.bit_length() - 1
    better = next(b for b in range(bits + 1, 64) if 1.0 - exp(-features / 2**b) <= share / 2)
    return f"{text}; features.{key}={better} would leave {1.0 - exp(-features / 2**better):.0%}"
