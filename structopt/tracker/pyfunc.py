"""The model that MLflow serves: logged as code, so that loading it unpickles nothing.

A copy of this file goes into every logged model and is run by the version that loads it, so it uses
as few names as possible.
"""

from __future__ import annotations

from typing import Any

import mlflow.models
import pandas as pd
from mlflow.pyfunc.model import PythonModel


class Served(PythonModel):
    """Predicts an output for every row of a DataFrame.

    Columns in and out are those of the signature, which are the task's schemas: of sentences
    ``tokens`` and further columns, each cell a list with one string a token, and ``labels`` out. A
    further column that the input lacks counts as padding, and is warned about once.
    """

    def __init__(self) -> None:
        self._model: Any = None

    def load_context(self, context: Any) -> None:
        """Load the saved model among the artifacts."""
        import structopt

        self._model = structopt.load(context.artifacts["model"])  # type: ignore[attr-defined, unused-ignore]

    def predict(
        self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> pd.DataFrame:
        """Predict every row; DataError where the table does not fit the schema."""
        table = {str(name): model_input[name].tolist() for name in model_input.columns}
        return pd.DataFrame(self._model.predict_table(table), index=model_input.index)


mlflow.models.set_model(Served())
