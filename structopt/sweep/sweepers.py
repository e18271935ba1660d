"""The sweepers of this package, ``hydra/sweeper=``, and their registration with Hydra: a sweeper decides which jobs are run."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType

from hydra.core.plugins import Plugins

from structopt.sweep.experiment_sweeper import ExperimentSweeper
from structopt.sweep.job_sweeper import MODULE
from structopt.sweep.search import BayesianSearch, RandomSearch

SWEEPERS = (ExperimentSweeper, RandomSearch, BayesianSearch)


def register() -> None:
    """Let Hydra make this package's sweepers, in this process only: a command needs them, composing a config does not."""
    for sweeper in SWEEPERS:
        Plugins.instance().register(sweeper)
    package, _, _ = MODULE.partition(".")
    if package not in sys.modules and find_spec(package) is None:  # no plugin of Hydra's is installed
        sys.modules[package] = ModuleType(package)
    module = sys.modules.setdefault(MODULE, ModuleType(MODULE))
    for sweeper in SWEEPERS:  # importable by the name under which they are registered
        setattr(module, sweeper.__name__, sweeper)
