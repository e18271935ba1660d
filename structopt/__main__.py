"""``python -m structopt`` is the console script ``structopt``."""

import sys

from structopt.cli import main

if __name__ == "__main__":
    sys.exit(main())
