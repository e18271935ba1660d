"""The command line: one subcommand per file."""

import os

# After every product of long vectors OpenBLAS's threads spin for 2^26 cycles, on a core that
# epochs, evaluations and the process of the tracker need. NumPy reads this when it is imported, so
# that the package sets it before its other modules import NumPy.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")
