"""Compiled functions on flat arrays; one folder per family."""
