"""Workflows of hosted CI call scripts of the project that exist, on every supported Python."""

import os
import re
import tomllib

import pytest
import yaml

from tools.lock import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def workflow(name):
    return yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf8"))


def triggers(table):
    return table[True]  # YAML 1.1 reads the key `on` as a boolean


def commands(table):
    jobs = table["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_scripts_that_workflows_call_exist(path):
    scripts = [
        script
        for command in commands(workflow(path.stem))
        for script in re.findall(r"(?:^|\s)(\.ci/\w+|tools/\w+\.py)", command)
    ]
    assert scripts
    for script in scripts:
        assert (ROOT / script).is_file(), f"{path.name} calls {script}, which does not exist"
        assert os.access(ROOT / script, os.X_OK), f"{script} is not executable: chmod +x {script}"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_jobs_have_a_limit_of_time_and_only_read(path):
    table = workflow(path.stem)
    assert table["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 180 for job in table["jobs"].values())


def test_the_gate_runs_on_linux_with_every_supported_python_and_on_macos():
    matrix = workflow("ci")["jobs"]["gate"]["strategy"]["matrix"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    supported = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert matrix["os"] == ["ubuntu-latest"]
    assert matrix["python"] == supported
    assert any(one["os"].startswith("macos") for one in matrix["include"])


def test_the_gate_uses_the_python_of_the_matrix():
    job = workflow("ci")["jobs"]["gate"]
    assert job["env"]["PYTHON"] == "python${{ matrix.python }}"
    scripts = [path.read_text(encoding="utf8") for path in (ROOT / ".ci").iterdir()]
    assert any("${PYTHON" in script for script in scripts), ".ci/run ignores the variable PYTHON"


def test_nightly_runs_on_a_schedule():
    assert triggers(workflow("nightly"))["schedule"]
    assert any(".ci/nightly" in command for command in commands(workflow("nightly")))
