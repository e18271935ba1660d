"""The labeller that MLflow serves: logged as code, so that loading it unpickles nothing."""

from __future__ import annotations

import logging
from collections.abc import Sized
from typing import Any

import mlflow.models
import pandas as pd
from mlflow.pyfunc.model import PythonModel

from structopt.tracker.logged_model import ARRAYS, VECTORS

WORDS = "tokens"
PADDING = ""
_logger = logging.getLogger("structopt.tracker")


class Labeller(PythonModel):
    """Labels the rows of a DataFrame: sequences of tokens, vectors, or arrays of numbers.

    Of a vector, columns are named by its indices; zeros and missing values may stand for what it has not. Of arrays (images,
    synthetic samples) there is one column, ``pixels`` or ``x``, whose cells are nested lists. Of sequences,
    input columns are ``tokens`` and, where the model's templates use them, further columns such as ``pos`` and
    ``chunk``; each cell is a list with one string a token. The output has one column, ``labels``; of trees two, ``heads``
    and ``relations``. A column that the model uses and the input lacks counts as padding, and is warned about once.
    """

    def __init__(self) -> None:
        self._model: Any = None
        self._warned: set[str] = set()

    def load_context(self, context: Any) -> None:
        """Load the saved model among the artifacts."""
        import structopt

        self._model = structopt.load(context.artifacts["model"])  # type: ignore[attr-defined, unused-ignore]

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Label every row."""
        if tuple(self._model.columns) == VECTORS:
            return pd.DataFrame({"labels": self._model.predict(_vectors(model_input))}, index=model_input.index)
        if tuple(self._model.columns) in ARRAYS:
            outputs = self._model.predict(model_input[self._model.columns[0]].tolist())
            return pd.DataFrame(self._model.output_table(outputs), index=model_input.index)
        words = [_cells(row) for row in model_input[WORDS]]
        names = tuple(self._model.columns)
        columns = {names[0]: words} | {name: self._column(model_input, name, words) for name in names[1:]}
        return pd.DataFrame(self._model.output_table(self._model.predict_columns(columns)), index=model_input.index)

    def _column(self, frame: pd.DataFrame, name: str, words: list[list[str]]) -> list[list[str]]:
        """Take one further column, padding where it is missing."""
        if name not in frame.columns:
            self._warn_once(name)
            return [[PADDING] * len(row) for row in words]
        return [self._row(name, place, cell, words[place]) for place, cell in enumerate(frame[name])]

    def _row(self, name: str, place: int, cell: Any, words: list[str]) -> list[str]:
        """Take one sequence's cells of a further column; they must be as many as its tokens."""
        if not isinstance(cell, Sized):
            self._warn_once(name)
            return [PADDING] * len(words)
        cells = _cells(cell)
        if len(cells) != len(words):
            raise ValueError(f"row {place}: {len(words)} tokens but {len(cells)} entries in column {name!r}; give one a token.")
        return cells

    def _warn_once(self, name: str) -> None:
        """Say, once for each column, that it is missing."""
        if name not in self._warned:
            self._warned.add(name)
            _logger.warning("the model uses column %r, which the input lacks; it counts as padding", name)


def _vectors(frame: pd.DataFrame) -> list[dict[str, float]]:
    """Turn rows into mappings from index to value."""
    rows = frame.fillna(0.0).to_dict("records")
    return [{str(index): float(value) for index, value in row.items() if value != 0} for row in rows]


def _cells(row: Any) -> list[str]:
    """Turn a list or an array of strings into a list of str; a bare string is refused."""
    if isinstance(row, str):
        raise ValueError(f"expected a list of tokens, got the string {row!r}; split it into tokens first.")
    return [str(cell) for cell in row]


mlflow.models.set_model(Labeller())
