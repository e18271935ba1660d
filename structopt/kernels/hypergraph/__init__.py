"""Acyclic hypergraphs: the best derivation, inside-outside, the k best derivations, max-rule
decoding, closed forms.
"""
