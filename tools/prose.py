#!/usr/bin/env python3
"""Count phrases that the writing rules of CONTRIBUTING.md ask to rewrite.

usage: python tools/prose.py [ROOT] [--files N]     count hits by pattern, list the worst files
       python tools/prose.py [ROOT] --table         print hits per package
       python tools/prose.py [ROOT] --since COMMIT  print hits in lines that COMMIT does not have
       python tools/prose.py --text FILE ...        print hits in Markdown files
       python tools/prose.py [ROOT] --check [FILE]  compare hits per package with a stored table
       python tools/prose.py [ROOT] --check [FILE] --update

The counter reads prose only: docstrings, comments and messages of Python files, Markdown outside
code, comments of YAML files. It skips tests, tools and the changelog. A hit is a candidate for a
rewrite, not an error, and a few hits are correct as they are.

`--check` exits with status 1 if the total is above the total of the table. Hits may move between
packages. `--update` writes the new table, unless the total rose.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TABLE = "tools/prose_table.json"
KINDS = ("pages", "docstrings", "messages", "comments", "yaml")
SUFFIXES = (".md", ".py", ".yaml", ".yml")

AFTER_WHAT = (
    "is|was|are|were|it|they|the|a|an|has|had|each|one|may|stands?|goes|must|can|does|did|comes"
)
COUNTED = (
    "one|numbers?|rows?|tokens?|line|bits?|label|file|step|pass|weight|s|seconds?|ms|us|bytes?"
    "|parts?|entry|entries"
)
COUNTED_PER = (
    "instance|token|row|line|sentence|word|state|variable|pass|thread|shard|core|machine|visit"
    "|position|attribute|kind|part|component|label|second|group|family|cell|document|mention"
    "|feature|weight|call|batch|tree|arc"
)
AFTER_WHERE = "there|it|they|the|a|an|no|none|all|some|any|nothing|one|that|this|these"
PRIVATE_TERMS = (
    r"\bask(?:s|ed|ing)?(?: for)?[ _]ahead\b|\btrees? of phrases\b|\bfloors?\b(?! division)"
    r"|\bwhole numbers?\b|\blearnt\b|\bprices?\b|\bkept (?:messages|answers)\b"
    r"|\b(?:the )?same bits\b|\bto the bit\b|\bin the place of\b|\bsingles\b"
)
FRACTIONS = "third|quarter|fifth|sixth|seventh|eighth|tenth|twelfth|twentieth|thousandth"

PATTERNS = {
    "what is ... (free relative)": rf"\b[Ww]hat (?:{AFTER_WHAT}|\w+ed)\b",
    "those of/that; of which": (r"\bthose (?:of|that|which|who)\b|\b[Oo]f (?:which|whose|whom)\b"),
    "summary or bullet with Of/That/Those": (
        r"(?m)^\s*(?:- |\* )?(?:Of (?!course)|Those |That of |Whose )\w+"
    ),
    "is no X": r"\b(?:is|are|was|were) no (?!longer\b|more\b)\w+",
    "where = if": rf"(?:^|[,;.] |\()[Ww]here (?:{AFTER_WHERE})\b",
    "N a M = per": rf"\b(?:{COUNTED}) an? (?:{COUNTED_PER})\b",
    "beside, but for, anew, alone": (
        r"\bbeside\b|\bbut for\b|\banew\b|(?<!stand )(?<!stands )\balone\b"
    ),
    "typed (= set)": (
        r"\b(?:is|are|was|were|be|none|one|what|value|you|if|not) typed\b"
        r"|\btyped (?:on|with|as|by|in)\b|\btypes? (?:is|are) typed\b"
    ),
    "mend, told, heard, made, stands, go on": (
        r"\bmend(?:s|ed|ing)?\b|\b(?:is|are|was|were|be) (?:told|heard|made)\b"
        r"|\btells?\b|\bstands?\b|\bgo(?:es|ing)? on\b"
    ),
    "private terms": PRIVATE_TERMS,
    "is said, says so": r"\b(?:is|are|was) said\b|\bsa(?:id|ys|y) so\b",
    ".5 without 0; a sixth less": rf"(?<![\w.\]\)])\.\d+\b|\ba (?:{FRACTIONS})\b",
}
COMPILED = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}


class Texts(NamedTuple):
    """The prose of one file.

    Attributes
    ----------
    name : str
        Path of the file, relative to the root.
    kinds : dict[str, str]
        Prose by kind; the keys are among `KINDS`.
    """

    name: str
    kinds: dict[str, str]


def markdown(text: str) -> str:
    """Remove code from Markdown."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    text = "\n".join(line for line in text.split("\n") if not line.startswith("    "))
    return re.sub(r"`[^`]*`", "CODE", text)


def python(text: str) -> dict[str, str]:
    """Extract docstrings, messages and comments from the source of a Python module."""
    tree = ast.parse(text)
    docstrings = {
        id(node.value): node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
    messages = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
        and node.value.count(" ") >= 2
    ]
    comments = [match[1] for match in re.finditer(r"(?m)(?:^|\s)# (.*)$", text)]
    return {
        "docstrings": "\n".join(re.sub(r"`[^`]*`", "CODE", one) for one in docstrings.values()),
        "messages": "\n".join(messages),
        "comments": "\n".join(comments),
    }


def prose(name: str, text: str) -> dict[str, str]:
    """Extract the prose of a file, by kind.

    Parameters
    ----------
    name : str
        Path of the file, relative to the root.
    text : str
        Content of the file.

    Returns
    -------
    dict[str, str]
        Empty for files that are not counted.
    """
    if name.endswith(".md") and name != "CHANGELOG.md":
        return {"pages": markdown(text)}
    if name.endswith(".py") and not name.startswith(("tests/", "tools/")) and "/tests/" not in name:
        return python(text)
    if name.endswith((".yaml", ".yml")):
        return {
            "yaml": "\n".join(line.split("#", 1)[1] for line in text.split("\n") if "#" in line)
        }
    return {}


def git(root: Path, *arguments: str) -> list[str]:
    """Return the lines that a git command prints; raise `CalledProcessError` if it fails."""
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def read(root: Path) -> list[Texts]:
    """Extract the prose of all files that git tracks or does not ignore."""
    names = git(root, "ls-files", "--cached", "--others", "--exclude-standard")
    return [
        Texts(name, prose(name, (root / name).read_text(encoding="utf8")))
        for name in sorted(set(names))
        if name.endswith(SUFFIXES) and (root / name).is_file()
    ]


def count(text: str) -> Counter[str]:
    """Count hits by pattern."""
    return Counter({label: len(one.findall(text)) for label, one in COMPILED.items()})


def package(name: str) -> str:
    """Return the row of the table that counts a file.

    Modules count in `structopt/PACKAGE`, files of the root under their own name, all others in
    their top-level folder.
    """
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] == "structopt" else parts[0]


def hits_per_package(files: list[Texts]) -> dict[str, int]:
    """Count hits by package, without packages that have none."""
    hits: Counter[str] = Counter()
    for name, kinds in files:
        hits[package(name)] += sum(count(text).total() for text in kinds.values())
    return {one: hits[one] for one in sorted(hits) if hits[one]}


def print_hits(name: str, texts: list[str], known: set[str]) -> int:
    """Print each line that has hits and is not in `known`; return the number of hits."""
    total = 0
    for line in (line for text in texts for line in text.split("\n")):
        hits = [m.group(0).strip() for one in COMPILED.values() for m in one.finditer(line)]
        if hits and line.strip() not in known:
            total += len(hits)
            print(f"{name}: [{' | '.join(hits)}] {line.strip()[:110]}")
    return total


def print_since(root: Path, commit: str) -> None:
    """Print the hits in lines that a commit does not have."""
    total = 0
    changed = set(git(root, "diff", "--name-only", "--diff-filter=d", commit))
    changed.update(git(root, "ls-files", "--others", "--exclude-standard"))
    for name in sorted(changed):
        command = ["git", "-C", str(root), "show", f"{commit}:{name}"]
        before = subprocess.run(command, capture_output=True, check=False)
        try:
            after = prose(name, (root / name).read_text(encoding="utf8"))
            old = {} if before.returncode else prose(name, before.stdout.decode("utf8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        known = {line.strip() for text in old.values() for line in text.split("\n")}
        total += print_hits(name, list(after.values()), known)
    print(f"{total} hits in lines that are new since {commit[:10]}")


def print_pages(paths: list[Path]) -> None:
    """Print the hits in Markdown files, and the hits per 1,000 words of each."""
    for path in paths:
        text = markdown(path.read_text(encoding="utf8"))
        hits, words = print_hits(path.name, [text], set()), len(text.split())
        rate = 1000 * hits / max(words, 1)
        print(f"{path.name}: {hits} hits in {words} words: {rate:.1f} per 1,000")


def print_table(hits: dict[str, int]) -> None:
    """Print hits per package."""
    print(f"{'package':28}{'hits':>8}")
    for one, number in hits.items():
        print(f"{one:28}{number:8}")
    print(f"{'TOTAL':28}{sum(hits.values()):8}")


def print_patterns(files: list[Texts], most: int) -> None:
    """Print hits by pattern and kind of text, and the files that have most hits."""
    words, hits = Counter[str](), {kind: Counter[str]() for kind in KINDS}
    per_file = Counter[str]()
    for name, kinds in files:
        for kind, text in kinds.items():
            counted = count(text)
            words[kind] += len(text.split())
            hits[kind].update(counted)
            per_file[name] += counted.total()
    print(f"{'hits':42}" + "".join(f"{kind:>12}" for kind in KINDS))
    for label in PATTERNS:
        print(f"{label:42}" + "".join(f"{hits[kind][label]:12}" for kind in KINDS))
    rates = [1000 * hits[kind].total() / max(words[kind], 1) for kind in KINDS]
    print(f"{'words':42}" + "".join(f"{words[kind]:12}" for kind in KINDS))
    print(f"{'hits per 1,000 words':42}" + "".join(f"{rate:12.1f}" for rate in rates))
    total = sum(one.total() for one in hits.values())
    rate = 1000 * total / max(words.total(), 1)
    print(f"\n{total} hits in {words.total()} words: {rate:.1f} per 1,000\n\nmost hits:")
    for name, number in per_file.most_common(most):
        print(f"{number:6}  {name}")


def check(hits: dict[str, int], path: Path, update: bool) -> int:
    """Compare hits per package with a stored table, print the differences, and update the table.

    Parameters
    ----------
    hits : dict[str, int]
        Hits per package today.
    path : Path
        The stored table. If the file does not exist, only `update` creates it.
    update : bool
        Write the table, unless the total rose.

    Returns
    -------
    int
        Exit status: 1 if the total rose or the table is missing, otherwise 0.
    """
    if not path.is_file() and not update:
        print(f"{path}: not found; create the table with --check {path} --update")
        return 1
    stored = json.loads(path.read_text(encoding="utf8")) if path.is_file() else hits
    before, now = sum(stored.values()), sum(hits.values())
    for one in sorted(set(hits) | set(stored)):
        old, new = stored.get(one, 0), hits.get(one, 0)
        if new > old:
            print(f"{one}: {old} -> {new} hits")
    if now > before:
        print(
            f"{path}: prose hits rose from {before} to {now}. Rewrite the new lines by the section "
            "'How we write' of CONTRIBUTING.md; python tools/prose.py --since COMMIT prints them."
        )
        return 1
    if update:
        path.write_text(json.dumps(hits, indent=2) + "\n", encoding="utf8")
    elif hits != stored:
        print("The table differs from the tree: python tools/prose.py --check --update writes it.")
    print(f"prose hits: {now} (table: {before})")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", nargs="?", default=ROOT, type=Path, help="a checkout")
    parser.add_argument("--files", type=int, default=15, help="how many files to list")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--table", action="store_true", help="print hits per package")
    modes.add_argument("--since", metavar="COMMIT", help="print hits in lines new since COMMIT")
    modes.add_argument("--text", nargs="+", type=Path, metavar="FILE", help="Markdown files")
    modes.add_argument(
        "--check", nargs="?", const="", metavar="FILE", help=f"compare with FILE ({TABLE})"
    )
    parser.add_argument("--update", action="store_true", help="with --check: write the table")
    chosen = parser.parse_args(arguments)
    if chosen.update and chosen.check is None:
        parser.error("--update needs --check")
    if chosen.text:
        print_pages(chosen.text)
    elif chosen.since:
        print_since(chosen.root, chosen.since)
    elif chosen.table:
        print_table(hits_per_package(read(chosen.root)))
    elif chosen.check is not None:
        path = Path(chosen.check) if chosen.check else chosen.root / TABLE
        return check(hits_per_package(read(chosen.root)), path, chosen.update)
    else:
        print_patterns(read(chosen.root), chosen.files)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
