"""The runner of the nightly parts: stamps, reasons and budgets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.parts import PARTS, gate_cases
from tools import nightly
from tools.nightly import CannotRunError, Part, Runner, SlowError


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Part]:
    """Parts that a test sets, in a folder of its own."""
    ours: dict[str, Part] = {}
    monkeypatch.setattr(nightly, "ALL", ours)
    monkeypatch.setattr(nightly, "FOLDER", tmp_path)
    monkeypatch.setattr(nightly, "ROOT", tmp_path)
    monkeypatch.setattr(nightly, "state", lambda: "abc")
    return ours


def test_every_part_of_the_marker_is_run() -> None:
    assert set(PARTS) <= set(nightly.ALL)
    assert {name for name, part in nightly.ALL.items() if part.by_name} == {"data", "mutants"}


def test_parts_that_passed_are_not_run_again(
    parts: dict[str, Part], capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[str] = []

    def fail(run: Runner) -> None:
        calls.append("fails")
        run(sys.executable, "-c", "raise SystemExit('no such thing')")

    def refuse(run: Runner) -> None:
        raise CannotRunError("there is no network")

    parts["passes"] = Part("passes", lambda run: calls.append("passes"))
    parts["fails"] = Part("fails", fail)
    parts["refuses"] = Part("refuses", refuse)
    parts["named"] = Part("named", lambda run: calls.append("named"), by_name=True)
    assert nightly.main([]) == 1
    printed = capsys.readouterr().out
    assert "no such thing" in printed and "exit code 1; see abc/fails.log" in printed
    assert "cannot run" in printed and "there is no network" in printed
    assert nightly.main([]) == 1
    assert calls == ["passes", "fails", "fails"]
    assert nightly.main(["passes", "named"]) == 0
    assert calls[3:] == ["named"]
    assert nightly.main(["passes", "--again"]) == 0
    assert calls[4:] == ["passes"]


def test_an_unknown_part(parts: dict[str, Part], capsys: pytest.CaptureFixture[str]) -> None:
    parts["ray"] = Part("workers", lambda run: None)
    with pytest.raises(SystemExit):
        nightly.main(["rays"])
    assert "there is no part 'rays'. The parts are: ray." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "slow"), [([5.0], False), ([9.0, 3.0, 3.0], False), ([9.0, 3.0, 9.0], True)]
)
def test_files_at_twice_the_budget_in_two_of_three_runs_fail(
    seconds: list[float], slow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = iter(seconds)

    def run(command: Any, **_: Any) -> None:
        path = next(word for word in command if word.startswith("--file-seconds="))
        text = json.dumps({"tests/test_a.py": next(taken)})
        Path(path.partition("=")[2]).write_text(text, encoding="utf8")

    monkeypatch.setattr(subprocess, "run", run)
    runner = Runner(tmp_path / "log")
    if slow:
        with pytest.raises(SlowError, match=r"tests/test_a.py takes more than 8 s in two of three"):
            runner.tests("--nightly=ray", budget=4.0)
    else:
        runner.tests("--nightly=ray", budget=4.0)
    assert list(taken) == []


def test_cases_are_divided() -> None:
    cases = gate_cases({"a": 1, "b": 2, "c": 3}, "runs", 2)
    assert cases[:2] == ["a", "b"]
    assert (cases[2].values, cases[2].marks[0].args) == (("c",), ("runs",))
    (pair,) = gate_cases([("x", 1)], "runs", 0)
    assert pair.values == ("x", 1)
    with pytest.raises(AssertionError, match="there is no case 'd'"):
        gate_cases(["a"], "runs", ["d"])
