"""The progress line of a training run; there is none where the output is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any


class ProgressLine:
    """One line on stderr with pass, loss, dev score and the time left; silent when stderr is not a terminal.

    Parameters
    ----------
    done, total : int
        Passes done before, and all passes.
    metric : str
        The dev metric to show.
    silent : bool
        Whether to show nothing on a terminal either.
    """

    def __init__(self, done: int, total: int, metric: str, silent: bool = False) -> None:
        from tqdm import tqdm

        form = "{desc} {n_fmt}/{total_fmt} |{bar:24}| {elapsed}<{remaining}{postfix}"
        options = {"disable": True if silent else None, "leave": False, "bar_format": form, "file": sys.stderr}
        self.metric = metric
        self._line: Any = tqdm(total=total, initial=done, desc="pass", **options)

    def show(self, row: Mapping[str, float | int | None]) -> None:
        """Move on by one pass; the gap is shown relative to the objective."""
        score = row.get(f"dev.{self.metric}")
        gap, primal = row.get("gap"), row.get("primal")
        numbers = {"loss": f"{row['loss']:.6g}"}
        if gap is not None and primal:
            numbers["gap"] = f"{gap / abs(primal):.1e}"
        if score is not None:
            numbers[f"dev {self.metric}"] = f"{score:.4f}"
        self._line.set_postfix(numbers, refresh=False)
        self._line.update()

    def close(self) -> None:
        """Take the line away."""
        self._line.close()
