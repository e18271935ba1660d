"""Models as MLflow keeps them: pyfuncs whose code is `structopt.tracker.pyfunc`, so that nothing is
pickled.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from structopt.core.data.table_schema import Schema
from structopt.core.entry_points import DISTRIBUTION, core_version, plugins
from structopt.errors import ModelError, StructoptError, full_installation
from structopt.progress import credentials
from structopt.tracker.stores import asked_at, check_exists, store_address
from structopt.tracker.wheels import wheel

TABLES = "schema.json"
"""In a model folder: the task's schemas of inputs and outputs, and an example of an input."""
VECTORS, ARRAYS = ("vector",), (("pixels",), ("x",))
"""Names that the code inside models imports which version 0.1.0 has logged; nothing else uses
them.
"""


CARD = """\
# A model of structopt {version}

This folder is an MLflow model. `artifacts/model/config.json` names its components.

## Install

    cd MODEL && pip install -r requirements.txt

MODEL is this folder. pip resolves the paths in the requirements from the current folder.
{notes}

## Predict

    import mlflow.pyfunc
    model = mlflow.pyfunc.load_model("MODEL")
    model.predict(frame)

`MLmodel` describes the columns of the data frame. `input_example.json` has an example.
"""
"""README.md of a logged model."""


def save_pyfunc(target: Path, folder: Path, logged: Any, run_id: str | None) -> list[str]:
    """Pack a saved model as a pyfunc whose code is `structopt.tracker.pyfunc`; nothing is pickled.

    The folder contains the wheels of structopt and of the plugins that the model uses, and its
    requirements name them.

    Returns
    -------
    list of str
        A sentence with the reason for each missing wheel.
    """
    import mlflow.pyfunc
    from mlflow.models import Model

    wheels = [wheel(name) for name in (DISTRIBUTION, *_plugins(folder))]
    with tempfile.TemporaryDirectory() as temporary:
        files = {Path(temporary, one.name): one.content for one in wheels if one.content}
        for file, content in files.items():
            file.write_bytes(content)
        mlflow.pyfunc.save_model(
            path=str(target),
            python_model=str(Path(__file__).with_name("pyfunc.py")),
            artifacts={"model": str(folder)},
            code_paths=list(map(str, files)) or None,
            pip_requirements=[one.requirement for one in wheels],
            mlflow_model=Model(
                artifact_path=logged.artifact_location,
                model_uuid=logged.model_id,
                run_id=run_id,
                model_id=logged.model_id,
            ),
            **_tables(folder),
        )
    problems = [one.problem for one in wheels if one.problem]
    notes = "\n".join(problems or ["The wheels in the folder `code` have the code of this model."])
    card = CARD.format(version=core_version(), notes=notes)
    (target / "README.md").write_text(card, encoding="utf8")
    return problems


def _plugins(folder: Path) -> list[str]:
    """Return the distributions of the plugins that a saved model and its annotator use."""
    names = set[str]()
    for file in folder.rglob("config.json"):
        config, vocabulary = (
            json.loads(file.with_name(name).read_text(encoding="utf8"))
            for name in (file.name, "vocabulary.json")
        )
        names |= plugins(config | {"features": vocabulary["features"]}).keys()
    return sorted(names)


def _tables(folder: Path) -> dict[str, Any]:
    """Return the signature and the input example from the model's schemas."""
    import pandas
    from mlflow.models import ModelSignature
    from mlflow.types import Schema as Signature

    stored = json.loads((folder / TABLES).read_text(encoding="utf8"))
    inputs, outputs = (
        Signature(_columns(Schema.restore(stored[key]))) for key in ("input", "output")
    )
    return {
        "signature": ModelSignature(inputs, outputs),
        "input_example": pandas.DataFrame(stored["example"]),
    }


def _columns(schema: Schema) -> list[Any]:
    """Return the columns of a schema as MLflow describes them."""
    from mlflow.types import ColSpec, DataType
    from mlflow.types.schema import Array

    columns = []
    for column in schema:
        kind: Any = DataType[column.kind]
        for _ in range(column.depth):
            kind = Array(kind)
        columns.append(ColSpec(kind, column.name, required=column.required))
    return columns


def download_model(address: str, uri: str | None = None) -> Path:
    """Fetch a model from an MLflow address (``runs:/ID/model``, ``models:/NAME/VERSION``) and
    return its local folder.

    Parameters
    ----------
    address : str
    uri : str, optional
        The store; MLFLOW_TRACKING_URI where that is set, else the local store under ``outputs``.

    Raises
    ------
    ModelError
        If MLflow cannot find or fetch it.
    ConfigError
        If the store does not exist: MLflow would create it.
    """
    store = uri or store_address(None)
    check_exists(store)
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    with full_installation(f"The address {address}"):
        import mlflow

    try:
        with asked_at(store):  # looking up a logged model does not take the argument below
            return Path(
                mlflow.artifacts.download_artifacts(
                    artifact_uri=address, tracking_uri=credentials.restored(store)
                )
            )
    except StructoptError:
        raise
    except Exception as error:
        reason = credentials.hidden(str(error))
        raise ModelError(f"{address}: MLflow cannot fetch it from {store} ({reason}).") from error
