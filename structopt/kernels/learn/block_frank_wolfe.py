"""One pass of block-coordinate Frank-Wolfe, and of its form for any entropy: dual coordinate ascent
along chords.

Where the entropy has no closed form, a number h <= H(z_bar) is used instead of it: (z_bar, h) is a
point below the graph of H (in its hypograph). With z' and its entropy from the oracle, a step tau
moves both, z_bar += tau (z' - z_bar), h += tau (H(z') - h):

    gap = u^T d + (H(z') - h)/beta,     tau = min(1, gap / (C ||F d||^2)).

At beta = inf, where H does not count, this is block-coordinate Frank-Wolfe. There the oracle's
answers are vertices, and can be kept: every z_bar is a mixture of kept vertices (`masses`) and of a
rest, and mass moves between them without calling the oracle.
"""

from __future__ import annotations

from math import inf
from typing import Any

from numba import types

from structopt.kernels.arrays.sampling import drawn
from structopt.kernels.learn.sdca import measure_gap, move, pull
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import INTS, LONGS, VECTOR, driven, driver, inlined
from structopt.kernels.waist.target import cost_of, open_target, product
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import augmented_scores, size

# steps to kept vertices end when the gap over them falls below this share of the oracle's
ENOUGH = 0.1


@inlined
def kept_score(u, parts, values, count):
    """u^T z_j of a kept vertex."""
    total = 0.0
    for q in range(count):
        total += values[q] * u[parts[q]]
    return total


@inlined
def find(z, parts, values, counts, room):
    """Return the slot of the kept vertex z, or -1."""
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
    """Keep the vertex z in an empty slot, or else instead of the one with the least mass, whose
    mass joins the rest.

    Returns the slot; -1 where z has more non-zero entries than a slot has `room` for.
    """
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
    """Fill d with z_high - z_bar where low < 0, else with z_high - z_low."""
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
def kept_step(
    k, data, space, i, theta, lag, z, parts, values, counts, masses, room, C, weight, enough
):
    """Move mass to the best kept vertex: from the worst one that has any, or from all of z_bar
    where that gains more.

    Returns whether there was a gap above `enough`, and the change of gamma p^T z_bar.
    """
    u, d, t = (
        part(space.scores, 0, len(z)),
        part(space.direction, 0, len(z)),
        open_target(data.target),
    )
    augmented_scores(k, data, space, t, i, theta, data.parameters[1], u)
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
    return True, tau * data.parameters[1] * cost_of(t, i, d)


@inlined
def shift(masses, slot, tau):
    """Update the masses for z_bar += tau (z_slot - z_bar); with slot = -1 the mass tau is left to
    the caller.
    """
    for j in range(len(masses)):
        masses[j] *= 1.0 - tau
    if slot >= 0:
        masses[slot] += tau


@driver(
    types.void,
    LONGS,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    INTS,
    VECTOR,
    LONGS,
    VECTOR,
    LONGS,
    types.float64,
    types.float64,
    VECTOR,
)
def block_frank_wolfe_pass(
    k: Any,
    data: Any,
    space: Any,
    order: Array,
    uniforms: Array,
    tree: Array,
    theta: Array,
    lag: Array,
    duals: Array,
    gaps: Array,
    entropies: Array,
    costs: Array,
    parts: Array,
    values: Array,
    counts: Array,
    masses: Array,
    rooms: Array,
    C: float,
    visits: float,
    totals: Array,
) -> None:
    """Make visits with steps along chords, at beta = inf or below.

    Arguments as in `structopt.kernels.learn.sdca.sdca_pass`, `entropies` holding h/beta, and

    parts, values, counts, masses
        Kept vertices as sparse vectors, K slots an instance: part numbers and values, how many they
        are (0: an empty slot), and the mass of the vertex in z_bar. All empty where K = 0.
    rooms : shape (m + 1,)
        Offsets of the instances in `parts` and `values`; the K slots of an instance are of the same
        length.
    """
    t = visits
    temperature, gamma = data.parameters[0], data.parameters[1]
    K = len(counts) // len(gaps)
    for visit in range(len(order)):
        if halted():
            break
        i = drawn(order, uniforms, tree, visit)
        z, weight = duals[data.parts[i] : data.parts[i + 1]], t * (t + 1.0) / 2.0
        t += 1.0
        gap, _, slope = measure_gap(k, data, space, i, theta, z, tree, gaps, entropies, totals)
        if gap <= 0.0:
            continue
        Q = C * pull(k, data, space, i)
        tau = 1.0 if gap >= Q else gap / Q
        rise = tau * (gap - slope) if temperature > 0.0 else 0.0
        charge = tau * gamma * cost_of(open_target(data.target), i, space.direction)
        move(k, data, space, i, theta, lag, z, tau, C, weight)
        if K > 0:
            room = (rooms[i + 1] - rooms[i]) // K
            kept_parts, kept_values = (
                parts[rooms[i] : rooms[i + 1]],
                values[rooms[i] : rooms[i + 1]],
            )
            kept_counts, kept_masses = counts[i * K : (i + 1) * K], masses[i * K : (i + 1) * K]
            answer = part(space.answer, 0, size(data, i))
            slot = find(answer, kept_parts, kept_values, kept_counts, room)
            shift(kept_masses, -1, tau)
            if slot < 0:
                slot = keep(answer, kept_parts, kept_values, kept_counts, kept_masses, room)
            if slot >= 0:
                kept_masses[slot] += tau
            for _ in range(K):
                stepped, further = kept_step(
                    k,
                    data,
                    space,
                    i,
                    theta,
                    lag,
                    z,
                    kept_parts,
                    kept_values,
                    kept_counts,
                    kept_masses,
                    room,
                    C,
                    weight,
                    ENOUGH * gap,
                )
                if not stepped:
                    break
                charge += further
        entropies[i] += rise
        costs[i] += charge
        totals[1] += weight * (rise + charge)


@driver(types.void, INTS, VECTOR, LONGS, VECTOR, LONGS, VECTOR)
def keep_gold_pass(
    k: Any,
    data: Any,
    space: Any,
    parts: Array,
    values: Array,
    counts: Array,
    masses: Array,
    rooms: Array,
    duals: Array,
) -> None:
    """Keep every instance's z_bar, which must be a vertex, in its first slot, with all the mass."""
    m = len(rooms) - 1
    K = len(counts) // m
    for i in range(m):
        room, a, b = (rooms[i + 1] - rooms[i]) // K, rooms[i], rooms[i + 1]
        z = duals[data.parts[i] : data.parts[i + 1]]
        slot = keep(
            z,
            parts[a:b],
            values[a:b],
            counts[i * K : (i + 1) * K],
            masses[i * K : (i + 1) * K],
            room,
        )
        if slot >= 0:
            masses[i * K + slot] = 1.0
