"""Components restored from a model folder: whatever is wrong with what was saved is one error that
names the folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from structopt.config import compatibility, registry
from structopt.config.wording import keyed
from structopt.core.data.encoded import Encoded
from structopt.core.data.saved_state import SavedState
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.scorer import Scorer, SparseFeatures
from structopt.core.task import Task
from structopt.errors import ConfigError, ModelError, StructoptError
from structopt.kernels.waist.record import Array
from structopt.objective.examples import Examples

REMEDY = (
    "The files were altered, or are not of one model. Take the folder from a backup, or train "
    "again."
)
PLUGINS = "plugins"
"""Key of a model's config: the versions of the plugins of its run, by distribution. Models without
plugins, and models of version 0.1.0, lack it.
"""
WRONG_ENTRIES = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    MemoryError,
    RecursionError,
)
"""What components raise for entries that are not as they wrote them."""


@contextmanager
def restoring(folder: Path, what: str) -> Iterator[None]:
    """Turn what is raised within into a `ModelError` that names the folder and what could not be
    restored.

    Errors that components raise for entries they did not check, such as KeyError, are its cause.
    """
    try:
        yield
    except StructoptError as error:
        raise ModelError(
            f"{what} cannot be restored: {error} {REMEDY}",
            where=str(folder),
        ) from error
    except WRONG_ENTRIES as error:
        raise ModelError(
            f"{what} cannot be restored ({type(error).__name__}: {error}). {REMEDY}",
            where=str(folder),
        ) from error


def create(folder: Path, kind: str, config: Mapping[str, Any]) -> Any:
    """Create a component of the model's config.

    Raises
    ------
    ConfigError
        If the component is not installed, or does not take these parameters; it names the file and
        the plugins that the model was saved with.
    """
    try:
        return registry.create(kind, config[kind])
    except ConfigError as error:
        versions = config.get(PLUGINS)
        listing = (
            ", ".join(f"{name} {version}" for name, version in versions.items())
            if isinstance(versions, Mapping)
            else ""
        )
        remedy = f"The model was saved with {listing}." if listing else None
        where = str(folder / "config.json")
        raise ConfigError(f"{error}", where=where, remedy=remedy) from error
    except WRONG_ENTRIES as error:
        message = (
            f"{folder / 'config.json'}: the node {kind} makes no component "
            f"({type(error).__name__}: {error})"
        )
        raise ModelError(f"{message}. {REMEDY}") from error


def weights_of(scorer: Scorer, arrays: Mapping[str, Array]) -> Array:
    """The array ``weights`` as long as the scorer has them; ModelError where it does not hold those
    that may move.
    """
    return scorer.expand(SavedState({}, arrays).array("weights", np.float64, (scorer.count,)))


GRAPH = "graph"
"""What a fitted factor graph learnt, among the values; its arrays' names begin with it and a
dot.
"""


def graph_state(graph: FactorGraph) -> tuple[dict[str, Any], dict[str, Array]]:
    """What a factor graph learnt of the training corpus, as values and arrays of a model folder."""
    values, arrays = graph.state()
    return ({GRAPH: values} if values or arrays else {}), {
        f"{GRAPH}.{name}": array for name, array in arrays.items()
    }


def restore_graph(
    graph: FactorGraph, values: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    """Undo `graph_state`; a graph that learns something, without it, is a `ModelError`."""
    graph.restore(SavedState({GRAPH: {}} | dict(values), arrays).within(GRAPH, f"{GRAPH}."))


def check_together(
    task: Task,
    graph: FactorGraph,
    inference: Inference,
    scorer: Scorer,
    weights: Array,
    name: str = "",
) -> None:
    """Refuse components that do not belong to one model, before a kernel sees them.

    The task's example is encoded, its graphs are built, and features are packed for it: scorers
    compare attributes, labels and part groups with the weights that they have. Scorers without
    kernels compute its scores.
    """
    compatibility.check_task(task, graph, name)
    compatibility.check_solves(inference, graph)
    compatibility.check_rounding(task, inference, graph)
    encoded = example_of(task)
    examples = Examples.build(encoded, graph, scorer, inference)
    if not isinstance(scorer, SparseFeatures):
        examples.scores(weights, np.arange(len(examples)))


def example_of(task: Task) -> Encoded:
    """Encode the task's example of its inputs."""
    return task.encode(task.corpus(task.instances(task.input_schema.checked(task.input_example()))))


def restored_scorer(layout: Mapping[str, Any], arrays: Mapping[str, Array]) -> Scorer:
    """Undo `structopt.objective.scoring.stored`; models of version 0.1.0 call the name ``block``.

    Raises
    ------
    ConfigError
        If the features of the model are not installed.
    ModelError
        If the layout and the arrays are of other features.
    """
    rest = {key: value for key, value in layout.items() if key not in ("name", "block")}
    name = SavedState(layout, arrays).string("name" if "name" in layout else "block")
    cls = registry.load("features", name)
    with keyed(dict.fromkeys(registry.schema(cls), "features")):
        scorer: Scorer = cls.restore(rest, arrays)
    return scorer
