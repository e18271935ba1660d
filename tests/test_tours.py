"""The scripts in docs/tours print what docs/tours.md shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT

PAGE = (ROOT / "docs" / "tours.md").read_text(encoding="utf8")
TOURS = re.findall(
    r"\[The script\]\((tours/\w+\.py)\).*?^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
)


def test_the_page_has_the_tours() -> None:
    assert [Path(script).stem for script, _ in TOURS] == ["sequences", "parsing", "label_sets"]


@pytest.mark.nightly("documents")
@pytest.mark.parametrize(("script", "shown"), TOURS)
def test_a_tour_prints_what_is_shown(script: str, shown: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "docs" / script)]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown
    assert list(tmp_path.iterdir()) == [], "a tour leaves files where it was started"
