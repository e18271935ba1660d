"""Python looks for garbage as often as before, once a command has ended."""

import gc

import pytest

from structopt.process.garbage import NEW, rarely_collected


def test_thresholds_come_back():
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="ended"), rarely_collected():
        assert gc.get_threshold() == (NEW, *before[1:])
        assert gc.isenabled()
        raise ValueError("ended")
    assert gc.get_threshold() == before
