"""Keys of a config: dotted names, and those that do not matter, with the purposes for which they do
not, and why.

The keys of components that are not named here matter for every purpose: they say what is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

RESUME_SWEEP = "sweep.resume"
"""The key that goes on with an earlier sweep."""


def dotted(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of a nested config by dotted keys; an empty node counts as a value."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            flat |= dotted(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


class Purpose(Enum):
    """A use of a config, or of typed words, for which some keys do not matter."""

    RESUMING_A_RUN = auto()
    """A run that goes on keeps its saved config but for these keys, which may be typed anew."""
    GOING_ON = auto()
    """A run goes on from the state of another one where the rest of its components is the same."""
    RESUMING_A_JOB = auto()
    """A job of a sweep is the one that was run before where the rest of its config is the same."""
    RESUMING_A_SWEEP = auto()
    """A command goes on with the sweep whose command has the same words but for these keys and what
    begins with them.
    """
    TRACKING = auto()
    """A tracker records the other keys as the parameters of a run."""
    COMPARING = auto()
    """Runs are told apart and grouped by the other keys."""
    MULTIPLYING = auto()
    """Typed words of the other keys are tried with every setting of an experiment."""
    DRAWING = auto()
    """A split that a task draws or generates is the same where the task's other keys are."""
    SAVING = auto()
    """A saved model keeps the other keys of its components."""


@dataclass(frozen=True)
class Ignored:
    """A key, why it does not matter, and for which purposes."""

    key: str
    why: str
    purposes: frozenset[Purpose]


def _ignored(key: str, why: str, *purposes: Purpose) -> Ignored:
    return Ignored(key, why, frozenset(purposes))


IGNORED = (
    _ignored(
        "optimizer.epochs",
        "further passes continue those that were done",
        Purpose.RESUMING_A_RUN,
        Purpose.GOING_ON,
    ),
    _ignored(
        "optimizer.tolerance",
        "it says when training ends, not what a pass computes",
        Purpose.RESUMING_A_RUN,
        Purpose.GOING_ON,
    ),
    _ignored(
        "optimizer.certificate",
        "it says what is measured after a pass, not what a pass computes",
        Purpose.GOING_ON,
    ),
    _ignored(
        "threads",
        "results do not depend on their number",
        Purpose.RESUMING_A_RUN,
        Purpose.GOING_ON,
        Purpose.COMPARING,
    ),
    _ignored("seed", "it orders the instances, which are others", Purpose.GOING_ON),
    _ignored("objective_every", "it says what is measured after a pass", Purpose.GOING_ON),
    _ignored("patience", "it says when training ends, not what a pass computes", Purpose.GOING_ON),
    _ignored("keep", "it selects among passes, and changes none", Purpose.GOING_ON),
    _ignored("warm_start.state", "it says what the training data are", Purpose.GOING_ON),
    _ignored(
        "max_expansion",
        "it says which files are refused, not what is read",
        Purpose.RESUMING_A_RUN,
        Purpose.GOING_ON,
        Purpose.RESUMING_A_JOB,
        Purpose.TRACKING,
        Purpose.COMPARING,
    ),
    _ignored(
        "tracker",
        "it says where a run is recorded",
        Purpose.RESUMING_A_RUN,
        Purpose.GOING_ON,
        Purpose.RESUMING_A_JOB,
        Purpose.TRACKING,
        Purpose.COMPARING,
    ),
    _ignored(
        "quiet",
        "it says what is shown",
        Purpose.RESUMING_A_RUN,
        Purpose.GOING_ON,
        Purpose.RESUMING_A_JOB,
        Purpose.RESUMING_A_SWEEP,
        Purpose.TRACKING,
        Purpose.COMPARING,
    ),
    _ignored(
        "resume",
        "it names the run that goes on",
        Purpose.RESUMING_A_JOB,
        Purpose.TRACKING,
        Purpose.COMPARING,
    ),
    _ignored(
        "sweep",
        "it says how a sweep goes on",
        Purpose.RESUMING_A_JOB,
        Purpose.TRACKING,
        Purpose.COMPARING,
    ),
    _ignored(
        "check",
        "verification changes no result",
        Purpose.GOING_ON,
        Purpose.TRACKING,
        Purpose.COMPARING,
    ),
    _ignored(
        "time_decoding", "a measured time changes no result", Purpose.TRACKING, Purpose.COMPARING
    ),
    _ignored(
        "label",
        "it names a run; an experiment names its jobs itself",
        Purpose.GOING_ON,
        Purpose.COMPARING,
        Purpose.MULTIPLYING,
    ),
    _ignored(
        "data",
        "the files that it stands for are keys of the task",
        Purpose.COMPARING,
        Purpose.MULTIPLYING,
    ),
    _ignored("scale", "what it changes are other keys", Purpose.COMPARING, Purpose.MULTIPLYING),
    _ignored("tuning", "what it changes is another key", Purpose.COMPARING, Purpose.MULTIPLYING),
    _ignored(
        "test_curve", "it says what is measured after a pass", Purpose.GOING_ON, Purpose.COMPARING
    ),
    _ignored("experiment", "it names the experiment, which every job is of", Purpose.MULTIPLYING),
    _ignored("hydra/launcher", "it says where jobs run", Purpose.RESUMING_A_SWEEP),
    _ignored("hydra.launcher", "it says where jobs run", Purpose.RESUMING_A_SWEEP),
    _ignored(
        "hydra.sweep.dir",
        "it names the folder in which the earlier sweep is looked for",
        Purpose.RESUMING_A_SWEEP,
    ),
    _ignored(
        "task.train",
        "a file is compared by its content, and a model needs none",
        Purpose.DRAWING,
        Purpose.SAVING,
        Purpose.GOING_ON,
    ),
    _ignored(
        "task.dev",
        "a file is compared by its content, and a model needs none",
        Purpose.DRAWING,
        Purpose.SAVING,
        Purpose.GOING_ON,
    ),
    _ignored(
        "task.test",
        "a file is compared by its content, and a model needs none",
        Purpose.DRAWING,
        Purpose.SAVING,
        Purpose.GOING_ON,
    ),
    _ignored(
        "task.limit",
        "it cuts the training split off after it was drawn",
        Purpose.DRAWING,
        Purpose.SAVING,
        Purpose.GOING_ON,
    ),
    _ignored(
        "task.default_C",
        "it is a default of optimizer.C",
        Purpose.DRAWING,
        Purpose.SAVING,
        Purpose.GOING_ON,
    ),
    _ignored(
        "task.default_C_by",
        "it is a default of optimizer.C",
        Purpose.DRAWING,
        Purpose.SAVING,
        Purpose.GOING_ON,
    ),
    _ignored(
        "task.labels",
        "a model keeps its labels in its vocabulary",
        Purpose.SAVING,
        Purpose.GOING_ON,
    ),
    _ignored(
        "task.names", "a model keeps the names in its vocabulary", Purpose.SAVING, Purpose.GOING_ON
    ),
    _ignored("task.tagger", "a model keeps the tagger itself", Purpose.SAVING, Purpose.GOING_ON),
    _ignored("task.references", "a model needs none", Purpose.SAVING, Purpose.GOING_ON),
    _ignored(
        "factor_graph.pruner",
        "a model keeps the trained pruner itself",
        Purpose.SAVING,
        Purpose.GOING_ON,
    ),
)


def ignored(purpose: Purpose, node: str = "") -> tuple[str, ...]:
    """Return the keys that do not matter for a purpose: in full, or those of the `node` of a
    component, without its name.
    """
    keys = [one.key for one in IGNORED if purpose in one.purposes]
    return (
        tuple(key.removeprefix(f"{node}.") for key in keys if key.startswith(f"{node}."))
        if node
        else tuple(keys)
    )


def relevant(config: Mapping[str, Any], purpose: Purpose, node: str = "") -> dict[str, Any]:
    """Return a config, or the `node` of a component, without the keys that do not matter for a
    purpose.
    """
    without = ignored(purpose, node)
    return {key: value for key, value in config.items() if key not in without}
