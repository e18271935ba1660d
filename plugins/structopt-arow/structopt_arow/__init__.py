"""Adaptive regularisation of weights for structopt."""

__version__ = "0.1.0"
