"""Compiled functions on flat arrays, nothing else.

Numba keeps compiled kernels on disk and compiles one again when its own file changes, but not when a function of another
file that it takes in does. So the first import after any change of these sources forgets what was compiled before.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path


def forget_older(folder: Path) -> bool:
    """Drop the compiled kernels in a folder of sources unless they were made of these sources; whether any had to go."""
    sources = sorted((path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in folder.glob("*.py"))
    state, cache = sha256(repr(sources).encode()).hexdigest(), folder / "__pycache__"
    stamp = cache / "sources.sha256"
    try:
        if stamp.is_file() and stamp.read_text() == state:
            return False
        cache.mkdir(exist_ok=True)
        for index in cache.glob("*.nb[ic]"):
            index.unlink(missing_ok=True)
        stamp.write_text(state)
    except OSError:  # a folder that cannot be written to holds no compiled kernels either
        return False
    return True


forget_older(Path(__file__).parent)
