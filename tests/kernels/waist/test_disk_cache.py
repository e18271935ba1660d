"""Compiled kernels are dropped when any source that they may call has changed or moved."""

import os
import subprocess
import sys

from structopt.kernels.waist.disk_cache import STAMP, digest, forget_older, forget_older_in

MODULE = """from numba import types
from structopt.kernels.waist.signatures import kernel
from {helper} import twice

@kernel(types.int64(types.int64))
def four_times(x):
    return twice(twice(x))
"""
HELPER = """from structopt.kernels.waist.signatures import inlined

@inlined
def twice(x):
    return {factor} * x
"""


def test_kernels_of_other_sources_are_dropped(tmp_path):
    compiled = tmp_path / "__pycache__" / "chain.solve-1.py311.nbi"
    compiled.parent.mkdir()
    compiled.write_bytes(b"old")
    assert forget_older([compiled.parent], "these")
    assert not compiled.exists()
    compiled.write_bytes(b"new")
    assert not forget_older([compiled.parent], "these")
    assert compiled.exists()
    assert forget_older([compiled.parent], "those")
    assert not compiled.exists()


def test_folders_where_kernels_once_stood_are_emptied(tmp_path):
    (tmp_path / "__init__.py").touch()
    left = tmp_path / "moved_away" / "__pycache__" / "chain.solve-1.py311.nbc"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"old")
    assert forget_older_in(tmp_path, digest(tmp_path))
    assert not left.exists()


def test_a_digest_knows_sources_by_place_size_and_time(tmp_path):
    (tmp_path / "__init__.py").touch()
    (tmp_path / "family").mkdir()
    source = tmp_path / "chain.py"
    source.write_text("a = 1")
    first = digest(tmp_path)
    os.utime(source, ns=(1, 1))
    second = digest(tmp_path)
    source.rename(tmp_path / "family" / "chain.py")
    assert len({first, second, digest(tmp_path)}) == 3


def test_folders_that_cannot_be_written_to_are_left_alone(tmp_path):
    (tmp_path / "__pycache__").write_text("a file where a folder should be")
    assert not forget_older([tmp_path / "__pycache__"], "these")


def called(folder):
    code = "from package.kernels import four_times; print(four_times(3))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_a_plugin_that_moves_or_changes_a_kernel_gets_what_it_wrote(tmp_path):
    """The module that calls it stays as it is, so that Numba alone would take what it compiled
    before.
    """
    package = tmp_path / "package"
    (package / "before").mkdir(parents=True)
    for folder in (package, package / "before"):
        (folder / "__init__.py").touch()
    (package / "before" / "helper.py").write_text(HELPER.format(factor=2))
    (package / "helper.py").write_text("from package.before.helper import twice")
    (package / "kernels.py").write_text(MODULE.format(helper="package.helper"))
    assert called(tmp_path) == 12
    assert (package / "__pycache__" / STAMP).is_file()
    assert list((package / "__pycache__").glob("*.nbi"))
    (package / "before" / "helper.py").rename(package / "moved.py")
    (package / "helper.py").write_text("from package.moved import twice")
    assert called(tmp_path) == 12
    (package / "moved.py").write_text(HELPER.format(factor=5))
    assert called(tmp_path) == 75
