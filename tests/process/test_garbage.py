"""When Python looks for garbage, and what a command leaves to its end."""

import gc
import subprocess
import sys
from pathlib import Path

from structopt.process.garbage import rarely_collected

OPEN_FILES = """
import gc, io, sys
from structopt.command.main import main

class Cycle:
    def __init__(self):
        self.itself = self
    def __del__(self):
        print("searched")

Cycle.last = Cycle()
assert main(sys.argv[1:]) == 0
files = [one for one in gc.get_objects() if isinstance(one, io.IOBase) and not one.closed]
names = [str(one.name) for one in files if one.writable() and one.fileno() > 2]
print("open:", *{name for name in names if not name.endswith("structopt.log")})
"""


def test_young_objects_are_not_searched_when_the_usual_thresholds_return() -> None:
    counts, thresholds = [], gc.get_threshold()
    gc.collect()
    collections = gc.get_stats()[0]["collections"]
    with rarely_collected():
        objects = [[] for _ in range(10 * thresholds[0])]
    counts.append(gc.get_stats()[0]["collections"] - collections)
    assert len(objects) == 10 * thresholds[0]
    assert counts == [0]
    assert gc.get_threshold() == thresholds
    assert gc.get_freeze_count() == 0


def test_command_closes_its_files_and_ends_without_a_search(tmp_path: Path) -> None:
    words = ["tracker=none", "task.limit=20", "optimizer.epochs=1"]
    done = subprocess.run(
        [sys.executable, "-c", OPEN_FILES, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "open:"
