"""Compiles every kernel once, side by side: the workers of a run would else each compile all of
them at the same time.
"""

import ast
from collections.abc import Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from graphlib import TopologicalSorter
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from structopt import kernels

KERNELS, ROOT = kernels.__name__, Path(kernels.__file__).parent


def compile_kernels(workers: int) -> None:
    """Import every module of kernels in one process, after those that it imports: this compiles
    what the cache lacks.

    Of the modules that wait, those come first on which the longest chain of others depends, so that
    no process is idle at last.
    """
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


def _imports() -> dict[str, set[str]]:
    """The modules of kernels, and which of them each imports."""
    paths = {
        f"{KERNELS}.{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}": path
        for path in ROOT.rglob("[!_]*.py")
    }
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
