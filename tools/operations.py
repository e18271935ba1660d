"""Write the table of graphs and operations into docs/scores.md.

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
GRAPHS: dict[str, Callable[[], Any]] = {
    "`LinearChain()`": lambda: so.LinearChain().batch([3, 2], labels=2),
    "`LinearChain(order=2)`": lambda: so.LinearChain(2).batch([3, 2], labels=2),
    "`Single()`": lambda: so.Single().batch(2, labels=3),
    "`ArcFactored()`": lambda: so.ArcFactored().batch([3, 2]),
    "`ArcFactored(projective=True)`": lambda: so.ArcFactored(projective=True).batch([3, 2]),
    "`ArcFactored(labeled=True)`": lambda: so.ArcFactored(labeled=True).batch([3, 2], labels=2),
    "`SecondOrder()`": lambda: so.SecondOrder().batch([3, 2]),
    "`Pairwise()`": lambda: so.Pairwise().batch([3], [[(0, 1), (1, 2), (0, 2)]], labels=2),
    "`Antecedent()`": lambda: so.Antecedent().batch([3, 2]),
    "`Coverage()`": lambda: so.Coverage().batch([[2, 3]], [4], [[[0], [0, 1]]]),
}
APPROXIMATE: dict[str, Callable[[], so.Inference]] = {
    "AD3": so.AD3,
    "MPLP": so.MPLP,
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


def cell(graph: str, operation: str) -> tuple[str, so.ArgumentError | None]:
    """Return the text of a cell, and the error of the call with exact inference."""
    batch, call = GRAPHS[graph](), OPERATIONS[operation]
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
    """Return the page with a new table between its markers."""
    text = PAGE.read_text(encoding="utf8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + table() + "\n" + END + after


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(page_with_table() != PAGE.read_text(encoding="utf8"))
    PAGE.write_text(page_with_table(), encoding="utf8")
