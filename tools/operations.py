"""Write the tables of graphs, operations and part groups into docs/scores.md.

Usage::

    python -m tools.operations [--check]

Each cell comes from a call: with exact inference, else with each approximate one. An empty cell is
an operation that the graph refuses, by a message.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import structopt as so  # noqa: E402

PAGE = ROOT / "docs/scores.md"
BEGIN, END = "<!-- operations -->\n", "<!-- end of operations -->\n"
GROUPS_BEGIN, GROUPS_END = "<!-- groups -->\n", "<!-- end of groups -->\n"
NP = 'tags=["D", "N"], rules=[("NP", "D", "N")]'
GRAPHS = {
    "`LinearChain()`": "[3, 2], labels=2",
    "`LinearChain(order=2)`": "[3, 2], labels=2",
    "`Single()`": "2, labels=3",
    "`ArcFactored()`": "[3, 2]",
    "`ArcFactored(projective=True)`": "[3, 2]",
    "`ArcFactored(labeled=True)`": "[3, 2], labels=2",
    "`SecondOrder()`": "[3, 2]",
    "`Grammar()`": f"[2, 1], {NP}",
    "`Span()`": f"[2, 1], {NP}",
    "`Pairwise()`": "[3], [[(0, 1), (1, 2), (0, 2)]], labels=2",
    "`Antecedent()`": "[3, 2]",
    "`Coverage()`": "[[2, 3]], [4], [[[0], [0, 1]]]",
}
"""Arguments of ``batch`` of each graph in an example."""
APPROXIMATE: dict[str, Callable[[], so.Inference]] = {
    "AD3": so.AD3,
    "MPLP": so.MPLP,
    "Cut": so.Cut,
    "LoopyBP": so.LoopyBP,
    "TRWBP": so.TRWBP,
    "LP": so.LP,
    "ILP": so.ILP,
}
Call = Callable[[so.Parts, so.Gold, so.Inference | None], Any]
OPERATIONS: dict[str, Call] = {
    "`argmax`": lambda s, _gold, inference: so.argmax(s, inference),
    "`infer`, `log_partition`, `marginals`, `entropy`, `kl`, `covariance_product`": (
        lambda s, _gold, inference: [
            so.marginals(s, inference),
            so.entropy(s, inference),
            so.kl(s, s, inference),
            so.covariance_product(s, s, inference),
        ]
    ),
    "`log_prob`": lambda s, gold, inference: so.log_prob(s, gold, inference),
    "`k_best`": lambda s, _gold, inference: so.k_best(s, 2, inference),
    "`sample`": lambda s, _gold, inference: so.sample(s, 2, 0, inference),
    "loss `CRF()`": lambda s, gold, inference: so.value_and_gradient(so.CRF(), s, gold, inference),
    "loss `SVM()`": lambda s, gold, inference: so.value_and_gradient(so.SVM(), s, gold, inference),
}


def example(graph: str) -> Any:
    """Return the example batch of a graph."""
    return eval(f"so.{graph.strip('`')}.batch({GRAPHS[graph]})", {"so": so})


def groups_table() -> str:
    """Return the table of part groups in Markdown, with the shapes of the first instance."""
    lines = ["| graph | `batch` of the example | groups in order |", "|---|---|---|"]
    for graph, arguments in GRAPHS.items():
        layouts = example(graph).layouts
        shapes = {name: (*one.extents[0].tolist(), *one.cells) for name, one in layouts.items()}
        listed = "; ".join(f"`{name}` {shape}" for name, shape in shapes.items())
        lines.append(f"| {graph} | `{arguments}` | {listed} |")
    return "\n".join(lines) + "\n"


def cell(graph: str, operation: str) -> tuple[str, so.ArgumentError | None]:
    """Return the text of a cell, and the error of the call with exact inference."""
    batch, call = example(graph), OPERATIONS[operation]
    s = batch.scores()
    best = so.argmax(s, None if _solves(s) else so.AD3())
    gold = batch.gold(*best.views.values())
    try:
        call(s, gold, None)
    except so.ArgumentError as error:
        working = [name for name, make in APPROXIMATE.items() if _works(call, s, gold, make())]
        return ", ".join(working), error
    return "exact", None


def _solves(s: so.Parts) -> bool:
    return _works(OPERATIONS["`argmax`"], s, None, None)


def _works(call: Any, s: so.Parts, gold: Any, inference: so.Inference | None) -> bool:
    try:
        call(s, gold, inference)
    except so.ArgumentError:
        return False
    return True


def table() -> str:
    """Return the table in Markdown."""
    np.seterr(all="ignore")
    lines = [
        "| graph | " + " | ".join(OPERATIONS) + " |",
        "|---" * (1 + len(OPERATIONS)) + "|",
    ]
    for graph in GRAPHS:
        cells = [cell(graph, operation)[0] for operation in OPERATIONS]
        lines.append("| " + " | ".join([graph, *cells]) + " |")
    return "\n".join(lines) + "\n"


def page_with_table() -> str:
    """Return the page with new tables between their markers."""
    text = PAGE.read_text(encoding="utf8")
    for begin, end, new in ((BEGIN, END, table()), (GROUPS_BEGIN, GROUPS_END, groups_table())):
        before, _, rest = text.partition(begin)
        text = before + begin + "\n" + new + "\n" + end + rest.partition(end)[2]
    return text


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(page_with_table() != PAGE.read_text(encoding="utf8"))
    PAGE.write_text(page_with_table(), encoding="utf8")
