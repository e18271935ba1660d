"""Declared dependencies: imports, upper bounds, the lock file for developers."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import lock

PLUGINS = sorted(path.parent for path in (lock.ROOT / "plugins").glob("*/pyproject.toml"))
DISTRIBUTIONS = packages_distributions()
LOCAL = {"structopt", "tests", "tools", *sys.stdlib_module_names}
BOUNDED = ["hydra-core", "llvmlite", "mlflow", "numba", "omegaconf", "ray"]


def project(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf8"))["project"]


def names(lines):
    return {canonicalize_name(Requirement(line).name) for line in lines}


def declared(folder):
    """Names of the distributions that a project declares, extras included."""
    table = project(folder)
    extras = table.get("optional-dependencies", {}).values()
    return names([*table["dependencies"], *(line for extra in extras for line in extra)])


def statements(node):
    """Statements below a node. Unlike `ast.walk`, this does not visit expressions: it is faster."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, field, []):
            yield child
            yield from statements(child)


def third_party(folders, own):
    """First module that imports each third-party package: (package, path of the module)."""
    importing = {}
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        for node in statements(ast.parse(path.read_text(encoding="utf8"))):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module]
            for module in modules:
                importing.setdefault(module.split(".")[0], path.relative_to(lock.ROOT))
    return {name: path for name, path in importing.items() if name not in LOCAL | own}


def undeclared(imports, allowed):
    """Imports that no declared distribution provides, one message each."""
    return [
        f"{path} imports {name}, which pyproject.toml does not declare"
        for name, path in imports.items()
        if not {canonicalize_name(one) for one in DISTRIBUTIONS.get(name, [name])} & allowed
    ]


@pytest.fixture(scope="module")
def package_imports():
    return third_party([lock.ROOT / "structopt"], set())


def test_imports_of_the_package_are_declared(package_imports):
    assert undeclared(package_imports, declared(lock.ROOT)) == []


def test_required_dependencies_are_imported_by_the_package(package_imports):
    needed = names(project(lock.ROOT)["dependencies"])
    imported = {one for name in package_imports for one in DISTRIBUTIONS.get(name, [])}
    assert needed - {canonicalize_name(one) for one in imported} == set()


def test_imports_of_tests_and_tools_are_declared():
    folders = [lock.ROOT / "tests", lock.ROOT / "tools", lock.ROOT / "docs"]
    own = {path.stem for folder in folders for path in folder.rglob("*.py")}
    assert undeclared(third_party(folders, own), declared(lock.ROOT)) == []


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_imports_of_plugins_are_declared(folder):
    package = folder / folder.name.replace("-", "_")
    assert undeclared(third_party([package], {package.name}), declared(folder)) == []


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_imports_of_tests_of_plugins_are_declared_by_plugin_or_project(folder):
    own = {folder.name.replace("-", "_"), *(path.stem for path in folder.glob("tests/*.py"))}
    allowed = declared(folder) | declared(lock.ROOT)
    assert undeclared(third_party([folder / "tests"], own), allowed) == []


def test_an_undeclared_import_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "ROOT", tmp_path)
    (tmp_path / "module.py").write_text("def f():\n    import yaml.nodes, os\n", encoding="utf8")
    imports = third_party([tmp_path], set())
    assert undeclared(imports, {"numpy"}) == [
        "module.py imports yaml, which pyproject.toml does not declare"
    ]
    assert undeclared(imports, {"pyyaml"}) == []


@pytest.mark.parametrize("name", BOUNDED)
def test_packages_that_break_in_new_releases_have_an_upper_bound_with_a_reason(name):
    text = (lock.ROOT / "pyproject.toml").read_text(encoding="utf8")
    line = next(line for line in text.splitlines() if re.match(rf'    "{name}[>=]', line))
    bounds = Requirement(line.split('"')[1]).specifier
    assert any(bound.operator == "<" for bound in bounds)
    assert "#" in line


def test_the_lock_file_satisfies_the_declared_bounds():
    versions = lock.read()
    needed = [one for one in lock.direct_requirements() if lock.applies(one)]
    for one in needed:
        name = canonicalize_name(one.name)
        assert name in versions, f"{one} is not locked: run tools/lock.py"
        assert one.specifier.contains(versions[name], prereleases=True), (
            f"{name}=={versions[name]} is locked, but {one} is declared: run tools/lock.py"
        )


def test_the_lock_file_holds_versions_only():
    lines = lock.LOCK.read_text(encoding="utf8").splitlines()
    entries = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[a-z0-9.]+", line) for line in entries)
    assert list(lock.read()) == sorted(lock.read())


def test_locking_follows_the_requirements_of_installed_packages():
    versions = lock.resolve([Requirement("omegaconf"), Requirement("ray; python_version<'3'")])
    assert {"omegaconf", "pyyaml", "antlr4-python3-runtime"} == set(versions)


def test_locking_reports_packages_that_are_absent_or_out_of_range():
    with pytest.raises(SystemExit, match="absent-package is not installed"):
        lock.resolve([Requirement("absent-package")])
    with pytest.raises(SystemExit, match="but packaging<1 is required"):
        lock.resolve([Requirement("packaging<1")])
