"""The installed components: entry points by name, whose classes are compared with the contract of
their kind.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import (
    Distribution,
    EntryPoint,
    PackageNotFoundError,
    entry_points,
    version,
)
from time import monotonic
from typing import Any

from structopt.core.component import Component, lacking
from structopt.errors import ConfigError

log = logging.getLogger(__name__)
CORE = "structopt."
"""The package of the core's own components, with a dot."""
DISTRIBUTION = "structopt-trainer"
"""The distribution of the core."""
PROVISIONAL = ("task", "features")
"""Kinds whose contracts are in `structopt.plugin.provisional`."""
FRESH = 1.0
"""Seconds for which the times of the folders of distributions are kept."""


@dataclass(frozen=True)
class Installed:
    """A component that some distribution brings.

    Attributes
    ----------
    name, kind : str
    distribution : str
        The package to install or uninstall.
    entry_point : EntryPoint
    registered : type or None
        The class, of a word that is registered in this process.
    """

    name: str
    kind: str
    distribution: str
    entry_point: EntryPoint
    registered: type | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.distribution})"

    def is_of(self, cls: type) -> bool:
        """Whether it is this class."""
        return self.entry_point.value == f"{cls.__module__}:{cls.__qualname__}"

    def load(self, contract: type[Component]) -> Any:
        """Import and return the class, held to the contract of its kind.

        Raises
        ------
        ConfigError
            If its package cannot be imported, or it lacks what a component of its kind must have.
        """
        if self.registered is not None:
            return self.registered
        try:
            cls = self.entry_point.load()
        except (Exception, SystemExit) as error:  # a module may call sys.exit
            value, reason = self.entry_point.value, f"{type(error).__name__}: {error}"
            raise ConfigError(
                f"comes from {self.distribution}, and {value} cannot be imported: {reason}.",
                parameter=self.kind,
                value=self.name,
                remedy=f"Reinstall or update {self.distribution}.",
            ) from error
        self._check(cls, contract)
        return cls

    def _check(self, cls: Any, contract: type[Component]) -> None:
        """Refuse a class that is no component of its kind, with the names of what it lacks."""
        absent = lacking(cls, contract)
        if not absent and isinstance(cls, type) and issubclass(cls, contract):
            return
        tier = "provisional." if self.kind in PROVISIONAL else ""
        kind, promise = self.kind, f"structopt.plugin.{tier}{contract.__name__}"
        what = (
            f"lacks {', '.join(absent)}, which every {kind} has"
            if absent
            else f"does not inherit from {promise}"
        )
        raise ConfigError(
            f"of {self.distribution} {what} ({promise} says what it does, and has a default where "
            "one makes sense).",
            parameter=kind,
            value=self.name,
            remedy=f"Update {self.distribution}.",
        )


def warn_of_ignored(point: EntryPoint, error: BaseException) -> None:
    """Warn, once per process, that an entry point of a plugin is ignored."""
    _warn_once(
        _name(point.dist), f"{point.name} = {point.value}", f"{type(error).__name__}: {error}"
    )


@lru_cache(maxsize=256)
def _warn_once(distribution: str, entry_point: str, reason: str) -> None:
    log.warning(
        "The entry point '%s' of %s is ignored: %s. Reinstall, update or uninstall %s.",
        entry_point,
        distribution,
        reason,
        distribution,
    )


def installed(kind: str) -> dict[str, Installed]:
    """Return the components of one kind by name, sorted; none of them is imported.

    Raises
    ------
    ConfigError
        If two distributions claim one name.
    """
    components: dict[str, Installed] = {}
    for component in _listed(kind, path_entries()):
        rival = components.setdefault(component.name, component)
        if rival.distribution != component.distribution:
            owners = " and ".join(sorted((rival.distribution, component.distribution)))
            raise ConfigError(
                f"{kind} '{component.name}' is claimed by two distributions, {owners}.",
                remedy="Uninstall one of them.",
            )
    own = {word: one for (group, word), one in _registered.items() if group == kind}
    return dict(sorted({**components, **own}.items())) if own else components


_registered: dict[tuple[str, str], Installed] = {}
"""Components that this process has registered, by kind and word."""


def register(kind: str, word: str, cls: type[Component]) -> None:
    """Give a word to a class in this process; `structopt.config.registering` checks both."""
    value = f"{cls.__module__}:{cls.__qualname__}"
    point = EntryPoint(word, value, f"structopt.{kind}")
    _registered[kind, word] = Installed(word, kind, "this process", point, cls)


def registered() -> list[tuple[str, str]]:
    """Return the kinds and words of the classes that this process has registered."""
    return list(_registered)


def name_of(kind: str, component: Component) -> str:
    """Return the name under which a component's class is installed, its class's name where it is
    not.
    """
    cls = type(component)
    names = [one.name for one in installed(kind).values() if one.is_of(cls)]
    return names[0] if names else cls.__name__


@lru_cache(maxsize=64)
def version_of(distribution: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def core_version() -> str:
    """Return the version of structopt."""
    return version_of(DISTRIBUTION) or "unknown"


def plugins(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions of the distributions that provide components of a config, by their names,
    sorted; the distribution of the core is left out.

    Components are named by ``name`` in the node of their kind, and by keys that are kinds, such as
    ``loss.cost``.
    """
    names = [
        (kind if key == "name" else key, value)
        for kind, node in config.items()
        if isinstance(node, Mapping)
        for key, value in node.items()
        if isinstance(value, str)
    ]
    points = [
        one.entry_point
        for group, name in names
        for one in _listed(group, path_entries())
        if one.name == name
    ]
    return dict(
        sorted(
            (_name(point.dist), point.dist.version)
            for point in points
            if point.dist is not None and not point.value.startswith(CORE)
        )
    )


def path_entries() -> tuple[tuple[str, float], ...]:
    """Return where distributions can be, and when each of these folders was changed last: the key
    of what is cached of them.

    The folders are looked at once per second, since a thousand lookups per second would spend most
    of their time on this.
    """
    return _changed(tuple(sys.path), int(monotonic() / FRESH))


@lru_cache(maxsize=1)
def _changed(path: tuple[str, ...], _time: int) -> tuple[tuple[str, float], ...]:
    return tuple((entry, _modified(entry)) for entry in path)


def _modified(entry: str) -> float:
    try:
        return os.stat(entry).st_mtime
    except (OSError, ValueError):
        return 0.0


@lru_cache(maxsize=64)
def _listed(kind: str, path_entries: tuple[tuple[str, float], ...]) -> list[Installed]:
    """All components of one kind, by name."""
    points = sorted(
        _entry_points(path_entries).select(group=f"structopt.{kind}"), key=lambda point: point.name
    )
    return [Installed(point.name, kind, _name(point.dist), point) for point in points]


@lru_cache(maxsize=4)
def _entry_points(_path_entries: tuple[tuple[str, float], ...]) -> Any:
    """Those of all kinds; cached, since reading the metadata of every distribution takes ten
    milliseconds.
    """
    return entry_points()


@lru_cache(maxsize=256)
def _name(distribution: Distribution | None) -> str:
    """The name of a distribution; cached, since it is read from a file."""
    return distribution.name if distribution else "unknown"
