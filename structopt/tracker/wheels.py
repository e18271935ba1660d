"""Wheels of installed distributions, which a logged model contains: rebuilt from the installed
files, or built from the sources of an editable install.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from structopt.core.entry_points import CORE, DISTRIBUTION

CODE = "code"
"""The folder of a logged model with its wheels: the name that MLflow gives it."""
WRITTEN_BY_INSTALLERS = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json")
LONGEST_BUILD = 30.0
"""Seconds; the tracker waits 120 seconds for a logged model."""
# The hook of PEP 517, called without pip, which may be absent and takes three times as long.
_BUILD = """
import importlib, os, sys, tomllib
sys.path[:] = {path!r}
with open("pyproject.toml", "rb") as stream:
    system = tomllib.load(stream).get("build-system", {{}})
sys.path[:0] = map(os.path.abspath, system.get("backend-path", []))
name, _, attribute = system.get("build-backend", "setuptools.build_meta").partition(":")
backend = importlib.import_module(name)
(getattr(backend, attribute) if attribute else backend).build_wheel({target!r})
"""


class NoWheelError(Exception):
    """The wheel of a distribution cannot be built; the text is the reason."""


class Wheel(NamedTuple):
    """A wheel, or the reason why it is missing.

    Attributes
    ----------
    requirement : str
        A line for a file of requirements in the folder above `CODE`: the path of the wheel, or
        the version of a distribution without one.
    name : str
        Name of the file.
    content : bytes
        Empty if the wheel is missing.
    problem : str
        A sentence that explains why the wheel is missing; else empty.
    """

    requirement: str
    name: str = ""
    content: bytes = b""
    problem: str = ""


@cache
def wheel(name: str) -> Wheel:
    """Return the wheel of a distribution as it is installed; it is built once per process.

    Installed files become a wheel with their present content, without files that installers write.
    An editable install is built by its build backend, which must be installed too.

    Parameters
    ----------
    name : str
        Name of the distribution.
    """
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        return _without(name, "", "it is not installed")
    try:
        folder = _editable(installed)
        _check_origin(installed, folder or Path(str(installed.locate_file(""))))
        file, content = _packed(installed) if folder is None else _built(folder)
    except Exception as error:  # the model is logged without it
        kind = "" if isinstance(error, NoWheelError) else f"{type(error).__name__}: "
        return _without(name, installed.version, f"{kind}{error}")
    return Wheel(f"{CODE}/{file}", file, content)


def _without(name: str, version: str, reason: str) -> Wheel:
    """Describe a wheel that cannot be built."""
    requirement = f"{name}=={version}" if version else name
    return Wheel(requirement, problem=f"The wheel of {name} is missing: {reason}.")


def _editable(installed: Distribution) -> Path | None:
    """Return the folder of the sources of an editable install (PEP 610); None for others."""
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    if not origin.get("dir_info", {}).get("editable"):
        return None
    return Path(url2pathname(urlsplit(origin["url"]).path))


def _check_origin(installed: Distribution, folder: Path) -> None:
    """Refuse a distribution whose packages are imported from elsewhere, such as a checkout in the
    current folder: its wheel would not have the code of this process.
    """
    packages = {
        point.module.partition(".")[0]
        for point in installed.entry_points
        if point.group.startswith("structopt.")
    }
    if installed.name != DISTRIBUTION:  # plugins may list components of the core
        packages.discard(CORE.removesuffix("."))
    for package in sorted(packages):
        spec = find_spec(package)
        origin = Path(spec.origin).resolve() if spec and spec.origin else folder.resolve()
        if not origin.is_relative_to(folder.resolve()):
            raise NoWheelError(f"{package} is imported from {origin.parent}, and not from {folder}")


def _built(folder: Path) -> tuple[str, bytes]:
    """Let the build backend of a project build a wheel in a process of its own; nothing is
    installed.
    """
    if not (folder / "pyproject.toml").is_file():
        raise NoWheelError(f"it is an editable install, and {folder} has no pyproject.toml")
    with tempfile.TemporaryDirectory() as target:
        code = _BUILD.format(path=sys.path, target=target)
        try:
            subprocess.run(
                [sys.executable, "-c", code],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=True,
                timeout=LONGEST_BUILD,
            )
        except subprocess.CalledProcessError as error:
            reason = (error.stderr.strip().splitlines() or ["no message"])[-1]
            raise NoWheelError(f"the build of {folder} fails ({reason})") from error
        except subprocess.TimeoutExpired as error:
            raise NoWheelError(f"the build of {folder} takes over {LONGEST_BUILD:g} s") from error
        (file,) = Path(target).glob("*.whl")
        return file.name, file.read_bytes()


def _packed(installed: Distribution) -> tuple[str, bytes]:
    """Rebuild a wheel from the files that RECORD lists; equal files give equal bytes."""
    described, record = installed.read_text("WHEEL"), installed.read_text("RECORD")
    if not described or not record:
        raise NoWheelError("it was not installed from a wheel")
    # unlike this table, `Distribution.files` of some versions leaves out missing files
    files = [PurePosixPath(row[0]) for row in csv.reader(record.splitlines()) if row]
    scripts = {point.name for point in installed.entry_points if "_scripts" in point.group}
    content = dict[str, Path]()
    for file in files:
        if file.suffix == ".pyc" or _is_of_installer(file.parts):
            continue
        if ".." not in file.parts and not file.is_absolute():
            content[str(file)] = Path(str(installed.locate_file(file)))
        # installers write the programs of entry points again; Windows has name.exe, name-script.py
        elif scripts.isdisjoint({file.name, file.stem, file.stem.removesuffix("-script")}):
            raise NoWheelError(f"its file {file} is outside of its packages")
    info = next(file.parts[-2] for file in files if file.match("*.dist-info/WHEEL"))
    tags = [line[5:].split("-") for line in described.splitlines() if line.startswith("Tag: ")]
    tag = "-".join(".".join(sorted(set(choices))) for choices in zip(*tags, strict=True))
    return f"{info.removesuffix('.dist-info')}-{tag}.whl", _zipped(content, f"{info}/RECORD")


def _is_of_installer(parts: tuple[str, ...]) -> bool:
    return parts[0].endswith(".dist-info") and parts[-1] in WRITTEN_BY_INSTALLERS


def _zipped(files: dict[str, Path], record: str) -> bytes:
    """Pack files, and the table RECORD of their digests and sizes, as a wheel."""
    target, table = io.BytesIO(), io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name, path in sorted(files.items()):
            data = path.read_bytes()
            entry = ZipInfo(name)  # dated 1980
            entry.external_attr = (0o100755 if os.access(path, os.X_OK) else 0o100644) << 16
            archive.writestr(entry, data, ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.writerow((name, f"sha256={digest}", len(data)))
        rows.writerow((record, "", ""))
        entry = ZipInfo(record)
        entry.external_attr = 0o100644 << 16
        archive.writestr(entry, table.getvalue(), ZIP_DEFLATED)
    return target.getvalue()
