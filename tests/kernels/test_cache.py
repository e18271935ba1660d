"""Compiled kernels are forgotten when any of their sources changes."""

import os

from structopt.kernels import forget_older


def test_kernels_of_other_sources_are_forgotten(tmp_path):
    source, compiled = tmp_path / "chain.py", tmp_path / "__pycache__" / "chain.solve-1.py311.nbi"
    source.write_text("a = 1\n")
    compiled.parent.mkdir()
    compiled.write_bytes(b"old")
    assert forget_older(tmp_path)
    assert not compiled.exists()
    compiled.write_bytes(b"new")
    assert not forget_older(tmp_path)
    assert compiled.exists()
    os.utime(source, ns=(1, 1))
    assert forget_older(tmp_path)
    assert not compiled.exists()


def test_folders_that_cannot_be_written_to_are_left_alone(tmp_path):
    (tmp_path / "__pycache__").write_text("a file where a folder should be")
    assert not forget_older(tmp_path)
