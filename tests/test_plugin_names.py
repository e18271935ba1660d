"""The tiers of names that plugins import: who imports what, aliases, and the page that lists them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import structopt.plugin
from structopt.command.new import KINDS, distribution
from structopt.plugin import kernels, provisional, reports
from tests.pages import ROOT, blocks
from tools import plugin_api

TIERS = (structopt.plugin, kernels, provisional, reports)
TORCH = "structopt.torch"  # is not imported here, because it needs torch
MOST_COMPONENTS = 60
MOVED = """
ARBORESCENCE AnchoredTemplates AttributeRows AttributeTable BatchMap Calculus Column Columns
Coordinate Data DenseTable EMPTY EVALUATE Encoded EncodedConstituents EncodedGraphs
EncodedMentions EncodedTrees FACTORS FACTOR_EXTEND FACTOR_LOCAL FACTOR_MESSAGES FACTOR_PROJECT
FORESTS FactorAbility FeatureKernels FeatureScratch Flag Float Floats HashedTemplates
INDEPENDENT INTS Int Ints K_BEST Kernels LONGS Long Longs Matches Messages NONE Named Names
Occurring Outcomes PROJECTIVE RECORD ROOT ROUND Record RecordLayout SINGLE SOLVE SavedState
Schema Scorer SequenceLabelling Space SparseFeatures StructureKind Task VECTOR Wide Words
add_cost add_gold allowed_labels ask_ahead check_count check_keys checked_paths chosen_labels
driven driver embedded forest_sentences gold_score halted inlined insert is_set kernel
list_parts open_factors open_target read_text restrict set_row size visit write_text
"""
"""Names of `structopt.plugin` in version 0.1 that are not components."""


def sources() -> Iterator[tuple[str, str]]:
    """Modules and tests of the plugins, of docs/plugins.md, and of the scaffold, with names."""
    for path in sorted((ROOT / "plugins").rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf8")
    for block in blocks((ROOT / "docs" / "plugins.md").read_text(encoding="utf8")):
        if block.language == "python":
            yield f"docs/plugins.md: {block.path}", block.text
    for kind, compiled in [*((kind, False) for kind in KINDS), ("loss", True)]:
        for path, text in distribution(kind, "own", compiled)[0].items():
            if path.endswith(".py"):
                yield f"structopt new {kind}: {path}", text


def imported(source: str) -> Iterator[tuple[str, str]]:
    """Modules of structopt that some code imports, each with a name, or an empty string."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        yield from (one for one in names if one[0].partition(".")[0] == "structopt")


def allowed(module: str, name: str, is_check: bool) -> bool:
    """Whether a plugin may import a name."""
    if module.startswith("structopt.testing"):
        return is_check
    if module == TORCH or (module == "structopt" and not name):
        return True
    known = ("structopt", *(tier.__name__ for tier in TIERS))
    return module in known and name in import_module(module).__all__


def test_plugins_import_from_two_tiers_and_the_library() -> None:
    listed = dict(sources())
    assert len([name for name in listed if name.startswith("plugins/")]) > 30
    wrong = [
        f"{path}: {module} {name}"
        for path, source in listed.items()
        for module, name in imported(source)
        if not allowed(module, name, "tests/" in path or "tools/" in path)
    ]
    assert not wrong


def test_components_are_few_and_no_name_has_two_homes() -> None:
    assert len(structopt.plugin.__all__) <= MOST_COMPONENTS
    names = [name for tier in TIERS[:3] for name in tier.__all__]
    assert len(names) == len(set(names))
    for tier in TIERS:
        assert tier.__all__ == sorted(tier.__all__)
        assert all(hasattr(tier, name) for name in tier.__all__)


@pytest.mark.parametrize("name", MOVED.split())
def test_names_of_version_0_1_warn(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"structopt\.plugin\.{name} is .* version 0\.3"):
        value = getattr(structopt.plugin, name)
    home = next((tier for tier in TIERS[1:] if name in tier.__all__), None)
    assert value is getattr(home, name) if home else name in structopt.plugin.REPLACED


def test_other_names_are_refused() -> None:
    for name in ("Nothing", "_hidden", "merged"):
        with pytest.raises(AttributeError, match=name):
            getattr(structopt.plugin, name)


def test_the_page_lists_the_names() -> None:
    """Otherwise run ``python -m tools.plugin_api``."""
    page = plugin_api.PAGE.read_text(encoding="utf8")
    assert page == plugin_api.page_with_tables(page)
    for tier in TIERS:
        assert f"<!-- names of {tier.__name__} -->" in page


def test_every_name_is_described() -> None:
    names = {name for tier in TIERS for name in tier.__all__}
    assert set(plugin_api.DESCRIPTIONS) <= names
    for tier in TIERS:
        for name in tier.__all__:
            text = plugin_api.description(tier.__name__, name)
            assert 0 < len(text) < 200, (name, text)
            assert "0x" not in text, (name, text)


def test_pages_name_modules_that_exist() -> None:
    for path in [ROOT / "docs" / "plugins.md", *sorted((ROOT / "plugins").glob("*/README.md"))]:
        for word in Path(path).read_text(encoding="utf8").replace("(", " ").split("`"):
            module, _, name = word.split(" ")[0].rpartition(".")
            if module.startswith("structopt.plugin") and name not in ("kernels", "reports"):
                assert name in (*import_module(module).__all__, "provisional"), f"{path}: {word}"
