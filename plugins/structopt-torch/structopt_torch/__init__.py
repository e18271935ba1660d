"""Part scorers that are networks, and an optimizer for them, on PyTorch."""

__version__ = "0.1.0"
