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

from omegaconf import OmegaConf

from structopt.config.schema import Parameter
from structopt.config.search_path import conf_folders
from structopt.config.wording import value_name

CHOSEN = re.compile(r"\$\{(?:oc\.select:)?([\w.]+)")
"""The key whose value stands for an interpolation, where there is one."""


def preset(kind: str, name: str, parameters: Sequence[Parameter]) -> list[Parameter]:
    """Return parameters, as text, with the defaults that the component's config file sets: several
    names may share one class.
    """
    file = next(
        (path for folder in conf_folders() if (path := folder / kind / f"{name}.yaml").is_file()),
        None,
    )
    values = _values(file, kind) if file else {}
    return [
        replace(one, default=values[one.name], shown=True) if one.name in values else one
        for one in parameters
    ]


@cache
def _values(file: Path, kind: str) -> dict[str, str]:
    """The values of a component's node in its config file, as text; of an interpolation, the key
    that it reads.
    """
    content: Any = OmegaConf.to_container(OmegaConf.load(file))
    node = content.get(kind, content) if isinstance(content, dict) else {}
    return {str(key): _text(value) for key, value in node.items()} if isinstance(node, dict) else {}


def _text(value: Any) -> str:
    chosen = CHOSEN.match(value) if isinstance(value, str) else None
    return chosen[1] if chosen else value_name(value)
