"""``structopt new``: writes a plugin distribution with one component and its tests."""

from __future__ import annotations

import builtins
import keyword
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from structopt.command.options import Syntax
from structopt.command.spelling import check_words
from structopt.config import registry
from structopt.core import entry_points
from structopt.errors import ConfigError, did_you_mean

REPORT, EXPERIMENT = "report", "experiment"
KINDS = (*registry.CONTRACTS, REPORT)
COMPILED = "--compiled"
FILE = re.compile(r"^#### (.*)\n", re.MULTILINE)
"""The line before each file of a template."""
MARK = re.compile(r"\{\{(\w+)\}\}")
BOUNDS = {"numpy": ">=2.0", "scipy": ">=1.13"}
"""Versions of packages that templates import."""
LONGEST = 40  # characters of a name
SYNTAX = Syntax(
    f"structopt new {'|'.join(KINDS)} NAME [{COMPILED}]",
    "Writes a plugin into the folder structopt-NAME: a component, its config file, and tests that "
    "pass once the plugin is\n"
    f"installed. {COMPILED} writes a loss as a compiled kernel. Edit the component, and run the "
    "tests again.",
)


def run(words: Sequence[str]) -> None:
    """Write the distribution, and print its files and the next commands."""
    if SYNTAX.print_help(words):
        return
    kind, name, compiled = _asked(words)
    folder = Path(f"structopt-{name.replace('_', '-')}")
    texts, command = distribution(kind, name, compiled)
    try:
        folder.mkdir()
    except FileExistsError:
        raise ConfigError(
            f"{folder} exists already.", remedy="Choose another name, or move it."
        ) from None
    article = "an" if kind[0] in "aeiou" else "a"
    print(f"structopt wrote {article} {kind.replace('_', ' ')}, {name}, into {folder}:")
    for path, text in texts.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf8")
        print(f"  {file}")
    print("Next:")
    commands = f"python -m pip install -e {folder}", f"python -m pytest {folder}", command
    print("\n".join(f"  {line}" for line in commands if line))


def distribution(kind: str, name: str, compiled: bool = False) -> tuple[dict[str, str], str]:
    """Return the texts of the files of a plugin by path, and a command that uses it.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    name : str
        The word of the component.
    compiled : bool
        Whether a loss has a compiled kernel.

    Returns
    -------
    (mapping of str to str, str)
        The command is empty for kinds that only graphs choose.

    Raises
    ------
    ConfigError
        For a name that the code uses.
    """
    head, parts = _parts(f"{kind}_compiled" if compiled else kind)
    fields = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    package, cls = f"structopt_{name}", "".join(one.capitalize() for one in name.split("_"))
    values = {
        **fields,
        "name": name,
        "class": cls,
        "object": name if kind == REPORT else cls,
        "package": package,
        "distribution": package.replace("_", "-"),
        "group": EXPERIMENT if kind == REPORT else kind,
    }
    _check_free(name, values["object"], parts)
    texts = {path: _filled(text, values) for path, text in parts.items()}
    if any("/conf/" in path for path in parts):
        texts["{{package}}/conf/__init__.py"] = '"""Config files."""\n'
        values["conf"] = f'\n[project.entry-points."structopt.conf"]\n{name} = "{package}.conf"\n'
    words = _filled(fields.get("words", ""), values)
    command = f"structopt {words}" if words else ""
    values |= {
        "conf": values.get("conf", ""),
        "usage": f"    {command}\n" if command else "",
        "dependencies": ", ".join(f'"{one}"' for one in _dependencies("".join(texts.values()))),
    }
    texts = {**_parts("common")[1], **texts}
    return {_filled(path, values): _filled(text, values) for path, text in texts.items()}, command


def _asked(words: Sequence[str]) -> tuple[str, str, bool]:
    """Return kind, name, and whether the kernel is compiled.

    Raises
    ------
    ConfigError
        For other words, unknown kinds, names that are taken, and names that no module can have.
    """
    check_words(words)
    compiled = COMPILED in words
    plain = [word for word in words if word != COMPILED]
    if len(plain) == 1 and "=" in plain[0]:  # loss=focal
        plain = plain[0].split("=")
    if len(plain) != 2:
        raise ConfigError(
            f"new takes a kind and a name, not '{shlex.join(words)}'. Usage: {SYNTAX.usage}"
        )
    kind, name = plain
    if kind not in KINDS:
        raise ConfigError(
            f"There is no kind of component called '{kind}'.{did_you_mean(kind, KINDS)} "
            f"Kinds: {', '.join(KINDS)}."
        )
    if compiled and kind != "loss":
        raise ConfigError(
            f"{COMPILED} is for losses, and {kind} has one template.",
            remedy=f"Leave out {COMPILED}.",
        )
    _check_name(kind, name)
    return kind, name, compiled


def _check_name(kind: str, name: str) -> None:
    """Refuse a name that cannot be that of a module, or that is taken."""
    wanted = re.sub(r"\W+|_+", "_", name.lower()).strip("_")
    if name != wanted or not name.isidentifier() or not name.isascii() or len(name) > LONGEST:
        raise ConfigError(
            f"'{name}' cannot be the name of a component: a name has at most {LONGEST} lower-case "
            "letters, digits and single underscores, and begins with a letter.",
            remedy=f"Take {wanted}." if wanted.isidentifier() and wanted != name else "",
        )
    group = EXPERIMENT if kind == REPORT else kind
    known = entry_points.installed(group)
    if name in known:
        raise ConfigError(
            f"{kind} '{name}' is installed already, by {known[name].distribution}.",
            remedy="Choose another name.",
        )
    if find_spec(f"structopt_{name}"):
        raise ConfigError(
            f"The package structopt_{name} is installed already.", remedy="Choose another name."
        )


def _check_free(name: str, component: str, parts: Mapping[str, str]) -> None:
    """Refuse a name that the code of a template uses: its component would hide it."""
    code = "".join(text for path, text in parts.items() if path.endswith(".py"))
    modules = {Path(path).stem for path in parts} | {"conf"}
    words = {*re.findall(r"\w+", code), *vars(builtins), *keyword.kwlist}
    if name in modules or name in keyword.kwlist or component in words:
        raise ConfigError(
            f"'{name}' is reserved: the code of the plugin uses this name.",
            remedy="Choose another name.",
        )


def _parts(template: str) -> tuple[str, dict[str, str]]:
    """Return the head of a template, and the texts of its files by path."""
    text = (files("structopt.command") / "scaffold" / f"{template}.txt").read_text("utf8")
    head, *rest = FILE.split(text)
    return head, dict(zip(rest[::2], rest[1::2], strict=True))


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Return a text with the values that are known in place of their marks."""
    return MARK.sub(lambda found: values.get(found[1], found[0]), text)


def _dependencies(code: str) -> list[str]:
    """Return the packages that some code imports, with the versions that it is written for."""
    core = entry_points.DISTRIBUTION
    with suppress(PackageNotFoundError):  # the core runs from a checkout that is not installed
        first, second = version(core).split(".")[:2]
        core += f">={first}.{second},<{first}.{int(second) + 1}"
    imported = [one for one in BOUNDS if re.search(rf"^(import|from) {one}\b", code, re.MULTILINE)]
    return [core, *(f"{one}{BOUNDS[one]}" for one in imported)]
