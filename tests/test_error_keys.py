"""The library's errors name arguments and classes, as Python has them, and no keys or words of the
command line.
"""

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
    "verbs",
)
KINDS = "task|optimizer|loss|inference|factor_graph|features|executor|tracker"
KEY = re.compile(rf"(?<![\w.{{])(({KINDS})\.[a-z{{C]|({KINDS})=[a-z{{])")
EXCEPTIONS = {
    "executor/ray.py": "names itself on a cluster",
    "executor/ray_workers.py": "log entries of a run",
    "features/collisions.py": "a note in the log of a run",
}


def test_the_library_names_no_keys_and_words():
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
