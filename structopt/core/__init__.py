"""Data types and protocols that every kind of component shares; no algorithm lives here."""
