"""Wheels of installed distributions, and logged models that are installed from them."""

import base64
import csv
import hashlib
import json
import os
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution
from importlib.util import find_spec
from io import BytesIO, StringIO
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import pytest

import structopt
from structopt.core.entry_points import DISTRIBUTION
from structopt.tracker import wheels
from structopt.tracker.logged_model import save_pyfunc
from tests.pages import ROOT

PLUGIN = ROOT / "plugins" / "structopt-squared-hinge"
SQUARED_HINGE = {"name": "squared_hinge", "gamma": 1.0, "cost": "hamming", "cost_weights": {}}
ENTRY_POINTS = "[structopt.loss]\nsquared_hinge = structopt_squared_hinge.loss:SquaredHinge\n"
METADATA = "Metadata-Version: 2.3\nName: {}\nVersion: 0.1.0\n"
WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py2-none-any\nTag: py3-none-any\n"
TINY = {
    "tiny/__init__.py": "",
    "tiny/a, b.txt": "a file whose name has a comma\n",
    "tiny/__pycache__/__init__.cpython-311.pyc": "",
    "tiny-0.1.0.dist-info/METADATA": METADATA.format("tiny"),
    "tiny-0.1.0.dist-info/WHEEL": WHEEL,
    "tiny-0.1.0.dist-info/INSTALLER": "pip\n",
    "tiny-0.1.0.dist-info/direct_url.json": '{"archive_info": {}, "url": "file:///tiny.whl"}',
    "tiny-0.1.0.dist-info/entry_points.txt": (
        "[console_scripts]\ntiny = tiny:main\n[structopt.cost]\ntiny = tiny:Tiny\n"
    ),
    "../bin/tiny": "#!python\n",
}


@pytest.fixture(autouse=True)
def _wheels_of_this_test():
    wheels.wheel.cache_clear()
    yield
    wheels.wheel.cache_clear()


def write(folder, files):
    """Write text files below a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf8")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of distributions, with an installed one; this process imports from it."""
    folder = tmp_path / "site"
    record = "".join(f'"{name}",,\n' for name in (*TINY, "tiny-0.1.0.dist-info/RECORD"))
    write(folder, TINY | {"tiny-0.1.0.dist-info/RECORD": record})
    monkeypatch.syspath_prepend(str(folder))
    return folder


def make_editable(site, name, project, entry_points):
    """Add an editable install of a project to a folder of distributions."""
    origin = {"dir_info": {"editable": True}, "url": Path(project).as_uri()}
    files = {"METADATA": METADATA.format(name), "direct_url.json": json.dumps(origin)}
    files |= {"WHEEL": WHEEL, "RECORD": "", "entry_points.txt": entry_points}
    info = site / f"{name.replace('-', '_')}-0.1.0.dist-info"
    write(info, files)


@pytest.fixture
def sources(site, monkeypatch):
    """Editable installs of structopt and of a plugin from the sources of these tests."""
    core = distribution(DISTRIBUTION).read_text("entry_points.txt")
    make_editable(site, DISTRIBUTION, ROOT, core)
    make_editable(site, PLUGIN.name, PLUGIN, ENTRY_POINTS)
    for folder in (PLUGIN, ROOT):
        monkeypatch.syspath_prepend(str(folder))
    return site


def checked(content):
    """Compare each file of a wheel with its digest and size in RECORD; return the names."""
    with ZipFile(BytesIO(content)) as archive:
        names = archive.namelist()
        assert len(names) == len(set(names))
        (record,) = [name for name in names if name.endswith(".dist-info/RECORD")]
        rows = {row[0]: row[1:] for row in csv.reader(StringIO(archive.read(record).decode()))}
        assert list(rows) == names
        assert rows.pop(record) == ["", ""]
        for name, (digest, size) in rows.items():
            data = archive.read(name)
            sha256 = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert (digest, int(size)) == (f"sha256={sha256}", len(data))
    return names


def test_installed_files_become_a_wheel(site):
    built = wheels.wheel("tiny")
    assert built.name == "tiny-0.1.0-py2.py3-none-any.whl"
    assert built.requirement == f"code/{built.name}"
    info = "tiny-0.1.0.dist-info"
    files = ["METADATA", "WHEEL", "entry_points.txt", "RECORD"]
    assert checked(built.content) == [
        *(f"{info}/{name}" for name in files[:3]),
        *list(TINY)[:2],
        f"{info}/RECORD",
    ]
    assert wheels.wheel("tiny") is built
    wheels.wheel.cache_clear()
    assert wheels.wheel("tiny").content == built.content
    (site / "tiny" / "__init__.py").write_text("CHANGED = True\n")
    wheels.wheel.cache_clear()
    changed = wheels.wheel("tiny").content
    assert checked(changed) and changed != built.content


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda info: (info.parents[0] / "tiny" / "a, b.txt").unlink(), "FileNotFoundError: "),
        (lambda info: (info / "RECORD").unlink(), "it was not installed from a wheel."),
        (lambda info: (info / "WHEEL").unlink(), "it was not installed from a wheel."),
        (lambda info: (info / "direct_url.json").write_text("{"), "JSONDecodeError: "),
        (
            lambda info: (info / "entry_points.txt").unlink(),
            "its file ../bin/tiny is outside of its packages.",
        ),
        (
            lambda info: (info / "entry_points.txt").write_text(
                "[structopt.cost]\na = json:loads\n"
            ),
            "json is imported from ",
        ),
    ],
)
def test_why_there_is_no_wheel(site, damage, reason):
    damage(site / "tiny-0.1.0.dist-info")
    built = wheels.wheel("tiny")
    assert (built.requirement, built.name, built.content) == ("tiny==0.1.0", "", b"")
    assert built.problem.startswith(f"The wheel of tiny is missing: {reason}")


def test_a_distribution_that_is_not_installed():
    built = wheels.wheel("no-such-distribution")
    assert built.requirement == "no-such-distribution"
    assert built.problem == "The wheel of no-such-distribution is missing: it is not installed."


BACKEND = """
from pathlib import Path

class Backend:
    def build_wheel(folder):
        Path(folder, "tiny-0.1.0-py3-none-any.whl").write_text("built")
"""


@pytest.mark.parametrize(
    ("project", "backend", "reason"),
    [
        ('build-backend = "inside:Backend"\nbackend-path = ["."]', BACKEND, ""),
        ('build-backend = "no_such_backend"', "", "No module named 'no_such_backend'"),
        ('build-backend = "inside"\nbackend-path = ["."]', "raise OSError('a\\nb')", "(b)."),
        (None, "", "has no pyproject.toml."),
    ],
)
def test_sources_are_built_by_their_backend(site, tmp_path, project, backend, reason):
    sources = tmp_path / "sources"
    write(sources, {"inside.py": backend})
    if project:
        write(sources, {"pyproject.toml": f"[build-system]\nrequires = []\n{project}\n"})
    make_editable(site, "tiny", sources, "")
    built = wheels.wheel("tiny")
    assert built.content == (b"" if reason else b"built")
    assert reason in built.problem
    assert built.requirement == ("tiny==0.1.0" if reason else f"code/{built.name}")


needs_backend = pytest.mark.skipif(
    find_spec("hatchling") is None, reason="needs hatchling to build structopt (extra: dev)"
)


def save_with_plugin(trained, folder):
    """Save a model whose loss is of a plugin, and pack it for MLflow."""
    model = structopt.load(trained("ner"))
    model.config = {**model.config, "loss": SQUARED_HINGE}
    model.save(folder / "model")
    logged = SimpleNamespace(artifact_location=None, model_id=None)
    problems = save_pyfunc(folder / "logged", folder / "model", logged, None)
    return model, folder / "logged", problems


@needs_backend
def test_a_logged_model_has_the_wheels_of_its_code(sources, trained, tmp_path):
    _, folder, problems = save_with_plugin(trained, tmp_path)
    assert problems == []
    built = [wheels.wheel(name) for name in (DISTRIBUTION, PLUGIN.name)]
    requirements = (folder / "requirements.txt").read_text().splitlines()
    assert [line for line in requirements if "mlflow" not in line] == [
        one.requirement for one in built
    ]
    assert {file.name: file.read_bytes() for file in (folder / "code").iterdir()} == {
        one.name: one.content for one in built
    }
    core, plugin = (checked(one.content) for one in built)
    assert {"structopt/__init__.py", "structopt/conf/config.yaml"} <= set(core)
    assert "structopt_squared_hinge/conf/loss/squared_hinge.yaml" in plugin
    card = (folder / "README.md").read_text()
    assert "cd MODEL && pip install -r requirements.txt" in card
    assert "is missing" not in card


def test_a_model_is_logged_without_wheels(site, trained, tmp_path):
    core = distribution(DISTRIBUTION).read_text("entry_points.txt")
    make_editable(site, DISTRIBUTION, tmp_path / "elsewhere", core)
    logged = SimpleNamespace(artifact_location=None, model_id=None)
    problems = save_pyfunc(tmp_path / "logged", trained("ner") / "model", logged, None)
    (problem,) = problems
    assert problem.startswith(
        f"The wheel of {DISTRIBUTION} is missing: structopt is imported from "
    )
    assert problem in (tmp_path / "logged" / "README.md").read_text()
    assert f"{DISTRIBUTION}==0.1.0" in (tmp_path / "logged" / "requirements.txt").read_text()
    assert not (tmp_path / "logged" / "code").exists()


LOADED = """
import io, json, sys, zipfile
import mlflow.pyfunc, pandas, structopt, structopt_squared_hinge
from structopt.tracker.wheels import wheel
assert all(sys.prefix in one.__file__ for one in (structopt, structopt_squared_hinge))
for name in ("structopt-trainer", "structopt-squared-hinge"):
    rebuilt = wheel(name)
    one, other = map(zipfile.ZipFile, (io.BytesIO(rebuilt.content), f"logged/{rebuilt.requirement}"))
    assert sorted(one.namelist()) == sorted(other.namelist())
    assert all(one.read(file) == other.read(file) for file in one.namelist() if "RECORD" not in file)
example = pandas.DataFrame(json.loads(sys.argv[1]))
model = mlflow.pyfunc.load_model("logged")
print(json.dumps(model.predict(example)["labels"].tolist()))
"""


@needs_backend
@pytest.mark.nightly("plugins")
def test_a_logged_model_installs_into_a_fresh_environment(sources, trained, tmp_path):
    """Without a network: the environment has all packages of this one except structopt. There, the
    wheels are rebuilt with equal files.
    """
    model, folder, _ = save_with_plugin(trained, tmp_path)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "fresh")], check=True)
    python = tmp_path / "fresh" / "bin" / "python"
    purelib = sysconfig.get_path("purelib", vars={"base": str(tmp_path / "fresh")})
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        target = Path(purelib, entry.name)
        if "structopt" not in entry.name and not target.exists():
            target.symlink_to(entry)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    flags = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-index"]
    command = [python, "-m", "pip", "install", *flags, "-r", "requirements.txt"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    example = model.task.input_example()
    command = [python, "-c", LOADED, json.dumps(example)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == model.predict_table(example)["labels"]
