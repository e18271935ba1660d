"""Exact inference on graphs of small tree-width: variable elimination as an acyclic hypergraph."""
