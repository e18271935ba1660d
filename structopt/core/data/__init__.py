"""The data that travel between components."""
