"""The node ``features`` of a config: a scorer with its parameters, and beside them what the task
reads of its files.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, get_type_hints

from structopt.config import registry
from structopt.config.schema import coerce
from structopt.errors import ConfigError, did_you_mean

COMMON = ("seed", "threads")
"""Settings that any constructor may ask for by name; a task's may ask for the features that it
reads too.
"""


def task_of(config: Mapping[str, Any], node: Mapping[str, Any] | None = None) -> Any:
    """Create the task of a config, or of another node ``task`` with the rest of the config."""
    node = config["task"] if node is None else node
    keys = _read_by(node)
    features = {key: value for key, value in config.get("features", {}).items() if key in keys}
    return registry.create("task", node, features=features, **_common(config))


def scorer_of(config: Mapping[str, Any], left_out: Collection[str] = ()) -> Any:
    """Create the scorer of a config, not fitted; parameters that are left out have their
    defaults.
    """
    node = _node(config["features"])
    parameters = registry.schema(registry.load("features", node["name"]))
    taken = {
        key: value
        for key, value in node.items()
        if key == "name" or (key in parameters and key not in left_out)
    }
    return registry.create("features", taken, **_common(config))


def _common(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a constructor may ask for by name."""
    return {key: config[key] for key in COMMON if key in config}


def checked(
    node: Mapping[str, Any],
    task: Mapping[str, Any],
    common: Mapping[str, Any],
    typed: Collection[str],
) -> dict[str, Any]:
    """Return the node with every value in the type that the scorer, or else the task, asks for.

    A task's config file may name parameters of the features that it chooses. Where other features
    are typed which do not take them, they are left out, unless they were typed too. So is null for
    a key that both the task reads and the scorer takes: the scorer then has its own default.

    Parameters
    ----------
    node : mapping
        ``name``, parameters of the scorer, and keys of the task.
    task : mapping
        The config's node ``task``.
    common : mapping
        Settings that a constructor may ask for by name.
    typed : collection of str
        The keys that were typed, in full.

    Raises
    ------
    ConfigError
        At a key that neither the scorer nor the task takes, or an ill-typed value.
    """
    node, keys = _node(node), _read_by(task)
    parameters = registry.schema(registry.load("features", node["name"]))
    unset = [
        key
        for key in keys.keys() & parameters.keys()
        if node.get(key) is None and f"features.{key}" not in typed
    ]
    node = {key: value for key, value in node.items() if key not in unset}
    known = {key: value for key, value in node.items() if key in ("name", *parameters, *keys)}
    for key in node.keys() - known.keys():
        if f"features.{key}" in typed or not _taken_by_others(key):
            raise ConfigError(
                _unknown(key, node["name"], task["name"], list(parameters), list(keys))
            )
    read = {
        key: coerce(f"features.{key}", value, keys[key])
        for key, value in known.items()
        if key in keys
    }
    scorer = {key: value for key, value in known.items() if key == "name" or key in parameters}
    values = read | registry.checked("features", scorer, common)
    return {key: values[key] for key in known}


def _node(node: Any) -> Mapping[str, Any]:
    """A node that names a component, or a `ConfigError`."""
    if isinstance(node, Mapping) and "name" in node:
        return node
    raise ConfigError(
        "features needs the name of a component",
        remedy=f"set features=NAME. Installed: {_names()}.",
    )


def _names() -> str:
    return ", ".join(registry.installed("features"))


def _read_by(task: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that a task reads, with their types: none, where its constructor takes no
    ``features``.
    """
    cls = registry.load("task", task["name"])
    return get_type_hints(cls.reading) if "features" in registry.schema(cls) else {}


def _taken_by_others(key: str) -> bool:
    """Whether some installed scorer has a parameter of this name."""
    return any(
        key == one.name
        for scorer in registry.installed("features").values()
        for one in registry.described(scorer)
    )


def _unknown(key: str, name: str, task: str, parameters: list[str], keys: list[str]) -> str:
    near = did_you_mean(key, [*parameters, *keys], "features.")
    takes, reads = (", ".join(some) or "none" for some in (parameters, keys))
    return (
        f"There is no key 'features.{key}'.{near} features={name} takes: {takes}; task={task} "
        f"reads: {reads}."
    )
