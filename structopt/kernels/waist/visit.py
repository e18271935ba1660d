"""The visit of one instance: scores, the loss and its residual, the inference."""

from __future__ import annotations

from structopt.kernels.waist.halting import count_visit, halted
from structopt.kernels.waist.signatures import driven
from structopt.kernels.waist.target import add_cost
from structopt.kernels.waist.views import part


@driven
def visit(k, data, space, i, theta):
    """L_i(theta); afterwards ``space.residual[:size(data, i)]`` holds the residual z_bar - z, and
    the scores are overwritten.

    Both are those of w_i L_i, where instances have weights.
    """
    return visit_into(k, data, space, i, theta, part(space.residual, 0, size(data, i)))


@driven
def visit_into(k, data, space, i, theta, residual):
    """L_i(theta), its residual written to the vector `residual`. Once work is halted both are 0, so
    that any driver ends soon.
    """
    return visit_by(k.scores, k, data, space, i, theta, residual)


@driven
def visit_listed(k, data, space, i, theta):
    """`visit` of the instance whose runs of weights have just been listed with ``space.gradient``
    as scratch.
    """
    return visit_by(
        k.listed_scores, k, data, space, i, theta, part(space.residual, 0, size(data, i))
    )


@driven
def visit_by(scores, k, data, space, i, theta, residual):
    """`visit_into` by the given kernel for the scores."""
    if halted():
        residual[:] = 0.0
        return 0.0
    s = part(space.scores, 0, len(residual))
    scores(data.features, theta, i, s, space.gradient)
    return evaluate(k, data, space, i, s, residual)


@driven
def evaluate(k, data, space, i, s, residual):
    """L_i at the scores s, which are overwritten; `residual` becomes z_bar - z. Both are times the
    weight of the instance.
    """
    count_visit()
    loss = k.evaluate(
        k.solve,
        data.structure,
        data.target,
        data.parameters,
        i,
        s,
        residual,
        part(space.second_scores, 0, len(residual)),
        part(space.second_answer, 0, len(residual)),
        part(data.messages, data.memory[i], data.memory[i + 1]),
        space.work,
    )
    if len(data.weights) == 0:
        return loss
    residual *= data.weights[i]
    return data.weights[i] * loss


@driven
def image(k, data, space, i, dense, out):
    """Write F_i^T g to `out`, g the sparse gradient of the last pullback; `dense` is zero before
    and after.
    """
    k.add(data.features, dense, space.gradient, 1.0)
    k.scores(data.features, dense, i, out, space.gradient)
    k.add(data.features, dense, space.gradient, -1.0)  # 0 + g - g is exactly 0


@driven
def augmented_scores(k, data, space, t, i, theta, gamma, s):
    """s = F^T theta + gamma p of instance i, t being the opened targets."""
    k.scores(data.features, theta, i, s, space.gradient)
    add_cost(t, i, gamma, s)


@driven
def size(data, i):
    """Return the number of parts of instance i."""
    return data.parts[i + 1] - data.parts[i]


@driven
def solve(k, data, space, i, s, temperature, z):
    """Call the inference on the scores s, which it may overwrite, and return the value; z becomes
    its (sub)gradient.
    """
    count_visit()
    return k.solve(
        data.structure,
        i,
        s,
        temperature,
        z,
        part(data.messages, data.memory[i], data.memory[i + 1]),
        space.work,
    )
