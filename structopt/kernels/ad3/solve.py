"""Alternating directions dual decomposition: the linear relaxation of factor graphs, one factor at
a time.

Every factor f has a copy q_f of the variables' parts it links, that lies in the convex hull of its
configurations, and the copies are to agree with u. With s_v / d_v for the share of a part's score
that each of its d_v copies gets:

    q_f = argmax  sum_v (s_v / d_v + lambda_fv) q_fv + s_p^T p_f - eta/2 ||q_f - u||^2      every
    factor alone u_v = mean of the q_fv;     lambda_fv -= eta (q_fv - u_v)

At any lambda that sums to zero over the copies of every part,  sum_f max_y (s_v / d_v +
lambda_fv)^T y + s_p^T p  is an upper bound on the best score (and on the relaxation's value, to
which it converges), however badly the problems of the factors were solved: those by active sets go
on in the next pass where they have not come to an end. Every few passes u is rounded to an output.
Where its score is the bound it is the best output, and the passes end; under scores that are nearly
all tied, as at the first weights of learning, that is at once.

Martins, Figueiredo, Aguiar, Smith and Xing (2011; 2015, algorithm 2). The copies are over-relaxed
before the step of u and lambda, and eta is balanced between the two residuals (Boyd et al. 2011,
sections 3.4.1 and 3.4.3). Every few passes they go on from where the last ones lead, if the bound
is lower there (`structopt.kernels.ad3.extrapolation`).
"""

from __future__ import annotations

from math import inf, nan

from structopt.kernels.ad3.branch_and_bound import branch
from structopt.kernels.ad3.relaxation import relax
from structopt.kernels.ad3.work import open_work
from structopt.kernels.loopy.factors import open_factors
from structopt.kernels.waist.signatures import SOLVE, kernel


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """Upper bound on max_z s^T z over the outputs of instance i; z is near the maximiser of the
    linear relaxation.

    Where z is integral it is the best output and the value its score; the option `exact` branches
    until it is. -inf and zero where a factor has no configuration left, nan at temperatures other
    than 0.
    """
    f, w = open_factors(structure), open_work(work)
    if temperature != 0.0:
        z[:] = nan
        return nan
    if w.exact:
        return branch(f, i, s, memory, w, z)
    return relax(f, i, s, memory, -inf, w, z)[0]
