"""Cache compiled kernels on disk, once per content: a door to Numba's private cache.

Numba's own cache lies next to the source, notices a change of that file only, and is lost with
every new clone or environment. Here the key of a kernel is a digest of everything that its machine
code depends on:

- the source of its module and of the kernel modules that it imports, directly or not;
- the versions of Python, Numba and llvmlite, and Numba's settings that change code;
- the name and the features of the CPU.

So a fresh clone, a new environment or an upgrade that leaves a kernel alone finds it. The folder
is ``structopt-kernels`` in the user's cache folder, or in ``NUMBA_CACHE_DIR``. Numba stores
pickles, so the folder is used only if it belongs to the user or to root, and nobody else can write
to it. A folder of an image, to which the process cannot write, is read.

Assumption: `numba.core.caching` has `FunctionCache`, whose ``_impl_class`` names the locators of
the files, and a dispatcher stores its cache in ``_cache``. Tested with Numba 0.61 to 0.68. Gain:
a new clone starts without compiling, which takes minutes for all kernels. If the interface
changes, Numba compiles each kernel in each process.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite
import numba
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name
from numba.core import caching
from numba.core.runtime import _nrt_python as _nrt

if TYPE_CHECKING:
    from filelock import FileLock

KERNELS = Path(__file__).parents[1]
CORE = KERNELS.parent.parent
"""The folder of the package `structopt`."""
PLUGIN = CORE / "structopt" / "plugin"
"""Modules through which plugins import kernels."""
FOLDER = "structopt-kernels"
LONGEST_WAIT = 600  # seconds for another process to compile a kernel; then this process compiles it
HOST_MODULES = frozenset({"compiling", "debug", "disk_cache", "drivers", "interruptible"})
"""Modules of `structopt.kernels.waist` that run in Python only: machine code does not depend on
them.
"""
UNUSED_DAYS = 30  # a module's kernels of other content are deleted if unused for so long

_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)", re.MULTILINE)


def package_folder(source: Path) -> Path:
    """Return the folder of the outermost package of a source file, or the file's own folder if it
    is in no package.
    """
    folder = source.parent
    while (folder.parent / "__init__.py").is_file() and (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf8")


@cache
def _imports(path: Path) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Modules that a file imports, each with the names, and aliases, that it takes from them."""
    text = _text(path)
    found = []
    for module, names in _FROM.findall(text):
        words = [word.split() for word in re.sub(r"#[^\n]*|[()\\]", " ", names).split(",")]
        found.append((module, tuple(n for word in words if word for n in {word[0], word[-1]})))
    for modules in _IMPORT.findall(text):
        found += [(word.split()[0], ()) for word in modules.split(",") if word.split()]
    return tuple(found)


def _file_of(module: str, roots: tuple[Path, ...]) -> Path | None:
    """The file of a module below one of the folders."""
    relative = module.replace(".", os.sep)
    for root in roots:
        for path in (
            f"{root}{os.sep}{relative}.py",
            f"{root}{os.sep}{relative}{os.sep}__init__.py",
        ):
            if os.path.isfile(path):
                return Path(path)
    return None


def _neighbours(path: Path, package: Path) -> Iterator[Path]:
    """Files that a kernel's machine code may depend on and that `path` names: modules of the
    kernel's package and the core's kernels.
    """
    in_core = package.parent == CORE
    roots = (CORE,) if in_core else (package.parent, package, CORE)
    for module, names in _imports(path):
        if module in ("structopt.plugin", "structopt.plugin.kernels"):
            yield from _through_plugin(names)
            continue
        if in_core and not module.startswith("structopt.kernels"):
            continue
        for name in (module, *(f"{module}.{name}" for name in names)):
            file = _file_of(name, roots)
            if file and file.parent == KERNELS / "waist" and file.stem in HOST_MODULES:
                continue
            if file and (file.is_relative_to(KERNELS) or (not in_core and _inside(file, package))):
                yield file


def _inside(file: Path, package: Path) -> bool:
    """Whether a file is in a package, or next to a kernel that is in no package."""
    return file.is_relative_to(package) and not file.is_relative_to(CORE / "structopt")


def _through_plugin(names: tuple[str, ...]) -> Iterator[Path]:
    """Files of the kernels that `structopt.plugin` exports under some names, and the decorators,
    which it also exports under names of version 0.1.
    """
    yield KERNELS / "decorators.py"
    for file in (PLUGIN / "__init__.py", PLUGIN / "kernels.py"):
        for module, known in _imports(file):
            if module.startswith("structopt.kernels") and not set(names).isdisjoint(known):
                for name in (module, *(f"{module}.{name}" for name in names)):
                    if source := _file_of(name, (CORE,)):
                        yield source


@cache
def sources(path: Path) -> tuple[Path, ...]:
    """List the files whose text decides the machine code of the kernels in a file, sorted."""
    package = package_folder(path)
    found, waiting = {path}, [path]
    while waiting:
        for other in _neighbours(waiting.pop(), package):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return tuple(sorted(found))


@cache
def environment() -> str:
    """Digest of the versions, settings and CPU that machine code depends on."""
    settings = numba.config
    cpu = (
        settings.CPU_NAME or get_host_cpu_name(),
        settings.CPU_FEATURES
        if settings.CPU_FEATURES is not None
        else get_host_cpu_features().flatten(),
    )
    switches = (
        settings.OPT,
        settings.BOUNDSCHECK,
        settings.DEBUGINFO_DEFAULT,
        settings.LOOP_VECTORIZE,
        settings.SLP_VECTORIZE,
    )
    versions = (sys.version_info[:3], sys.platform, numba.__version__, llvmlite.__version__)
    return sha256(repr((cpu, versions, tuple(map(str, switches)))).encode()).hexdigest()


@cache
def digest(path: Path) -> str:
    """SHA-256 of all that the machine code of the kernels in a file depends on."""
    root = package_folder(path).parent
    total = sha256(f"{environment()} {path.relative_to(root)}".encode())
    for source in sources(path):
        total.update(sha256(_text(source).encode()).digest())
    return total.hexdigest()


@cache
def folder() -> Path | None:
    """Return the folder of the cache; None if it cannot be used.

    Only the user or root can write to it. Otherwise anybody who can write to it could run code in
    this process. It is created with mode 0700.
    """
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        path = (Path(base) if base else Path.home() / ".cache") / FOLDER
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.lstat()
    except (OSError, RuntimeError):
        return None
    if os.name == "posix" and not _is_safe(status):
        warnings.warn(
            f"{path} is not a folder that only you can write to, so compiled kernels are not "
            "cached there and each process compiles them again. "
            f"Fix: chmod 700 {path}, or delete it.",
            stacklevel=2,
        )
        return None
    return path


def _is_safe(status: os.stat_result) -> bool:
    """Whether a path is a folder to which only the user or root can write."""
    of_others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(status.st_mode) and not of_others and status.st_uid in (0, os.geteuid())


@cache
def module_folder(path: Path) -> Path | None:
    """Return the folder of the compiled kernels of a source file; None without a cache."""
    base = folder()
    if base is None:
        return None
    place = base / f"{path.parent.name}.{path.stem}-{digest(path)[:24]}"
    with suppress(OSError):
        if not place.is_dir():
            _forget_unused(base, f"{path.parent.name}.{path.stem}-")
        elif time.time() - place.stat().st_mtime > 24 * 3600:
            os.utime(place)  # in use
    return place


def _forget_unused(base: Path, prefix: str) -> None:
    """Delete kernels of earlier versions of a module that no process has used lately."""
    for place in base.glob(f"{prefix}*"):
        if time.time() - place.stat().st_mtime > UNUSED_DAYS * 24 * 3600:
            for file in place.iterdir():
                file.unlink(missing_ok=True)
            place.rmdir()


def is_cached(path: Path) -> bool:
    """Whether kernels of a source file are on disk; True if no folder can store them."""
    place = module_folder(path)
    if place is None or not os.access(place.parent, os.W_OK):
        return True
    return any(place.glob("*.nbi"))


class _Locator(caching._CacheLocator):
    """Names the folder of a function's compiled code, by the content of its sources."""

    def __init__(self, place: Path, stamp: str, line: int) -> None:
        self._place, self._stamp, self._line = place, stamp, line

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator | None:
        path = Path(py_file).resolve()
        place = module_folder(path) if path.is_file() else None
        if place is None:
            return None
        return cls(place, digest(path), py_func.__code__.co_firstlineno)

    def get_cache_path(self) -> str:
        return str(self._place)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Files(caching.CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _ContentCache(caching.FunctionCache):
    """Numba's cache of one function: of several processes, one compiles and the others wait."""

    _impl_class = _Files

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._lock: FileLock | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        compiled = self._load(sig, target_context)
        if compiled is None:
            self._acquire()
            compiled = self._load(sig, target_context)
            if compiled is not None:
                self.release()
        return compiled

    def _load(self, sig: Any, target_context: Any) -> Any:
        """Read a kernel from disk; return None if it is not there.

        Numba's `load_overload` first imports everything that it can compile, SciPy's linear algebra
        included, which takes as long as `import numba`. Machine code needs only the symbols of the
        runtime. If Numba compiles a kernel, it imports the rest.
        """
        try:
            _add_symbols()
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception:  # a damaged file: whatever unpickling raises, the kernel is compiled
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            with suppress(OSError):  # a full disk costs the cache, not the run
                super().save_overload(sig, data)
        finally:
            self.release()

    def _acquire(self) -> None:
        from filelock import FileLock, Timeout  # only compiling needs it

        with suppress(OSError, Timeout):
            self._impl.locator.ensure_cache_path()
            lock = FileLock(Path(self._cache_path) / f"{self._impl.filename_base}.lock")
            lock.acquire(timeout=LONGEST_WAIT)
            self._lock = lock

    def release(self) -> None:
        """Let other processes compile the function."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None


@cache
def _add_symbols() -> None:
    """Let machine code find Numba's runtime, as `rtsys.initialize` does before it compiles a part
    that machine code on disk contains.
    """
    for name, address in _nrt.c_helpers.items():
        llvmlite.binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _DeferredCache(caching.NullCache):
    """The cache of a function, whose folder is determined when it is first used: kernels on disk
    contain the functions that they inline, so that most caches are never used.
    """

    def __init__(self, py_func: Any) -> None:
        self._py_func = py_func

    @cached_property
    def _files(self) -> _ContentCache | None:
        try:
            return _ContentCache(self._py_func)
        except (RuntimeError, AttributeError, OSError):  # no folder, no source file, another Numba
            return None

    @property
    def cache_path(self) -> Any:
        return self._files and self._files.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return self._files and self._files.load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._files:
            self._files.save_overload(sig, data)

    def release(self) -> None:
        """Let other processes compile the function."""
        if self._files:
            self._files.release()


def attach(kernel: Any) -> _DeferredCache:
    """Let a dispatcher store its machine code in the cache if a folder can store it."""
    kernel._cache = _DeferredCache(kernel.py_func)
    found: _DeferredCache = kernel._cache
    return found
