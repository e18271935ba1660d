"""The benchmark page and its script: rendering, measuring at the smallest sizes, and failures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import __main__ as script
from tests.benchmarks import page
from tests.benchmarks.measurement import OURS, QUICK, Case, measured, summary
from tests.pages import PAGES, ROOT

PUBLISHED: dict[str, Any] = json.loads((ROOT / "docs/benchmarks.json").read_text(encoding="utf8"))
SPEED = re.compile(r"\b\d+(?:\.\d+)? ?(?:s|ms|µs|us|ns)\b")
DATED = ("benchmarks.md", "experiments.md", "observations.md")
"""Pages that may state times: the benchmarks, and reports of experiments."""
LIMIT = "if epochs take under 2 s"
"""A time that is a limit of the program."""


def test_the_page_is_rendered_from_the_json() -> None:
    assert page.PAGE.read_text(encoding="utf8") == page.render(PUBLISHED)
    assert not PUBLISHED["quick"] and not any(row["error"] for row in PUBLISHED["rows"])


@pytest.mark.nightly("documents")
def test_the_table_of_the_readme_has_the_times_of_the_json() -> None:
    found = page.TABLE.search(page.README.read_text(encoding="utf8"))
    assert found is not None and found.group() == page.readme_table(PUBLISHED)


def test_other_pages_state_no_speeds() -> None:
    speeds = {}
    for path in (page.README, *PAGES):
        text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf8"), flags=re.M | re.S)
        text = re.sub(r"^    .*$", "", page.TABLE.sub("", text), flags=re.M)
        if path.name not in DATED and (found := SPEED.findall(text.replace(LIMIT, ""))):
            speeds[path.name] = found
    assert not speeds, "docs/benchmarks.md has all times; link to it"


def test_quick_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STRUCTOPT_DATA", raising=False)
    target = tmp_path / "times.json"
    assert script.main(["--quick", "--only", "sequences", "--json", str(target)]) == 0
    report = json.loads(target.read_text(encoding="utf8"))
    assert report["quick"] and report["machine"]["cores"] >= 1
    assert {"python", "numpy", "numba", "structopt-trainer"} <= report["versions"].keys()
    assert "python-crfsuite" in report["versions"]
    assert [row["name"] for row in report["rows"]] == ["fit", "batch", "one sentence"]
    for row in report["rows"]:
        times = row["programs"][OURS]
        assert 0 < times["low"] <= times["median"] <= times["high"] and times["repeats"] >= 1
    assert report["rows"][2]["programs"][OURS]["repeats"] == QUICK.calls
    text = page.render(report)
    assert "Train: 30 sentences of the shipped corpus" in text
    assert page.readme_table(report).count("\n") == 5


@pytest.mark.nightly("documents")
def test_quick_run_of_the_other_groups(capsys: pytest.CaptureFixture[str]) -> None:
    others = [name for name in script.GROUPS if name not in ("sequences", "compilation")]
    assert script.main(["--quick", "--only", *others]) == 0
    printed = capsys.readouterr().out
    for name in others:
        assert f"  {name}: " in printed


def test_programs_take_turns_after_one_that_is_not_counted() -> None:
    order: list[str] = []

    def program(name: str, seconds: list[float]) -> Any:
        remaining = iter(seconds)

        def work() -> dict[str, list[float]]:
            order.append(name)
            return {"row": [next(remaining)]}

        return work

    programs = {OURS: program("ours", [9, 1, 2, 3]), "peer": program("peer", [9, 4, 4, 8])}
    (row,) = measured("group", Case({"row": "title"}, programs, turns=3))
    assert order == ["ours", "peer"] * 4
    assert row.programs[OURS] == {"median": 2, "low": 1.5, "high": 2.5, "repeats": 3}
    assert row.programs["peer"]["median"] == 4
    assert summary([0.123456])["low"] == 0.1235


def test_a_group_that_fails_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Iterator[Case]:
        raise OSError("no space left")
        yield

    def working(*_: Any) -> Iterator[Case]:
        yield Case({"row": "a title"}, {OURS: lambda: {"row": [0.25]}}, 1)

    monkeypatch.setattr(script, "GROUPS", {"sequences": failing, "words": working})
    report = script.measure(["sequences", "words"], QUICK)
    failed, row = report["rows"]
    assert failed["error"] == "OSError: no space left" and row["programs"][OURS]["median"] == 0.25
    assert "| group sequences | failed: OSError: no space left | | |\n" in page.render(report)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0000123, "12.3 µs"),
        (0.00001, "10.0 µs"),
        (0.1, "100 ms"),
        (2.5, "2.50 s"),
        (150, "150 s"),
    ],
)
def test_durations_have_three_significant_digits(seconds: float, text: str) -> None:
    row = {"name": "n", "error": "", "programs": {OURS: {"median": seconds}}}
    assert page.summary(row) == f"n: structopt {text}"
