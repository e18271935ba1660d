"""What a person at the terminal sees: a progress line, a closing table. Nothing moves where the output is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from structopt.formats import tables


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
        self.done, self.total, self.metric, self.silent = done, total, metric, silent

    def __enter__(self) -> ProgressLine:
        from tqdm import tqdm

        form = "{desc} {n_fmt}/{total_fmt} |{bar:24}| {elapsed}<{remaining}{postfix}"
        shown = {"disable": True if self.silent else None, "leave": False, "bar_format": form, "file": sys.stderr}
        self._line: Any = tqdm(total=self.total, initial=self.done, desc="pass", **shown)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._line.close()

    def show(self, row: Mapping[str, float | int | None]) -> None:
        """Move on by one pass; the gap is shown relative to the objective."""
        score = row.get(f"dev.{self.metric}")
        gap, primal = row.get("gap"), row.get("primal")
        parts = {"loss": f"{row['loss']:.6g}"}
        if gap is not None and primal:
            parts["gap"] = f"{gap / abs(primal):.1e}"
        if score is not None:
            parts[f"dev {self.metric}"] = f"{score:.4f}"
        self._line.set_postfix(parts, refresh=False)
        self._line.update()


def closing_table(metrics: Mapping[str, Mapping[str, Any]], names: tuple[str, ...]) -> str:
    """Scores of the parts side by side, fractions as percentages."""
    parts = [part for part in ("dev", "test") if metrics.get(part)]
    if not parts:
        return ""
    rows = [(name, [metrics[part].get(name) for part in parts]) for name in names]
    shown = [(name, values) for name, values in rows if any(value is not None for value in values)]
    if not shown:
        return ""
    cells = [[name, *("-" if value is None else f"{100 * value:.2f}" for value in values)] for name, values in shown]
    first = max(len(name) for name, _ in shown) + 2
    return tables.columns([["", *parts], *cells], "<>", [first, *(7 for _ in parts)])
