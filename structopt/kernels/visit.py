"""What every driver does at an instance."""

from __future__ import annotations

from structopt.kernels.signatures import driven


@driven
def visit(k, data, space, i, theta):
    """L_i(theta); afterwards ``space.residual[:size(data, i)]`` holds the residual z_bar - z, and the scores are spoilt."""
    n = data.parts[i + 1] - data.parts[i]
    k.scores(data.features, theta, i, space.scores[:n])
    return k.evaluate(
        k.solve, data.structure, data.target, data.parameters, i, space.scores[:n], space.residual[:n],
        data.messages[data.memory[i] : data.memory[i + 1]], space.work,
    )  # fmt: skip


@driven
def size(data, i):
    """Return the number of parts of instance i."""
    return data.parts[i + 1] - data.parts[i]


@driven
def solve(k, data, space, i, s, temperature, z):
    """Call the inference on given scores (which it may spoil): the value; z becomes its (sub)gradient."""
    return k.solve(
        data.structure, i, s, temperature, z, data.messages[data.memory[i] : data.memory[i + 1]], space.work
    )
