"""What Hydra and OmegaConf complain about, in words that say what to do."""

from __future__ import annotations

import re
from pathlib import Path

from hydra.errors import MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from structopt.config import registry
from structopt.config.schema import unknown_parameter
from structopt.config.search_path import conf_dir, groups
from structopt.errors import did_you_mean


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
    node, _, key = full_key.rpartition(".")
    keys = sorted(str(one) for one in parent) if isinstance(parent, DictConfig) else []
    if not keys:
        return f"'{node}' has no keys of its own, so '{full_key}' cannot be set.{_typed_whole(node, key, overrides)}"
    known = [one for one in keys if one not in ("name", "hydra")]
    if node in registry.KINDS and "name" in keys and (node != "features" or _unlisted(str(parent["name"]), key)):
        return _missing_parameter(node, str(parent["name"]), key)
    where = f"Keys of '{node}'" if node else "Keys"
    near = did_you_mean(key, known).replace("'", f"'{node}.", 1) if node else did_you_mean(key, known)
    return f"There is no key '{full_key}'.{near} {where}: {_listed(known)}."


def _unlisted(name: str, key: str) -> bool:
    """Whether features have a parameter that their config file does not list; other keys may be the task's."""
    return any(one.name == key for one in registry.described(registry.installed("features")[name]))


def _missing_parameter(kind: str, name: str, key: str) -> str:
    parameters = {one.name: one for one in registry.described(registry.installed(kind)[name])}
    if key in parameters:
        return f"{kind}.{key} is a parameter of {kind}={name}, but its config file does not list it: type +{kind}.{key}=VALUE."
    return unknown_parameter(f"{kind}={name}", key, parameters)


def _typed_whole(node: str, key: str, overrides: list[str]) -> str:
    """How to type a component's parameter that has no keys now, and what it takes; the empty string where it is none."""
    kind, _, name = node.partition(".")
    if kind not in registry.KINDS:
        return ""
    component = registry.installed(kind).get(_chosen(kind, overrides))
    parameter = next((one for one in registry.described(component) if one.name == name), None) if component else None
    if parameter is None:
        return ""
    whole = f" Type it whole, '{node}={{{key}: VALUE, ...}}'." if "Mapping" in str(parameter.type) else ""
    return f"{whole} {node}: {parameter.doc.replace('`', '')}"


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
        node, _, name = key.rpartition(".")
        if whole := _typed_whole(node, name, words):
            return f"'{key}' cannot be set or deleted by itself.{whole}"
        typed = next((word for word in words if word.lstrip("+~").startswith(key)), key)
        return f"'{typed}': there is no group '{key}'.{did_you_mean(key, groups())} Groups: {_listed(groups())}."
    lines = [line.strip() for line in str(error).splitlines() if "use +" not in line and "HYDRA_FULL_ERROR" not in line]
    return " ".join(line for line in lines if line and not line.startswith(("object_type", "full_key")))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _listed(names: list[str]) -> str:
    return ", ".join(names)
