"""Check a config against the signatures of its components, before any data is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from structopt.config import feature_keys, fit_settings, registry, schema, unknown_keys
from structopt.config.overrides import key_of
from structopt.errors import ConfigError
from structopt.progress import credentials


class Sweep(TypedDict, total=False):
    """The keys of the node ``sweep``."""

    resume: bool


class WarmStart(TypedDict, total=False):
    """The keys of the node ``warm_start``."""

    model: str | None
    vocabulary: Literal["union", "new"]
    state: Literal["none", "new", "all"]


class Storage(TypedDict, total=False):
    """The keys of the node ``storage``."""

    name: Literal["memory", "disk"]
    folder: str | None
    block: int
    window: int
    checkpoint: float


class Settings(TypedDict, total=False):
    """The keys of the config that are not components; conf/config.yaml has the defaults."""

    label: str | None
    seed: int
    threads: int
    resume: str | None
    warm_start: WarmStart
    storage: Storage
    order: Literal["shuffled", "blocks"] | None
    check: bool
    data: str | None
    scale: Literal["small", "full"] | None
    tuning: Literal["tail", "dev"] | None
    tail: float | None
    test_curve: bool
    sweep: Sweep
    objective_every: int | Literal["auto"]
    patience: int | None
    keep: Literal["best", "last"] | None
    time_decoding: bool
    quiet: bool
    debug: bool
    max_expansion: float


LOWEST = {
    "seed": 0,
    "threads": 1,
    "max_expansion": 1,
    "objective_every": 0,
    "patience": 1,
    "features.min_count": 1,
    "storage.block": 1,
    "storage.window": 1,
    "storage.checkpoint": 0,
}


def validate(config: Mapping[str, Any], typed: Sequence[str] = ()) -> dict[str, Any]:
    """Check every key and value against the chosen components' signatures; no data is read.

    Parameters
    ----------
    config : mapping
        From `structopt.config.composition.compose`.
    typed : sequence of str
        The overrides, or their keys: parameters of features that nobody typed, and that other
        features than the task's do not take, are left out (see
        `structopt.config.feature_keys.checked`).

    Returns
    -------
    dict
        The same config with every number in its type (1 is 1.0 where a float is meant), and
        without the user and password of the tracker's store (see `structopt.progress.credentials`).

    Raises
    ------
    ConfigError
        At a component that is not installed, an unknown key, an ill-typed or out-of-range value.
    """
    known = [*Settings.__annotations__, *registry.KINDS]
    for key in config:
        if key not in known:
            raise ConfigError(unknown_keys.unknown(str(key), dict.fromkeys(known), config))
    if "tracker" in config:
        config = {**config, "tracker": credentials.removed_in(config["tracker"])}
    if "warm_start" in config:
        config = {**config, "warm_start": _warm_start(config["warm_start"])}
    if not isinstance(config.get("storage", {}), Mapping):
        raise ConfigError(
            "storage has keys of its own: in YAML write 'storage: {name: disk}'; set storage=disk."
        )
    settings = {
        key: _setting(key, config[key]) for key in config if key in Settings.__annotations__
    }
    common, rest = (
        settings | {"features": {}},
        [kind for kind in registry.KINDS if kind != "features"],
    )
    keys = [key_of(word) for word in typed]
    config = _without_cost(config, keys)
    nodes = {kind: registry.checked(kind, config.get(kind, {}), common) for kind in rest}
    _check_replaced(nodes["optimizer"], keys)
    checked = (
        settings
        | nodes
        | {
            "features": feature_keys.checked(
                config.get("features", {}), nodes["task"], common, keys
            )
        }
    )
    _check_ranges(checked)
    if settings.get("storage", {}).get("name") == "disk" and settings.get("order") == "shuffled":
        raise ConfigError(
            "visits the instances all over the corpus, which storage=disk cannot read fast.",
            parameter="order",
            value="shuffled",
            remedy="Leave order=null: blocks are shuffled, and the instances within "
            "windows of blocks (storage.block, storage.window).",
        )
    return {key: schema.plain(checked[key]) for key in config if key in checked}


def debug_if_set(config: Mapping[str, Any]) -> None:
    """Run kernels as Python if a composed config has ``debug: true``."""
    if config.get("debug") is True:
        from structopt.kernels.waist.debug import debug

        debug()


def _setting(key: str, value: Any) -> Any:
    return schema.coerce("", {key: value}, Settings)[key]


def _warm_start(value: Any) -> dict[str, Any]:
    """The node ``warm_start`` in full; in a YAML file it cannot be short."""
    node = {"model": None} if value is None else value
    if not isinstance(node, Mapping) or "model" not in node:
        raise ConfigError(
            "warm_start has keys of its own: in YAML write 'warm_start: {model: PATH}'; set "
            "warm_start=PATH."
        )
    for key, default in (("vocabulary", "union"), ("state", "none")):
        if node["model"] is None and node.get(key, default) != default:
            raise ConfigError(
                "needs a model",
                parameter=f"warm_start.{key}",
                value=node[key],
                remedy="set warm_start=MODEL too.",
            )
    if node["model"] == "counts" and node.get("state", "none") != "none":
        reason = "goes on from a run, and warm_start=counts names none: set warm_start=RUN"
        raise ConfigError(f"warm_start.state={node['state']} {reason}.")
    return {"model": None, "vocabulary": "union", "state": "none", **node}


def _without_cost(config: Mapping[str, Any], typed: Sequence[str]) -> Mapping[str, Any]:
    """Leave out the cost that a task chooses, if the loss has no cost and nobody typed it."""
    node = config.get("loss")
    if not isinstance(node, Mapping) or "cost" not in node or "loss.cost" in typed:
        return config
    if "cost" in registry.parameters_of("loss", str(node.get("name"))):
        return config
    return {**config, "loss": {key: value for key, value in node.items() if key != "cost"}}


def _check_replaced(node: Mapping[str, Any], typed: Sequence[str]) -> None:
    """Raise if a setting of a fit is set that another one replaces."""
    for key, other in fit_settings.replaced(node).items():
        if f"optimizer.{key}" in typed:
            raise ConfigError(
                f"has no effect with optimizer.{other}={node[other]:g}, which replaces it.",
                parameter=f"optimizer.{key}",
                value=node[key],
                remedy="Leave one of them out.",
            )


def _check_ranges(config: Mapping[str, Any]) -> None:
    for key, lowest in LOWEST.items():
        node, _, name = key.rpartition(".")
        value = (config.get(node, {}) if node else config).get(name)
        if isinstance(value, int | float) and value < lowest:
            raise ConfigError(f"must be at least {lowest}.", parameter=key, value=value)
