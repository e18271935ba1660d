"""Constituent trees as nested lists or tuples: ``("S", ("NP", ("NNP", "Ann")), ("VP", ("VBD",
"slept")))``.
"""

from __future__ import annotations

from typing import Any

from structopt.formats.trees.penn import Node, escaped


def brackets(tree: Any) -> Any:
    """Return a nested tree as text in brackets; what is no nested list or tuple is returned as it
    is, a `Node` too.
    """
    if (
        isinstance(tree, Node)
        or not isinstance(tree, (list, tuple))
        or not tree
        or not isinstance(tree[0], str)
    ):
        return tree
    label, *children = tree
    if len(children) == 1 and isinstance(children[0], str):
        return f"({label} {escaped(children[0])})"
    return f"({label} {' '.join(map(str, map(brackets, children)))})"
