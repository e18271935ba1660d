"""Ray whose processes end as it starts."""

from __future__ import annotations

import sys
import types
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
