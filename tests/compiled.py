"""Compiles every kernel once, side by side: the workers of a run would else each compile all of them at the same time."""

import ast
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from graphlib import TopologicalSorter
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from structopt import kernels

ROOT = Path(kernels.__file__).parent


def compile_kernels(workers: int) -> None:
    """Import every module of kernels in one process, after those that it imports: this compiles what the cache lacks."""
    order = TopologicalSorter(_imports())
    order.prepare()
    under_way: dict[Future[None], str] = {}
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        while order.is_active():
            under_way |= {pool.submit(_compile, name): name for name in order.get_ready()}
            for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                done.result()
                order.done(under_way.pop(done))


def _imports() -> dict[str, set[str]]:
    """The modules of kernels, and which of them each imports."""
    modules = {path.stem: ast.parse(path.read_text(encoding="utf8")) for path in ROOT.glob("[!_]*.py")}
    return {name: {other for other in modules if other != name and _names(tree, other)} for name, tree in modules.items()}


def _names(tree: ast.Module, module: str) -> bool:
    """Whether a module imports another of the kernels, or something of it."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    whole = any(node.module == kernels.__name__ and module in [name.name for name in node.names] for node in found)
    return whole or any(node.module == f"{kernels.__name__}.{module}" for node in found)


def _compile(name: str) -> None:
    import_module(f"{kernels.__name__}.{name}")
