"""Column expressions of templates over parts: parsed, computed, refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from structopt.errors import ConfigError
from structopt.formats.trees.dependency_trees import COLUMNS
from structopt.templates.arc_templates import ARCS
from structopt.templates.expressions import column_names, expression, with_suffixes

CONFIG = Path(__file__).parents[2] / "conf" / "task" / "dependency.yaml"


def test_names_in_order_of_first_use() -> None:
    features = {
        "templates": [
            "h.form & m.upos[-1]",
            "h.prefix( form , 5 ) & between.xpos & m.form",
            "bias",
        ],
        "labels": ["m.feat(Number[psor])[1]", "m . lemma"],
        "siblings": ["s.lower(form)"],
        "grandparents": ["g.shape(lemma) & h.suffix(form,3)"],
        "support": "seen",
    }
    expected = (
        "form upos prefix(form,5) xpos feat(Number[psor]) lemma lower(form) shape(lemma) "
        "suffix(form,3)"
    )
    assert column_names(features, ARCS, COLUMNS) == tuple(expected.split())
    assert column_names({"templates": None}, ARCS, COLUMNS) == ()


def test_the_shipped_templates() -> None:
    names = column_names(yaml.safe_load(CONFIG.read_text())["features"], ARCS, COLUMNS)
    assert {
        "form",
        "lemma",
        "upos",
        "xpos",
        "feats",
        "feat(Case)",
        "suffix(form,3)",
        "prefix(form,5)",
    } == set(names)


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
    assert expression(text, COLUMNS).candidates(cell) == (value,)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "h.upso",
            "there is no column 'upso'. Did you mean 'upos'? Columns: form, lemma, upos, xpos, "
            "feats.",
        ),
        (
            "h.form & m.sufix(form, 3)",
            "there is no function 'sufix'. Did you mean 'suffix'? Functions: lower(form), ",
        ),
        ("h.prefix(word, 3)", "there is no column 'word'."),
        (
            "h.prefix",
            "there is no column 'prefix'. It is a function: write prefix(form, 5). Columns: ",
        ),
        (
            "h.prefix(form)",
            "'prefix(form)' needs a column and a length from 1 to 99, as in prefix(form, 5).",
        ),
        (
            "h.suffix(form, 0)",
            "'suffix(form,0)' needs a column and a length from 1 to 99, as in suffix(form, 3).",
        ),
        ("h.lower(form, 2)", "'lower(form,2)' needs one column, as in lower(form)."),
        ("m.feat()", "'feat()' needs one name, as in feat(Case)."),
        ("m.feat(Case, 2)", "'feat(Case,2)' needs one name, as in feat(Case)."),
    ],
)
def test_what_is_refused(template: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        column_names({"siblings": ["h.upos", template]}, ARCS, COLUMNS)
    assert str(error.value).startswith(
        f"features.siblings: in the template '{template}': {message}"
    )


def test_a_word_stands_for_itself_or_for_a_suffix() -> None:
    assert with_suffixes("bus") == ("bus", "-us", "-s")
    one = expression("backoff(word,15)", ("word", "tag"))
    assert (one.base, one.least, one.candidates("a")) == ("word", 15, ("a",))
    assert expression("initial(word)", ("word",)).candidates("McDonald") == ("X",)
    assert [
        expression("initial(word)", ("word",)).candidates(word)[0] for word in ("at", "7th", "%")
    ] == ["x", "d", "%"]


def test_functions_are_named_with_the_columns_that_there_are() -> None:
    with pytest.raises(ConfigError, match=r"Functions: lower\(word\), .*backoff\(word, 15\)\.$"):
        expression("stem(word)", ("word", "tag"))
    with pytest.raises(ConfigError, match="there is no function 'feat'"):
        expression("feat(Case)", ("word", "tag"))
    with pytest.raises(
        ConfigError, match="needs a column and a number from 1 to 99, as in backoff"
    ):
        expression("backoff(word)", ("word", "tag"))
