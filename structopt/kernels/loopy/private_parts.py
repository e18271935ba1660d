"""Private parts of an output: which joint configurations the states of its variables make."""

from __future__ import annotations

import numpy as np

from structopt.kernels.loopy.factors import (
    AUTOMATON,
    FIRST_OPEN,
    PAIRS,
    TABLE,
    extra_numbers,
    linked_parts,
    private_start,
)
from structopt.kernels.loopy.kinds.automaton import row_start
from structopt.kernels.loopy.open_kinds import extend
from structopt.kernels.waist.signatures import inlined


@inlined
def fill_private(f, i, z):
    """Write the private parts of an output, given the indicators of its variables in the first
    parts of z.
    """
    variables, starts, widths = f.variables[i], f.starts, f.widths
    z[f.shared[i] :] = 0.0
    for factor in range(f.factors[i], f.factors[i + 1]):
        if f.kinds[factor] == TABLE:
            r, link = private_start(f, i, factor), f.links[factor]
            first, second = variables + f.linked[link], variables + f.linked[link + 1]
            for u in range(starts[first], starts[first] + widths[first]):
                for v in range(starts[second], starts[second] + widths[second]):
                    z[r] = z[u] * z[v]
                    r += 1
            continue
        linked = f.linked[f.links[factor] : f.links[factor + 1]]
        private = z[private_start(f, i, factor) :]
        if f.kinds[factor] == AUTOMATON:
            before = 0
            for j in range(1, len(linked) + 2):
                if j > len(linked) or z[f.starts[variables + linked[j - 1]]] > 0.0:
                    private[row_start(len(linked), before) + j] = 1.0
                    before = j
        elif f.kinds[factor] == PAIRS:
            for r in range(len(linked) // 2):
                private[r] = (
                    z[f.starts[variables + linked[2 * r]]]
                    * z[f.starts[variables + linked[2 * r + 1]]]
                )
        elif f.kinds[factor] >= FIRST_OPEN:
            fill_open(f, i, factor, z)


@inlined
def fill_open(f, i, factor, z):
    """Write the private parts of a factor of a kind that the core does not know; whether it allows
    the states in z.
    """
    first, x = private_start(f, i, factor), np.empty(linked_parts(f, i, factor))
    states_of(f, i, factor, z, x)
    last = first + f.privates[factor + 1] - f.privates[factor]
    return extend(f.kinds[factor], extra_numbers(f, factor), x, z[first:last])


@inlined
def states_of(f, i, factor, z, x):
    """Fill x with the states that the variables of a factor have in z, part by part."""
    q = 0
    for link in range(f.links[factor], f.links[factor + 1]):
        v = f.variables[i] + f.linked[link]
        for part in range(f.starts[v], f.starts[v] + f.widths[v]):
            x[q] = 1.0 if z[part] > 0.5 else 0.0
            q += 1
