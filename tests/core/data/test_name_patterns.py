"""Patterns of file names: what braces stand for, which names fit, and what is said where none
does.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from structopt.core.data import file_sets, name_patterns
from structopt.core.data.name_patterns import Names, alternatives, chosen
from structopt.errors import DataError

NAMES = [
    "tb/combined/wsj_0001.mrg",
    "tb/combined/wsj_0002.mrg",
    "tb/combined/wsj_0010.mrg",
    "tb/README",
    "tb/raw/wsj_0001.txt",
]


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("a.txt", ["a.txt"]),
        ("w_{08..11}", ["w_08", "w_09", "w_10", "w_11"]),
        ("w_{8..11}", ["w_8", "w_9", "w_10", "w_11"]),
        ("w_{0..1}", ["w_0", "w_1"]),
        ("{3..1}", ["3", "2", "1"]),
        ("{b,a}.x", ["b.x", "a.x"]),
        ("{a,01..02}_{x,y}", ["a_x", "a_y", "01_x", "01_y", "02_x", "02_y"]),
        ("{a}", ["{a}"]),  # neither a list nor a range
        ("a{,.gz}", ["a", "a.gz"]),
    ],
)
def test_braces(pattern: str, texts: list[str]) -> None:
    assert [one.pattern for one in alternatives(pattern)] == texts


def test_numbers_of_ranges_may_be_missing() -> None:
    assert [one.ranged for one in alternatives("{a,1..2}")] == [False, True, True]


@pytest.mark.parametrize("pattern", ["{1..9999999}", "{0..9999}{0..9999}"])
def test_too_many_names(pattern: str) -> None:
    with pytest.raises(DataError, match="1,000,000"):
        alternatives(pattern)


@pytest.mark.parametrize(
    ("pattern", "fitting"),
    [
        ("README", [3]),
        ("wsj_0001.mrg", [0]),
        ("wsj_*.mrg", [0, 1, 2]),
        ("wsj_000[12].*", [0, 1, 4]),
        ("wsj_000[!1].*", [1]),
        ("wsj_00?0.mrg", [2]),
        ("tb/combined/wsj_0001.mrg", [0]),
        ("combined/wsj_0001.mrg", []),
        ("tb/*/wsj_0001.*", [0, 4]),
        ("tb/*.mrg", []),
        ("**/wsj_0001.*", [0, 4]),
        ("tb/**", [0, 1, 2, 3, 4]),
        ("**/combined/**", [0, 1, 2]),
        ("wsj+0001.mrg", []),
    ],
)
def test_names(pattern: str, fitting: list[int]) -> None:
    assert Names(NAMES).fitting(pattern) == sorted(NAMES[index] for index in fitting)


def test_the_order_is_that_of_braces_and_names_come_once() -> None:
    names = Names(NAMES)
    assert chosen("{wsj_0010,wsj_0001,wsj_*}.mrg", names.fitting, lambda: NAMES) == [
        NAMES[2],
        NAMES[0],
        NAMES[1],
    ]
    assert chosen("wsj_{0000..0005}.mrg", names.fitting, lambda: NAMES) == NAMES[:2]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (
            "wsj_0003.mrg",
            "wsj_0003.mrg: no file fits wsj_0003.mrg. The nearest of 5: tb/combined/wsj_00",
        ),
        (
            "wsj_{0003..0005}.mrg",
            "wsj_{0003..0005}.mrg: no file fits wsj_{0003..0005}.mrg. The nearest of 5: ",
        ),
        ("{README,LICENCE}", "{README,LICENCE}: no file fits LICENCE. The nearest of 5: "),
    ],
)
def test_nothing_fits(pattern: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        chosen(pattern, Names(NAMES).fitting, lambda: NAMES)
    assert str(caught.value).startswith(message)


def test_no_files_at_all() -> None:
    with pytest.raises(DataError, match="no file fits \\*: there are no files."):
        chosen("*", Names([]).fitting, list)


PATTERNS = {
    "**/*.mrg": [0, 1, 2],
    "tb/**/wsj_*": [0, 1, 2, 4],
    "**/**/**/wsj_00*": [0, 1, 2, 4],
    "**": [0, 1, 2, 3, 4],
    "**/combined/**": [0, 1, 2],
    "t*/*a*/*_*1*.t?t": [4],
    "*_*0*1*": [0, 2, 4],
    "[a-z][!c]/**/*[0-1].[mt]*": [0, 2, 4],
    "[^x]b/*[A-E]*": [3],
    "**/[]r]aw/*.*.*": [],
}


@pytest.mark.parametrize(("pattern", "fits"), PATTERNS.items())
def test_wildcards_by_both_ways(
    pattern: str, fits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [NAMES[index] for index in fits]
    assert Names(NAMES).fitting(pattern) == sorted(names)
    monkeypatch.setattr(name_patterns, "FEW", -1)
    assert Names(NAMES).fitting(pattern) == sorted(names)


def test_many_wildcards_take_no_exponential_time() -> None:
    names = ["a/" * 2000 + "b", "a" * 5000]
    for pattern in ("**/" * 30 + "c", "**/a/" * 15 + "c", "*a" * 20 + "c", "**a" * 20 + "c"):
        assert Names(names).fitting(pattern) == []


def test_folders_are_listed_once(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*"abcdefghijkl")
    deep.mkdir(parents=True)
    for folder in (deep, *deep.parents[:12]):
        (folder / "x.txt").touch()
    assert len(file_sets.FileSet(f"{tmp_path}/**/**/**/*.txt").names()) == 13
    assert len(file_sets.FileSet(f"{tmp_path}/**/c/**/x.*").names()) == 10
    with pytest.raises(DataError, match="no file fits"):
        file_sets.FileSet(f"{tmp_path}/" + "**/*/" * 12 + "y.txt").names()


@pytest.mark.parametrize("brackets", ["[z-a]", "[!9-0]", "[ab5-1]"])
def test_empty_ranges(brackets: str) -> None:
    with pytest.raises(DataError, match=r"the range \[.-.\] is empty: write \[.-.\]"):
        Names(NAMES).fitting(f"tb/{brackets}*")
