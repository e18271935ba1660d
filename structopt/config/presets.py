"""What config files set: the defaults that messages and tables name, whatever those of a
constructor are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from structopt.config.schema import Parameter
from structopt.config.search_path import conf_folders, content
from structopt.config.wording import value_name

CHOSEN = re.compile(r"\$\{(?:oc\.select:)?([\w.]+)")
"""The key whose value stands for an interpolation, where there is one."""


def preset(kind: str, name: str, parameters: Sequence[Parameter]) -> list[Parameter]:
    """Return parameters, as text, with the defaults that the component's config file sets: several
    names may share one class.
    """
    file = _file(kind, name)
    values = _values(file, kind) if file else {}
    return [
        replace(one, default=values[one.name], shown=True) if one.name in values else one
        for one in parameters
    ]


def values_of(kind: str, name: str) -> dict[str, Any]:
    """Return the values that a component's config file sets, without interpolations and its choices
    of other components.
    """
    file = _file(kind, name)
    node = _node(file, kind) if file else {}
    plain = {key: one for key, one in node.items() if not str(one).startswith("${")}
    return {key: one for key, one in plain.items() if key not in ("name", "defaults")}


def keys_of(kind: str, name: str) -> list[str]:
    """Return the keys that a component's config file sets, in their order."""
    file = _file(kind, name)
    return [key for key in _values(file, kind) if key != "name"] if file else []


def _file(kind: str, name: str) -> Path | None:
    paths = (folder / kind / f"{name}.yaml" for folder in conf_folders())
    return next((path for path in paths if path.is_file()), None)


@cache
def _values(file: Path, kind: str) -> dict[str, str]:
    """The values of a component's node in its config file, as text; of an interpolation, the key
    that it reads.
    """
    return {key: _text(value) for key, value in _node(file, kind).items()}


def _node(file: Path, kind: str) -> dict[str, Any]:
    values = content(file)
    node = values.get(kind, values) if isinstance(values, dict) else {}
    return {str(key): value for key, value in node.items()} if isinstance(node, dict) else {}


def _text(value: Any) -> str:
    chosen = CHOSEN.match(value) if isinstance(value, str) else None
    return chosen[1] if chosen else value_name(value)
