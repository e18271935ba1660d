"""Kinds of factors as a plugin has them: nothing in the package knows their names."""

from math import exp, inf, log1p

import numpy as np

from structopt.plugin import FactorKernels, FactorKind
from structopt.plugin.kernels import FACTOR_EXTEND, FACTOR_LOCAL, FACTOR_MESSAGES, kernel


@kernel(FACTOR_EXTEND)
def some(extra, x, private):
    """At least one is on."""
    return x.sum() > 0.0


@kernel(FACTOR_LOCAL)
def some_max(extra, s, p, out, private_out, floats, ints):
    """All with positive scores, or else the best one."""
    value, best = 0.0, np.argmax(s)
    for j in range(len(s)):
        if s[j] > 0.0 or j == best:
            out[j], value = 1.0, value + s[j]
    if value == -inf:
        out[:] = 0.0
    return value


@kernel(FACTOR_LOCAL)
def some_marginals(extra, s, p, out, private_out, floats, ints):
    """The sum over all configurations but the empty one; the scratch is used to see that it is
    there.
    """
    total = 0.0
    for j in range(len(s)):
        floats[j] = max(s[j], 0.0) + log1p(exp(-abs(s[j])))  # log(1 + e^s)
        total += floats[j]
    if total == 0.0:
        return -inf
    value = total + log1p(-exp(-total))
    for j in range(len(s)):
        out[j] = exp(total - floats[j] + s[j] - value)
    return value


@kernel(FACTOR_MESSAGES)
def some_messages(extra, n, p, hot, out, floats, ints):
    """With j on the others are free, with j off one of them is on."""
    for j in range(len(n)):
        total, best = 0.0, -inf
        for k in range(len(n)):
            if k != j:
                total += log1p(exp(n[k])) if hot else max(n[k], 0.0)
                best = max(best, n[k])
        if hot:
            out[j] = min(-log1p(-exp(-total)), 1e5) if total > 0.0 else 1e5
        else:
            out[j] = 0.0 if best > 0.0 else min(-best, 1e5)
    return n.max() > -inf


class AtLeastOne(FactorKind):
    """At least one of the linked binary variables is on: hard, with everything that a kind can
    have.
    """

    kernels = FactorKernels(some, some_max, some_marginals, some_messages)

    def extend(self, x, private, widths, extra):
        return x.sum() > 0

    def describe(self, rows, z, own, widths, extra):
        rows.add(1.0, np.inf, (np.zeros(len(z), int), z, 1.0), count=1)

    def scratch(self, parts, first, extra):
        return int(parts.max()), 0


class ExactlyK(FactorKind):
    """extra[0] of the linked binary variables are on: hard, with nothing compiled."""

    def extend(self, x, private, widths, extra):
        return x.sum() == extra[0]

    def describe(self, rows, z, own, widths, extra):
        rows.add(float(extra[0]), float(extra[0]), (np.zeros(len(z), int), z, 1.0), count=1)


@kernel(FACTOR_EXTEND)
def either_on(extra, x, private):
    """The private part is on where any variable is."""
    private[0] = x.max()
    return True


@kernel(FACTOR_LOCAL)
def either_max(extra, s, p, out, private_out, floats, ints):
    """Nothing, or the private part with the best of the rest."""
    value, best = p[0], np.argmax(s)
    for j in range(len(s)):
        if s[j] > 0.0 or j == best:
            out[j], value = 1.0, value + s[j]
    if not value > 0.0:
        out[:] = 0.0
        return 0.0
    private_out[0] = 1.0
    return value


class AnyOn(FactorKind):
    """A private part that is on where any of the linked binary variables is: soft."""

    hard = False
    kernels = FactorKernels(either_on, either_max)

    def extend(self, x, private, widths, extra):
        return either_on(extra, x, private)

    def describe(self, rows, z, own, widths, extra):
        each, one = np.arange(len(z)), np.zeros(len(z), int)
        rows.add(-np.inf, 0.0, (each, z, 1.0), (each, np.repeat(own, len(z)), -1.0), count=len(z))
        rows.add(0.0, np.inf, (one, z, 1.0), (one[:1], own, -1.0), count=1)


@kernel(FACTOR_EXTEND)
def same(extra, x, private):
    """All variables have the state of the first, whose private part is on."""
    K = extra[0]
    for r in range(K):
        private[r] = x[r]
    apart = 0.0
    for j in range(len(x)):
        apart += abs(x[j] - x[j % K])
    return apart == 0.0


@kernel(FACTOR_LOCAL)
def same_max(extra, s, p, out, private_out, floats, ints):
    """The best state."""
    K, best, most = extra[0], 0, -inf
    for r in range(K):
        value = p[r]
        for j in range(r, len(s), K):
            value += s[j]
        if value > most:
            best, most = r, value
    if most > -inf:
        private_out[best] = 1.0
        for j in range(best, len(s), K):
            out[j] = 1.0
    return most


class SameState(FactorKind):
    """All linked variables, of extra[0] states, have the same one; a private part a state: hard,
    with parts, not binary.
    """

    kernels = FactorKernels(same, same_max)

    def extend(self, x, private, widths, extra):
        return same(extra, x, private)

    def describe(self, rows, z, own, widths, extra):
        each = np.arange(len(z))
        rows.add(0.0, 0.0, (each, z, 1.0), (each, np.tile(own, len(widths)), -1.0), count=len(z))


@kernel(FACTOR_LOCAL)
def lonely_max(extra, s, p, out, private_out, floats, ints):
    return 0.0


class Undescribed(FactorKind):
    """Anything goes: without rows, and with a function of the wrong signature."""

    kernels = FactorKernels(lonely_max, lonely_max)

    def extend(self, x, private, widths, extra):
        return True
