"""Weighted context-free grammars on pruned charts: inside-outside, CKY, k best, max-rule
decoding.
"""
