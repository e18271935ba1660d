"""How much scratch message passing needs on a corpus of factor graphs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.core.factor_kind_table import kind_of
from structopt.inference.refusals import open_numbers
from structopt.kernels.loopy.factors import FACTORS, Factors
from structopt.kernels.waist.record import Array, Record


class FactorSizes(NamedTuple):
    """The largest numbers over the instances.

    Attributes
    ----------
    shared, private : int
        Parts of the variables, and of the factors, of an instance.
    messages : int
        Parts of the linked variables of all factors of an instance.
    linked : int
        Parts of the linked variables of one factor.
    floats, ints : int
        Scratch of one factor.
    """

    shared: int
    private: int
    messages: int
    linked: int
    floats: int
    ints: int


def factor_sizes(record: Record) -> FactorSizes:
    """Measure a record of factor graphs."""
    f = FACTORS.open(record)
    floats, ints = factor_scratch(record)
    return FactorSizes(
        shared=int(f.shared.max(initial=0)),
        private=int(np.diff(f.privates[f.factors]).max(initial=0)),
        messages=int(np.diff(message_offsets(record)).max(initial=0)),
        linked=int(np.diff(_parts_before(f)[f.links]).max(initial=0)),
        floats=floats,
        ints=ints,
    )


def factor_scratch(record: Record) -> tuple[int, int]:
    """Floats and ints that any one factor of a record needs."""
    from structopt.kernels.loopy.factor_kinds import scratch_sizes

    f = FACTORS.open(record)
    parts = np.diff(_parts_before(f)[f.links])
    both = scratch_sizes(record), _scratch_of_plugins(f, parts)
    return max(floats for floats, _ in both), max(ints for _, ints in both)


def _scratch_of_plugins(f: Factors, parts: Array) -> tuple[int, int]:
    """Floats and ints that any factor of a plugin's kind needs, given how many parts the variables
    of each factor have.
    """
    floats, ints = 0, 0
    for number in open_numbers(f.kinds):
        factors = np.flatnonzero(f.kinds == number)
        wanted = kind_of(number).scratch(parts[factors], f.extras[factors], f.extra)
        floats, ints = max(floats, wanted[0]), max(ints, wanted[1])
    return floats, ints


def message_offsets(record: Record) -> Array:
    """Where the messages of each instance begin: one number for every part of the linked variables
    of its factors.
    """
    f = FACTORS.open(record)
    offsets: Array = _parts_before(f)[f.links[f.factors]]
    return offsets


def _parts_before(f: Factors) -> Array:
    """Parts of the variables of all links before each link, and of all."""
    instance = np.repeat(np.arange(len(f.factors) - 1), np.diff(f.factors))
    variable = np.repeat(f.variables[instance], np.diff(f.links)) + f.linked
    return np.concatenate([[0], np.cumsum(f.widths[variable], dtype=np.int64)])
