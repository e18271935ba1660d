"""Small problems with every output listed, and their optimum by cvxpy."""

from structopt.reference.primal import Listed, minimum
from structopt.testing.problems import outputs

OPTIMA = {}


def listed_instance(problem, i):
    """Differences and costs of all outputs of an instance."""
    listing = outputs(problem, i)
    return Listed((listing.vertices - listing.gold) @ listing.features, listing.costs)


def listed(problem):
    """Differences and costs of all outputs of every instance."""
    return [listed_instance(problem, i) for i in range(problem.m)]


def minimum_of(problem):
    """Minimiser and minimum of P, for a loss of the family; computed once per problem."""
    loss, digest = problem.loss, problem.fingerprint.digest
    key = digest, problem.C, loss.beta, loss.gamma, problem.penalty, problem.scorer.count
    if key not in OPTIMA:
        OPTIMA[key] = minimum(listed(problem), problem.C, loss.beta, loss.gamma, problem.penalty)
    return OPTIMA[key]
