"""Hydra's config files, which a process of the tests parses once.

A composition reads about twenty files of `structopt` and of Hydra, and parsing them takes half of
its time.
"""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hydra._internal.config_repository import ConfigRepository

from structopt.config.search_path import conf_dir

SHIPPED = (f"file://{conf_dir()}", "pkg://hydra", "structured://")
"""Where the files that no test changes are."""


def parse_once(patch: pytest.MonkeyPatch) -> None:
    """Keep what Hydra reads from the shipped folders."""
    load, parsed = ConfigRepository.load_config, dict[Any, bytes]()

    def load_config(self: ConfigRepository, config_path: str) -> Any:
        sources = tuple(source.full_path() for source in self.sources)
        if not all(source.startswith(SHIPPED) for source in sources):
            return load(self, config_path)
        if (sources, config_path) not in parsed:
            parsed[sources, config_path] = pickle.dumps(load(self, config_path))
        return pickle.loads(parsed[sources, config_path])

    patch.setattr(ConfigRepository, "load_config", load_config)
