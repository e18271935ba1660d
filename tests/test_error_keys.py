"""The library's errors name arguments, as Python has them, and no keys of the command line."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import structopt

ROOT = Path(structopt.__file__).parent
FOLDERS = (
    "optimizer",
    "learning",
    "loss",
    "inference",
    "factor_graph",
    "factor_kind",
    "features",
    "executor",
    "objective",
)
KEY = re.compile(r"(?<![\w.{])(optimizer|loss|inference|factor_graph|features|executor)\.[a-z{C]")
EXCEPTIONS = {
    "inference/ilp.py": "a log entry of a run",
    "factor_graph/antecedent.py": "a note in the log of a run",
    "features/collisions.py": "a note in the log of a run",
    "objective/gold_checks.py": "names settings of several factor graphs, after those of the task",
    "objective/unlearned_weights.py": "warm starts are of the application",
}


def test_the_library_names_no_keys():
    found = {
        str(path.relative_to(ROOT))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if any(map(KEY.search, _texts(ast.parse(path.read_text()))))
    }
    assert found == set(EXCEPTIONS)


def _texts(module: ast.Module) -> Iterator[str]:
    """Strings of a module, except docstrings and names of modules."""
    statements = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                part.value if isinstance(part, ast.Constant) else "{" for part in node.values
            )
        elif isinstance(node, ast.Constant) and id(node) not in statements:
            yield str(node.value)
