"""Free memory as the system tells it, of the machine, of containers and of limits; and what happens
where it ends.
"""

from pathlib import Path

import pytest

from structopt.core import memory
from structopt.errors import ConfigError, MemoryShortage


@pytest.fixture(autouse=True)
def _a_system_that_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEMINFO", "CGROUPS", "CGROUP_MOUNT", "STATM"):
        monkeypatch.setattr(memory, name, tmp_path / name.lower())
    monkeypatch.delattr(memory.os, "sysconf")


def files(folder: Path, **contents: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name.replace("__", ".")).write_text(f"{content}\n")


def test_unknown_memory_refuses_nothing() -> None:
    assert memory.free_bytes() == float("inf")
    memory.refuse_what_does_not_fit(1e30, "tables", "Take less.")


def test_what_linux_calls_available(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:  100 kB\nMemFree:  1 kB\nMemAvailable:  64 kB\n")
    assert memory.free_bytes() == 65536.0


def test_free_pages_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"SC_AVPHYS_PAGES": 3, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(memory.os, "sysconf", sizes.__getitem__, raising=False)
    assert memory.free_bytes() == 12288.0


def test_version_2_groups_leave_the_limit_less_what_is_used_but_for_cached_files(
    tmp_path: Path,
) -> None:
    (tmp_path / "cgroups").write_text("0::/job/step\n")
    mount = tmp_path / "cgroup_mount"
    files(
        mount / "job",
        memory__max=1000,
        memory__current=900,
        memory__stat="anon 500\nactive_file 100\ninactive_file 300",
    )
    files(mount / "job" / "step", memory__max="max", memory__current=800, memory__stat="")
    assert memory.free_bytes() == 500.0
    files(mount / "job" / "step", memory__max=850)
    assert memory.free_bytes() == 50.0


def test_a_container_sees_its_own_group_at_the_mount(tmp_path: Path) -> None:
    (tmp_path / "cgroups").write_text("12:cpu:/docker/abc\n4:memory,hugetlb:/docker/abc\n")
    mount = tmp_path / "cgroup_mount" / "memory"
    files(
        mount,
        memory__limit_in_bytes=5000,
        memory__usage_in_bytes=4500,
        memory__stat="total_inactive_file 1000\n",
    )
    assert memory.free_bytes() == 1500.0
    files(mount, memory__usage_in_bytes=9000)
    assert memory.free_bytes() == 0.0


def test_the_least_counts(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemAvailable:  1 kB\n")
    (tmp_path / "cgroups").write_text("0::/\n")
    files(tmp_path / "cgroup_mount", memory__max=5000, memory__current=0)
    assert memory.free_bytes() == 1024.0


def test_limit_of_the_address_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr(
        memory.os,
        "sysconf",
        {"SC_PAGE_SIZE": 10, "SC_AVPHYS_PAGES": 10**9}.__getitem__,
        raising=False,
    )
    (tmp_path / "statm").write_text("30 20 10\n")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (700, 900))
    assert memory.free_bytes() == 400.0
    monkeypatch.setattr(
        resource, "getrlimit", lambda which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    )
    assert memory.free_bytes() == 1e10


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 2e9)
    memory.refuse_what_does_not_fit(2e9, "tables", "Take less.")
    with pytest.raises(
        ConfigError, match=r"^tables need 2\.1 GB of memory, and 2\.0 GB are free\. Take less\.$"
    ):
        memory.refuse_what_does_not_fit(2.1e9, "tables", "Take less.")


def test_an_allocation_that_fails_all_the_same_is_explained() -> None:
    import numpy as np

    with (
        pytest.raises(
            MemoryShortage,
            match=r"^There is not enough memory: Unable to allocate .*\. Take less\.$",
        ),
        memory.shortage_explained("Take less."),
    ):
        np.empty(1 << 45)  # more than any address space
    with (
        pytest.raises(MemoryShortage, match="not enough memory: an allocation failed. Take less"),
        memory.shortage_explained("Take less."),
    ):
        raise MemoryError
