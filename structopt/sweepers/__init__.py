"""Who decides which jobs a sweep runs: ``hydra/sweeper=``."""

from structopt.sweepers.experiment import ExperimentSweeper
from structopt.sweepers.search import BayesianSearch, RandomSearch

SWEEPERS = (ExperimentSweeper, RandomSearch, BayesianSearch)
