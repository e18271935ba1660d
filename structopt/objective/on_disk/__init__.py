"""Training data in folders of arrays: written whole or in stretches, opened by the process that
trains and by workers.
"""
