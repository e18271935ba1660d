"""From typed words to one plain config, checked before any data is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypedDict, cast

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped, unused-ignore]

from structopt.config import feature_keys, fit_settings, registry, saved_yaml, schema, unknown_keys
from structopt.config.hydra_errors import friendly
from structopt.config.overrides import RUN_FOLDER, key_of, spelled_out
from structopt.config.search_path import conf_dir, register
from structopt.config.values import escaped, set_values
from structopt.errors import ConfigError, ModelError
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
    """The keys of the config beside the components; conf/config.yaml holds the defaults."""

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
    objective_every: int
    patience: int | None
    keep: Literal["best", "last"] | None
    time_decoding: bool
    quiet: bool
    debug: bool
    max_expansion: float


SAVED = ("seed", "threads", "check", "objective_every", "patience")
"""Settings that a run's saved config has always had."""
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


def compose(overrides: list[str], values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Compose a config as the command line would.

    Parameters
    ----------
    overrides : list of str
        What one would type: ``["task=ner", "loss.beta=inf"]``.
    values : mapping or None
        Plain values by dotted keys, which are set as they are: ``{"loss.beta": inf}``.

    Returns
    -------
    dict
        Nested plain values, interpolations resolved; not yet validated.

    Raises
    ------
    ConfigError
        At an unknown group, choice or key, with the closest known name.
    """
    register()
    try:
        with (
            _no_other_hydra(),
            initialize_config_dir(config_dir=conf_dir(), version_base="1.3", job_name="structopt"),
        ):
            config = hydra_compose("config", overrides=spelled_out(overrides))
            set_values(config, values or {})
    except (HydraException, OmegaConfBaseException, ValueError) as error:  # ValueError: task=null
        raise ConfigError(friendly(error, list(overrides))) from error
    composed = resolved(config)
    if composed.get("debug") is True:
        from structopt.kernels.waist.debug import debug

        debug()
    return composed


def typed_folder(overrides: Sequence[str]) -> Path | None:
    """The run folder that ``hydra.run.dir=FOLDER`` names among overrides, interpolations resolved;
    None where it is not typed.
    """
    words = [word for word in overrides if key_of(word) == RUN_FOLDER]
    if not words:
        return None
    register()
    try:
        with (
            _no_other_hydra(),
            initialize_config_dir(config_dir=conf_dir(), version_base="1.3", job_name="structopt"),
        ):
            return Path(
                str(
                    hydra_compose(
                        "config", overrides=spelled_out(overrides), return_hydra_config=True
                    ).hydra.run.dir
                )
            )
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise ConfigError(friendly(error, list(overrides))) from error


@contextmanager
def _no_other_hydra() -> Iterator[None]:
    """Set aside the Hydra application that may be running around us."""
    running = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        yield
    finally:
        GlobalHydra.instance().hydra = running


def resolved(config: DictConfig) -> dict[str, Any]:
    """Return a composed config as nested plain values, interpolations resolved, or raise
    `ConfigError`.
    """
    try:
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise ConfigError(
            f"{error.full_key or 'the config'}: {str(error).splitlines()[0]}"
        ) from error
    return {str(key): value for key, value in plain.items()} if isinstance(plain, dict) else {}


def validate(config: Mapping[str, Any], typed: Sequence[str] = ()) -> dict[str, Any]:
    """Check every key and value against the chosen components' signatures; no data is read.

    Parameters
    ----------
    config : mapping
        From `compose`.
    typed : sequence of str
        The overrides: parameters of features that nobody typed, and that other features than the
        task's do not take, are left out (see `structopt.config.feature_keys.checked`).

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
    nodes = {kind: registry.checked(kind, config.get(kind, {}), common) for kind in rest}
    keys = [key_of(word) for word in spelled_out(typed)]
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


def saved_config(folder: Path, asked: str = "") -> dict[str, Any]:
    """Read the validated config of a run from its folder; `asked` is the word that named it, by
    default ``resume=FOLDER``.

    Raises
    ------
    ConfigError
        If the folder holds none, or values that are refused.
    ModelError
        If the file is damaged: no YAML, or not the keys of a run.
    """
    path = folder / ".hydra" / "config.yaml"
    if not path.is_file():
        raise ConfigError(
            f"{asked or f'resume={folder}'}: {path} is missing, so this is no run folder that "
            "can go on."
        )
    register()
    try:
        return _completed(resolved(cast(DictConfig, saved_yaml.load(path))))
    except ConfigError as error:
        raise ConfigError(
            f"{error}",
            where=str(path),
        ) from error
    except (
        YAMLError,
        OmegaConfBaseException,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
    ) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(
            f"truncated or altered ({reason}).",
            where=str(path),
            remedy="Take it from a backup, or train again.",
        ) from error


def _completed(saved: dict[str, Any]) -> dict[str, Any]:
    """Return a run's saved config validated, with what version 0.1.0 did not save; ValueError where
    keys are missing.
    """
    if absent := [
        key for key in (*SAVED, *registry.KINDS) if key not in saved and key != "features"
    ]:
        raise ValueError(f"the key {absent[0]} is missing")
    if isinstance(saved.get("warm_start"), str):  # of version 0.1.0, which kept no vocabulary
        saved["warm_start"] = {"model": saved["warm_start"], "vocabulary": "new"}
    # of version 0.1.0, where the task's data said which features there are
    if "name" not in saved.get("features", {}):
        chosen = compose([f"task={saved['task']['name']}"])["features"]["name"]
        saved["features"] = {"name": chosen, **saved.get("features", {})}
    return validate(saved)


def run_folder(folder: str | Path | None) -> Path:
    """Return the folder of a run that Hydra did not start: the one that is named, else one under
    ``outputs``.
    """
    return (
        Path(folder)
        if folder is not None
        else Path("outputs") / datetime.now().strftime("%Y-%m-%d/%H-%M-%S-%f")
    )


def save_config(config: Mapping[str, Any], folder: Path) -> None:
    """Save the validated config of a run that Hydra did not start in its folder."""
    (folder / ".hydra").mkdir(parents=True, exist_ok=True)
    saved = OmegaConf.create(escaped(dict(config)))
    OmegaConf.save(saved, folder / ".hydra" / "config.yaml")


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
        if value is not None and value < lowest:
            raise ConfigError(f"must be at least {lowest}.", parameter=key, value=value)
