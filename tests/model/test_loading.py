"""Importing, loading and predicting import only what prediction needs."""

import subprocess
import sys

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
CODE = f"""import sys
import structopt
model = structopt.load(sys.argv[1])
model.predict([[("Ann", "NNP", "B-NP"), ("slept", "VBD", "B-VP")]])
loaded = [name for name in {HEAVY} if name in sys.modules]
sys.exit(f"imported: {{loaded}}" if loaded else 0)
"""


def test_prediction_imports_only_what_it_needs(trained):
    folder = trained("ner")
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
