"""Compiled functions on flat arrays, and nothing else. Every record is opened by one small function of its module."""
