"""The passes of the optimizers over the data, and the programs that their steps solve."""
