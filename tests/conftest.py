"""Fixtures that more than one folder of tests uses."""

import pytest

from structopt.executor.serial import Serial


@pytest.fixture
def serial():
    return Serial()
