"""Write a column file many times, every copy with words of its own; train on it, and watch the
memory.

Usage::

    python tools/grow_corpus.py --copies 50 --output grown.conll eng.train.gz
    python tools/grow_corpus.py --watch task=ner task.train=grown.conll storage=disk
    features.hash_bits=20

``--watch`` runs ``structopt`` with the words that follow, and prints the peak of its anonymous
memory (of /proc/PID/status, every .1 s): what is no page of a file that can be read again.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import time
from pathlib import Path


def grow(source: Path, target: Path, copies: int) -> None:
    """Write `copies` copies; the number of each, in letters, stands behind the first letter of
    every word.
    """
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf8") as stream:
        lines = stream.read().splitlines()
    with target.open("w", encoding="utf8") as out:
        for copy in range(copies):
            mark = "".join(chr(ord("a") + int(digit)) for digit in str(copy)) if copy else ""
            tokens = (line and not line.startswith("-DOCSTART-") for line in lines)
            out.writelines(
                (line[:1] + mark + line[1:] if is_token else line) + "\n"
                for line, is_token in zip(lines, tokens, strict=True)
            )
            out.write("\n")


def watch(words: list[str]) -> int:
    """Run a training and print its peaks of memory, in GB; the status it ended with."""
    child = subprocess.Popen([sys.executable, "-m", "structopt", *words])
    status, peaks = Path(f"/proc/{child.pid}/status"), {"RssAnon": 0, "RssFile": 0}
    while child.poll() is None:
        for line in status.read_text(encoding="ascii").splitlines():
            name, _, rest = line.partition(":")
            if name in peaks and rest.split():
                peaks[name] = max(peaks[name], int(rest.split()[0]))
        time.sleep(0.1)
    print(", ".join(f"peak {name} {value / 2**20:.2f} GB" for name, value in peaks.items()))
    return int(child.returncode)


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--copies", type=int, default=50)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--watch", nargs=argparse.REMAINDER)
    parser.add_argument("source", type=Path, nargs="?")
    options = parser.parse_args()
    if options.watch:
        return watch(options.watch)
    if options.source is None or options.output is None:
        parser.error("give --output FILE and a column file, or --watch WORDS")
    grow(options.source, options.output, options.copies)
    return 0


if __name__ == "__main__":
    sys.exit(main())
