"""Free memory as the system tells it."""

from pathlib import Path

import pytest

from structopt.core import memory
from structopt.errors import ConfigError


def test_what_linux_calls_available(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:  100 kB\nMemFree:  1 kB\nMemAvailable:  64 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    assert memory.free_bytes() == 65536.0


def test_free_pages_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "none")
    sizes = {"SC_AVPHYS_PAGES": 3, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(memory.os, "sysconf", sizes.__getitem__)
    assert memory.free_bytes() == 12288.0
    monkeypatch.delattr(memory.os, "sysconf")
    assert memory.free_bytes() == float("inf")


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 2e9)
    memory.refuse_what_does_not_fit(2e9, "tables", "Take less.")
    with pytest.raises(ConfigError, match=r"^tables need 2\.1 GB, more than this machine has free\. Take less\.$"):
        memory.refuse_what_does_not_fit(2.1e9, "tables", "Take less.")
