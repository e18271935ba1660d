"""Compose a config of overrides, as the command line does; read and save the config of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped, unused-ignore]

from structopt.config import registry, saved_yaml, validation
from structopt.config.hydra_errors import friendly
from structopt.config.overrides import RUN_FOLDER, key_of, spelled_out
from structopt.config.registering import registered_nodes
from structopt.config.search_path import conf_dir, plugin_packages
from structopt.errors import ConfigError, ModelError

SAVED = ("seed", "threads", "check", "objective_every", "patience")
"""Settings that a run's saved config has always had."""


class PluginSearchPath(SearchPathPlugin):
    """Adds the packages named in the entry-point group ``structopt.conf``, after the core: a plugin
    cannot shadow it.
    """

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append every plugin's config package; none of its code is imported."""
        for point in plugin_packages():
            search_path.append(provider=point.name, path=f"pkg://{point.value}")


def register() -> None:
    """Let Hydra, in this process only, see the plugins' config files and the registered classes."""
    Plugins.instance().register(PluginSearchPath)
    for (kind, word), node in registered_nodes().items():
        ConfigStore.instance().store(name=word, group=kind, node=node)


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
    validation.debug_if_set(composed)
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


def set_values(config: DictConfig, values: Mapping[str, Any]) -> None:
    """Set values by dotted keys in a composed config; a mapping is merged into a mapping."""
    with open_dict(config):
        for key, value in values.items():
            OmegaConf.update(config, key, escaped(value), merge=True, force_add=True)


def escaped(value: Any) -> Any:
    """Return a plain value whose text OmegaConf does not interpolate."""
    if isinstance(value, Mapping):
        return {key: escaped(one) for key, one in value.items()}
    if isinstance(value, list):
        return [escaped(one) for one in value]
    return value.replace("${", "\\${") if isinstance(value, str) else value


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
    return validation.validate(saved)


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
