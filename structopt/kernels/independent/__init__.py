"""Inference on variables that no factor joins: every variable chooses alone."""
