"""Compiled kernels on disk: those that were compiled from other sources are dropped.

Numba keeps compiled kernels on disk and compiles one again when its file changes, but not when a
function of another file that it calls changes or moves. So every folder of compiled kernels is
stamped with a digest of all the sources that they may call: those of `structopt.kernels`, and of
the package of the kernels, such as a plugin. Where the digest differs, the folder is emptied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path

CORE = Path(__file__).parents[1]
STAMP = "sources.sha256"


def package_folder(source: Path) -> Path:
    """Return the folder of the outermost package of a source file; the folder of the file where it
    is in no package.
    """
    folder = source.parent
    while (folder.parent / "__init__.py").is_file() and (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def digest(root: Path) -> str:
    """SHA-256 of the names, sizes and times of the sources in a package's folder, or of those in a
    folder that is no package.
    """
    sources = root.rglob("*.py") if (root / "__init__.py").is_file() else root.glob("*.py")
    stats = sorted((str(path.relative_to(root)), *_size_and_time(path)) for path in sources)
    return sha256(repr(stats).encode()).hexdigest()


def _size_and_time(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def forget_older(caches: Iterable[Path], state: str) -> bool:
    """Drop the compiled kernels in folders whose stamp is not `state`; return whether there were
    any such folders.
    """
    dropped = False
    for folder in caches:
        stamp = folder / STAMP
        try:
            if stamp.is_file() and stamp.read_text() == state:
                continue
            folder.mkdir(parents=True, exist_ok=True)
            for compiled in folder.glob("*.nb[ic]"):
                compiled.unlink(missing_ok=True)
            stamp.write_text(state)
            dropped = True
        except OSError:  # a folder that cannot be written to holds no compiled kernels either
            continue
    return dropped


def forget_older_in(root: Path, state: str) -> bool:
    """`forget_older` in all folders of a package, those of modules that are gone included; or in
    one folder.
    """
    caches = {root / "__pycache__"}
    if (root / "__init__.py").is_file():
        caches |= {path.parent / "__pycache__" for path in root.rglob("*.py")} | set(
            root.rglob("__pycache__")
        )
    return forget_older(sorted(caches), state)


@cache
def core_state() -> str:
    """Digest of the core's kernels."""
    return digest(CORE)


@cache
def refresh_core() -> None:
    """Drop the core's compiled kernels, once a process, where they are of other sources."""
    forget_older_in(CORE, core_state())


_refreshed: set[Path] = set()
"""Folders of sources whose compiled kernels this process has compared with them."""


def refresh(source: Path, used: Callable[[], Path]) -> None:
    """Drop compiled kernels, once a process and folder, where the sources of a kernel are others
    than they were.

    Parameters
    ----------
    source : Path
        The folder of the kernel's source.
    used : callable
        Gives the folder where Numba keeps it: beside its source, or elsewhere where that cannot be
        written to. It is called once a folder, since to ask Numba takes a fifth of a millisecond.
    """
    if source in _refreshed:
        return
    _refreshed.add(source)
    if source.is_relative_to(CORE):
        refresh_core()
        forget_older([used()], core_state())
    else:
        root = package_folder(source / "kernel.py")
        state = sha256((core_state() + digest(root)).encode()).hexdigest()
        forget_older_in(root, state)
        forget_older([used()], state)
