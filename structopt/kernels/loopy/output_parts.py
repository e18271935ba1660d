"""Parts of outputs that are known by the parts of their output variables: gold outputs."""

from __future__ import annotations

from numba import types

from structopt.kernels.loopy.factors import open_factors, private_start
from structopt.kernels.loopy.private_parts import fill_private
from structopt.kernels.waist.signatures import INTS, LONGS, RECORD, VECTOR, kernel


@kernel(types.void(RECORD, LONGS, LONGS, VECTOR, LONGS, INTS))
def list_output(structure, tokens, chosen, z, ends, parts):
    """List the parts of one output of every instance.

    `chosen`, shape (tokens,), names its part of each output variable; `z` is scratch for the parts
    of any instance. ends[i] becomes the number of parts listed up to instance i; where `parts` is
    empty they are only counted.
    """
    f = open_factors(structure)
    r = 0
    for i in range(len(tokens) - 1):
        size = private_start(f, i, f.factors[i + 1])
        z[:size] = 0.0
        for t in range(tokens[i], tokens[i + 1]):
            z[chosen[t]] = 1.0
        fill_private(f, i, z[:size])
        for part in range(size):
            if z[part] > 0.5:
                if len(parts) > 0:
                    parts[r] = part
                r += 1
        ends[i] = r
