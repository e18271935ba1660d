"""What Hydra and OmegaConf complain about, in words that say what to do."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from hydra.errors import MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from structopt.config import registry, unknown_keys, unreadable_words
from structopt.config.overrides import spelled_out
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
        return unreadable_words.explained(str(error.override), overrides)
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and cause.full_key:
        node, _, key = str(cause.full_key).rpartition(".")
        return _missing_key(cause) + (
            "" if cause.parent_node else _typed_whole(node, key, overrides)
        )
    if isinstance(error, OmegaConfBaseException) and error.full_key:
        return f"{error.full_key}: {_first_line(error)}."
    if "not in 'BasicSweeperConf'" in str(error):
        return (
            "hydra/sweeper=basic cannot run this experiment, which brings a sweeper of its own. "
            "Leave out hydra/sweeper=basic."
        )
    if ambiguous := re.match("Ambiguous value for argument '(.*)'\n", str(error)):
        word = ambiguous[1]
        return _several_values(next((w for w in overrides if spelled_out([w]) == [word]), word))
    if repeated := re.match(r"(\S+) appears more than once in the final defaults list", str(error)):
        kind = repeated[1]
        return (
            f"'+{kind}=' adds a second {kind}: there is one already. Write {kind}=NAME, without "
            "the sign +."
        )
    if added := re.match(r"Could not append to config. An item is already at '(.*)'", str(error)):
        return (
            f"'+{added[1]}=' adds a key that there is already. Write {added[1]}=VALUE, without "
            "the sign +."
        )
    if "Config group override must be" in str(error):
        return f"A group takes the name of a choice, such as task=ner. Groups: {_listed(groups())}."
    return _without_hints(error, overrides)


def _several_values(word: str) -> str:
    key, _, value = word.partition("=")
    if key in groups():
        return f"'{word}' names several, and a run has one {key}. To run each: --multirun {word}"
    point = (
        f" A decimal number has a point: {word.replace(',', '.')}."
        if re.fullmatch(r"\d+,\d+", value)
        else ""
    )
    forms = " ".join(
        f"{name}: {shlex.quote(typed)}."
        for name, typed in (
            ("A list", f"{key}=[{value}]"),
            ("A text", unreadable_words.as_text(key, value)),
        )
        if typed and unreadable_words.readable(typed)
    )
    return f"'{word}' has several values. To run each: --multirun. {forms}{point}"


def _missing_choice(error: MissingConfigException) -> str:
    group, _, choice = str(error.missing_cfg_file).rpartition("/")
    if not error.options:
        return (
            f"There is no config file '{error.missing_cfg_file}'.{did_you_mean(group, groups())} "
            f"Groups: {_listed(groups())}."
        )
    if group in registry.KINDS:
        return _missing_component(group, choice)
    options = sorted(set(error.options))
    if not choice:
        return f"'{group}=' names no {group}. Choices: {_listed(options)}."
    return (
        f"There is no {group} '{choice}'.{did_you_mean(choice, options)} Choices: "
        f"{_listed(options)}."
    )


def _missing_component(kind: str, name: str) -> str:
    component = registry.installed(kind).get(name)
    if component is None:
        return registry.not_installed(kind, name)
    package = component.distribution
    return (
        f"{kind} '{name}' comes from {package}, which brings no config file {kind}/{name}.yaml "
        f"for it. Update {package}."
    )


def _typed_whole(node: str, key: str, overrides: list[str]) -> str:
    """How to type a component's parameter that has no keys now, and what it takes; the empty string
    where it is none.
    """
    kind, _, name = node.partition(".")
    if kind not in registry.KINDS:
        return ""
    component = registry.installed(kind).get(_chosen(kind, overrides))
    parameter = (
        next((one for one in registry.described(component) if one.name == name), None)
        if component
        else None
    )
    if parameter is None:
        return ""
    whole = (
        f" Write it whole, '{node}={{{key}: VALUE, ...}}'."
        if "Mapping" in str(parameter.type)
        else ""
    )
    return f"{whole} {node}: {parameter.doc.replace('`', '')}"


def _chosen(kind: str, overrides: list[str]) -> str:
    """Name of the component of a kind: the typed one, or the default of config.yaml."""
    typed = [word.partition("=")[2] for word in overrides if word.startswith(f"{kind}=")]
    defaults = OmegaConf.load(Path(conf_dir()) / "config.yaml").defaults
    return str(typed[-1] if typed else next((one[kind] for one in defaults if kind in one), ""))


def _without_hints(error: Exception, words: list[str]) -> str:
    """Drop Hydra's advice to type ``+key``, which would let a misspelt key through."""
    unknown = re.search(
        r"Could not (?:override|delete|delete from config\.) '([^'@=]+)[^']*'", str(error)
    )
    if unknown and unknown[1] not in groups():
        key = unknown[1]
        node, _, name = key.rpartition(".")
        if whole := _typed_whole(node, name, words):
            return f"'{key}' cannot be set or deleted by itself.{whole}"
        typed = next((word for word in words if word.lstrip("+~").startswith(key)), key)
        return (
            f"'{typed}': there is no group '{key}'.{did_you_mean(key, groups())} Groups: "
            f"{_listed(groups())}."
        )
    if package := re.search(r"Could not override '([^'@=]+)@[^']*'", str(error)):
        return f"A group is typed without the sign @: {package[1]}=NAME."
    lines = [
        line.strip()
        for line in str(error).splitlines()
        if "use +" not in line and "HYDRA_FULL_ERROR" not in line
    ]
    return " ".join(
        line for line in lines if line and not line.startswith(("object_type", "full_key"))
    )


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _listed(names: list[str]) -> str:
    return ", ".join(names)


def _missing_key(error: OmegaConfBaseException) -> str:
    """Say that a key does not exist, which one may be meant, and which there are.

    Parameters
    ----------
    error : OmegaConfBaseException
        With the full key, and the node that does not have it.
    """
    full_key, parent = str(error.full_key), error.parent_node
    if not isinstance(parent, DictConfig) or not len(parent):
        return (
            f"'{full_key.rpartition('.')[0]}' has no keys of its own, so '{full_key}' cannot be "
            "set."
        )
    return unknown_keys.unknown(full_key, _plain(parent), _plain(parent._get_root()))


def _plain(config: Any) -> dict[str, Any]:
    """A config as nested plain values, interpolations as they are written."""
    content = OmegaConf.to_container(config, resolve=False, throw_on_missing=False)
    return {str(key): value for key, value in content.items()} if isinstance(content, dict) else {}
