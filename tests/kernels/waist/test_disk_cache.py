"""Compiled kernels are found by their content, and only if it is unchanged."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from structopt.kernels.chain import linear_chain
from structopt.kernels.waist import disk_cache
from structopt.kernels.waist.disk_cache import FOLDER, KERNELS, sources

ROOT = KERNELS.parents[1]
USER = os.geteuid() if os.name == "posix" else 0
MODULE = """from numba import types
from structopt.kernels.waist.signatures import kernel
from {helper} import twice

@kernel(types.int64(types.int64))
def four_times(x):
    return twice(twice(x))
"""
HELPER = """from structopt.kernels.waist.signatures import inlined

@inlined
def twice(x):
    return {factor} * x
"""
CALL = """
from package.kernels import four_times
print(four_times(3), sum(four_times.stats.cache_misses.values()))
"""


def call(folder, cache, code=CALL, wait=True):
    """Result and number of compilations of the kernel of a package in a new process."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return answer(process) if wait else process


def answer(process):
    out, error = process.communicate(timeout=240)
    assert process.returncode == 0, error
    return [int(word) for word in out.split()]


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "clone" / "package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "helper.py").write_text(HELPER.format(factor=2))
    (folder / "other.py").write_text("ONE = 1\n")
    (folder / "kernels.py").write_text(MODULE.format(helper="package.helper"))
    return folder


def test_a_kernel_compiles_once_per_content(package, tmp_path):
    cache = tmp_path / "cache"
    assert call(package.parent, cache) == [12, 1]
    assert (cache / FOLDER).stat().st_mode & 0o777 == 0o700
    other_clone = tmp_path / "other_clone"
    shutil.copytree(package.parent, other_clone)
    (other_clone / "package" / "other.py").write_text("ONE = 2\n")  # no kernel imports it
    assert call(other_clone, cache) == [12, 0]
    (package / "helper.py").write_text(HELPER.format(factor=5))
    assert call(package.parent, cache) == [75, 1]
    (package / "helper.py").write_text(HELPER.format(factor=2))
    assert call(package.parent, cache) == [12, 0]


@pytest.mark.nightly("rest")
def test_processes_that_start_together_compile_once(package, tmp_path):
    started = [call(package.parent, tmp_path / "cache", wait=False) for _ in range(3)]
    answers = [answer(process) for process in started]
    assert [result for result, _ in answers] == [12, 12, 12]
    assert sum(compiled for _, compiled in answers) == 1


@pytest.mark.nightly("rest")
def test_damaged_files_are_compiled_again(package, tmp_path):
    cache = tmp_path / "cache"
    call(package.parent, cache)
    for file in (cache / FOLDER).glob("package.kernels-*/*.nb[ic]"):
        file.write_bytes(file.read_bytes()[:-20])
    assert call(package.parent, cache) == [12, 1]


@pytest.mark.nightly("rest")
@pytest.mark.skipif(os.name != "posix", reason="modes of folders are POSIX's")
def test_a_folder_that_others_can_write_to_is_not_used(package, tmp_path):
    folder = tmp_path / "cache" / FOLDER
    folder.mkdir(parents=True)
    folder.chmod(0o775)
    assert call(package.parent, tmp_path / "cache") == [12, 1]
    assert call(package.parent, tmp_path / "cache") == [12, 1]
    assert not list(folder.iterdir())


@pytest.mark.nightly("rest")
def test_a_cache_that_cannot_be_written_costs_time_only(package, tmp_path):
    (tmp_path / "cache").write_text("a file, not a folder")
    assert call(package.parent, tmp_path / "cache") == [12, 1]


@pytest.mark.nightly("rest")
@pytest.mark.skipif(os.name != "posix" or USER == 0, reason="root can write everywhere")
def test_a_cache_that_cannot_be_written_is_read(package, tmp_path):
    cache = tmp_path / "cache"
    assert call(package.parent, cache) == [12, 1]
    for path in (cache / FOLDER, *(cache / FOLDER).iterdir()):
        path.chmod(0o555)
    assert call(package.parent, cache) == [12, 0]
    (package / "helper.py").write_text(HELPER.format(factor=5))
    assert call(package.parent, cache) == [75, 1]
    (cache / FOLDER).chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="modes of folders are POSIX's")
@pytest.mark.parametrize(
    ("owner", "mode", "safe"),
    [
        (USER, 0o40700, True),
        (USER, 0o40755, True),
        (USER, 0o40775, False),
        (0, 0o40755, True),
        (0, 0o40777, False),
        (USER + 1, 0o40700, False),
        (0, 0o100644, False),
    ],
)
def test_only_the_user_or_root_may_write_to_the_folder(owner, mode, safe):
    status = os.stat_result((mode, 0, 0, 1, owner, 0, 0, 0, 0, 0))
    assert disk_cache._is_safe(status) == safe


def test_sources_are_the_kernel_modules_that_a_module_imports():
    names = {path.relative_to(KERNELS).as_posix() for path in sources(Path(linear_chain.__file__))}
    assert {"chain/linear_chain.py", "chain/viterbi.py", "waist/signatures.py"} <= names
    assert not {"grammar/grammar.py", "learn/dca.py"} & names


@pytest.mark.parametrize(
    ("module", "name", "file"),
    [
        ("structopt.plugin.kernels", "set_row", "rows.py"),
        ("structopt.plugin.kernels", "constrain_chain", "constraints.py"),
        ("structopt.plugin", "set_row", "rows.py"),  # until version 0.3
    ],
)
def test_plugins_depend_on_the_kernels_that_they_import_by_tiers(package, module, name, file):
    (package / "kernels.py").write_text(f"from {module} import (\n    kernel,\n    {name},\n)\n")
    names = [path.name for path in sources(package / "kernels.py")]
    assert {"kernels.py", "signatures.py", "decorators.py", file} <= set(names)
    assert "linear_chain.py" not in names


def test_decorators_of_version_0_1_depend_on_signatures(package):
    (package / "kernels.py").write_text("from structopt.plugin import inlined\n")
    assert "signatures.py" in [path.name for path in sources(package / "kernels.py")]


def test_a_folder_that_cannot_be_written_stores_no_kernels(package, monkeypatch):
    assert not disk_cache.is_cached(package / "kernels.py")
    monkeypatch.setattr(disk_cache.os, "access", lambda *arguments: False)
    assert disk_cache.is_cached(package / "kernels.py")


def test_another_cpu_or_numba_is_another_key(monkeypatch):
    path = Path(linear_chain.__file__)
    keys, other = set(), int(not disk_cache.numba.config.BOUNDSCHECK)
    for name, value in (("CPU_NAME", None), ("CPU_NAME", "generic"), ("BOUNDSCHECK", other)):
        with monkeypatch.context() as patch:
            patch.setattr(disk_cache.numba.config, name, value)
            disk_cache.environment.cache_clear()
            keys.add(disk_cache.environment())
    disk_cache.environment.cache_clear()
    assert len(keys) == 3
    assert disk_cache.is_cached(path)
