"""A model with a network, as MLflow logs and loads it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install structopt-torch")

from structopt.testing.components import run_words


def test_mlflow_loads_a_logged_model_that_predicts(tmp_path: Path) -> None:
    import mlflow
    import pandas as pd

    uri = f"sqlite:///{tmp_path}/mlflow.db"
    words = (
        "task=ner",
        "features=torch_chain",
        "optimizer=torch_adamw",
        "features.hidden=10",
        "features.ngram_buckets=100",
        "task.limit=60",
        "optimizer.epochs=1",
        "hydra.run.dir=run",
        f"tracker.uri={uri}",
        "tracker.experiment=torch",
    )
    done = run_words(tmp_path, *words)
    assert done.code == 0, done.err
    mlflow.set_tracking_uri(uri)
    try:
        (run,) = mlflow.search_runs(experiment_names=["torch"]).run_id
        model = mlflow.pyfunc.load_model(f"runs:/{run}/model")
        predicted = model.predict(pd.DataFrame({"tokens": [["Ann", "slept", "."]]}))
    finally:
        mlflow.set_tracking_uri(None)
    assert [len(labels) for labels in predicted["labels"]] == [3]
