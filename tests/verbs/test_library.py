"""The library as its users see it; mypy checks the file in the gate."""

import pytest

from tests.verbs import library


@pytest.mark.parametrize("part", [library.scores, library.training])
def test_every_line_runs(part):
    part()
