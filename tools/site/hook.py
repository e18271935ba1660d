"""What mkdocs calls while it builds the site: navigation, pages of the API, links that leave docs/.

The navigation follows docs/index.md: its headings and the pages that they list; pages that it does
not list come after them. A listed page FOLDER/index.md brings the other pages of its folder. Every
room of the package whose modules users import has a page, made of the docstrings of its modules.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "structopt"
INTERNAL = (
    "__main__",
    "command",
    "config",
    "kernels",
    "learning",
    "objective",
    "process",
    "progress",
    "reference",
    "report",
    "run",
    "sweep",
)
"""Rooms that nobody imports but the program itself; all others are documented, new ones too."""
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
ENTRY = re.compile(r"^## +(?P<section>.*)$|\]\((?P<page>(?:[\w-]+/)?[\w.-]+\.md)\)", re.MULTILINE)
FURTHER = "Further pages"

Navigation = list[dict[str, Any]]


def pages() -> list[str]:
    """The pages in docs/, without those of folders."""
    return sorted(path.name for path in (ROOT / "docs").glob("*.md"))


def title(page: str) -> str:
    """The first heading of a page, without marks of code."""
    path = ROOT / "docs" / page
    # mkdocs warns of a page that is not there
    found = HEADING.search(path.read_text(encoding="utf8")) if path.exists() else None
    return found[1].replace("`", "") if found else page


def rooms() -> dict[str, list[str]]:
    """The modules of every documented room that have a docstring, by the name of the room;
    `structopt` itself first.
    """
    found = {PACKAGE: [PACKAGE]}
    for path in sorted((ROOT / PACKAGE).iterdir()):
        name = path.stem
        if (
            name in INTERNAL
            or name.startswith("_")
            or not (path.suffix == ".py" or (path / "__init__.py").exists())
        ):
            continue
        files = [path] if path.suffix else sorted(path.rglob("*.py"))
        modules = [module_name(file) for file in files if file.read_text(encoding="utf8").strip()]
        found[f"{PACKAGE}.{name}"] = [
            module for module in modules if not module.rpartition(".")[2].startswith("_")
        ]
    return found


def module_name(file: Path) -> str:
    """The dotted name of a module."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def navigation() -> Navigation:
    """The sections of docs/index.md with their pages, what they leave out, and the API."""
    sections: dict[str, list[str]] = {}
    section, listed = "", {"index.md"}
    for found in ENTRY.finditer((ROOT / "docs" / "index.md").read_text(encoding="utf8")):
        if found["section"]:
            section = found["section"]
        elif found["page"] not in listed:
            sections.setdefault(section, []).append(found["page"])
            listed.add(found["page"])
    sections[FURTHER] = [page for page in pages() if page not in listed]
    made: Navigation = [
        {name: [entry(page) for page in own]} for name, own in sections.items() if own
    ]
    return [
        {title("index.md"): "index.md"},
        *made,
        {"API": [{name: address(name)} for name in rooms()]},
    ]


def entry(page: str) -> dict[str, Any]:
    """The entry of a page in the navigation; an index has the pages of its folder."""
    folder = page.rpartition("/")[0]
    if not folder:
        return {title(page): page}
    paths = sorted((ROOT / "docs" / folder).glob("*.md"))
    others = [one for path in paths if (one := f"{folder}/{path.name}") != page]
    return {title(page): [page, *({title(one): one} for one in others)]}


def address(room: str) -> str:
    """The page of a room."""
    return f"api/{room.removeprefix(PACKAGE).removeprefix('.') or PACKAGE}.md"


def api_page(room: str, modules: list[str]) -> str:
    """The text of a room's page: the docstrings of its modules."""
    head = f"# {room}\n\n"
    return (
        head
        + "\n\n".join(
            f"::: {module}\n    options: {{show_submodules: false}}" for module in modules
        )
        + "\n"
    )


def on_config(config: Any) -> Any:
    """Set the navigation."""
    config.nav = navigation()
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the API."""
    from mkdocs.structure.files import File

    for room, modules in rooms().items():
        files.append(File.generated(config, address(room), content=api_page(room, modules)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Show links to files of the project outside docs/ as their text; list in docs/index.md what it
    leaves out.
    """
    further = next((one[FURTHER] for one in navigation() if FURTHER in one), [])
    if page.file.src_uri == "index.md" and further:
        lines = [f"- [{name}]({target})" for one in further for name, target in one.items()]
        markdown = "\n".join([markdown, f"## {FURTHER}", "", *lines, ""])
    depth = page.file.src_uri.count("/") + 1
    return re.sub(rf"\[([^\]]+)\]\((?:\.\./){{{depth},}}[^)]+\)", r"\1", markdown)
