"""Imports run one way, from the rooms above to the floors below, those inside functions too, and in
no circle.
"""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import structopt

ROOT = Path(structopt.__file__).parent
COMPONENTS = frozenset(
    {
        "task",
        "features",
        "factor_graph",
        "factor_kind",
        "inference",
        "loss",
        "optimizer",
        "tracker",
        "executor",
    }
)
FLOORS: tuple[frozenset[str], ...] = (
    frozenset({"errors"}),
    frozenset({"kernels"}),
    frozenset({"core"}),
    frozenset({"formats", "metrics", "templates", "datasets", "progress", "process"}),
    COMPONENTS | {"learning", "reference"},
    frozenset({"objective"}),
    frozenset({"verbs"}),
    frozenset({"torch"}),
    frozenset({"config"}),
    frozenset({"model"}),
    frozenset({"run"}),
    frozenset({"sweep", "report", "experiment"}),
    frozenset({"command", "estimators"}),
)
# they may import from anywhere, and no room imports them
OUTSIDE = {"plugin", "testing", "", "__main__"}
READERS = {
    "task": {"formats", "metrics", "templates", "datasets"},
    "features": {"formats", "templates"},
}
"""Which rooms of the components read files, score predictions, and know templates."""
EXCEPTIONS = {
    "verbs.fitting": {"model.array_model"},  # a fit makes the model that predicts
    "model.array_model": {"features"},  # arrays have the features of problems
    # it calls the verbs with components
    "estimators.graph_labeler": {"factor_graph", "features", "inference", "loss", "optimizer"},
    "estimators.pair_weights": {"features"},
    "model.folder": {"tracker"},  # a model may be one that MLflow keeps
    "report.mlflow_store": {"tracker"},  # runs are looked for where the tracker put them
    "tracker.pyfunc": {""},  # MLflow loads a model as a user does: import structopt
}
MOST_MODULES = 22  # in a folder; core/data has most


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = dict(modules())


def imported(path):
    """Modules of this package that a file imports anywhere but for type checkers alone."""
    tree = ast.parse(path.read_text(encoding="utf8"))
    checked = [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.If) and "TYPE_CHECKING" in ast.unparse(one.test)
    ]
    for_types = {id(node) for one in checked for node in ast.walk(one)}
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            within = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [
                name if name.removeprefix("structopt.") in MODULES else node.module
                for name in within
            ]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "structopt":
                yield name.removeprefix("structopt").removeprefix(".")


@cache
def imports():
    """Return the modules that each module imports."""
    return {module: frozenset(imported(path)) for module, path in MODULES.items()}


def room(module):
    return module.split(".")[0]


def floor(module):
    for level, rooms in enumerate(FLOORS):
        if room(module) in rooms:
            return level
    raise AssertionError(f"{module} is in no room of tests/test_imports.py: add it there")


INSIDE = [module for module in MODULES if room(module) not in OUTSIDE]


def test_imports_come_from_its_own_floor_and_below():
    for module in INSIDE:
        for other in imports()[module] - EXCEPTIONS.get(module, set()):
            assert room(other) not in OUTSIDE and floor(other) <= floor(module), (
                f"{module} imports {other}, which is above it"
            )


def test_components_import_none_of_another_kind():
    for module in (one for one in INSIDE if room(one) in COMPONENTS):
        for other in imports()[module]:
            assert room(other) not in COMPONENTS - {room(module)}, f"{module} imports {other}"


def test_files_and_scores_are_known_to_few_rooms():
    for module in (one for one in INSIDE if floor(one) == floor("task")):
        read = {room(other) for other in imports()[module]} & READERS["task"]
        assert read <= READERS.get(room(module), set()), f"{module} imports {sorted(read)}"


def test_one_module_of_the_estimators_reaches_the_application():
    application = {room(one) for one in INSIDE if floor(one) >= floor("config")} - {
        "model",
        "estimators",
    }
    reaching = {
        module
        for module in INSIDE
        if room(module) == "estimators" and {room(one) for one in imports()[module]} & application
    }
    assert reaching == {"estimators.application"}


def test_only_the_registry_reaches_components():
    """The library takes components as objects; the application finds them by entry points."""
    for module in (one for one in INSIDE if floor(one) >= floor("config")):
        named = {room(other) for other in imports()[module]} & COMPONENTS
        assert named <= EXCEPTIONS.get(module, set()), f"{module} imports {sorted(named)}"


def test_there_are_no_circles():
    try:
        list(TopologicalSorter({one: imports()[one] - {one, ""} for one in MODULES}).static_order())
    except CycleError as error:
        raise AssertionError(f"a circle of imports: {' -> '.join(error.args[1])}") from None


def test_rooms_are_not_crowded():
    folders = {path.parent for path in MODULES.values()}
    crowded = {str(folder.relative_to(ROOT)): len(list(folder.glob("*.py"))) for folder in folders}
    assert {name: count for name, count in crowded.items() if count > MOST_MODULES} == {}
    assert {path.stem for path in ROOT.glob("*.py")} == {"__init__", "__main__", "errors"}
