"""The squared structured hinge loss for structopt."""

__version__ = "0.1.0"
