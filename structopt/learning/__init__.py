"""What optimizers share: checks of their options, batches, rates, caches of planes and the programs
over them.
"""
