"""The registry of components, their parameters, and how a config is composed and checked."""
