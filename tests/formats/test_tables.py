"""Tables as text, to the byte."""

from structopt.formats import tables

LINES = [["name", "score"], ["a|b", "1.5"], ["long name", ""]]


def test_markdown():
    assert (
        tables.markdown(LINES)
        == "| name | score |\n| --- | --- |\n| a\\|b | 1.5 |\n| long name |  |"
    )
    assert (
        tables.markdown(LINES, rule="---")
        == "| name | score |\n|---|---|\n| a\\|b | 1.5 |\n| long name |  |"
    )


def test_markdown_in_aligned_columns():
    assert tables.markdown(LINES, aligned=True).splitlines() == [
        "| name      | score |",
        "| --------- | ----- |",
        "| a\\|b      | 1.5   |",
        "| long name |       |",
    ]


def test_columns_for_a_terminal():
    assert tables.columns(LINES).splitlines() == ["name       score", "a|b        1.5", "long name"]
    assert tables.columns(LINES, ">").splitlines() == [
        "     name  score",
        "      a|b    1.5",
        "long name",
    ]
    assert tables.columns(LINES, "<>", [0, 7]).splitlines()[:2] == [
        "name         score",
        "a|b            1.5",
    ]


def test_comma_separated():
    assert (
        tables.comma_separated([["a", "b"], [None, 0.1], ["x,y", 1 / 3]])
        == 'a,b\n,0.1\n"x,y",0.3333333333333333\n'
    )
