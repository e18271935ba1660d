#!/usr/bin/env python3
"""Write requirements-dev.lock: the exact versions of all packages that developers need.

usage: python tools/lock.py

Run it with the Python of a virtual environment on Linux, Python 3.11, that holds the newest allowed
versions: `pip install --upgrade --upgrade-strategy eager -e ".[dev]"`. The tool reads the
dependencies and extras of pyproject.toml and follows the requirements of the installed packages.
Packages that nothing requires, pip and the project itself are not locked. The file holds no
addresses, so it works with each package index.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements-dev.lock"
TARGET = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_system": "Linux",
    "python_full_version": "3.11.9",
    "python_version": "3.11",
    "sys_platform": "linux",
}
"""Environment that the lock file is for: values of environment markers."""
HEADER = """\
# Versions of all development dependencies for Linux and Python 3.11, written by tools/lock.py.
# Install: python -m pip install -r requirements-dev.lock && python -m pip install --no-deps -e .
"""


APART = ("torch",)
"""Extras that are tested in an environment of their own; their packages are not locked."""


def direct_requirements(pyproject: Path = ROOT / "pyproject.toml") -> list[Requirement]:
    """Read the dependencies and extras of a project, except `APART` and itself."""
    project = tomllib.loads(pyproject.read_text(encoding="utf8"))["project"]
    extras = [
        lines
        for name, lines in project.get("optional-dependencies", {}).items()
        if name not in APART
    ]
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    own = canonicalize_name(project["name"])
    requirements = [Requirement(line) for line in lines]
    return [one for one in requirements if canonicalize_name(one.name) != own]


def applies(requirement: Requirement, extras: Iterable[str] = ()) -> bool:
    """Return whether a requirement applies to `TARGET` if its package is installed with extras."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({**TARGET, "extra": one}) for one in ("", *extras))


def resolve(requirements: Iterable[Requirement]) -> dict[str, str]:
    """Find the installed version of each package that requirements lead to.

    Parameters
    ----------
    requirements : iterable of Requirement
        Requirements of the project.

    Returns
    -------
    dict[str, str]
        Versions by canonical name, sorted by name.

    Raises
    ------
    SystemExit
        A package is not installed, or its version is outside the range that is required.
    """
    versions: dict[str, str] = {}
    followed: set[str] = set()
    waiting = [one for one in requirements if applies(one)]
    while waiting:
        one = waiting.pop()
        if str(one) in followed:
            continue
        followed.add(str(one))
        try:
            package = distribution(one.name)
        except PackageNotFoundError:
            raise SystemExit(f"{one} is not installed; run: pip install -e '.[dev]'") from None
        if not one.specifier.contains(package.version, prereleases=True):
            raise SystemExit(f"{one.name} {package.version} is installed, but {one} is required.")
        versions[canonicalize_name(one.name)] = package.version
        needed = map(Requirement, package.requires or [])
        waiting.extend(other for other in needed if applies(other, one.extras))
    return dict(sorted(versions.items()))


def read(path: Path = LOCK) -> dict[str, str]:
    """Read the versions in a lock file, by canonical name."""
    lines = path.read_text(encoding="utf8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def main() -> int:
    """Write the lock file; return the exit status."""
    if sys.platform != "linux" or sys.version_info[:2] != (3, 11):
        raise SystemExit("The lock file is for Linux and Python 3.11; run this tool there.")
    versions = resolve(direct_requirements())
    lines = [f"{name}=={version}\n" for name, version in versions.items()]
    LOCK.write_text(HEADER + "".join(lines), encoding="utf8")
    print(f"{LOCK.name}: {len(versions)} packages")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
