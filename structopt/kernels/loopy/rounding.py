"""Outputs of fractional marginals, in graphs whose factors are tables over two variables."""

from __future__ import annotations

from structopt.kernels.loopy.factors import TABLE, open_factors, private_start
from structopt.kernels.waist.signatures import ROUND, kernel


@kernel(ROUND)
def round_states(structure, i, z, work):
    """Let z be the indicators of the likeliest state of every variable, the first of several, and of the pairs of these.

    That is the output with the most states expected to be right, if the marginals are.
    """
    f = open_factors(structure)
    first = f.variables[i]
    for v in range(first, f.variables[i + 1]):
        begin, end = f.starts[v], f.starts[v] + f.widths[v]
        best = begin
        for r in range(begin + 1, end):
            best = r if z[r] > z[best] else best
        z[begin:end] = 0.0
        z[best] = 1.0
    for factor in range(f.factors[i], f.factors[i + 1]):
        if f.kinds[factor] != TABLE:
            continue
        a, b = first + f.linked[f.links[factor]], first + f.linked[f.links[factor] + 1]
        start = private_start(f, i, factor)
        for x in range(f.widths[a]):
            for y in range(f.widths[b]):
                z[start + x * f.widths[b] + y] = z[f.starts[a] + x] * z[f.starts[b] + y]
