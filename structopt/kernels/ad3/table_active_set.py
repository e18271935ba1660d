"""The quadratic problem of a table over two variables, by an active set of its pairs of states.

With mu_xy the weight of the states x and y of variables with K and L of them, p their scores, and q
the sums of mu:

    max_mu  sum_xy mu_xy (a_x + b_y + p_xy / eta) - ( sum_x q_x^2 + sum_y q_y^2 ) / 2,    mu >= 0,
    sum_xy mu_xy = 1

It is the method of `structopt.kernels.ad3.active_set`, for configurations that are two numbers and
have no more than two parts in common. The weights of a set of N pairs that may have any sign, and
the multiplier t of their sum, solve

    A (t, mu) = (1, aim),    A = [[0, 1^T], [1, G]],    aim_xy = a_x + b_y + p_xy / eta,    G = [x =
    x'] + [y = y'],

and the inverse of A is kept, bordered by a row and column for each pair that comes and reduced for
each that goes. The pairs of a set are the edges of a forest between the states of both variables,
so that there are at most K + L - 1: where one would close a cycle, weight moves along it until a
pair is out. A problem near the last one's takes O(N^2 + K L) and changes nothing; this is most of
the time of a pass, and goes by vector instructions.
"""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.arrays.row_tables import set_combined, set_maximised
from structopt.kernels.arrays.rows import set_scaled, set_scaled_difference, set_zero
from structopt.kernels.waist.signatures import inlined, merged
from structopt.kernels.waist.views import part, table

MOST = 256  # pairs that are kept of a table
CALLS = 4  # best pairs that one visit computes
STEPS = 20  # walks of one visit
CYCLE = 1e-6  # below every pivot of a forest's matrix


@inlined
def table_capacity(k):
    """N, for a table whose variables have k states together: a forest of these has k - 1 edges."""
    return min(k - 1, MOST)


@inlined
def table_size(k):
    """Floats of a table's set: the weights and the inverse of A, N + 1 numbers a row; and ints: two
    states a pair.
    """
    N = table_capacity(k)
    return N + (N + 1) * (N + 1), 2 * N


@inlined
def begin(x, y, floats, weights, inverse, members, member):
    """The set of one pair alone."""
    N = inverse - weights
    members[member], members[member + 1], floats[weights] = x, y, 1.0
    floats[inverse], floats[inverse + 1], floats[inverse + N + 1], floats[inverse + N + 2] = (
        -2.0,
        1.0,
        1.0,
        0.0,
    )


@merged
def take_out(gone, count, floats, weights, inverse, members, member):
    """Remove a pair from a set of `count`; the last one takes its index. O(N^2)."""
    M = inverse - weights + 1
    row = inverse + (gone + 1) * M
    pivot = floats[row + gone + 1]
    for j in range(count + 1):
        factor, target = floats[row + j] / pivot, inverse + j * M
        if factor != 0.0 and j != gone + 1:
            for m in range(count + 1):
                floats[target + m] -= factor * floats[row + m]
    last = count - 1
    if gone < last:
        moved = inverse + (last + 1) * M
        for j in range(count + 1):
            floats[row + j] = floats[moved + j]
        for j in range(count + 1):
            floats[inverse + j * M + gone + 1] = floats[inverse + j * M + last + 1]
        floats[weights + gone] = floats[weights + last]
        members[member + 2 * gone], members[member + 2 * gone + 1] = (
            members[member + 2 * last],
            members[member + 2 * last + 1],
        )


@merged
def border(x, y, count, floats, weights, inverse, members, member, h):
    """Fill h with A^-1 g, g the new column of A for a pair of states; the pivot 2 - g^T h, and
    whether the pair is there.
    """
    M = inverse - weights + 1
    for j in range(count + 1):
        h[j] = floats[inverse + j * M]
    for m in range(count):
        g = (members[member + 2 * m] == x) + (members[member + 2 * m + 1] == y)
        if g == 2:
            return 0.0, True
        if g == 1:
            for j in range(count + 1):
                h[j] += floats[inverse + j * M + m + 1]
    pivot = 2.0 - h[0]
    for m in range(count):
        pivot -= ((members[member + 2 * m] == x) + (members[member + 2 * m + 1] == y)) * h[m + 1]
    return pivot, False


@merged
def put_in(x, y, count, floats, weights, inverse, members, member, h):
    """Add a pair of states with the weight 0 to a set of `count`; how many there are then, 0 if it
    is there already. O(N^2).

    Where it closes a cycle it comes in place of another pair, with the weight that it takes from
    the cycle.
    """
    N, weight = inverse - weights, 0.0
    pivot, present = border(x, y, count, floats, weights, inverse, members, member, h)
    if present:
        return 0
    if pivot < CYCLE or count == N:
        gone, least = -1, inf
        for j in range(count):
            share = (
                floats[weights + j]
                if pivot >= CYCLE
                else (floats[weights + j] / h[j + 1] if h[j + 1] > CYCLE else inf)
            )
            if share < least:
                gone, least = j, share
        weight = least
        if pivot < CYCLE:
            for j in range(count):
                floats[weights + j] = max(0.0, floats[weights + j] - weight * h[j + 1])
        take_out(gone, count, floats, weights, inverse, members, member)
        count -= 1
        pivot, _ = border(x, y, count, floats, weights, inverse, members, member, h)
    new = inverse + (count + 1) * (N + 1)
    for j in range(count + 1):
        factor, row = h[j] / pivot, inverse + j * (N + 1)
        for m in range(count + 1):
            floats[row + m] += factor * h[m]
        floats[row + count + 1] = floats[new + j] = -factor
    floats[new + count + 1], floats[weights + count] = 1.0 / pivot, weight
    members[member + 2 * count], members[member + 2 * count + 1] = x, y
    return count + 1


@merged
def walk_weights(count, floats, weights, target):
    """Move the weights to `target`, the best ones of the set, or until one is zero; that pair, or
    -1.
    """
    step, blocking = 1.0, -1
    for j in range(count):
        best, weight = target[np.uint64(j + 1)], floats[np.uint64(weights + j)]
        if best < 0.0 and weight < step * (weight - best):
            step, blocking = weight / (weight - best), j
    for j in range(count):
        best, weight = target[np.uint64(j + 1)], floats[np.uint64(weights + j)]
        floats[np.uint64(weights + j)] = (
            best if blocking < 0 else max(0.0, weight + step * (best - weight))
        )
    return blocking


@merged
def add_up(count, c, K, L, floats, weights, members, member, q):
    """q[c :] = sums of the weights of the pairs that have each state."""
    first, second = part(q, c, c + K), part(q, c + K, c + K + L)
    set_zero(part(q, c, c + K + L))
    for j in range(count):
        weight = floats[np.uint64(weights + j)]
        first[np.uint64(members[np.uint64(member + 2 * j)])] += weight
        second[np.uint64(members[np.uint64(member + 2 * j + 1)])] += weight


@merged
def best_pair(a, p, first, K, L, tops, places):
    """The states of the best a_x + b_y + p_xy, and its value; a holds K and L numbers, the last two
    are scratch.
    """
    set_maximised(part(tops, 0, L), places, part(a, 0, K), table(p, first, K, L))
    top, best = -inf, 0
    for y in range(L):
        value = tops[np.uint64(y)] + a[np.uint64(K + y)]
        if value > top:
            top, best = value, y
    return places[best], best, top


@merged
def solve_table(a, c, p, first, K, L, eta, floats, weights, members, member, counts, number, w, q):
    """Fill q[c :] with the solution for a table with scores p[first :], a[c :] being those of the K
    + L states.

    The set lies at floats[weights :] and members[member :] and has counts[number] pairs, w is
    scratch. Returns False where CALLS or STEPS ended the visit before: q is then the best so far,
    and the next visit goes on from it.
    """
    M = table_capacity(K + L) + 1
    count, inverse, inverse_eta, scaled, calls = (
        counts[number],
        weights + M - 1,
        1.0 / eta,
        w.vector,
        0,
    )
    aim, target, tops, places = w.image, w.target, w.tops, w.places
    if count == 0:
        set_scaled(part(scaled, 0, K + L), eta, part(a, c, c + K + L))
        x, y, _ = best_pair(scaled, p, first, K, L, tops, places)
        begin(x, y, floats, weights, inverse, members, member)
        count = 1
    solved, aim[0] = False, 1.0
    for _ in range(STEPS):
        for j in range(count):
            x, y = (
                np.int64(members[np.uint64(member + 2 * j)]),
                np.int64(members[np.uint64(member + 2 * j + 1)]),
            )
            own = p[np.uint64(first + x * L + y)] * inverse_eta
            aim[np.uint64(j + 1)] = a[np.uint64(c + x)] + a[np.uint64(c + K + y)] + own
        set_combined(
            part(target, 0, M), part(aim, 0, count + 1), table(floats, inverse, count + 1, M)
        )
        blocking, multiplier = walk_weights(count, floats, weights, target), target[0]
        if blocking >= 0:
            take_out(blocking, count, floats, weights, inverse, members, member)
            count -= 1
            continue
        add_up(count, c, K, L, floats, weights, members, member, q)
        if calls == CALLS:
            break
        calls += 1
        set_scaled_difference(
            part(scaled, 0, K + L), eta, part(a, c, c + K + L), part(q, c, c + K + L)
        )
        x, y, value = best_pair(scaled, p, first, K, L, tops, places)
        solved = not value * inverse_eta > multiplier + 1e-9 * max(1.0, abs(multiplier))
        if not solved:
            after = put_in(x, y, count, floats, weights, inverse, members, member, target)
            solved, count = (True, count) if after == 0 else (False, after)
        if solved:
            break
    counts[number] = count
    if not solved:
        add_up(count, c, K, L, floats, weights, members, member, q)
    return solved
