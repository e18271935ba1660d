"""`tools.mutants`: which changes it makes, and which of them tests detect."""

import ast
import json

import pytest

from tools import mutants
from tools.mutation import mutated, mutations, units

SOURCE = '''
def total(values, start=0):
    """Sum."""
    result = start
    for value in values:
        if value < 10:
            result += value
    return shifted(result, 2)


def shifted(value, shift):
    return value - shift


def unused(value):
    return -value
'''
TESTS = """
import pytest

from toy_of_mutants import shifted, total


@pytest.mark.parametrize("shift", [1, 2])
def test_shifted(shift):
    assert shifted(shift + 1, shift) == 1


def test_total():
    assert total([1, 2, 30]) == 1


def test_fails_itself():
    assert total([1]) == 0
"""


@pytest.mark.parametrize(
    "text, kind, expected",
    [
        ("x = a + b", "sign", ["x = a - b"]),
        ("x = a + b", "term", ["x = a", "x = b"]),
        ("x = -a * b", "sign", ["x = a * b"]),
        ("x += a", "term", ["pass"]),
        ("x = a and b", "term", ["x = a", "x = b"]),
        ("x = a[i] >= 2", "off_by_one", ["x = a[i] > 2", "x = a[i + 1] >= 2", "x = a[i] >= 3"]),
        ("for i in range(n, m): pass", "off_by_one", ["range(n, m - 1)"]),
        ("f(a, b, c)", "argument", ["f(b, a, c)", "f(a, c, b)"]),
        ("x: Array[int, 3] = max(a, b)", "argument", []),
        ("x = 'a' + b", "sign", []),
    ],
)
def test_changes_by_kind(text, kind, expected):
    (unit,) = units(ast.parse(f"def f():\n    {text}"))
    assert mutations(unit.node).get(kind, []) == expected


def test_mutant_is_found_in_reformatted_code_and_among_equal_statements():
    source = "class A:\n    def f(self):\n        x = a+b\n        x = (a +\n            b)\n"
    mutant = {"function": "A.f", "before": "x = a + b", "after": "x = a - b", "ordinal": 1}
    assert ast.unparse(mutated(source, mutant)).splitlines()[-2:] == [
        "        x = a + b",
        "        x = a - b",
    ]
    assert mutated(source, {**mutant, "ordinal": 2}) is None


@pytest.fixture
def toy(tmp_path, monkeypatch):
    (tmp_path / "toy_of_mutants.py").write_text(SOURCE)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_toy.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def table():
    return {
        "seed": 0,
        "density": 1.0,
        "package": ".",
        "code": ["."],
        "skip_files": "test_",
        "skip_functions": "^shifted$",
        "skip_statements": "(?!)",
        "tests": ["tests"],
        "options": [],
        "mutants": [],
    }


def test_selection_depends_on_seed_and_code_only(toy, table, capsys):
    mutants.seed(toy, table, mutants.parse(["seed", "--count", "2"]))
    first = table["mutants"]
    assert len(first) == 2
    (toy / "toy_of_mutants.py").write_text("def earlier(a):\n    return a + 1\n\n" + SOURCE)
    mutants.seed(toy, table, mutants.parse(["seed"]))
    assert [m for m in table["mutants"] if m["function"] != "earlier"] == first


@pytest.mark.nightly("rest")
def test_run_names_the_test_that_detects_a_mutant(toy, table, capsys):
    def mutant(number, before, after, tests, function="total"):
        mutant = {"id": str(number), "file": "toy_of_mutants.py", "function": function}
        tests = [f"tests/test_toy.py::{name}" for name in tests]
        return mutant | {"before": before, "after": after, "ordinal": 0, "tests": tests}

    changed = ["return value - shift", "return value + shift"]
    table["mutants"] = [
        mutant(0, *changed, ["test_total", "test_gone"], "shifted"),
        mutant(1, "value < 10", "value <= 10", ["test_total"]),
        mutant(2, "result += value", "while True: pass", ["test_total"]),
        mutant(3, *changed, [], "shifted"),
        mutant(4, "result += 2", "pass", ["test_total"]),
    ]
    (toy / "before.json").write_text(
        json.dumps([table["mutants"][1] | {"status": "killed", "test": "test_old"}])
    )
    words = ["run", "--limit", "2", "--json", "now.json", "--against", "before.json"]
    mutants.run(toy, table, mutants.parse(words))
    results = json.loads((toy / "now.json").read_text())
    assert [(result["status"], result["test"]) for result in results] == [
        ("killed", "tests/test_toy.py::test_total"),
        ("survived", ""),
        ("timeout", ""),
        ("not covered", ""),
        ("gone", ""),
    ]
    printed = capsys.readouterr().out
    assert "There is no test tests/test_toy.py::test_gone" in printed
    assert ".: 2 of 5 died (1 gone, 1 killed, 1 not covered, 1 survived, 1 timeout)" in printed
    assert "0 die only now, 1 no longer" in printed and "was detected by test_old" in printed


def test_map_names_passing_tests_that_execute_the_line(toy, table, capsys):
    pytest.importorskip("coverage")
    mutants.seed(toy, table, mutants.parse(["seed"]))
    mutants.assign(toy, table, mutants.parse(["map"]))
    tests = {mutant["before"]: mutant["tests"] for mutant in table["mutants"]}
    assert tests["result += value"] == ["tests/test_toy.py::test_total"]
    assert tests["return -value"] == []
    mutants.print_coverage(toy, table, mutants.parse(["coverage", "--keep"]))
    assert "% of" in capsys.readouterr().out


def test_fastest_case_of_each_function_comes_first():
    seconds = {"a[1]": 1.0, "a[2]": 2.0, "b": 3.0, "c": 30.0}
    assert mutants.fastest([*seconds, "unknown"], seconds) == ["a[1]", "b", "a[2]"]
    assert mutants.fastest(["c"], seconds) == ["c"]
