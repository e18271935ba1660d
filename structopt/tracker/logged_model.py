"""Models as MLflow keeps them: pyfuncs whose code is `structopt.tracker.pyfunc`, so that nothing is pickled."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from structopt.core.protocols import Run
from structopt.errors import ModelError
from structopt.tracker.facts import DISTRIBUTION, version_of
from structopt.tracker.stores import store_address

VECTORS = ("vector",)  # the columns of a task that labels vectors instead of sequences
ARRAYS = (("pixels",), ("x",))  # and of those that label arrays of numbers


def save_pyfunc(target: Path, folder: Path, logged: Any, run_id: str | None, run: Run | None) -> None:
    """Pack a saved model as a pyfunc whose code is `structopt.tracker.pyfunc`; nothing is pickled."""
    import mlflow.pyfunc
    import pandas
    from mlflow.models import Model

    found, columns = version_of(DISTRIBUTION), run.columns if run else ()
    sequences = tuple(columns) not in (VECTORS, *ARRAYS)
    logging.getLogger("mlflow.pyfunc").setLevel(logging.NOTSET if sequences else logging.ERROR)  # it would miss a signature
    example = pandas.DataFrame({"tokens": [["A", "sentence", "of", "six", "tokens", "."]]})
    mlflow.pyfunc.save_model(
        path=str(target),
        python_model=str(Path(__file__).with_name("pyfunc.py")),
        artifacts={"model": str(folder)},
        signature=_signature(run) if run and sequences else None,  # a vector's columns are its indices, whichever there are
        input_example=example if sequences else None,
        pip_requirements=[f"{DISTRIBUTION}=={found}" if found else DISTRIBUTION],
        mlflow_model=Model(
            artifact_path=logged.artifact_location, model_uuid=logged.model_id, run_id=run_id, model_id=logged.model_id
        ),
    )


def _signature(run: Run) -> Any:
    """Return the signature: lists of strings in, lists of strings or of numbers out."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, Schema
    from mlflow.types.schema import Array

    strings = Array(DataType.string)
    inputs: list[Any] = [ColSpec(strings, "tokens"), *(ColSpec(strings, name, required=False) for name in run.columns[1:])]
    made: list[Any] = [ColSpec(strings if kind is str else Array(DataType.long), name) for name, kind in run.outputs.items()]
    return ModelSignature(inputs=Schema(inputs), outputs=Schema(made))


def download_model(address: str, uri: str | None = None) -> Path:
    """Fetch a model from an MLflow address (``runs:/ID/model``, ``models:/NAME/VERSION``) and return its local folder.

    Parameters
    ----------
    address : str
    uri : str, optional
        The store; MLFLOW_TRACKING_URI where that is set, else the local store under ``outputs``.

    Raises
    ------
    ModelError
        If MLflow cannot find or fetch it.
    """
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    import mlflow

    store = uri or os.environ.get("MLFLOW_TRACKING_URI") or store_address(None)
    mlflow.set_tracking_uri(store)  # looking up a logged model does not take the argument below
    try:
        return Path(mlflow.artifacts.download_artifacts(artifact_uri=address, tracking_uri=store))
    except Exception as error:
        raise ModelError(f"{address}: MLflow cannot fetch it from {store} ({error}).") from error
