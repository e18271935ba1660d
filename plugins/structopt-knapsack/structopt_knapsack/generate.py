"""The shipped corpus: the best selections under a noisy model of the worth of items.

Its files are written by ``python -m structopt_knapsack.generate``.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "corpus"
SIZES = {"train": 160, "dev": 80, "test": 80}
WORTH = {"tent": 3.0, "stove": 2.0, "rope": 1.5, "book": 0.5, "lamp": 1.0, "chair": -0.5}


def instance(random: np.random.Generator) -> dict[str, Any]:
    """One line: items with a kind, a rating and perhaps rust; the gold selection is the best one
    under noisy worths.
    """
    items, worth = [], []
    for _ in range(int(random.integers(4, 9))):
        kind, rating, rusty = (
            str(random.choice(list(WORTH))),
            int(random.integers(1, 6)),
            bool(random.random() < 0.25),
        )
        features: dict[str, Any] = {"kind": kind, "rating": rating} | (
            {"rusty": True} if rusty else {}
        )
        items.append({"features": features, "weight": int(random.integers(1, 10))})
        worth.append(WORTH[kind] + 0.5 * (rating - 3) - 1.5 * rusty + random.normal(scale=0.5))
    weights = np.array([item["weight"] for item in items])
    budget = max(int(0.45 * weights.sum()), 1)
    selections = np.array(list(product((0, 1), repeat=len(items))))
    fitting = selections[selections @ weights <= budget]
    best = fitting[(fitting @ np.array(worth)).argmax()]
    return {"items": items, "budget": budget, "selected": np.flatnonzero(best).tolist()}


def main() -> None:
    """Write the three files."""
    random = np.random.default_rng(7)
    for split, size in SIZES.items():
        lines = [json.dumps(instance(random)) for _ in range(size)]
        (FOLDER / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf8")


if __name__ == "__main__":
    main()
