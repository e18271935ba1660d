"""Importing, loading and predicting import only what prediction needs."""

import subprocess
import sys

import pytest

HEAVY = (
    "cvxpy",
    "hydra",
    "matplotlib",
    "mlflow",
    "omegaconf",
    "pandas",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse",
    "sklearn",
    # of this package: training, and files of formats that no instance in memory has
    "structopt.core.optimizer",
    "structopt.objective.problem",
    "structopt.kernels.passes.outputs",
    "structopt.formats.token_lists.parquet",
)
SENTENCES = {
    "ner": [("Ann", "NNP", "B-NP"), ("slept", "VBD", "B-VP")],
    "attributes": [{"word=Ann": True}, {"word=slept": 1.0}],
}
CODE = f"""import sys
import structopt
model = structopt.load(sys.argv[1])
model.predict([{SENTENCES}[sys.argv[2]]])
loaded = [name for name in {HEAVY} if name in sys.modules]
sys.exit(f"imported: {{loaded}}" if loaded else 0)
"""


@pytest.mark.parametrize("task", SENTENCES)
def test_prediction_imports_only_what_it_needs(trained, task):
    folder = trained(task)
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(folder), task],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
