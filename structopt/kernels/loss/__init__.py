"""Losses of one instance."""
