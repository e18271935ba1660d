"""What needs no Hydra, MLflow, pandas, cvxpy, matplotlib or scikit-learn, and what names them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from structopt.errors import OMITTED
from tests.trained import TrainedRuns

ROOT = Path(__file__).parents[2]
IMAGE = ROOT / "tools/image"
INSTALL = "structopt-trainer"
WITHOUT = [*OMITTED, "sklearn"]
"""Modules that prediction does not need."""
CODE = f"""
import json, sys
sys.modules |= dict.fromkeys({WITHOUT})
import structopt
from structopt.command.main import main
run, text = sys.argv[1:]
shown = {{}}

def error(call):
    try:
        call()
    except structopt.StructoptError as error:
        return str(error)

model = structopt.load(run)
sentences = [[("Ann", "NNP", "B-NP"), ("slept", "VBD", "B-VP")]]
tagger = structopt.SequenceTagger(epochs=2)
X, y = [[["a"], ["b"]]], [["X", "O"]]
structopt.SequenceTagger(epochs=2, folder="fitted").fit(X, y)
results = dict(
    labels=model.predict(sentences),
    best=[sentence[0][1] for sentence in model.predict_k_best(sentences, 3)],
    marginals=len(model.marginals(sentences)),
    fitted=tagger.fit(X, y).predict(X),
    codes=[
        main([command, f"model={{run}}", *words.split()])
        for command, words in (
            ("predict", f"input={{text}} output=predicted.txt probabilities=true k_best=2"),
            ("evaluate", f"input={{text}}"),
            ("explain", f"input={{text}} sentence=1 output=explained.txt"),
            ("compile", ""),
        )
    ],
    errors=[
        error(lambda: structopt.train(["task=ner"])),
        error(lambda: structopt.runs(run)),
        error(lambda: structopt.SequenceTagger(overrides=["loss.beta=2"]).fit(X, y)),
        error(lambda: structopt.SequenceTagger(overrides={{"tracker": "mlflow"}}).fit(X, y)),
        error(lambda: structopt.SequenceTagger(overrides={{"check": True}}).fit(X, y)),
    ],
    trained=main(["task=ner"]),
)
print(json.dumps(results))
"""


COMMANDS = f"""
import sys
from structopt.command.main import main
run, text = sys.argv[1:]
for words in (["predict", "output=predicted.txt"], ["evaluate"], ["explain", "sentence=1"]):
    assert main([*words, f"model={{run}}", f"input={{text}}"]) == 0
imported = [name for name in {WITHOUT} if name in sys.modules]
sys.exit(f"imported: {{imported}}" if imported else 0)
"""


def test_commands_that_apply_a_model_import_none_of_them(
    trained: TrainedRuns, tmp_path: Path
) -> None:
    text = ROOT / "structopt/datasets/dev.conll"
    command = [sys.executable, "-c", COMMANDS, str(trained("ner")), str(text)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_without_the_packages_of_training(trained: TrainedRuns, tmp_path: Path) -> None:
    run = trained("ner")
    text = ROOT / "structopt/datasets/dev.conll"
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(run), str(text)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "MLFLOW_TRACKING_URI": ""},
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    assert results["labels"] == results["best"]
    assert results["marginals"] == 1
    assert results["fitted"] == [["X", "O"]]
    assert results["codes"] == [0, 0, 0, 0]
    assert (tmp_path / "predicted.txt").is_file() and (tmp_path / "explained.txt").is_file()
    remedy = f"Install all packages of structopt: pip install {INSTALL}"
    needed = ["hydra-core", "pandas", "hydra-core", "mlflow", "cvxpy"]
    for error, package in zip(results["errors"], needed, strict=True):
        assert error.endswith(f" needs the package {package}, which is not installed. {remedy}")
    assert results["trained"] == 2
    assert "This command needs the package hydra-core, which is not installed." in done.stderr


def test_the_requirements_are_those_of_the_project_without_the_omitted_ones() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    lines = (ROOT / "requirements-predict.txt").read_text(encoding="utf8").splitlines()
    listed = {one.name: one for line in lines if line[0] != "#" for one in [Requirement(line)]}
    declared = {one.name: one for one in map(Requirement, project["dependencies"])}
    assert declared.keys() - listed.keys() == set(OMITTED.values())
    assert listed.keys() <= declared.keys()
    different = [name for name, one in listed.items() if one != declared[name]]
    assert different == ["omegaconf"]
    bounds = declared["omegaconf"].specifier, listed["omegaconf"].specifier
    assert [sorted(str(one) for one in bound) for bound in bounds] == [
        ["<2.4", ">=2.3"],
        ["<2.5", ">=2.3"],
    ]


def instructions() -> list[list[str]]:
    lines = (IMAGE / "Dockerfile").read_text(encoding="utf8").splitlines()
    return [shlex.split(line) for line in lines if line and line[0] != "#"]


def test_the_dockerfile_copies_files_and_runs_one_script() -> None:
    names = [name for name, *_ in instructions()]
    assert set(names) == {"FROM", "ENV", "COPY", "RUN", "USER", "ENTRYPOINT"}
    assert [words for name, *words in instructions() if name == "RUN"] == [
        ["/source/tools/image/install", "/opt/structopt"]
    ]
    assert os.access(IMAGE / "install", os.X_OK)
    assert names.index("ENV") < names.index("COPY") < names.index("RUN") < names.index("USER")


def test_the_dockerfile_copies_what_the_script_installs() -> None:
    sources = {one for name, *words in instructions() if name == "COPY" for one in words[:-1]}
    assert all((ROOT / one).exists() for one in sources)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    packaged = {*wheel["packages"], *wheel["force-include"], project["project"]["readme"]}
    script = (IMAGE / "install").read_text(encoding="utf8")
    read = set(re.findall(r"requirements[\w-]*\.txt", script))
    assert sources == {*packaged, *read, "LICENSE", "pyproject.toml", "tools/image/install"}
    ignored = (IMAGE / "Dockerfile.dockerignore").read_text(encoding="utf8").splitlines()
    assert {line[1:] for line in ignored if line[0] == "!"} == sources


def test_the_image_runs_with_the_kernels_of_its_script() -> None:
    (words,) = (words for name, *words in instructions() if name == "ENV")
    values = dict(word.split("=", 1) for word in words)
    script = (IMAGE / "install").read_text(encoding="utf8")
    assert 'NUMBA_CACHE_DIR="$target/kernels"' in script and 'venv "$target/environment"' in script
    assert values == {
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CACHE_DIR": "/opt/structopt/kernels",
        "PATH": "/opt/structopt/environment/bin:$PATH",
    }
