"""Keys that a config does not have: which one may be meant, by case, by another word for it, or in
another node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from structopt.config import registry
from structopt.config.synonyms import KEYS, synonym_of
from structopt.errors import did_you_mean, form_of, meaning

OWN = ("name", "hydra")
"""Keys that are not typed: of every component, and of Hydra."""


def unknown(full_key: str, parent: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """Say that there is no such key, which one may be meant, and which there are.

    Parameters
    ----------
    full_key : str
    parent, root : mapping
        The node that does not have it, and the whole config.
    """
    node, _, key = full_key.rpartition(".")
    elsewhere = [one for one in named(root, key) if one.rpartition(".")[0] != node]
    if (
        node in registry.KINDS
        and "name" in parent
        and (node != "features" or _unlisted(str(parent["name"]), key))
    ):
        return _missing_parameter(node, str(parent["name"]), key, elsewhere)
    known = sorted(str(one) for one in parent if one not in OWN)
    inside, where = (f"{node}.", f"Keys of '{node}'") if node else ("", "Keys")
    return (
        f"There is no key '{full_key}'.{_meant(key, known, inside, elsewhere, root)} {where}: "
        f"{', '.join(known)}."
    )


def named(root: Mapping[str, Any], key: str) -> list[str]:
    """Return the keys of a config's nodes that are written so but for case, in full."""
    nodes = {
        node: value
        for node, value in root.items()
        if isinstance(value, Mapping) and node != "hydra"
    }
    keys = [(node, str(one)) for node, value in nodes.items() for one in value if one not in OWN]
    return [f"{node}.{one}" for node, one in keys if form_of(one) == form_of(key)][:3]


def _meant(
    key: str, known: list[str], inside: str, elsewhere: list[str], root: Mapping[str, Any]
) -> str:
    """Say which key may be meant: the same but for case, of another node, another word for it, or a
    near one.
    """
    same = [inside + one for one in known if form_of(one) == form_of(key)]
    synonym = synonym_of(KEYS, key)
    remark = (
        synonym.remark if synonym and all(one.startswith(synonym.name) for one in elsewhere) else ""
    )
    if same or elsewhere:
        return meaning(same) or meaning(elsewhere) + remark
    return (_called(synonym.name, root, remark) if synonym else "") or did_you_mean(
        key, known, inside
    )


def _called(target: str, root: Mapping[str, Any], remark: str) -> str:
    """Name the key that a word stands for, where this config has it, or the components that would
    have it; else nothing.
    """
    if target.startswith("hydra.") or target in root or _holds(root, target):
        return meaning([target]) + remark
    if keys := named(root, target):
        return meaning(keys) + remark
    kinds = [kind for kind in registry.KINDS if target.startswith(f"{kind}.")] or registry.KINDS
    parameter = target.rpartition(".")[2]
    takers = [typed for kind in kinds if (typed := registry.takers(kind, parameter))]
    return (
        f" What is called {parameter} here is a parameter of {' and '.join(takers)}.{remark}"
        if takers
        else ""
    )


def _holds(root: Mapping[str, Any], target: str) -> bool:
    node, _, name = target.rpartition(".")
    return isinstance(root.get(node), Mapping) and name in root[node]


def _unlisted(name: str, key: str) -> bool:
    """Whether features have a parameter that their config file does not list; other keys may be the
    task's.
    """
    return any(one.name == key for one in registry.described(registry.installed("features")[name]))


def _missing_parameter(kind: str, name: str, key: str, elsewhere: list[str]) -> str:
    if key in [one.name for one in registry.described(registry.installed(kind)[name])]:
        return (
            f"{kind}.{key} is a parameter of {kind}={name}, but its config file does not list "
            f"it: write +{kind}.{key}=VALUE."
        )
    return registry.unknown_parameter(kind, name, key, elsewhere)
