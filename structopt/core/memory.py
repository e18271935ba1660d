"""Memory: how much is free, what optimizers say that they take, and the refusal of what does not
fit.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import NamedTuple

from structopt.errors import ConfigError, MemoryShortage

MEMINFO = Path("/proc/meminfo")
CGROUPS = Path("/proc/self/cgroup")
CGROUP_MOUNT = Path("/sys/fs/cgroup")
STATM = Path("/proc/self/statm")
NUMBER = 8
"""Bytes of a float64 or an int64."""
ALWAYS_FITS = 1 << 24
"""Bytes that are never refused: reading how much memory is free takes longer than a short call."""


class ProblemSizes(NamedTuple):
    """The sizes on which the memory of a training problem depends.

    Attributes
    ----------
    instances : int
    weights : int
        All of them.
    moving : int
        Those that may move.
    parts : int
        Of all instances.
    gold_parts : int
        Parts of the gold outputs, counted with repeats.
    epochs : int
        Epochs of the fit.
    """

    instances: int
    weights: int
    moving: int
    parts: int
    gold_parts: int
    epochs: int = 1

    @property
    def weight_vector(self) -> int:
        """Bytes of a number for every weight."""
        return NUMBER * self.weights

    @property
    def moving_vector(self) -> int:
        """Bytes of a number for every weight that may move."""
        return NUMBER * self.moving

    @property
    def part_vector(self) -> int:
        """Bytes of a number for every part."""
        return NUMBER * self.parts


@dataclass(frozen=True)
class Footprint:
    """Bytes that an optimizer takes.

    Attributes
    ----------
    state : mapping of str to int
        Of the arrays of its state, by what they are.
    mapped : tuple of str
        Those of `state` that are vectors of all parts or instances: memory maps, where the training
        data are in files.
    mapped_step : int
        Of such vectors, what `init` and `step` take beside them; it is not part of `step`.
    kept : int
        Of what else it keeps from step to step.
    step : int
        Of what `init` and `step` take beside these, at their peak.
    gradients : bool
        Whether it evaluates gradients over all instances, for which every shard of the corpus has
        rows of its own.
    """

    state: Mapping[str, int]
    kept: int = 0
    step: int = 0
    gradients: bool = False
    mapped: tuple[str, ...] = ()
    mapped_step: int = 0


def refuse_what_does_not_fit(
    size: float, what: str, advice: str, kinds: Mapping[str, str] | None = None
) -> None:
    """Refuse what needs more memory than is free, and more than `ALWAYS_FITS`; refuse nothing if
    the amount of free memory is unknown.

    Parameters
    ----------
    size : float
        Bytes it needs.
    what : str
        The beginning of the sentence, in the plural: ``"{what} need 3.2 GB of memory, and 2.0 GB
        are free."``
    advice : str
        What to do instead, in sentences.
    kinds : mapping of str to str, or None
        As of `StructoptError`.

    Raises
    ------
    ConfigError
    """
    if size > ALWAYS_FITS and size > (free := free_bytes()):
        raise ConfigError(
            f"{what} need {in_words(size)} of memory, and {in_words(free)} are free.",
            remedy=advice,
            kinds=kinds,
        )


def refuse_what_the_disk_lacks(size: float, folder: Path, what: str, advice: str) -> None:
    """Refuse what needs more room than the disk of a folder, which exists, has; `ConfigError` as
    above.
    """
    if size > (free := shutil.disk_usage(folder).free):
        raise ConfigError(
            f"{what} need {in_words(size)} of the disk of {folder}, and {in_words(free)} are free.",
            remedy=advice,
        )


def in_words(size: float) -> str:
    """Bytes as people write them: ``"3.2 GB"``, ``"640 MB"``."""
    return (
        f"{size / 1e9:.1f} GB"
        if size >= 1e9
        else f"{size / 1e6:.0f} MB"
        if size >= 1e7
        else f"{size / 1e6:.2g} MB"
    )


@contextmanager
def shortage_explained(advice: str) -> Iterator[None]:
    """Turn the error of an allocation that failed all the same into one that says what to do.

    Raises
    ------
    MemoryShortage
    """
    try:
        yield
    except MemoryError as error:
        what = str(error).rstrip(".") or "an allocation failed"
        raise MemoryShortage(f"There is not enough memory: {what}.", remedy=advice) from error


def free_bytes() -> float:
    """Memory that this process can still take without swapping; infinity where the system does not
    tell.

    The least of what the machine has, what control groups leave (containers, batch systems), and
    what the limit of the address space leaves (``ulimit -v``).
    """
    return min(_of_the_machine(), _of_control_groups(), _of_the_address_space())


def _of_the_machine() -> float:
    """What Linux calls available, which counts what cached files would give back; elsewhere what is
    free.
    """
    try:
        amounts = dict(
            line.split(":", 1) for line in MEMINFO.read_text(encoding="ascii").splitlines()
        )
        return 1024.0 * int(amounts["MemAvailable"].split()[0])
    except (OSError, ValueError, KeyError):
        pass
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return inf


def _of_control_groups() -> float:
    """What the control groups of this process leave, of version 1 and 2, those above it
    included.
    """
    try:
        lines = [line.split(":", 2) for line in CGROUPS.read_text(encoding="utf8").splitlines()]
    except OSError:
        return inf
    rooms = [inf]
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if not controllers:
            rooms += map(_room_of_version_2, _groups(CGROUP_MOUNT, path))
        elif "memory" in controllers.split(","):
            rooms += map(_room_of_version_1, _groups(CGROUP_MOUNT / "memory", path))
    return min(rooms)


def _groups(mount: Path, path: str) -> list[Path]:
    """The folder of a control group and of those above it; a container may see the topmost only,
    which is then its own.
    """
    group = mount / path.strip("/")
    return [group, *(above for above in group.parents if above == mount or mount in above.parents)]


def _room_of_version_2(group: Path) -> float:
    return _room(group / "memory.max", group / "memory.current", group / "memory.stat", "")


def _room_of_version_1(group: Path) -> float:
    limit, usage = group / "memory.limit_in_bytes", group / "memory.usage_in_bytes"
    return _room(limit, usage, group / "memory.stat", "total_")


def _room(limit: Path, usage: Path, statistics: Path, prefix: str) -> float:
    """The limit less what is used; what cached files take would be given back. Infinity where there
    is no limit.
    """
    try:
        most, used = float(limit.read_text().replace("max", "inf")), float(usage.read_text())
    except (OSError, ValueError):
        return inf
    cached = sum(_statistic(statistics, f"{prefix}{kind}_file") for kind in ("active", "inactive"))
    return max(0.0, most - max(0.0, used - cached))


def _statistic(path: Path, name: str) -> float:
    """A number of a file with a name and a number a line; 0 where it cannot be read."""
    try:
        return sum(
            float(line.split()[1])
            for line in path.read_text().splitlines()
            if line.startswith(f"{name} ")
        )
    except (OSError, ValueError):
        return 0.0


def _of_the_address_space() -> float:
    """What the soft limit of the address space leaves."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return inf
        return max(
            0.0, float(limit - int(STATM.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE"))
        )
    except (ImportError, OSError, ValueError, AttributeError):
        return inf
