"""``python -m structopt`` is the console script ``structopt``."""

import sys

from structopt.command.main import main

if __name__ == "__main__":
    sys.exit(main())
