"""Components of spaCy pipelines that structopt trains."""

__version__ = "0.1.0"
