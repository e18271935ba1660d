"""Semi-Markov chains for structopt."""

__version__ = "0.1.0"
