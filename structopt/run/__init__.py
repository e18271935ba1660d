"""A training run: its stages, and who watches them."""
