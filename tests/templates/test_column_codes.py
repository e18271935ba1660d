"""Codes of the values of column expressions: learnt, looked up, saved."""

from __future__ import annotations

import numpy as np

from structopt.core.data.saved_state import SavedState
from structopt.formats.trees.dependency_trees import COLUMNS
from structopt.templates.column_codes import CodedColumns


def corpus(**cells: str) -> tuple[dict[str, list[str]], int]:
    columns = {name: text.split() for name, text in cells.items()}
    return columns, len(columns["form"])


def test_codes() -> None:
    columns = CodedColumns(["form", "prefix(form,1)", "feat(Case)"], COLUMNS)
    train = corpus(form="b ab a _ ab", feats="Case=Nom _ Number=Sing Case=Acc Case=Nom")
    assert columns.fit(*train).tolist() == [[4, 3, 3], [3, 2, 1], [2, 2, 1], [1, 1, 2], [3, 2, 3]]
    codes = columns.encode(*corpus(form="ax c b", feats="Case=Dat Case=Acc _"))
    assert (codes.dtype, codes.tolist()) == (np.int32, [[0, 2, 0], [0, 0, 2], [4, 3, 1]])


def test_rare_values_are_unseen() -> None:
    columns = CodedColumns(["form", "lower(form)"], COLUMNS, min_count=2)
    assert columns.fit(*corpus(form="A a b b _")).tolist() == [
        [0, 2],
        [0, 2],
        [2, 3],
        [2, 3],
        [1, 1],
    ]


def test_missing_columns_are_empty() -> None:
    columns = CodedColumns(["form", "lemma", "suffix(lemma,2)", "feat(Case)"], COLUMNS)
    columns.fit(*corpus(form="a", lemma="a", feats="_"))
    given = corpus(form="a b")
    assert columns.known_bases == ["form", "lemma"]
    assert columns.encode(*given).tolist() == [[2, 1, 1, 1], [0, 1, 1, 1]]


def test_state() -> None:
    columns = CodedColumns(["form", "feat(Case)"], COLUMNS, min_count=1)
    train = corpus(form="ä b \ud800 ab", feats="Case=Nom _ _ Case=Acc")
    codes = columns.fit(*train)
    values, arrays = columns.state()
    again = CodedColumns.restore(SavedState(values, arrays), COLUMNS)
    assert again.names == columns.names
    assert (again.encode(*train) == codes).all()
    more, back = again.state()
    assert more == values and all((arrays[name] == back[name]).all() for name in arrays)


def test_rare_words_have_the_longest_suffix_that_is_frequent() -> None:
    columns = CodedColumns(["backoff(form,2)"], COLUMNS)
    codes = columns.fit(*corpus(form="the the walking talking king bus")).ravel()
    assert columns.values("backoff(form,2)")[:4] == ["-alking", "-e", "-g", "-he"]
    names = ["", "", *columns.values("backoff(form,2)")]
    assert [names[code] for code in codes] == ["the", "the", "-alking", "-alking", "-ing", ""]
    assert [names[code] for code in columns.encode(*corpus(form="stalking the s")).ravel()] == [
        "-alking",
        "the",
        "",
    ]
