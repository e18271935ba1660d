"""Small problems of the shipped corpora, built as a run builds them, and their certified optima."""

import numpy as np

from structopt import datasets
from structopt.config.composition import compose
from structopt.config.validation import validate
from structopt.optimizer.sdca import SDCA
from structopt.run.components import make_components
from structopt.run.reading import read

BINARY = ("sport", "culture")  # two classes of the shipped multiclass corpus


def shipped(task, member, C, folder, optimizer="eg", limit=40, more=()):
    """Problem of the first instances of a shipped corpus; ``binary`` is multiclass with two of its
    classes.
    """
    overrides = [f"task={task}"]
    if task == "binary":
        lines = datasets.path("train", "libsvm").read_text().splitlines(True)
        (folder / "two.libsvm").write_text(
            "".join(line for line in lines if line.split()[0] in BINARY)
        )
        overrides = ["task=multiclass", f"task.train={folder / 'two.libsvm'}"]
    chosen = [
        f"loss={member}",
        f"optimizer={optimizer}",
        f"optimizer.C={C}",
        f"task.limit={limit}",
        "tracker=none",
        *more,
    ]
    config = validate(compose([*overrides, *chosen]))
    return read(config, make_components(config)).problem


def certified(problem, gap=5e-3):
    """Return P and D of sdca, between which the least P is, when they differ by less than `gap`,
    relative to D.
    """
    method = SDCA(sampling="gap")
    state = method.init(problem, np.zeros(problem.dimension))
    for epoch in range(1, 1001):
        state, report = method.step(problem, state)
        if (
            epoch % 10 == 0
            and (primal := problem.objective(method.weights(state))) - report.dual
            <= gap * report.dual
        ):
            return primal, report.dual
    raise AssertionError("sdca has not converged")
