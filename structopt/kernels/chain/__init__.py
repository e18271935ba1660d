"""Linear chains and single variables."""
