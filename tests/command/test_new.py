"""`structopt new`: distributions of every kind, which install, and whose tests pass."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from structopt.command import main
from structopt.command.new import KINDS, distribution
from structopt.config import registry
from tests.pages import ROOT

TEMPLATES = [(kind, False) for kind in KINDS] + [("loss", True)]
IDS = [f"{kind}_compiled" if compiled else kind for kind, compiled in TEMPLATES]
AUTHOR_LINES = 15


def write(folder: Path, kind: str, compiled: bool = False) -> Path:
    """Write a distribution, and return its folder."""
    texts, _ = distribution(kind, f"mine_{kind}{'_c' * compiled}", compiled)
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf8")
    return folder


def add_metadata(folder: Path) -> None:
    """Write the metadata of an installed distribution next to its package."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf8"))["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    text = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(text, encoding="utf8")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups), encoding="utf8")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A distribution of each template, as if it was installed."""
    root = tmp_path_factory.mktemp("scaffold")
    written = [write(root / name, *template) for name, template in zip(IDS, TEMPLATES, strict=True)]
    for folder in written:
        add_metadata(folder)
    return written


def pytest_in(python: str, folders: list[Path], *options: str, **environment: str) -> str:
    """Run the tests of some folders in a process of their own; return the output of failures."""
    words = "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"
    done = subprocess.run(
        [python, *words, "--rootdir", str(folders[0]), *options, *map(str, folders)],
        cwd=folders[0],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    return done.stdout + done.stderr if done.returncode else ""


def test_every_kind_has_a_template() -> None:
    assert set(registry.CONTRACTS) < set(KINDS)
    names = {path.stem for path in (ROOT / "structopt/command/scaffold").iterdir()}
    assert names == {*IDS, "common"}


def test_contracts_of_all_templates_hold(folders: list[Path]) -> None:
    paths = os.pathsep.join([str(ROOT), *map(str, folders)])
    assert not pytest_in(sys.executable, folders, "-k", "not _trains and not run", PYTHONPATH=paths)


def test_files_have_no_marks_and_no_long_lines(folders: list[Path]) -> None:
    for file in [file for folder in folders for file in folder.rglob("*.*") if file.is_file()]:
        text = file.read_text(encoding="utf8")
        assert "{{" not in text, file
        assert file.suffix != ".py" or max(map(len, text.splitlines())) <= 100, file


@pytest.mark.nightly("plugins")
def test_files_are_formatted(folders: list[Path]) -> None:
    for words in (["format", "--check"], ["check", "--select", "E,W,F,I,B,UP,PERF,RET,NPY"]):
        command = [sys.executable, "-m", "ruff", *words, "--no-cache", "--line-length", "100"]
        for folder in folders:
            done = subprocess.run(
                [*command, "."], cwd=folder, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr


def code_lines(source: str) -> int:
    """Count the lines of a module, without docstrings, comments and empty lines."""
    tree, skipped = ast.parse(source), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    return sum(
        bool(line.partition("#")[0].strip()) and number not in skipped
        for number, line in enumerate(source.splitlines(), 1)
    )


def test_a_loss_in_numpy_is_short() -> None:
    texts, _ = distribution("loss", "focal")
    assert code_lines(texts["structopt_focal/focal.py"]) <= AUTHOR_LINES


def test_the_command_writes_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.main(["new", "factor_graph", "two_hops"]) == 0
    lines = capsys.readouterr().out.splitlines()
    files = [Path(line.strip()) for line in lines if line.startswith("  structopt-two-hops/")]
    assert sorted(files) == sorted(
        path.relative_to(tmp_path) for path in tmp_path.rglob("*.*") if path.is_file()
    )
    assert lines[-3:] == [
        "  python -m pip install -e structopt-two-hops",
        "  python -m pytest structopt-two-hops",
        "  structopt task=tagging factor_graph=two_hops loss=svm task.limit=30 optimizer.epochs=2",
    ]
    assert main.main(["new", "factor_graph", "two_hops"]) == 2
    assert "structopt-two-hops exists already. Choose another name" in capsys.readouterr().err
    assert main.main(["new", "optimizer", "own"]) == 0
    assert capsys.readouterr().out.startswith("structopt wrote an optimizer, own, into")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "new takes a kind and a name, not ''. Usage: structopt new task|"),
        ("loss", "new takes a kind and a name, not 'loss'."),
        ("loss focal extra", "new takes a kind and a name, not 'loss focal extra'."),
        ("loses focal", "There is no kind of component called 'loses'. Did you mean 'loss'?"),
        ("loss Focal-Loss", "'Focal-Loss' cannot be the name of a component"),
        ("loss Focal-Loss", "begins with a letter. Take focal_loss."),
        ("loss 9th", "'9th' cannot be the name of a component"),
        ("loss _own", "'_own' cannot be the name of a component"),
        ("loss crf", "loss 'crf' is installed already, by structopt-trainer."),
        ("report meshi2010_figure1_scene", "is installed already, by structopt-trainer."),
        ("loss lambda", "'lambda' is reserved"),
        ("loss conf", "'conf' is reserved"),
        ("loss --compiled kernel", "'kernel' is reserved"),
        ("optimizer report", "'report' is reserved: the code of the plugin uses this name."),
        ("report table", "'table' is reserved"),
        ("optimizer own --compiled", "--compiled is for losses, and optimizer has one template."),
    ],
)
def test_refusals(
    words: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.main(["new", *words.split()]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment, which also sees the packages of this one."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    home = next((folder / "lib").glob("python*/site-packages"))
    known = [path for path in sys.path if path.endswith("site-packages")]
    lines = [f"import site; site.addsitedir({path!r})\n" for path in known]
    (home / "outer.pth").write_text("".join(lines), encoding="utf8")
    return folder / "bin" / "python"


@pytest.mark.nightly("plugins")
def test_all_install_and_pass_their_tests(python: Path, tmp_path: Path) -> None:
    folders = [
        write(tmp_path / name, *template) for name, template in zip(IDS, TEMPLATES, strict=True)
    ]
    flags = "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--no-input"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", *flags]
    done = subprocess.run(
        [*command, *map(str, folders)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    tests = [folder / "tests" for folder in folders]
    assert not pytest_in(str(python), tests, PYTHONPATH=str(ROOT))
