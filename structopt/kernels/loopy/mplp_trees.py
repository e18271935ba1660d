"""Star updates along a spanning forest, from the leaves to the roots and back: an upper bound on
the best score that never rises, and that is the best score of a tree after one pass.

A star update takes the sum B_j = b_j + sum_e v_e out of the edges e of a variable j, and leaves the
variable and each edge a share of it. With any shares that sum to 1 it reaches the least bound over
the messages into j, since all shares have their maximum at one state:

    d_ej(y_j) = v_ej(y_j) - w_e B_j(y_j).

`structopt.kernels.loopy.mplp_states` has equal shares. Here variables are visited in an
order in which the children of a forest follow their parents. On the way up an edge to a variable
that is still to come has the share 1 / (number of these), and all others none: a tree hands its
best score to its root, which is the least bound over the messages of all its edges. On the way down
the share is 1 / max(number of these, number of the others), as in sequential tree-reweighted
message passing, and the variable keeps the rest. Equal shares on another way up spread the slack
over all edges, so that maximisers of variables and edges agree where the bound is tight. A pass
costs three times as much as one of stars. Sontag and Jaakkola (2009); Kolmogorov (2006).
"""

from __future__ import annotations

from structopt.kernels.loopy.forests.layout import open_forests
from structopt.kernels.loopy.mplp_states import collect, update_star
from structopt.kernels.waist.signatures import inlined


@inlined
def visit(f, i, s, low, j, up, x):
    """Update the messages into a variable on the way up, or down."""
    K, ahead, begin, end = collect(f, i, s, low, j, x), 0, x.first[j], x.first[j + 1]
    linked = f.linked[f.links[f.factors[i]] :]
    for slot in range(begin, end):
        other = linked[x.links[slot] ^ 1]
        ahead += (x.place[other] < x.place[j]) == up
    behind = 0 if up else end - begin - ahead
    share = 1.0 / max(1, max(ahead, behind))
    for slot in range(begin, end):
        link = x.links[slot]
        if (x.place[linked[link ^ 1]] < x.place[j]) == up:
            for y in range(K):
                x.messages[x.starts[link] + y] -= share * x.belief[y]


@inlined
def tree_pass(f, i, s, low, x):
    """One pass of the update; return the terms of the variables in the bound."""
    order, value = open_forests(f, i, x.forests).order, 0.0
    for q in range(len(order)):
        x.place[order[q]] = q
    for j in order[::-1]:
        visit(f, i, s, low, j, True, x)
    for j in order:
        visit(f, i, s, low, j, False, x)
    for j in order[::-1]:
        value += update_star(f, i, s, low, j, x)
    return value
