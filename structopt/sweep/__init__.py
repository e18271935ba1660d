"""Sweeps: their life, their jobs, their tables; searches and published experiments."""
