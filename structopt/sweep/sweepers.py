"""The sweepers and the launcher of this package, and their registration with Hydra: a sweeper
decides which jobs are run.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType

from hydra.core.plugins import Plugins

from structopt.sweep.experiment_sweeper import ExperimentSweeper
from structopt.sweep.job_sweeper import MODULE
from structopt.sweep.ray_launcher import RayLauncher
from structopt.sweep.search import BayesianSearch, RandomSearch

SWEEPERS = (ExperimentSweeper, RandomSearch, BayesianSearch)
PLUGINS = (*SWEEPERS, RayLauncher)


def register() -> None:
    """Let Hydra make this package's sweepers and its launcher, in this process only: a command
    needs them, composing does not.
    """
    for plugin in PLUGINS:
        Plugins.instance().register(plugin)
    package, _, _ = MODULE.partition(".")
    # no plugin of Hydra's is installed
    if package not in sys.modules and find_spec(package) is None:
        sys.modules[package] = ModuleType(package)
    module = sys.modules.setdefault(MODULE, ModuleType(MODULE))
    for plugin in PLUGINS:  # importable by the name under which they are registered
        setattr(module, plugin.__name__, plugin)
