"""One pass of stochastic dual coordinate ascent along chords: block-coordinate Frank-Wolfe, and its form for any entropy.

In place of H(z_bar) stands a number h <= H(z_bar), the height of a point under the graph of H (its hypograph). With z' and its
entropy from the oracle, a step tau moves both along the chord, z_bar += tau (z' - z_bar), h += tau (H(z') - h):

    gap = u^T d + (H(z') - h)/beta,     tau = min(1, gap / (C ||F d||^2)).

At beta = inf, where H does not count, this is block-coordinate Frank-Wolfe. There the answers, vertices all, can be kept: every
z_bar is a mixture of kept vertices (`masses`) and of a rest, and mass moves between them without asking the oracle.
"""

from __future__ import annotations

from math import inf

from numba import types

from structopt.kernels.arrays.sampling import change, drawn
from structopt.kernels.learn.sdca import look, move, pull
from structopt.kernels.waist.signatures import INTS, LONGS, VECTOR, Kernels, driven, driver, inlined
from structopt.kernels.waist.target import cost_of, open_target, product
from structopt.kernels.waist.visit import augmented_scores, size

ENOUGH = 0.1  # steps to kept vertices end when the gap over them falls below this share of the oracle's


@inlined
def kept_score(u, parts, values, count):
    """u^T z_j of a kept vertex."""
    total = 0.0
    for q in range(count):
        total += values[q] * u[parts[q]]
    return total


@inlined
def find(z, parts, values, counts, room):
    """Slot that keeps the vertex z, or -1."""
    nonzero = 0
    for r in range(len(z)):
        if z[r] != 0.0:
            nonzero += 1
    for j in range(len(counts)):
        if counts[j] == nonzero:
            same, at = True, j * room
            for q in range(at, at + nonzero):
                same = same and z[parts[q]] == values[q]
            if same:
                return j
    return -1


@inlined
def keep(z, parts, values, counts, masses, room):
    """Put the vertex z in the place of the kept one with the least mass, whose mass joins the rest; -1 where it has no room."""
    chosen = 0
    for j in range(len(counts)):
        if counts[j] == 0:
            chosen = j
            break
        if masses[j] < masses[chosen]:
            chosen = j
    count, at = 0, chosen * room
    for r in range(len(z)):
        if z[r] != 0.0:
            count += 1
    if count > room:
        return -1
    q = at
    for r in range(len(z)):
        if z[r] != 0.0:
            parts[q], values[q] = r, z[r]
            q += 1
    counts[chosen], masses[chosen] = count, 0.0
    return chosen


@inlined
def toward(z, d, parts, values, counts, room, high, low):
    """d = z_high - z_bar where low < 0, else z_high - z_low."""
    if low < 0:
        for r in range(len(z)):
            d[r] = -z[r]
    else:
        d[:] = 0.0
        for q in range(low * room, low * room + counts[low]):
            d[parts[q]] -= values[q]
    for q in range(high * room, high * room + counts[high]):
        d[parts[q]] += values[q]


@driven
def kept_step(k, data, space, i, theta, lag, z, parts, values, counts, masses, room, C, weight, enough):
    """Move mass to the best kept vertex: from the worst one that has any, or where that gains more from all of z_bar.

    Returns (whether there was a gap above `enough`, change of gamma p^T z_bar).
    """
    u = augmented_scores(k, data, space, open_target(data.target), i, theta, data.parameters[1])
    d = space.direction[: len(u)]
    high, low, best, worst = -1, -1, -inf, inf
    for j in range(len(counts)):
        if counts[j] > 0:
            score = kept_score(u, parts[j * room :], values[j * room :], counts[j])
            if score > best:
                high, best = j, score
            if masses[j] > 0.0 and score < worst:
                low, worst = j, score
    gap, limit = best - product(z, u), 1.0
    if low >= 0 and best - worst > gap and low != high:
        gap, limit = best - worst, masses[low]
    else:
        low = -1
    if not gap > enough:
        return False, 0.0
    toward(z, d, parts, values, counts, room, high, low)
    Q = C * pull(k, data, space, i)
    tau = limit if gap >= limit * Q else gap / Q
    move(k, data, space, i, theta, lag, z, tau, C, weight)
    if low < 0:
        shift(masses, high, tau)
    else:
        masses[high] += tau
        masses[low] = 0.0 if tau == limit else masses[low] - tau
    return True, tau * data.parameters[1] * cost_of(open_target(data.target), i, d)


@inlined
def shift(masses, slot, tau):
    """Masses after z_bar += tau (z_slot - z_bar)."""
    for j in range(len(masses)):
        masses[j] *= 1.0 - tau
    if slot >= 0:
        masses[slot] += tau


@driver(
    types.void, LONGS, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR,
    INTS, VECTOR, LONGS, VECTOR, LONGS, types.float64, types.float64, VECTOR,
)  # fmt: skip
def block_frank_wolfe_pass(
    kernels, data, space, order, uniforms, tree, theta, lag, duals, gaps, entropies, costs,
    parts, values, counts, masses, rooms, C, visits, totals,
):  # fmt: skip
    """Steps along chords, beta any: variants (a), at beta = inf, and (c), below.

    Arguments as in `structopt.kernels.learn.sdca.sdca_pass`, `entropies` holding h/beta, and

    parts, values, counts, masses
        Kept vertices as sparse vectors, K slots an instance: part numbers and values, how many (0: an empty slot), and
        the share of z_bar that each one is. All empty where K = 0.
    rooms : shape (m + 1,)
        Offsets of the instances in `parts` and `values`, K slots of equal room each.
    """
    k, t = Kernels(*kernels), visits
    temperature, gamma = data.parameters[0], data.parameters[1]
    K = len(counts) // len(gaps)
    for visit in range(len(order)):
        i = drawn(order, uniforms, tree, visit)
        z, weight = duals[data.parts[i] : data.parts[i + 1]], t * (t + 1.0) / 2.0
        t += 1.0
        loss, value, here, slope = look(k, data, space, i, theta, z)
        gap = value - here - entropies[i]
        gaps[i] = max(gap, 0.0)
        totals[0] += loss
        if len(tree) > 0:
            change(tree, i, gaps[i])
        if gap <= 0.0:
            continue
        Q = C * pull(k, data, space, i)
        tau = 1.0 if gap >= Q else gap / Q
        rise = tau * (gap - slope) if temperature > 0.0 else 0.0
        charge = tau * gamma * cost_of(open_target(data.target), i, space.direction)
        move(k, data, space, i, theta, lag, z, tau, C, weight)
        if K > 0:
            room = (rooms[i + 1] - rooms[i]) // K
            own_parts, own_values = parts[rooms[i] : rooms[i + 1]], values[rooms[i] : rooms[i + 1]]
            own_counts, own_masses = counts[i * K : (i + 1) * K], masses[i * K : (i + 1) * K]
            answer = space.answer[: size(data, i)]
            slot = find(answer, own_parts, own_values, own_counts, room)
            shift(own_masses, -1, tau)
            if slot < 0:
                slot = keep(answer, own_parts, own_values, own_counts, own_masses, room)
            if slot >= 0:
                own_masses[slot] += tau
            for _ in range(K):
                stepped, further = kept_step(
                    k, data, space, i, theta, lag, z, own_parts, own_values, own_counts, own_masses, room, C, weight,
                    ENOUGH * gap,
                )  # fmt: skip
                if not stepped:
                    break
                charge += further
        entropies[i] += rise
        costs[i] += charge
        totals[1] += weight * (rise + charge)


@driver(types.void, INTS, VECTOR, LONGS, VECTOR, LONGS, VECTOR)
def keep_gold_pass(kernels, data, space, parts, values, counts, masses, rooms, duals):
    """Keep every instance's z_bar, a vertex, in its first slot, with all the mass."""
    m = len(rooms) - 1
    K = len(counts) // m
    for i in range(m):
        room, a, b = (rooms[i + 1] - rooms[i]) // K, rooms[i], rooms[i + 1]
        z = duals[data.parts[i] : data.parts[i + 1]]
        slot = keep(z, parts[a:b], values[a:b], counts[i * K : (i + 1) * K], masses[i * K : (i + 1) * K], room)
        if slot >= 0:
            masses[i * K + slot] = 1.0
