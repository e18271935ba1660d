"""One factor of any kind: its best configuration, its log-partition function, and its marginals.

Both functions look at one factor. They take scores s of the parts of its linked variables, one
after the other in the order of its links, and scores p of its private parts; a configuration y
scores the sum over its parts, and scores of -inf forbid it. Results go to `out` and `private_out`,
which have the shapes of s and p:

    local_max(f, i, factor, s, p, out, private_out, floats, ints)        max_y s(y) + p(y); the
    indicators of a maximiser local_marginals(f, i, factor, s, p, out, private_out, floats, ints)
    log sum_y exp(s(y) + p(y)); the marginals

They return -inf and write zeros where no configuration is allowed. At temperature T, call
`local_marginals` with s / T and p / T and multiply the value by T. `f` is the record of instance i,
opened (`structopt.kernels.loopy.factors.open_factors`); `factor` counts over all instances;
`scratch_sizes` has the lengths of the scratch vectors for any factor of a record.

Costs: TREE O(n^3), its best tree O(n^2) where it need not be projective; AUTOMATON O(k^2); BUDGET
O(k B); the others linear in their parts. PAIRS are many independent factors in one row: s and `out`
hold two entries a pair, so that a variable which several of them share stands there several times,
and the value is the sum over the pairs. Kinds that the core does not know are looked up
(`structopt.kernels.loopy.open_kinds`).
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.loopy.factors import (
    AUTOMATON,
    BUDGET,
    EXACTLY_ONE,
    FACTORS,
    PAIRS,
    TABLE,
    TREE,
    extra_numbers,
    first_width,
)
from structopt.kernels.loopy.kinds.automaton import automaton_marginals, automaton_max
from structopt.kernels.loopy.kinds.budget import budget_marginals, budget_max
from structopt.kernels.loopy.kinds.exactly_one import exactly_one_marginals, exactly_one_max
from structopt.kernels.loopy.kinds.pairs import pairs_marginals, pairs_max
from structopt.kernels.loopy.kinds.table import table_marginals, table_max
from structopt.kernels.loopy.kinds.tree import tree_marginals, tree_max
from structopt.kernels.loopy.open_kinds import open_marginals, open_max
from structopt.kernels.waist.record import Record
from structopt.kernels.waist.signatures import inlined


def scratch_sizes(record: Record) -> tuple[int, int]:
    """Floats and ints that the functions need for any factor of a record, of the core's kinds."""
    f = FACTORS.open(record)
    links = np.diff(f.links)
    most = int(links.max(initial=0)) + 2
    floats, ints = [max(3 * most, int(f.widths.max(initial=0)))], [most]
    budgets = np.flatnonzero(f.kinds == BUDGET)
    chosen = np.minimum(f.extra[f.extras[budgets]], links[budgets])
    floats.append(int((2 * (links[budgets] + 1) * (chosen + 1)).max(initial=0)))
    first = f.extras[np.flatnonzero(f.kinds == TREE)]
    if len(first):
        from structopt.kernels.trees import arborescence, eisner  # compiled if there are trees
    for n, is_projective in set(
        zip(f.extra[first].tolist(), f.extra[first + 2].tolist(), strict=True)
    ):
        algorithms = eisner if is_projective else arborescence
        floats.append(2 * n * n + algorithms.floats_needed(n))
        ints.append(n + algorithms.ints_needed(n))
    return max(floats), max(ints)


@inlined
def local_max(f, i, factor, s, p, out, private_out, floats, ints):
    """max_y s(y) + p(y) over the configurations of a factor; the outs become the indicators of a
    maximiser.
    """
    kind, extra = f.kinds[factor], extra_numbers(f, factor)
    out[:] = 0.0
    private_out[:] = 0.0
    if kind == TREE:
        return tree_max(extra, s, out, floats, ints)
    if kind == AUTOMATON:
        return automaton_max(s, p, out, private_out, floats, ints)
    if kind == PAIRS:
        return pairs_max(s, p, out, private_out)
    if kind == EXACTLY_ONE:
        return exactly_one_max(s, out)
    if kind == BUDGET:
        return budget_max(extra[0], s, out)
    if kind == TABLE:
        return table_max(s, p, first_width(f, i, factor), out, private_out)
    return open_max(kind, extra, s, p, out, private_out, floats, ints)


@inlined
def local_marginals(f, i, factor, s, p, out, private_out, floats, ints):
    """log sum_y exp(s(y) + p(y)) over the configurations of a factor; the outs become the marginals
    of its parts.
    """
    kind, extra = f.kinds[factor], extra_numbers(f, factor)
    out[:] = 0.0
    private_out[:] = 0.0
    if kind == TREE:
        return tree_marginals(extra, s, out, floats, ints)
    if kind == AUTOMATON:
        return automaton_marginals(s, p, out, private_out, floats)
    if kind == PAIRS:
        return pairs_marginals(s, p, out, private_out)
    if kind == EXACTLY_ONE:
        return exactly_one_marginals(s, out)
    if kind == BUDGET:
        return budget_marginals(extra[0], s, out, floats)
    if kind == TABLE:
        return table_marginals(s, p, first_width(f, i, factor), out, private_out)
    return open_marginals(kind, extra, s, p, out, private_out, floats, ints)
