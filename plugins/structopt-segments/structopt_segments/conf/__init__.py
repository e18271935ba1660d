"""The config files that this package adds to Hydra's search path."""
