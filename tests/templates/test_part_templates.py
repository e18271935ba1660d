"""The language of templates over parts: what it reads, and what it says of what it cannot read."""

import pytest

from structopt.errors import ConfigError
from structopt.templates.anchored_templates import ANCHORED
from structopt.templates.arc_templates import ARCS
from structopt.templates.part_templates import Atom, Template, check_columns, columns_of

parse = ARCS.parse


def test_atoms():
    (template,) = parse(
        [" h.upos[-1] &m. prefix( form , 5 )&between.feat(Case) & h.upos[ +2 ]"], "templates"
    )
    assert template.atoms[:2] == (Atom("h", "upos", -1), Atom("m", "prefix(form,5)"))
    assert template.atoms[2:] == (Atom("between", "feat(Case)"), Atom("h", "upos", 2))
    assert ARCS.swept(template) == "feat(Case)"
    assert str(template) == "h.upos[-1] & m.prefix(form,5) & between.feat(Case) & h.upos[2]"
    assert parse([str(template)], "templates") == (template,)


def test_bias():
    assert parse(["bias"], "siblings") == (Template(()),)
    assert str(Template(())) == "bias"
    assert ARCS.swept(Template(())) is None


def test_nested_functions_are_one_column():
    (template,) = parse(["m.prefix(lower(form),3)[1]"], "labels")
    assert template.atoms == (Atom("m", "prefix(lower(form),3)", 1),)


@pytest.mark.parametrize(
    "which, role",
    [("siblings", "s"), ("grandparents", "g"), ("templates", "between"), ("labels", "m")],
)
def test_roles(which, role):
    assert parse([f"{role}.form"], which)[0].atoms == (Atom(role, "form"),)


def test_columns():
    template = parse(["h.form & m.upos", "m.form", "bias", "between.xpos"], "templates")
    assert columns_of(template) == ("form", "upos", "xpos")
    check_columns(template, "templates", ("xpos", "upos", "form"))
    with pytest.raises(
        ConfigError,
        match=r"features.labels: the template 'h.form & m.upos' looks at the column 'upos'.*'xpos'",
    ):
        check_columns(template, "labels", ("form", "xpos"))
    with pytest.raises(ConfigError, match="Columns: none"):
        check_columns(template, "labels", ())


@pytest.mark.parametrize(
    "line, which, message",
    [
        (
            "h.form & g.form",
            "templates",
            "features.templates: the template 'h.form & g.form' has the role 'g'.* Roles: h, m",
        ),
        ("betwen.upos", "labels", r"features.labels: .*'betwen'. Did you mean 'between'\?"),
        ("between.upos", "siblings", "has the role 'between'"),
        ("s.form", "grandparents", "Roles: g, h, m"),
        ("between.upos & between.form", "templates", "more than one 'between'"),
        ("between.upos[1]", "templates", "an offset on 'between'"),
        ("h.form & h.form", "templates", "has an atom twice"),
        ("form", "templates", "the atom 'form', which is not of the form role.column"),
        ("h.form[x]", "templates", r"the atom 'h.form\[x\]'"),
        ("h.form & ", "templates", "the atom ''"),
        ("", "templates", "the atom ''"),
        ("h.prefix(form", "templates", "not of the form"),
        ("h.prefix(form))", "templates", "not of the form"),
        ("h.a(b)(c)", "templates", "not of the form"),
        (" & ".join(f"h.form[{k}]" for k in range(17)), "templates", "17 atoms"),
    ],
)
def test_errors(line, which, message):
    with pytest.raises(ConfigError, match=message):
        parse(["bias", line], which)


def test_a_template_listed_twice():
    with pytest.raises(ConfigError, match="'m.upos&h.form' is listed twice"):
        parse(["h.form & m.upos", "m.upos&h.form"], "templates")


def test_a_text_is_no_list():
    with pytest.raises(ConfigError, match="features.templates must be a list"):
        parse("h.form", "templates")
    with pytest.raises(ConfigError, match="features.labels must be a list"):
        parse([3], "labels")


def test_measures_are_atoms_without_columns():
    (template,) = ANCHORED.parse(["left_length & first . word & right.tag[1]"], "splits")
    assert template.atoms == (Atom("left_length"), Atom("first", "word"), Atom("right", "tag", 1))
    assert str(template) == "left_length & first.word & right.tag[1]"
    assert columns_of([template]) == ("word", "tag")


@pytest.mark.parametrize(
    "line, which, message",
    [
        ("left.word", "spans", "has the role 'left'.* Roles: first, last, before, after, span"),
        (
            "left_length",
            "spans",
            "the atom 'left_length', which is not of the form .*; nor a measure: length",
        ),
        ("lenght", "splits", "nor a measure: length, left_length, right_length"),
        ("span.word[1]", "spans", "an offset on 'span', which looks at all tokens of the span"),
        ("first.word", "words", "Roles: w"),
    ],
)
def test_errors_of_anchored_templates(line, which, message):
    with pytest.raises(ConfigError, match=message):
        ANCHORED.parse([line], which)
