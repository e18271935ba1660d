"""Searches for good parameters: random, and Bayesian."""

from __future__ import annotations

from structopt.sweepers.base import MODULE, JobSweeper


class RandomSearch(JobSweeper):
    """Draws the parameters of every trial."""

    __module__ = MODULE


class BayesianSearch(JobSweeper):
    """Draws the parameters of a trial where the trials before were good."""

    __module__ = MODULE
