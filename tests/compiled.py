"""Compile every kernel once, in parallel, before the workers of a test run start.

Each worker would otherwise wait for kernels that another one compiles, in the same order.
"""

import ast
from collections.abc import Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from graphlib import TopologicalSorter
from hashlib import sha256
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from structopt import kernels
from structopt.kernels.waist import disk_cache

KERNELS, ROOT = kernels.__name__, Path(kernels.__file__).parent


def compile_kernels(workers: int) -> None:
    """Compile the kernels that the cache lacks.

    One process imports each module of kernels, after the modules that it imports. Of the modules
    that wait, the one with the longest chain of dependent modules comes first, so that no process
    is idle at the end. Nothing is imported if an earlier call found the same sources.
    """
    paths = _paths()
    stamp = _stamp(paths)
    if stamp and stamp.is_file() and all(map(Path.is_dir, _folders(stamp))):
        return
    _import_all(workers)
    if stamp:
        folders = filter(None, map(disk_cache.module_folder, paths.values()))
        stamp.write_text("\n".join(str(one) for one in folders if one.is_dir()), encoding="utf8")


def _stamp(paths: Mapping[str, Path]) -> Path | None:
    """Return the file that lists the folders of all kernels; None without a cache."""
    folder = disk_cache.folder()
    if folder is None:
        return None
    total = sha256("".join(map(disk_cache.digest, paths.values())).encode())
    return folder / f"tests-{total.hexdigest()[:24]}"


def _folders(stamp: Path) -> list[Path]:
    return [Path(line) for line in stamp.read_text(encoding="utf8").splitlines()]


def _import_all(workers: int) -> None:
    imports = _imports()
    order, depth, waiting = TopologicalSorter(imports), _depths(imports), list[str]()
    order.prepare()
    under_way: dict[Future[None], str] = {}
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        while order.is_active():
            waiting = sorted([*waiting, *order.get_ready()], key=depth.__getitem__)
            while waiting and len(under_way) < workers:
                name = waiting.pop()
                under_way[pool.submit(_compile, name)] = name
            for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                done.result()
                order.done(under_way.pop(done))


def _depths(imports: Mapping[str, Collection[str]]) -> dict[str, tuple[int, int]]:
    """Of each module how long the longest chain of modules is that depend on it, and how many it
    imports itself.
    """
    chains: dict[str, int] = {}
    for name in reversed(list(TopologicalSorter(imports).static_order())):
        chains.setdefault(name, 0)
        for other in imports[name]:
            chains[other] = max(chains.get(other, 0), chains[name] + 1)
    return {name: (chain, len(imports[name])) for name, chain in chains.items()}


def _paths() -> dict[str, Path]:
    """Files of the modules of kernels by the modules' names."""
    return {
        f"{KERNELS}.{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}": path
        for path in sorted(ROOT.rglob("[!_]*.py"))
    }


def _imports() -> dict[str, set[str]]:
    """The modules of kernels, and which of them each imports."""
    paths = _paths()
    trees = {name: ast.parse(path.read_text(encoding="utf8")) for name, path in paths.items()}
    return {
        name: {other for other in _imported(tree) if other in trees and other != name}
        for name, tree in trees.items()
    }


def _imported(tree: ast.Module) -> set[str]:
    """What a module imports, modules and things of them alike."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {str(node.module) for node in found} | {
        f"{node.module}.{name.name}" for node in found for name in node.names
    }


def _compile(name: str) -> None:
    import_module(name)
