"""The config files that Hydra searches: the core's, then the plugins'."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from structopt.core.entry_points import path_entries, warn_of_ignored


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


class PluginSearchPath(SearchPathPlugin):
    """Adds the packages named in the entry-point group ``structopt.conf``, after the core: a plugin
    cannot shadow it.
    """

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append every plugin's config package; none of its code is imported."""
        for point in plugin_packages():
            search_path.append(provider=point.name, path=f"pkg://{point.value}")


def register() -> None:
    """Let Hydra, in this process only, see the plugins' config files."""
    Plugins.instance().register(PluginSearchPath)


def groups() -> list[str]:
    """Return the names of the core's config groups."""
    return sorted(
        path.name for path in Path(conf_dir()).iterdir() if path.is_dir() and path.name != "hydra"
    )
