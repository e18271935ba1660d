"""Contracts and the data that travel between components; no algorithm lives here."""
