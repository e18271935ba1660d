"""Where Hydra finds the config files, the core's and the plugins', and its errors said so that a user can mend them."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.errors import MissingConfigException, OverrideParseException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from structopt.config import registry
from structopt.config.schema import unknown_parameter
from structopt.errors import did_you_mean


def conf_dir() -> str:
    """Return the absolute path of the core's config files: inside the wheel, or beside the package in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "conf", package.parent / "conf"):
        if (folder / "config.yaml").is_file():
            return str(folder)
    raise FileNotFoundError(f"structopt's config files are missing beside {package}: reinstall structopt-trainer")


def plugin_packages() -> list[EntryPoint]:
    """Return the plugins' config packages, sorted."""
    return sorted(entry_points(group="structopt.conf"), key=lambda point: (point.name, point.value))


def conf_folders() -> list[Path]:
    """Return the folders of config files, the core's first, in Hydra's order of search."""
    specs = [find_spec(point.value) for point in plugin_packages()]
    plugins = [Path(place) for spec in specs if spec for place in spec.submodule_search_locations or ()]
    return [Path(conf_dir()), *plugins]


class PluginSearchPath(SearchPathPlugin):
    """Adds the packages named in the entry-point group ``structopt.conf``, after the core: a plugin cannot shadow it."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append every plugin's config package; none of its code is imported."""
        for point in plugin_packages():
            search_path.append(provider=point.name, path=f"pkg://{point.value}")


def register() -> None:
    """Let Hydra, in this process only, see the plugins' config files."""
    Plugins.instance().register(PluginSearchPath)


def friendly(error: Exception, overrides: list[str]) -> str:
    """Say what Hydra or OmegaConf complains about, and what to do.

    Parameters
    ----------
    error : Exception
        From composing or resolving a config.
    overrides : list of str
        What was typed.
    """
    cause = error.__cause__
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return _missing_choice(error)
    if isinstance(error, OverrideParseException):
        return f"'{error.override}' cannot be read. Type KEY=VALUE; quote values with spaces or signs: 'key=\"a, b\"'."
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and cause.full_key:
        return _missing_key(cause, overrides)
    if isinstance(error, OmegaConfBaseException) and error.full_key:
        return f"{error.full_key}: {_first_line(error)}."
    if "not in 'BasicSweeperConf'" in str(error):
        return "hydra/sweeper=basic cannot run this experiment, which brings a sweeper of its own. Leave out hydra/sweeper=basic."
    if ambiguous := re.match("Ambiguous value for argument '(.*)'\n", str(error)):
        return f"'{ambiguous[1]}' has several values. To run each: --multirun. A list is KEY=[A,B], a text 'KEY=\"A,B\"'."
    if "Config group override must be" in str(error):
        return f"A group takes the name of a choice, such as task=ner. Groups: {_listed(groups())}."
    return _without_hints(error, overrides)


def _missing_choice(error: MissingConfigException) -> str:
    group, _, choice = str(error.missing_cfg_file).rpartition("/")
    if not error.options:
        return f"There is no config file '{error.missing_cfg_file}'.{did_you_mean(group, groups())} Groups: {_listed(groups())}."
    if group in registry.KINDS:
        return _missing_component(group, choice)
    options = sorted(set(error.options))
    return f"There is no {group} '{choice}'.{did_you_mean(choice, options)} Choices: {_listed(options)}."


def _missing_component(kind: str, name: str) -> str:
    component = registry.installed(kind).get(name)
    if component is None:
        return registry.not_installed(kind, name)
    package = component.distribution
    return f"{kind} '{name}' comes from {package}, which brings no config file {kind}/{name}.yaml for it. Update {package}."


def _missing_key(error: OmegaConfBaseException, overrides: list[str]) -> str:
    full_key, parent = str(error.full_key), error.parent_node
    place, _, key = full_key.rpartition(".")
    keys = sorted(str(one) for one in parent) if isinstance(parent, DictConfig) else []
    if not keys:
        return f"'{place}' has no keys of its own, so '{full_key}' cannot be set.{_told_whole(place, key, overrides)}"
    known = [one for one in keys if one not in ("name", "hydra")]
    if place in registry.KINDS and "name" in keys and (place != "features" or _unlisted(str(parent["name"]), key)):
        return _missing_parameter(place, str(parent["name"]), key)
    where = f"Keys of '{place}'" if place else "Keys"
    near = did_you_mean(key, known).replace("'", f"'{place}.", 1) if place else did_you_mean(key, known)
    return f"There is no key '{full_key}'.{near} {where}: {_listed(known)}."


def _unlisted(name: str, key: str) -> bool:
    """Whether features have a parameter that their config file does not list; other keys may be the task's."""
    return any(one.name == key for one in registry.described(registry.installed("features")[name]))


def _missing_parameter(kind: str, name: str, key: str) -> str:
    parameters = {one.name: one for one in registry.described(registry.installed(kind)[name])}
    if key in parameters:
        return f"{kind}.{key} is a parameter of {kind}={name}, but its config file does not list it: type +{kind}.{key}=VALUE."
    return unknown_parameter(f"{kind}={name}", key, parameters)


def _told_whole(place: str, key: str, overrides: list[str]) -> str:
    """How to type a component's parameter that has no keys now, and what it takes; the empty string where it is none."""
    kind, _, name = place.partition(".")
    if kind not in registry.KINDS:
        return ""
    component = registry.installed(kind).get(_chosen(kind, overrides))
    found = next((one for one in registry.described(component) if one.name == name), None) if component else None
    if found is None:
        return ""
    whole = f" Type it whole, '{place}={{{key}: VALUE, ...}}'." if "Mapping" in str(found.type) else ""
    return f"{whole} {place}: {found.doc.replace('`', '')}"


def _chosen(kind: str, overrides: list[str]) -> str:
    """Name of the component of a kind: the typed one, or the default of config.yaml."""
    typed = [word.partition("=")[2] for word in overrides if word.startswith(f"{kind}=")]
    defaults = OmegaConf.load(Path(conf_dir()) / "config.yaml").defaults
    return str(typed[-1] if typed else next((one[kind] for one in defaults if kind in one), ""))


def _without_hints(error: Exception, words: list[str]) -> str:
    """Drop Hydra's advice to type ``+key``, which would let a misspelt key through."""
    unknown = re.search(r"Could not (?:override|delete|delete from config\.) '([^'@=]+)[^']*'", str(error))
    if unknown and unknown[1] not in groups():
        key = unknown[1]
        place, _, name = key.rpartition(".")
        if whole := _told_whole(place, name, words):
            return f"'{key}' cannot be set or deleted by itself.{whole}"
        typed = next((word for word in words if word.lstrip("+~").startswith(key)), key)
        return f"'{typed}': there is no group '{key}'.{did_you_mean(key, groups())} Groups: {_listed(groups())}."
    lines = [line.strip() for line in str(error).splitlines() if "use +" not in line and "HYDRA_FULL_ERROR" not in line]
    return " ".join(line for line in lines if line and not line.startswith(("object_type", "full_key")))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _listed(names: list[str]) -> str:
    return ", ".join(names)


def groups() -> list[str]:
    """Return the names of the core's config groups."""
    return sorted(path.name for path in Path(conf_dir()).iterdir() if path.is_dir() and path.name != "hydra")
