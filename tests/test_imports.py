"""Imports run one way: from the rooms above to the floors below."""

import ast
from pathlib import Path

import pytest

import structopt

ROOT = Path(structopt.__file__).parent

FLOORS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "interruption", "overrides", "schema", "memory", "kernels"}),
    frozenset({"core"}),
    frozenset({"learning"}),
    frozenset({
        "task", "features", "factor_graph", "factor_kind", "inference", "loss", "optimizer", "tracker", "executor", "reference",
        "corpus",
    }),
    frozenset({
        "archive", "registry", "feature_keys", "scoring", "problem", "shards", "decoding", "compatibility", "checkpoint",
        "checks", "fingerprint", "pruning",
    }),
    frozenset({
        "configuration", "experiments", "history", "hydra_glue", "model", "plots", "records", "sweepers", "terminal", "trainer",
        "warm_start",
    }),
    frozenset({"session", "prediction", "pairs", "plugin", "compare", "testing"}),
    frozenset({"commands", "sweep", "sweep_job", "sweep_table"}),
    frozenset({"cli", "", "__main__"}),
)
COMPONENTS = {
    "task", "features", "factor_graph", "factor_kind", "inference", "loss", "optimizer", "tracker", "executor",
}  # fmt: skip
EXCEPTIONS = {
    "model": {"tracker"},  # saving a model for MLflow
    "compare.store": {"tracker"},  # looking for runs where the tracker put them
    "tracker.pyfunc": {""},  # MLflow loads a model as a user does: import structopt
}


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = dict(modules())


def imported(path):
    """Modules of this package that a file imports, lazily or not."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            within = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name.removeprefix("structopt.") in MODULES else node.module for name in within]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "structopt":
                yield name.removeprefix("structopt").removeprefix(".")


def floor(module):
    for level, names in enumerate(FLOORS):
        if module in names or any(name and module.startswith(f"{name}.") for name in names):
            return level
    raise AssertionError(f"{module} is on no floor; add it to tests/test_imports.py")


@pytest.mark.parametrize("module", MODULES)
def test_imports_only_from_its_own_floor_and_below(module):
    for other in imported(MODULES[module]):
        if other not in EXCEPTIONS.get(module, ()):
            assert floor(other) <= floor(module), f"{module} imports {other}, which is above it"


@pytest.mark.parametrize("module", [m for m in MODULES if m.split(".")[0] in COMPONENTS])
def test_components_do_not_import_each_other(module):
    kind = module.split(".")[0]
    for other in imported(MODULES[module]):
        assert other.split(".")[0] not in COMPONENTS - {kind}, f"{module} imports {other}"


def test_kernels_import_no_other_room():
    for module in MODULES:
        if module.split(".")[0] == "kernels":
            assert all(other.split(".")[0] in {"kernels", "errors"} for other in imported(MODULES[module])), module


def test_only_the_registry_reaches_components():
    """Above the components, nothing names one: they are found through entry points."""
    for module in MODULES:
        room = module.split(".")[0]
        if room in COMPONENTS | {"plugin", "testing", "reference"}:
            continue
        named = {other.split(".")[0] for other in imported(MODULES[module])} & COMPONENTS
        assert named <= EXCEPTIONS.get(module, set()), f"{module} imports {sorted(named)}"


def test_no_cycles_within_the_package():
    """Imports at the top of modules form no cycle."""
    graph = {}
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text(encoding="utf8"))
        top = ast.Module([n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)], [])
        names = set()
        for node in top.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("structopt"):
                names |= {f"{node.module}.{a.name}".removeprefix("structopt.") for a in node.names} | {
                    node.module.removeprefix("structopt").removeprefix(".")
                }
        graph[module] = (names & set(MODULES)) - {module, ""}
    finished = set()

    def visit(module, path):
        assert module not in path, " -> ".join([*path, module])
        if module not in finished:
            for other in sorted(graph[module]):
                visit(other, [*path, module])
            finished.add(module)

    for module in graph:
        visit(module, [])
