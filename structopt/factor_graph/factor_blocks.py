"""The factor graphs of a whole corpus of trees, made at once: no Python object for a factor or a part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structopt.kernels.waist.record import Array, Record


class Block(NamedTuple):
    """Rows of an array that belong to the instances: those of instance i are values[offsets[i] : offsets[i + 1]]."""

    offsets: Array
    values: Array


class FactorBlock(NamedTuple):
    """Factors of one kind of all sentences: `owned` tells where those of each sentence begin.

    Attributes
    ----------
    owned : int64, shape (sentences + 1,)
    kind : int
    links, privates, extras : int64, shape (factors,)
        How many of each a factor has.
    linked : Block
        Linked variables, by sentences.
    extra : int32
        Extra numbers, by sentences.
    """

    owned: Array
    kind: int
    links: Array
    privates: Array
    extras: Array
    linked: Block
    extra: Array


def pairs(offsets: Array, linked: Array) -> FactorBlock:
    """One PAIRS factor for every sentence that has parts."""
    from structopt.kernels.loopy.factors import PAIRS

    sizes = np.diff(offsets)
    used = sizes > 0
    parts = sizes[used]
    nothing = np.zeros(len(parts), np.int64)
    return FactorBlock(ends_of(used), PAIRS, 2 * parts, parts, nothing, Block(2 * offsets, linked), np.zeros(0, np.int32))


def pack_blocks(tokens: Array, arcs: Array, blocks: Sequence[FactorBlock]) -> Record:
    """Pack the factor graphs: binary variables, the arcs; and the factors of a sentence block by block."""
    from structopt.kernels.loopy.factors import FACTORS

    owned = arcs[tokens]
    sizes = np.diff(owned)

    def of_factors(columns: Sequence[Array]) -> Array:
        return interleaved([Block(block.owned, column) for block, column in zip(blocks, columns, strict=True)])

    kinds = [np.full(len(block.links), block.kind, np.int32) for block in blocks]
    return FACTORS.pack(
        variables=owned,
        widths=np.ones(int(owned[-1]), np.int32),
        starts=numbers(owned).astype(np.int64),
        outputs=tokens,
        choices=_choices(tokens, arcs),
        factors=np.sum([block.owned for block in blocks], axis=0),
        kinds=of_factors(kinds),
        links=ends_of(of_factors([block.links for block in blocks])),
        linked=interleaved([block.linked for block in blocks]),
        privates=ends_of(of_factors([block.privates for block in blocks])),
        extras=ends_of(of_factors([block.extras for block in blocks])),
        extra=blocks[0].extra,  # of the TREE factors; no others have any
        shared=sizes,
    )


def _choices(tokens: Array, arcs: Array) -> Array:
    """Where the arcs of each token begin within the sentence, with one more entry a sentence, its end."""
    begin = arcs[:-1] - np.repeat(arcs[tokens[:-1]], np.diff(tokens))
    return interleaved([Block(tokens, begin), Block(np.arange(len(tokens)), np.diff(arcs[tokens]))])


def interleaved(blocks: Sequence[Block]) -> Array:
    """Concatenate blocks instance by instance."""
    out = np.empty(sum(len(block.values) for block in blocks), blocks[0].values.dtype)
    begin = np.sum([block.offsets[:-1] for block in blocks], axis=0)
    for block in blocks:
        counts = np.diff(block.offsets)
        places = np.arange(len(block.values))
        places += np.repeat(begin - block.offsets[:-1], counts)
        out[places] = block.values
        begin = begin + counts
    return out


def numbers(offsets: Array) -> Array:
    """0, 1, ... anew for every instance, int32."""
    numbered: Array = np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], np.diff(offsets))
    return numbered.astype(np.int32)


def ends_of(counts: Array) -> Array:
    """Offsets of runs of the given lengths."""
    offsets: Array = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    return offsets
