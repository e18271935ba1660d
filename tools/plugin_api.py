"""Write the tables of names into docs/plugin_api.md.

Usage::

    python -m tools.plugin_api [--check]

The names are those of `__all__` of the modules in `structopt.plugin`. A description is the first
sentence of the docstring. `DESCRIPTIONS` has those of constants, and of kernels whose docstrings
are equations.
"""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

PAGE = ROOT / "docs/plugin_api.md"
SECTION = re.compile(r"(<!-- names of ([\w.]+) -->\n).*?(<!-- end of names -->\n)", re.DOTALL)
DESCRIPTIONS = {
    "ARBORESCENCE": "Kind of structure: non-projective trees",
    "Array": "Type of a NumPy array",
    "CHAIN": "Kind of structure: chains of any order",
    "CONVEX": "Demands of methods that use tangents of the loss as lower bounds",
    "Data": "The records that the kernels of a pass read, and the messages of instances",
    "DUAL": "Demands of dual methods",
    "EMPTY": "Record without entries",
    "EVALUATE": "Signature of the kernels of losses",
    "FACTORS": "Layout of the records of variables and factors",
    "FACTOR_EXTEND": "Signature of kernels that check the states of a factor",
    "FACTOR_LOCAL": "Signature of the maximum and the marginals of a factor",
    "FACTOR_MESSAGES": "Signature of the messages of a factor",
    "FACTOR_PROJECT": "Signature of projections onto the polytope of a factor",
    "FAMILY": "Demands of methods that use the dual of the loss family",
    "FORESTS": "Layout of the records of grammars",
    "Flag": "Field of a record: a truth value",
    "Float": "Field of a record: a float64",
    "Floats": "Field of a record: a float64 array",
    "HAMMING": "Cost that counts wrong variables",
    "INDEPENDENT": "Kind of structure: variables without factors between them",
    "INTS": "Numba type of int32 arrays",
    "Int": "Field of a record: an int32",
    "Ints": "Field of a record: an int32 array",
    "K_BEST": "Signature of lists of the k best outputs",
    "LONGS": "Numba type of int64 arrays",
    "LOOPY": "Kind of structure: variables and factors of any shape",
    "Long": "Field of a record: an int64",
    "Longs": "Field of a record: an int64 array",
    "MARGINS": "Demands of methods with margins",
    "NONE": "Position of a missing token",
    "Named": "Names of weights by their indices",
    "PROJECTIVE": "Kind of structure: projective trees",
    "RECORD": "Numba type of records",
    "ROOT": "Position of the root of a tree",
    "ROUND": "Signature of kernels that round marginals to an output",
    "SINGLE": "Kind of structure: one variable per instance",
    "SOLVE": "Signature of values and marginals, or best outputs",
    "State": "Type of the state of an optimizer: a mapping or a dataclass",
    "TABLES": "Kind of structure: variables, and factors over a few of them",
    "VECTOR": "Numba type of float64 arrays",
    "Wide": "Mark of a field: an array with two axes",
    "Words": "Field of a record: an array of uint64",
    "add_cost": "Add the cost of an instance to scores",
    "add_gold": "Add the gold parts of an instance, times a number, to a vector",
    "ask_ahead": "Prefetch the weights that the next visits read",
    "set_row": "Copy an array into another one",
    "visit": "Return the loss of an instance, and write its residual",
}


def table(module: str) -> str:
    """Return the table of the names of a module."""
    names = import_module(module).__all__
    rows = [f"| `{name}` | {description(module, name)} |" for name in names]
    return "\n".join([f"| {len(names)} names | |", "|---|---|", *rows]) + "\n"


def description(module: str, name: str) -> str:
    """Return one sentence about a name, without a full stop."""
    if name in DESCRIPTIONS:
        return DESCRIPTIONS[name]
    value = getattr(import_module(module), name)
    text = inspect.getdoc(getattr(value, "py_func", value)) or ""
    sentence = re.split(r"(?<=[.:;])\s", " ".join(text.split("\n\n")[0].split()))[0]
    short = re.sub(r"`structopt\.[\w.]*\.(\w+)`", r"`\1`", sentence)
    return short.rstrip(".:;").replace("``", "`").replace("|", "\\|")


def page_with_tables(text: str) -> str:
    """Return the page with the tables of today."""
    return SECTION.sub(lambda found: f"{found[1]}{table(found[2])}{found[3]}", text)


def main() -> int:
    """Write the page, or compare it with the names."""
    old = PAGE.read_text(encoding="utf8")
    new = page_with_tables(old)
    if "--check" not in sys.argv:
        PAGE.write_text(new, encoding="utf8")
    elif new != old:
        print(f"{PAGE} differs from structopt.plugin. Run: python -m tools.plugin_api")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
