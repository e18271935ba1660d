"""The config files of runs: read and checked, or saved for runs that Hydra did not start.

Aliases in a file are bounded before they are expanded. Nothing here needs Hydra, and OmegaConf is
imported by the functions that need it: a fit in memory needs neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structopt.config import plain_composition, registry, validation
from structopt.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from omegaconf import DictConfig

LARGEST = 1 << 24
"""Bytes of a file. Configurations have some thousand bytes."""
MOST_NODES = 1_000_000
"""Values and keys after aliases are expanded; a few nested aliases may expand to billions."""
SAVED = ("seed", "threads", "check", "objective_every", "patience")
"""Settings that a run's saved config has always had."""


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


def read(folder: Path, asked: str = "") -> dict[str, Any]:
    """Read the validated config of a run from its folder; `asked` is the word that named it, by
    default ``resume=FOLDER``.

    Raises
    ------
    ConfigError
        If the folder holds none, or values that are refused.
    ModelError
        If the file is damaged: no YAML, or not the keys of a run.
    """
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError  # type: ignore[import-untyped, unused-ignore]

    path = folder / ".hydra" / "config.yaml"
    if not path.is_file():
        raise ConfigError(
            f"{asked or f'resume={folder}'}: {path} is missing, so this is no run folder that "
            "can go on."
        )
    try:
        return _completed(resolved(load(path)))
    except ConfigError as error:
        raise ConfigError(
            f"{error}",
            where=str(path),
        ) from error
    except (
        YAMLError,
        OmegaConfBaseException,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
    ) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(
            f"truncated or altered ({reason}).",
            where=str(path),
            remedy="Take it from a backup, or train again.",
        ) from error


def _completed(saved: dict[str, Any]) -> dict[str, Any]:
    """Return a run's saved config validated, with what version 0.1.0 did not save; ValueError where
    keys are missing.
    """
    if absent := [
        key for key in (*SAVED, *registry.KINDS) if key not in saved and key != "features"
    ]:
        raise ValueError(f"the key {absent[0]} is missing")
    if isinstance(saved.get("warm_start"), str):  # of version 0.1.0, which kept no vocabulary
        saved["warm_start"] = {"model": saved["warm_start"], "vocabulary": "new"}
    # of version 0.1.0, where the task's data said which features there are
    if "name" not in saved.get("features", {}):
        registry.load("task", saved["task"]["name"])
        defaults = plain_composition.compose({"task": saved["task"]["name"]}, {})
        if defaults is None:
            raise ValueError("the key features.name is missing")
        saved["features"] = {"name": defaults["features"]["name"], **saved.get("features", {})}
    return validation.validate(saved)


def run_folder(folder: str | Path | None) -> Path:
    """Return the folder of a run that Hydra did not start: the one that is named, else one under
    ``outputs``.
    """
    return (
        Path(folder)
        if folder is not None
        else Path("outputs") / datetime.now().strftime("%Y-%m-%d/%H-%M-%S-%f")
    )


def save(config: Mapping[str, Any], folder: Path) -> None:
    """Save the validated config of a run that Hydra did not start in its folder."""
    from omegaconf import OmegaConf

    (folder / ".hydra").mkdir(parents=True, exist_ok=True)
    saved = OmegaConf.create(escaped(dict(config)))
    OmegaConf.save(saved, folder / ".hydra" / "config.yaml")


def resolved(config: DictConfig) -> dict[str, Any]:
    """Return a composed config as nested plain values, interpolations resolved, or raise
    `ConfigError`.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise ConfigError(
            f"{error.full_key or 'the config'}: {str(error).splitlines()[0]}"
        ) from error
    return {str(key): value for key, value in plain.items()} if isinstance(plain, dict) else {}


def escaped(value: Any) -> Any:
    """Return a plain value whose text OmegaConf does not interpolate."""
    if isinstance(value, Mapping):
        return {key: escaped(one) for key, one in value.items()}
    if isinstance(value, list):
        return [escaped(one) for one in value]
    return value.replace("${", "\\${") if isinstance(value, str) else value
