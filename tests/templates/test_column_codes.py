"""Codes of the values of column expressions: learnt, looked up, saved."""

from __future__ import annotations

import numpy as np

from structopt.core.data.saved_state import SavedState
from structopt.formats.trees.dependency_trees import Trees
from structopt.templates.arc_column_codes import TreeColumns


def corpus(**cells: str) -> Trees:
    columns = {name: text.split() for name, text in cells.items()}
    words = len(columns["form"])
    return Trees("a.conllu", np.array([0, words]), np.arange(words), columns)


def test_codes() -> None:
    columns = TreeColumns(["form", "prefix(form,1)", "feat(Case)"])
    train = corpus(form="b ab a _ ab", feats="Case=Nom _ Number=Sing Case=Acc Case=Nom")
    assert columns.fit(train).tolist() == [[4, 3, 3], [3, 2, 1], [2, 2, 1], [1, 1, 2], [3, 2, 3]]
    codes = columns.encode(corpus(form="ax c b", feats="Case=Dat Case=Acc _"))
    assert (codes.dtype, codes.tolist()) == (np.int32, [[0, 2, 0], [0, 0, 2], [4, 3, 1]])


def test_rare_values_are_unseen() -> None:
    columns = TreeColumns(["form", "lower(form)"], min_count=2)
    assert columns.fit(corpus(form="A a b b _")).tolist() == [[0, 2], [0, 2], [2, 3], [2, 3], [1, 1]]


def test_missing_columns_are_empty() -> None:
    columns = TreeColumns(["form", "lemma", "suffix(lemma,2)", "feat(Case)"])
    columns.fit(corpus(form="a", lemma="a", feats="_"))
    given = corpus(form="a b")
    assert columns.missing(given) == ["lemma", "feats"]
    assert columns.encode(given).tolist() == [[2, 1, 1, 1], [0, 1, 1, 1]]


def test_state() -> None:
    columns = TreeColumns(["form", "feat(Case)"], min_count=1)
    train = corpus(form="ä b \ud800 ab", feats="Case=Nom _ _ Case=Acc")
    codes = columns.fit(train)
    values, arrays = columns.state()
    again = TreeColumns.restore(SavedState(values, arrays))
    assert again.names == columns.names
    assert (again.encode(train) == codes).all()
    more, back = again.state()
    assert more == values and all((arrays[name] == back[name]).all() for name in arrays)
