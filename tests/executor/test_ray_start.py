"""Ray whose processes end as it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from structopt.errors import ConfigError
from structopt.executor import ray as module
from structopt.executor.ray import Ray


@pytest.mark.parametrize(
    "error", [Exception("the raylet\n died"), SystemExit(1), TimeoutError("no answer"), KeyError()]
)
@pytest.mark.parametrize("at", ["init", "cluster_resources"])
def test_one_message(error: BaseException, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise error

    calls = {"is_initialized": lambda: False, "init": lambda *_, **__: None} | {at: fails}
    monkeypatch.setitem(sys.modules, "ray", types.SimpleNamespace(**calls))
    monkeypatch.setattr(module, "find_spec", lambda _: True)
    message = "executor=ray: Ray could not be reached or started on this machine: "
    with pytest.raises(ConfigError) as refused:
        Ray(workers=1).place(lambda data: data, [])
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value) and not str(refused.value).endswith(": ")


@pytest.mark.nightly("ray")
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the processes in /proc")
@pytest.mark.parametrize("victim", ["raylet", "dashboard/agent.py"])
def test_killed_processes(victim: str, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is optional (extra: ray)")
    words = ["task=ner", "task.limit=20", "optimizer=lbfgs", "optimizer.epochs=1", "tracker=none"]
    words += ["executor=ray", "executor.workers=1", f"hydra.run.dir={tmp_path / 'run'}"]
    command = [sys.executable, "-m", "structopt", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        kill_first(process, victim)
        error = process.stderr.read()
    assert process.returncode == 2
    assert error.count("executor=ray: Ray could not be reached or started on this machine") == 1
    assert "Traceback" not in error


def kill_first(process: subprocess.Popen[str], name: str) -> None:
    """Kill the first process below this one whose program or script has the name."""
    while process.poll() is None:
        for number in descendants(process.pid):
            try:
                words = Path(f"/proc/{number}/cmdline").read_text().split("\0")[:3]
            except OSError:  # it has ended
                continue
            if any(word.endswith(f"/{name}") for word in words):
                os.kill(number, signal.SIGKILL)
                return
        time.sleep(0.01)
    pytest.fail(f"the command ended before it started {name}")


def descendants(ancestor: int) -> Iterator[int]:
    """Yield the ids of all processes below a process."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == ancestor:
            yield int(stat.parent.name)
            yield from descendants(int(stat.parent.name))
