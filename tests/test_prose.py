"""Counters of prose and of code size, and the table that the prose of the project must not exceed."""

import json
import subprocess

import pytest

from tools import prose, size

MODULE = '''"""Of which there is no number."""


def double(value: int) -> int:
    """Return twice the value."""
    # where there is a sign
    raise ValueError("this is no number of anything")
'''


@pytest.fixture
def tree(tmp_path):
    """A checkout with hits in a module, a page and a configuration file, and files without any."""
    files = {
        "structopt/core/double.py": MODULE,
        "structopt/errors.py": '"""Errors."""\n',
        "docs/page.md": "# Page\n\nRows stand beside it. `what is code` is not counted.\n",
        "conf/config.yaml": "key: 1  # what is set\n",
        "CHANGELOG.md": "- what is old\n",
        "tests/test_double.py": '"""What is tested."""\n',
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf8")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def rewrite(path, old, new):
    path.write_text(path.read_text(encoding="utf8").replace(old, new), encoding="utf8")


def commit(tree):
    identity = ["-c", "user.name=tests", "-c", "user.email=tests@localhost"]
    for command in (["add", "."], [*identity, "commit", "-q", "-m", "Add files"]):
        subprocess.run(["git", "-C", str(tree), *command], check=True)


def test_hits_are_counted_per_package(tree):
    # the module has 2 hits in its docstring ("Of which" matches two patterns, "is no number" one),
    # 1 in the comment and 1 in the message
    expected = {"conf": 1, "docs": 2, "structopt/core": 5}
    assert prose.hits_per_package(prose.read(tree)) == expected


def test_table_and_overview_agree_on_the_total(tree, capsys):
    assert prose.main([str(tree), "--table"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["TOTAL", "8"]
    assert prose.main([str(tree)]) == 0
    output = capsys.readouterr().out
    assert "8 hits in" in output
    assert "5  structopt/core/double.py" in output


def test_only_hits_in_new_lines_are_printed_since_a_commit(tree, capsys):
    commit(tree)
    with (tree / "docs/page.md").open("a", encoding="utf8") as page:
        page.write("\nTwo rows a token.\n")
    (tree / "docs/new.md").write_text("Built anew.\n", encoding="utf8")
    assert prose.main([str(tree), "--since", "HEAD"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "docs/new.md: [anew] Built anew.",
        "docs/page.md: [rows a token] Two rows a token.",
        "2 hits in lines that are new since HEAD",
    ]


def test_hits_of_single_pages_are_printed(tree, capsys):
    prose.main(["--text", str(tree / "docs/page.md")])
    assert "page.md: 2 hits in" in capsys.readouterr().out


class TestCheck:
    """`--check` with a stored table."""

    @pytest.fixture
    def check(self, tree):
        table = tree / "table.json"
        assert prose.main([str(tree), "--check", str(table), "--update"]) == 0
        return lambda *options: prose.main([str(tree), "--check", str(table), *options])

    def test_an_unchanged_tree_passes(self, check, capsys):
        assert check() == 0
        assert capsys.readouterr().out.splitlines()[-1] == "prose hits: 8 (table: 8)"

    def test_a_higher_total_fails_and_names_the_package(self, tree, check, capsys):
        rewrite(tree / "docs/page.md", "# Page", "# Page\n\nBuilt anew.")
        for options in ((), ("--update",)):
            assert check(*options) == 1
            output = capsys.readouterr().out
            assert "docs: 2 -> 3 hits" in output
            assert "prose hits rose from 8 to 9" in output

    def test_a_moved_file_takes_its_hits_along(self, tree, check, capsys):
        (tree / "structopt/loss").mkdir()
        (tree / "structopt/core/double.py").rename(tree / "structopt/loss/double.py")
        assert check() == 0
        assert "structopt/loss: 0 -> 5 hits" in capsys.readouterr().out

    def test_a_lower_total_passes_and_can_be_stored(self, tree, check, capsys):
        rewrite(tree / "docs/page.md", "stand beside it", "precede it")
        assert check() == 0
        assert "--update writes it" in capsys.readouterr().out
        assert check("--update") == 0
        stored = json.loads((tree / "table.json").read_text(encoding="utf8"))
        assert stored == {"conf": 1, "structopt/core": 5}

    def test_a_missing_table_fails(self, tree, capsys):
        assert prose.main([str(tree), "--check", str(tree / "absent.json")]) == 1
        assert "--update" in capsys.readouterr().out


def test_prose_of_the_project_only_improves(capsys):
    if not (prose.ROOT / ".git").exists():
        pytest.skip("the counter lists files with git; this is not a git checkout")
    assert prose.main(["--check"]) == 0, capsys.readouterr().out


def test_size_is_counted_per_package(tree, capsys):
    assert size.main([str(tree / "structopt")]) == 0
    header, core, errors, total, *marks = capsys.readouterr().out.splitlines()
    assert header.split() == ["package", *size.SHOWN]
    assert core.split()[:3] == ["core", "1", str(MODULE.count("\n"))]
    assert errors.split()[:2] == ["errors", "1"]
    assert total.split()[:2] == ["TOTAL", "2"]
    assert marks[-1].startswith("private interfaces in 0 modules")


def test_size_does_not_depend_on_formatting_or_on_the_length_of_texts(tmp_path):
    long, short = tmp_path / "long.py", tmp_path / "short.py"
    long.write_text(
        'import os, re\n\n\ndef double(value):\n    """Double.\n\n    A value."""\n    return (\n        value + value\n    )\n'
    )
    short.write_text('def f(a): "D"; return a + a\n')
    assert size.measure(long)["nodes"] == size.measure(short)["nodes"]
