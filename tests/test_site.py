"""The site of the documentation: every page is in its navigation, every room in its API; the gate
builds it.
"""

from __future__ import annotations

import importlib.util
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import structopt.core
from tests.pages import PAGES, RECORDS, ROOT


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_hook", ROOT / "tools" / "site" / "hook.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed(navigation: Any) -> list[str]:
    """The pages of a navigation."""
    if isinstance(navigation, str):
        return [navigation]
    entries = navigation.values() if isinstance(navigation, dict) else navigation
    return [page for entry in entries for page in listed(entry)]


def test_every_page_is_in_the_navigation_once(hook: ModuleType) -> None:
    pages = [page for page in listed(hook.navigation()) if not page.startswith("api/")]
    paths = [path.relative_to(ROOT / "docs").as_posix() for path in [*PAGES, *RECORDS]]
    assert sorted(pages) == sorted(paths)


def test_every_room_is_documented_or_internal(hook: ModuleType) -> None:
    folders = [path.parent.name for path in (ROOT / "structopt").glob("*/__init__.py")]
    rooms = hook.rooms()
    assert {f"structopt.{name}" for name in folders if name not in hook.INTERNAL} <= set(rooms)
    assert "structopt.core.task" in rooms["structopt.core"] and rooms["structopt"] == ["structopt"]
    assert rooms["structopt.plugin"] == [
        f"structopt.plugin{name}" for name in ("", ".kernels", ".provisional", ".reports")
    ]
    assert set(hook.INTERNAL) <= {*folders, "__main__"}, (
        "a room that is left out is not there any more"
    )
    assert structopt.core.__name__ in rooms


def test_new_rooms_and_pages_are_found(
    hook: ModuleType, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text(
        "# Here\n\n## First\n\n- [A](a.md), [B](b.md) and [A](a.md)\n"
    )
    for name in ("a", "b", "c"):
        (tmp_path / f"docs/{name}.md").write_text(f"# The `{name}`\n")
    (tmp_path / "structopt/fresh").mkdir(parents=True)
    for file in ("__init__", "fresh/__init__", "fresh/one", "fresh/_two", "alone"):
        (tmp_path / f"structopt/{file}.py").write_text('"""One."""\n')
    assert hook.navigation() == [
        {"Here": "index.md"},
        {"First": [{"The a": "a.md"}, {"The b": "b.md"}]},
        {"Further pages": [{"The c": "c.md"}]},
        {
            "API": [
                {"structopt": "api/structopt.md"},
                {"structopt.alone": "api/alone.md"},
                {"structopt.fresh": "api/fresh.md"},
            ]
        },
    ]
    assert hook.rooms()["structopt.fresh"] == ["structopt.fresh", "structopt.fresh.one"]
    page = hook.api_page("structopt.fresh", ["structopt.fresh"])
    assert page.startswith("# structopt.fresh\n\n::: structopt.fresh\n")
    index = hook.on_page_markdown(
        "[A](a.md) [R](../README.md)", SimpleNamespace(file=SimpleNamespace(src_uri="index.md"))
    )
    assert index == "[A](a.md) R\n## Further pages\n\n- [The c](c.md)\n"
    record = hook.on_page_markdown(
        "[A](../a.md) [R](../../README.md)",
        SimpleNamespace(file=SimpleNamespace(src_uri="records/0001-one.md")),
    )
    assert record == "[A](../a.md) R"


def test_an_index_brings_the_pages_of_its_folder(
    hook: ModuleType, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "ROOT", tmp_path)
    (tmp_path / "docs/records").mkdir(parents=True)
    (tmp_path / "docs/records/index.md").write_text("# Records\n")
    (tmp_path / "docs/records/0001-one.md").write_text("# One\n")
    assert hook.entry("records/index.md") == {
        "Records": ["records/index.md", {"One": "records/0001-one.md"}]
    }
