"""YAML files of earlier runs, whose aliases are bounded before they are expanded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LARGEST = 1 << 24
"""Bytes of a file. Configurations have some thousand bytes."""
MOST_NODES = 1_000_000
"""Values and keys after aliases are expanded; a few nested aliases may expand to billions."""


def load(path: Path) -> Any:
    """Read a YAML file as OmegaConf does.

    Parameters
    ----------
    path : Path

    Returns
    -------
    DictConfig or ListConfig

    Raises
    ------
    ValueError
        If the file is too large, or its aliases expand to too many values.
    YAMLError, OmegaConfBaseException, OSError, TypeError, RecursionError
        For other damage; callers name the file and the remedy.
    """
    import yaml  # type: ignore[import-untyped, unused-ignore]
    from omegaconf import OmegaConf

    data = path.read_bytes()
    if len(data) > LARGEST:
        raise ValueError(f"it has more than {LARGEST >> 20} MB")
    text = data.decode("utf8")
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        """Count the nodes below a node; an alias refers to a node that was counted before."""
        if id(node) not in sizes:
            sizes[id(node)] = MOST_NODES  # of a node that contains itself
            children = node.value if isinstance(node.value, list) else []
            flat = [
                one for child in children for one in (child if type(child) is tuple else (child,))
            ]
            sizes[id(node)] = min(MOST_NODES, 1 + sum(map(size, flat)))
        return sizes[id(node)]

    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is not None and size(root) >= MOST_NODES:
        raise ValueError(f"its aliases expand to more than {MOST_NODES:,} values")
    return OmegaConf.create(text)
