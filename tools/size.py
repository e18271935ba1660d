#!/usr/bin/env python3
"""Print how much code there is to understand: syntax nodes, modules and functions per package.

usage: python tools/size.py [FOLDER]        FOLDER: `structopt` of this checkout by default

The exit status is always 0: the sizes are printed, not judged. Syntax nodes exclude imports, and a
docstring is one node. They do not depend on formatting, line breaks or the length of names, so they
fall only if logic is removed. Below the packages, the tool prints marks of code that is hard to
read or that depends on private interfaces of other packages.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
SHOWN = ("modules", "lines", "nodes", "statements", "functions", "classes")
MANY_PARAMETERS = 8
LONG_FUNCTION = 40  # lines
LONG_LINE = 100  # columns
SHORT_MODULE = 40  # lines

PRIVATE = re.compile(
    r"numba\.(?!(?:types|typed|extending|core\.types|core\.errors)\b)\w+\."
    r"|from numba\.(?:core(?!\.(?:errors|types)\b)|np|experimental|cpython)"
    r"|llvmlite|_nrt|get_compile_result|_get_wrapper_address|co_filename"
    r"|hydra\._internal|hydra\.core\.(?:override_parser|singleton|global_hydra|utils)"
    r"|_get_root\b|mlflow\.(?:store|utils)\b"
)


def docstrings(tree: ast.AST) -> set[int]:
    """Return the ids of the expressions that are docstrings."""
    return {
        id(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


def count_node(node: ast.AST, counts: Counter[str]) -> None:
    """Add one syntax node to the counts of a module."""
    counts["nodes"] += 1
    counts["statements"] += isinstance(node, ast.stmt)
    counts["classes"] += isinstance(node, ast.ClassDef)
    counts["Any in annotations"] += isinstance(node, ast.Name) and node.id == "Any"
    counts["asserts in product code"] += isinstance(node, ast.Assert)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        each = node.args
        parameters = len(each.posonlyargs) + len(each.args) + len(each.kwonlyargs)
        length = (node.end_lineno or 0) - node.lineno
        counts["functions"] += 1
        counts[f"functions of {MANY_PARAMETERS} or more parameters"] += (
            parameters >= MANY_PARAMETERS
        )
        counts[f"functions over {LONG_FUNCTION} lines"] += length > LONG_FUNCTION


def measure(path: Path) -> Counter[str]:
    """Count the syntax and the marks of one module."""
    text = path.read_text(encoding="utf8")
    tree, counts = ast.parse(text), Counter[str]()
    excluded = docstrings(tree)
    counts["modules"] = 1
    counts["lines"] = text.count("\n")
    for node in ast.walk(tree):
        if id(node) not in excluded and not isinstance(
            node, ast.Import | ast.ImportFrom | ast.alias
        ):
            count_node(node, counts)
    counts["fmt: skip"] = text.count("# fmt: skip") + text.count("# fmt: off")
    counts[f"lines over {LONG_LINE}"] = sum(len(line) > LONG_LINE for line in text.split("\n"))
    counts["uses of private interfaces of packages"] = len(PRIVATE.findall(text))
    counts[f"modules under {SHORT_MODULE} lines"] = int(
        counts["lines"] < SHORT_MODULE and path.name != "__init__.py"
    )
    counts["modules of one function"] = int(counts["functions"] == 1 and not counts["classes"])
    return counts


def print_row(name: str, counts: Counter[str], suffix: str = "") -> None:
    """Print one row of the table of packages."""
    print(f"{name:16}" + "".join(f"{counts[one]:12}" for one in SHOWN) + suffix)


def main(arguments: list[str] | None = None) -> int:
    """Print the table of packages, the marks, and the modules that use private interfaces."""
    chosen = sys.argv[1:] if arguments is None else arguments
    root = Path(chosen[0]) if chosen else ROOT / "structopt"
    packages: dict[str, Counter[str]] = defaultdict(Counter)
    lengths, private = [], Counter[str]()
    for path in sorted(root.rglob("*.py")):
        name, counts = path.relative_to(root), measure(path)
        packages[name.parts[0].removesuffix(".py")].update(counts)
        lengths.append(counts["lines"])
        if counts["uses of private interfaces of packages"]:
            private[str(name)] = counts["uses of private interfaces of packages"]
    total = sum(packages.values(), Counter[str]())
    print(f"{'package':16}" + "".join(f"{name:>12}" for name in SHOWN))
    for name, counts in sorted(packages.items(), key=lambda item: -item[1]["nodes"]):
        print_row(name, counts)
    middle = median(lengths) if lengths else 0
    print_row("TOTAL", total, f"   median module {middle:.0f} lines")
    for name in sorted(set(total) - set(SHOWN)):
        print(f"{total[name]:8}  {name}")
    most = ", ".join(f"{name} {number}" for name, number in private.most_common(12))
    print(f"private interfaces in {len(private)} modules, most first: {most}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
