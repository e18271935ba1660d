"""Compose a config of chosen components without Hydra, from the same files.

It reads ``conf/`` and the config files of plugins as Hydra does, within the subset that the files
of components use:

- the list ``defaults`` of ``config.yaml``; groups that override others follow them in the list;
- ``override /KIND: NAME`` in the package ``_global_`` of tasks, and elsewhere
  ``override /KIND@_global_.KIND: NAME``; of several that choose one kind, the last component in
  the list decides;
- ``/KIND/NAME@_here_``: another file of the kind, whose values come first;
- ``${KEY}`` and ``${oc.select:KEY,DEFAULT}``.

For everything else `compose` returns None, and the caller composes with Hydra, which also has the
messages for unknown names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from structopt.config import registry
from structopt.config.registering import registered_nodes
from structopt.config.search_path import conf_folders, content
from structopt.config.validation import debug_if_set

HEADER = re.compile(r"^\s*#\s*@package\s+(\S+)\s*$", re.MULTILINE)
GLOBAL, SELF, DEFAULTS, MISSING = "_global_", "_self_", "defaults", "???"
CHOICE = re.compile(r"override /(\w+)(?:@_global_\.(\w+))?")
BASE = re.compile(r"/(\w+)/([\w/]+)@_here_")
KEY = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
REFERENCE = re.compile(rf"\$\{{({KEY.pattern})\}}")
SELECTION = re.compile(rf"\$\{{oc\.select:({KEY.pattern}),\s*(.+)\}}")
NUMBER = re.compile(r"-?\d+(\.\d+)?")
DEEPEST = 20
"""Interpolations that refer to each other; more of them are a circle."""


UNKNOWN = object()
"""The value of a key that a config does not have."""


class _OtherRules(Exception):
    """The files, choices or values need rules that are not implemented here."""


@dataclass(frozen=True)
class _Interpolation:
    """The text of an interpolation in a file; text of values from Python is none."""

    text: str


class _File(NamedTuple):
    """A config file: the kind's other file that it extends, its choices of other kinds, and its
    values.
    """

    base: str | None
    choices: dict[str, str]
    values: dict[str, Any]


def compose(choices: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Compose a config as `structopt.config.composition.compose` does.

    Parameters
    ----------
    choices : mapping of str to str
        Names of components by their kinds.
    values : mapping
        Plain values by dotted keys, which are set as they are.

    Returns
    -------
    dict or None
        Nested plain values, interpolations resolved; not yet validated. None if Hydra must compose.
    """
    try:
        config = _merged(choices)
        for key, value in values.items():
            _set(config, key, value)
        composed = {key: _resolved(value, config) for key, value in config.items()}
    except _OtherRules:
        return None
    debug_if_set(composed)
    return composed


def _merged(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the config files of the chosen components."""
    file = conf_folders()[0] / "config.yaml"
    primary = _primary(file, file.stat().st_mtime_ns)
    presets = _presets(primary)
    if not choices.keys() <= presets.keys():
        raise _OtherRules
    overridden: dict[str, str] = {}
    files: dict[str, list[_File]] = {}
    for kind in reversed(presets):
        name = choices.get(kind, overridden.get(kind, presets[kind]))
        files[kind] = _files(kind, name)
        for chosen, other in _choices(files[kind]).items():
            if chosen in files or chosen not in presets:
                raise _OtherRules
            overridden.setdefault(chosen, other)
    config = {key: deepcopy(value) for key, value in primary.items() if key != DEFAULTS}
    for kind in presets:
        for one in files[kind]:
            _merge(config, one.values)
    return config


@cache
def _primary(path: Path, _changed: int) -> dict[str, Any]:
    """Read ``config.yaml``."""
    return _content(path)


def _presets(primary: Mapping[str, Any]) -> dict[str, str]:
    """Return the component of each kind in the list ``defaults`` of ``config.yaml``, in order."""
    first, *rest = primary.get(DEFAULTS, ()) or [None]
    pairs = [
        pair for one in rest for pair in (one.items() if isinstance(one, dict) else [(one, 0)])
    ]
    presets = dict(pairs)
    if first != SELF or presets.keys() != set(registry.KINDS) or len(pairs) != len(presets):
        raise _OtherRules
    return presets


def _files(kind: str, name: Any) -> list[_File]:
    """Return the file of a component after the files that it extends."""
    files = [_file(kind, name)]
    while (base := files[0].base) is not None and len(files) < DEEPEST:
        files.insert(0, _file(kind, base))
    return files


def _choices(files: list[_File]) -> dict[str, str]:
    return {kind: name for file in reversed(files) for kind, name in file.choices.items()}


def _file(kind: str, name: Any) -> _File:
    if not isinstance(name, str) or not re.fullmatch(r"\w+(/\w+)*", name):
        raise _OtherRules
    path = Path(kind) / f"{name}.yaml"
    folder = next((one for one in conf_folders() if (one / path).is_file()), None)
    if folder is not None:
        return _parsed(kind, folder / path, (folder / path).stat().st_mtime_ns)
    node = registered_nodes().get((kind, name))
    if node is None:
        raise _OtherRules
    return _File(None, {}, {kind: _marked(node)})


@cache
def _parsed(kind: str, path: Path, _changed: int) -> _File:
    """Read a config file; its values are in the node of its package."""
    packages = HEADER.findall(path.read_text(encoding="utf8"))
    is_global = packages == [GLOBAL]
    if packages and not is_global:
        raise _OtherRules
    values = _content(path)
    base, choices = None, dict[str, str]()
    for entry in values.pop(DEFAULTS, ()):
        if isinstance(entry, str) and (extended := BASE.fullmatch(entry)):
            if base is not None or is_global or extended[1] != kind:
                raise _OtherRules
            base = extended[2]
            continue
        pairs = list(entry.items()) if isinstance(entry, dict) else []
        chosen = CHOICE.fullmatch(str(pairs[0][0])) if len(pairs) == 1 else None
        if chosen is None or (chosen[2] or (chosen[1] if is_global else "")) != chosen[1]:
            raise _OtherRules
        choices[chosen[1]] = pairs[0][1]
    return _File(base, choices, values if is_global else {kind: values})


def _content(path: Path) -> dict[str, Any]:
    """Return the content of a file, a mapping without open values."""
    values = content(path)
    if not isinstance(values, dict) or not _is_set(values):
        raise _OtherRules
    return {str(key): _marked(value) for key, value in values.items() if key != "hydra"}


def _is_set(value: Any) -> bool:
    """Whether no value is left open, and all keys are text."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_set(one) for key, one in value.items())
    if isinstance(value, list):
        return all(map(_is_set, value))
    return bool(value != MISSING)


def _merge(config: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Merge values into a config: mappings key by key, others replace what there is."""
    for key, value in values.items():
        if isinstance(value, dict) and isinstance(config.get(key), dict):
            _merge(config[key], value)
        else:
            config[key] = deepcopy(value)


def _set(config: dict[str, Any], key: str, value: Any) -> None:
    """Set a value by its dotted key."""
    if not KEY.fullmatch(key) or not _is_set(value):
        raise _OtherRules
    *nodes, last = key.split(".")
    node = config
    for name in nodes:
        node = node.setdefault(name, {})
        if not isinstance(node, dict):
            raise _OtherRules
    _merge(node, {last: value})


def _marked(value: Any) -> Any:
    """Return a value of a file with its interpolations marked as such."""
    if isinstance(value, dict):
        return {key: _marked(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_marked(one) for one in value]
    if isinstance(value, str) and "${" in value:
        if "\\" in value:
            raise _OtherRules
        return _Interpolation(value)
    return value


def _resolved(value: Any, config: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a value with its interpolations replaced."""
    if isinstance(value, dict):
        return {key: _resolved(one, config, depth) for key, one in value.items()}
    if isinstance(value, list):
        return [_resolved(one, config, depth) for one in value]
    if not isinstance(value, _Interpolation):
        return value
    if depth > DEEPEST:
        raise _OtherRules
    if reference := REFERENCE.fullmatch(value.text):
        found, default = _selected(config, reference[1]), UNKNOWN
    elif selection := SELECTION.fullmatch(value.text):
        found, default = _selected(config, selection[1]), selection[2]
    else:
        raise _OtherRules
    if found is not UNKNOWN:
        return _resolved(found, config, depth + 1)
    if isinstance(default, str) and default.startswith("${"):
        return _resolved(_Interpolation(default), config, depth + 1)
    if not isinstance(default, str) or not NUMBER.fullmatch(default):
        raise _OtherRules
    return float(default) if "." in default else int(default)


def _selected(config: Mapping[str, Any], key: str) -> Any:
    """Return the value of a dotted key, or `UNKNOWN`."""
    node: Any = config
    for name in key.split("."):
        if not isinstance(node, dict):
            raise _OtherRules
        node = node.get(name, UNKNOWN)
        if node is UNKNOWN:
            break
    return node
