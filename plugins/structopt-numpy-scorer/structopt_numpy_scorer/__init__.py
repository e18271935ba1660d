"""A scorer with a hidden layer for structopt."""

__version__ = "0.1.0"
