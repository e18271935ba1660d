"""Compose a config of overrides with Hydra, as the command line does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from structopt.config import validation
from structopt.config.overrides import RUN_FOLDER, key_of, spelled_out
from structopt.config.registering import registered_nodes
from structopt.config.saved_config import escaped, resolved
from structopt.config.search_path import conf_dir, plugin_packages
from structopt.errors import ConfigError, full_installation

with full_installation("Reading overrides"):
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.core.config_search_path import ConfigSearchPath
    from hydra.core.config_store import ConfigStore
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.plugins import Plugins
    from hydra.errors import HydraException
    from hydra.plugins.search_path_plugin import SearchPathPlugin

    from structopt.config.hydra_errors import friendly


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
