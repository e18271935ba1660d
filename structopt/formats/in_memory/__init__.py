"""Instances in memory in the place of files: their forms, and the corpora that readers would make
of them.
"""
