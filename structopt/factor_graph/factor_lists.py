"""The factor graphs of a corpus of trees, as a record: factors are listed by kinds, without a
Python object for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structopt.core.parts.ragged import Ragged, ends_of, interleaved, numbers
from structopt.kernels.waist.record import Array, Record


class FactorList(NamedTuple):
    """The factors of one kind of all sentences.

    Attributes
    ----------
    offsets : int64, shape (sentences + 1,)
        Where the factors of each sentence begin.
    kind : int
    links, privates, extras : int64, shape (factors,)
        How many linked variables, private parts and extra numbers a factor has.
    linked : Ragged
        Linked variables, by sentences.
    extra : int32
        Extra numbers, by sentences.
    """

    offsets: Array
    kind: int
    links: Array
    privates: Array
    extras: Array
    linked: Ragged
    extra: Array


def pairs(offsets: Array, linked: Array) -> FactorList:
    """One PAIRS factor for every sentence that has parts."""
    from structopt.kernels.loopy.factors import PAIRS

    sizes = np.diff(offsets)
    used = sizes > 0
    parts = sizes[used]
    nothing = np.zeros(len(parts), np.int64)
    return FactorList(
        ends_of(used),
        PAIRS,
        2 * parts,
        parts,
        nothing,
        Ragged(2 * offsets, linked),
        np.zeros(0, np.int32),
    )


def pack_lists(tokens: Array, arcs: Array, lists: Sequence[FactorList]) -> Record:
    """Pack the factor graphs: binary variables, the arcs; and the factors of a sentence list by
    list.

    Parameters
    ----------
    tokens : int64, shape (sentences + 1,)
        Where the tokens of each sentence begin.
    arcs : int64, shape (tokens + 1,)
        Where the candidate arcs of each token begin.
    lists : sequence of FactorList
        The TREE factors first, which alone have extra numbers.
    """
    from structopt.kernels.loopy.factors import FACTORS

    sentences = arcs[tokens]  # where the arcs of each begin
    sizes = np.diff(sentences)

    def of_factors(columns: Sequence[Array]) -> Array:
        return interleaved(
            [Ragged(one.offsets, column) for one, column in zip(lists, columns, strict=True)]
        )

    kinds = [np.full(len(one.links), one.kind, np.int32) for one in lists]
    return FACTORS.pack(
        variables=sentences,
        widths=np.ones(int(sentences[-1]), np.int32),
        starts=numbers(sentences).astype(np.int64),
        factors=np.sum([one.offsets for one in lists], axis=0),
        kinds=of_factors(kinds),
        links=ends_of(of_factors([one.links for one in lists])),
        linked=interleaved([one.linked for one in lists]),
        privates=ends_of(of_factors([one.privates for one in lists])),
        extras=ends_of(of_factors([one.extras for one in lists])),
        extra=lists[0].extra,
        shared=sizes,
    )
