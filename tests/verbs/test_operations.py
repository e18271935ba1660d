"""The table of graphs and operations on the page of scores."""

import re

import pytest

from tools import operations

REFUSALS = {
    ("`SecondOrder()`", "`k_best`"): "no inference gives the k best outputs on SecondOrder",
    ("`Coverage()`", "`k_best`"): "no inference gives the k best outputs on Coverage",
    ("`Coverage()`", "`sample`"): "chosen variable by variable, and not of Coverage",
}
"""The messages of the empty cells."""
COLUMNS = {column.partition(",")[0]: column for column in operations.OPERATIONS}


def test_the_page_has_the_table_of_the_code():
    """Otherwise run ``python -m tools.operations``."""
    assert operations.page_with_table() == operations.PAGE.read_text(encoding="utf8")


@pytest.mark.parametrize(("graph", "column"), REFUSALS)
def test_an_empty_cell_is_a_message(graph, column):
    text, error = operations.cell(graph, COLUMNS[column])
    assert text == ""
    assert re.search(re.escape(REFUSALS[graph, column]), str(error))


def test_all_other_cells_have_an_inference():
    rows = [line.split(" | ") for line in operations.table().splitlines()[2:]]
    empty = {
        (row[0].lstrip("| "), column)
        for row in rows
        for column, text in zip(COLUMNS, row[1:], strict=True)
        if not text.strip(" |")
    }
    assert empty == set(REFUSALS)
