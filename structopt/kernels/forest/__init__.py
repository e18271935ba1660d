"""Packed parse forests: anchored rules of pruned charts as the edges of hypergraphs, listed
sentence by sentence.
"""
