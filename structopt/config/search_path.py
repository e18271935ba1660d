"""The folders of config files, the core's and then the plugins', and their content."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped, unused-ignore]

from structopt.core.entry_points import path_entries, warn_of_ignored

FLOAT = re.compile(
    r"""^(?:
     [-+]?[0-9]+(?:_[0-9]+)*\.[0-9_]*(?:[eE][-+]?[0-9]+)?
    |[-+]?[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+)
    |\.[0-9]+(?:_[0-9]+)*(?:[eE][-+][0-9]+)?
    |[-+]?[0-9]+(?:_[0-9]+)*(?::[0-5]?[0-9])+\.[0-9_]*
    |[-+]?\.(?:inf|Inf|INF)
    |\.(?:nan|NaN|NAN))$""",
    re.VERBOSE,
)
"""Numbers as OmegaConf reads them; to PyYAML, ``1e-3`` is text."""


def conf_dir() -> str:
    """Return the absolute path of the core's config files: inside the wheel, or beside the package
    in a checkout.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "conf", package.parent / "conf"):
        if (folder / "config.yaml").is_file():
            return str(folder)
    raise FileNotFoundError(
        f"structopt's config files are missing beside {package}: reinstall structopt-trainer"
    )


def plugin_packages() -> list[EntryPoint]:
    """Return the plugins' config packages, sorted; missing ones are left out."""
    return [point for point, _ in _packages(path_entries())]


@lru_cache(maxsize=4)
def _packages(
    _entries: tuple[tuple[str, float], ...],
) -> tuple[tuple[EntryPoint, tuple[Path, ...]], ...]:
    """The config packages, each with its folders."""
    points = sorted(
        entry_points(group="structopt.conf"), key=lambda point: (point.name, point.value)
    )
    return tuple((point, folders) for point in points if (folders := _package_folders(point)))


def _package_folders(point: EntryPoint) -> tuple[Path, ...]:
    """The folders of a config package; none, with a warning, if it is not found."""
    try:
        spec = find_spec(point.value)  # imports the packages above it
    except (Exception, SystemExit) as error:
        warn_of_ignored(point, error)
        return ()
    if spec is None:
        warn_of_ignored(point, ModuleNotFoundError(f"No module named '{point.value}'"))
        return ()
    return tuple(map(Path, spec.submodule_search_locations or ()))


def conf_folders() -> list[Path]:
    """Return the folders of config files, the core's first, in Hydra's order of search."""
    return list(_folders(path_entries()))


@lru_cache(maxsize=4)
def _folders(entries: tuple[tuple[str, float], ...]) -> tuple[Path, ...]:
    plugins = [folder for _, folders in _packages(entries) for folder in folders]
    return (Path(conf_dir()), *plugins)


def groups() -> list[str]:
    """Return the names of the core's config groups."""
    return sorted(
        path.name for path in Path(conf_dir()).iterdir() if path.is_dir() and path.name != "hydra"
    )


def content(file: Path) -> Any:
    """Return the content of a config file as OmegaConf reads it, except that a repeated key is not
    refused.
    """
    return yaml.load(file.read_bytes(), _loader())


@cache
def _loader() -> Any:
    """The loader of YAML 1.2's numbers (``1e-3``) and of dates as text."""
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("Loader", (base,), {})
    loader.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+0123456789."))
    loader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in loader.yaml_implicit_resolvers.items()
    }
    return loader
