"""Convert documents: ``python -m structopt_spacy train.spacy train.conllu``, or back."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from structopt import StructoptError
from structopt_spacy.conllu import convert


def main() -> int:
    """Convert a file; return 1 and print a message if this is not possible."""
    parser = ArgumentParser("python -m structopt_spacy", description=__doc__)
    parser.add_argument("source", help="a DocBin (.spacy), or CoNLL-U")
    parser.add_argument("target", help="the other of them; .spacy writes a DocBin")
    chosen = parser.parse_args()
    try:
        convert(chosen.source, chosen.target)
    except (StructoptError, OSError) as error:
        print(f"structopt_spacy: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
