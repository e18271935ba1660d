"""Selections of items within a budget for structopt."""

__version__ = "0.1.0"
