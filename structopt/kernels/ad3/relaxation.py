"""The passes of dual decomposition over one instance, and when they end."""

from __future__ import annotations

from math import inf, sqrt

from structopt.kernels.ad3.bounds import bound
from structopt.kernels.ad3.extrapolation import PASSES, extrapolate
from structopt.kernels.ad3.factor_problems import factor_pass, write_answer
from structopt.kernels.ad3.rounding import round_output
from structopt.kernels.ad3.work import divide, gather, remember
from structopt.kernels.arrays.rows import set_row
from structopt.kernels.loopy.private_parts import fill_private
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.signatures import inlined

RELAXATION = 1.8  # over-relaxation of the copies: steps are longer by this factor
PROVED = 1e-10  # relative difference at which the score of an output is the bound
# times the tolerance and the root mean square of the scores: how far the bound must fall
STALLED = 1.0
PATIENCE = 0.2  # within this share of the passes that are allowed
UNEVEN = 3.0  # ratio of the residuals at which eta is doubled or halved
SETTLED = 500  # passes after which eta stays, so that the copies converge
RANGE = 16.0  # how far eta may go from where it began


@inlined
def start(f, i, copies, memory, w):
    """Take lambda and u from the last visit's messages, or set lambda to 0; return whether there
    were any messages.
    """
    recalled = len(memory) > 0 and memory[len(memory) - 1] != 0.0
    w.multipliers[:copies] = 0.0
    if recalled:
        set_row(w.multipliers[:copies], memory[:copies])
        w.mean[: f.shared[i]] = memory[copies : copies + f.shared[i]]
    w.counts[: f.factors[i + 1] - f.factors[i]] = 0
    return recalled


@inlined
def score_unit(s):
    """Root mean square of the scores, 1 where they are all 0."""
    total, count = 0.0, 0
    for r in range(len(s)):
        if s[r] > -inf:
            total, count = total + s[r] * s[r], count + 1
    return sqrt(total / count) if total > 0.0 else 1.0


@inlined
def step(f, i, copies, eta, number, w):
    """Move u to the mean of the over-relaxed copies, and lambda; root mean squares of disagreement
    and of movement.

    The move of u + lambda / eta is kept as the one of that number.
    """
    shared, disagreement, movement, kept = f.shared[i], 0.0, 0.0, number * copies
    sums, part, q, degree, mean, multipliers = (
        w.sums,
        w.part,
        w.copies,
        w.degree,
        w.mean,
        w.multipliers,
    )
    moves, shifts = w.moves, w.shifts
    sums[:shared] = 0.0
    for c in range(copies):
        sums[part[c]] += q[c]
    for r in range(shared):
        if degree[r] > 0.0:
            sums[r] /= degree[r]
            shifts[r] = sums[r] - mean[r]
            movement += degree[r] * shifts[r] * shifts[r]
            mean[r] += RELAXATION * shifts[r]
    for c in range(copies):
        r = part[c]
        apart = q[c] - sums[r]
        multipliers[c] -= eta * RELAXATION * apart
        moves[kept + c] = RELAXATION * (shifts[r] - apart)
        disagreement += apart * apart
    size = max(1, copies)
    return sqrt(disagreement / size), sqrt(movement / size)


@inlined
def balance(eta, first, disagreement, movement):
    """Double eta where the copies disagree much more than they move, halve it in the other case; up
    to RANGE times the first.
    """
    if disagreement > UNEVEN * movement:
        return min(2.0 * eta, RANGE * first)
    if movement > UNEVEN * disagreement:
        return max(eta / 2.0, first / RANGE)
    return eta


@inlined
def look(f, i, s, alone, fresh, w, z):
    """Upper bound at the present lambda, and the score of an output near u, or of the maximisers'
    output if they agree.

    The output goes to z. `fresh`: u becomes the maximisers' mean before.
    """
    value, agreed = bound(f, i, s, w)
    if value == -inf:
        return value, -inf
    for part in range(f.shared[i]):
        if w.degree[part] > 0.0 and (fresh or agreed):
            w.mean[part] = w.sums[part] / w.degree[part]
    return value + alone, round_output(f, i, s, w, z)


@inlined
def relax(f, i, s, memory, worthless, w, z):
    """Upper bound on the best score under s, and the best score of an output met, which is in
    w.output.

    z is that output, and the value its score, where the bound meets it; else z is u, with private
    parts near a factor's own solution. Passes end once the bound is no more than `worthless`; where
    it is -inf, z is zero.
    """
    copies, shared = gather(f, i, w), f.shared[i]
    alone = divide(f, i, s, w, z)
    recalled = start(f, i, copies, memory, w)
    value, best_score, t, again, done = inf, -inf, 0, True, False
    unit, disagreement, movement = score_unit(s), 0.0, 0.0
    eta, level, since = w.eta * unit, inf, 0
    while True:
        if done or t == w.passes or t % PASSES == 0:
            upper, score = look(f, i, s, alone, t == 0 and not recalled, w, z)
            value = min(value, upper)
            if value == -inf:
                z[:] = 0.0
                return value, -inf
            if score > best_score:
                best_score = score
                set_row(w.output[:shared], z[:shared])
            if value < level - STALLED * w.tolerance * unit:
                level, since = value, t
            if value - best_score <= PROVED * max(1.0, abs(value)) or value <= worthless:
                break
            if done or t == w.passes or t - since >= PATIENCE * w.passes or halted():
                break
            if t > 0:
                value = min(value, extrapolate(f, i, copies, s, eta, upper - alone, w) + alone)
                before = eta
                if t <= SETTLED:
                    eta = balance(eta, w.eta * unit, disagreement, movement * eta / unit)
                again = eta != before
        solved = factor_pass(f, i, s, eta, again, w)
        disagreement, movement = step(f, i, copies, eta, t % PASSES, w)
        t, again = t + 1, False
        # a large eta hides that lambda still moves
        done = solved and max(disagreement, movement) * max(1.0, eta / unit) < w.tolerance
    w.spent[0] = t
    if value - best_score <= PROVED * max(1.0, abs(value)):
        value = best_score
        w.mean[:shared] = z[:shared] = w.output[:shared]
        fill_private(f, i, z)
    else:
        write_answer(f, i, s, eta, w, z)
    remember(copies, shared, w, memory)
    return value, best_score
