"""Columns that templates over arcs name: found, computed, interned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from structopt.errors import ConfigError
from structopt.formats.trees.dependency_trees import Trees
from structopt.templates.arc_column_codes import TreeColumns
from structopt.templates.arc_expressions import column_names, expression

CONFIG = Path(__file__).parents[2] / "conf" / "task" / "dependency.yaml"


def corpus(**cells: str) -> Trees:
    columns = {name: text.split() for name, text in cells.items()}
    words = len(columns["form"])
    return Trees("a.conllu", np.array([0, words]), np.arange(words), columns)


def test_names_in_order_of_first_use() -> None:
    features = {
        "templates": ["h.form & m.upos[-1]", "h.prefix( form , 5 ) & between.xpos & m.form", "bias"],
        "labels": ["m.feat(Number[psor])[1]", "m . lemma"],
        "siblings": ["s.lower(form)"],
        "grandparents": ["g.shape(lemma) & h.suffix(form,3)"],
        "support": "seen",
    }
    expected = "form upos prefix(form,5) xpos feat(Number[psor]) lemma lower(form) shape(lemma) suffix(form,3)"
    assert column_names(features) == tuple(expected.split())
    assert column_names({"templates": None}) == ()


def test_the_shipped_templates() -> None:
    names = column_names(yaml.safe_load(CONFIG.read_text())["features"])
    assert {"form", "lemma", "upos", "xpos", "feats", "feat(Case)", "suffix(form,3)", "prefix(form,5)"} == set(names)


@pytest.mark.parametrize(
    ("text", "cell", "value"),
    [
        ("upos", "NOUN", "NOUN"),
        ("lower(form)", "McDonald-9", "mcdonald-9"),
        ("shape(form)", "McDonald-9", "XxXxxxxx-d"),
        ("prefix(form,3)", "houses", "hou"),
        ("prefix(form,3)", "at", "at"),
        ("suffix(lemma,3)", "houses", "ses"),
        ("suffix(form,3)", "at", "at"),
        ("feat(Case)", "Case=Acc,Nom|Number=Sing", "Acc,Nom"),
        ("feat(Number)", "Number[psor]=Plur|Number=Sing", "Sing"),
        ("feat(Number[psor])", "Number[psor]=Plur|Number=Sing", "Plur"),
        ("feat(Case)", "MUGM|Case", "_"),
    ],
)
def test_values(text: str, cell: str, value: str) -> None:
    assert expression(text).function(cell) == value


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("h.upso", "there is no column 'upso'. Did you mean 'upos'? Columns: form, lemma, upos, xpos, feats."),
        ("h.form & m.sufix(form, 3)", "there is no function 'sufix'. Did you mean 'suffix'? Functions: lower(form), "),
        ("h.prefix(word, 3)", "there is no column 'word'."),
        ("h.prefix", "there is no column 'prefix'. It is a function: write prefix(form, 5). Columns: "),
        ("h.prefix(form)", "'prefix(form)' needs a column and a length from 1 to 99, as in prefix(form, 5)."),
        ("h.suffix(form, 0)", "'suffix(form,0)' needs a column and a length from 1 to 99, as in suffix(form, 3)."),
        ("h.lower(form, 2)", "'lower(form,2)' needs one column, as in lower(form)."),
        ("m.feat()", "'feat()' needs one name, as in feat(Case)."),
        ("m.feat(Case, 2)", "'feat(Case,2)' needs one name, as in feat(Case)."),
    ],
)
def test_what_is_refused(template: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        column_names({"siblings": ["h.upos", template]})
    assert str(error.value).startswith(f"features.siblings: in the template '{template}': {message}")


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
    again = TreeColumns.restore(values, arrays)
    assert again.names == columns.names
    assert (again.encode(train) == codes).all()
    more, back = again.state()
    assert more == values and all((arrays[name] == back[name]).all() for name in arrays)
