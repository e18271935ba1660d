"""The texts of errors that `structopt.templates` raises, in one table."""

import pytest

from structopt.errors import StructoptError
from structopt.templates.arc_templates import ARCS
from structopt.templates.attribute_hashes import check_bits
from structopt.templates.column_templates import FeatureTemplates
from structopt.templates.expressions import expression
from structopt.templates.part_templates import check_columns
from structopt.templates.syntax import parse
from structopt.templates.word_lists import read_list

COLUMNS = ("word", "pos")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: FeatureTemplates(["word"], min_count=0),
            "features.min_count=0 must be at least 1.",
        ),
        (
            lambda: FeatureTemplates(["list(word,names)"]),
            "template 'list(word,names)': unknown list 'names'; no lists are given; add its "
            "path under 'lists'.",
        ),
        (
            lambda: check_bits(3, 1),
            "features.hash_bits=3 must be from 10 to 28, or null for a vocabulary.",
        ),
        (
            lambda: check_bits(20, 2),
            "features.min_count=2 counts attributes by name, and features.hash_bits=20 stores "
            "no names. Set features.min_count=1 or features.hash_bits=null.",
        ),
        (
            lambda: parse("word[-1"),
            "template 'word[-1': expected ']', found the end",
        ),
        (
            lambda: parse("word[2..-2]"),
            "template 'word[2..-2]': the range 2..-2 is empty; write the smaller number first: "
            "-2..2",
        ),
        (
            lambda: parse("prefx(word,3)"),
            "template 'prefx(word,3)': unknown function 'prefx'; the functions are lower, "
            "prefix, suffix, shape, collapsed, length, digits, kind, list. Did you mean "
            "'prefix'?",
        ),
        (
            lambda: expression("lower(wrd)", COLUMNS),
            "there is no column 'wrd'. Did you mean 'word'? Columns: word, pos.",
        ),
        (
            lambda: expression("prefix(word)", COLUMNS),
            "'prefix(word)' needs a column and a length from 1 to 99, as in prefix(word, 5).",
        ),
        (
            lambda: ARCS.parse(["h.upos", "h.upos"], "templates"),
            "features.templates: the template 'h.upos' is listed twice; leave one of them out.",
        ),
        (
            lambda: ARCS.parse(["x.upos"], "templates"),
            "features.templates: the template 'x.upos' has the role 'x'. Roles: h, m, between.",
        ),
        (
            lambda: check_columns(ARCS.parse(["h.upos"], "templates"), "templates", COLUMNS),
            "features.templates: the template 'h.upos' looks at the column 'upos', which does "
            "not exist. Did you mean 'pos'? Columns: word, pos.",
        ),
        (
            lambda: read_list("names.txt"),
            "names.txt: there is no such word list; correct its path under 'lists'.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised:
        call()
    assert str(raised.value) == text
