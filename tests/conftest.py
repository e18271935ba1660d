"""Fixtures that more than one folder of tests uses."""

import os

import pytest

from structopt.executor.serial import Serial


@pytest.fixture
def serial():
    return Serial()


def pytest_xdist_auto_num_workers(config):
    """Run the whole suite side by side, on no more than four cores; what is named, in this process."""
    return min(os.cpu_count() or 1, 4) if config.args == config.getini("testpaths") else 0
