"""Mulan's files: which columns are labels, what the others become, and the text of every error."""

import re

import numpy as np
import pytest

from structopt.errors import ConfigError, DataError
from structopt.formats.vectors.mulan import label_list, read
from tests.messages import raises

TEXT = """@relation r
@attribute x numeric
@attribute sunny {0,1}
@attribute colour {red,green,blue}
@attribute Beach {0,1}
@attribute 'Two Words' {0,1}
@data
0.5,1,red,1,0
0,0,blue,1,1
{0 2,2 green,4 1}
{0 1}
"""
XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="Two Words"></label>
<label name="Beach"></label>
</labels>
"""


@pytest.fixture
def make(tmp_path):
    def make(text=TEXT, name="data.arff", xml=XML, beside="data.xml"):
        (tmp_path / name).write_text(text)
        if beside:
            (tmp_path / beside).write_text(xml)
        return tmp_path / name

    return make


def rows(vectors):
    names = [vectors.attributes[j] for j in vectors.ids]
    pairs = list(zip(names, vectors.values.tolist(), strict=True))
    return [
        dict(pairs[a:b]) for a, b in zip(vectors.offsets[:-1], vectors.offsets[1:], strict=True)
    ]


@pytest.mark.parametrize(
    ("relation", "names"),
    [
        ("'photos: -C -2 -split-percentage 50'", ("Beach", "Two Words")),
        ("'photos:-split 3 -C 2'", ("x", "sunny")),
        ('"a: b -C 1"', ("x",)),
    ],
)
def test_labels_that_meka_counts(make, relation, names):
    text = TEXT.replace("relation r", f"RELATION {relation}")
    text = text.replace("0.5,", "0,").replace("{0 2,2", "{0 1,2")
    vectors = read(make(text, beside=None))
    assert vectors.names == names
    assert read(make(text)).names == ("Two Words", "Beach"), "the XML file counts"
    assert read(make(text, beside=None), labels=1).names == ("Two Words",)


@pytest.mark.parametrize("count", [0, 5, -5])
def test_counts_of_meka_that_are_refused(make, count):
    path = make(TEXT.replace("relation r", f"relation 'r: -C {count}'"), beside=None)
    problem = f"-C {count} counts label columns, and the file has 5 columns"
    with raises(DataError, path=str(path), line=1, problem=problem):
        read(path)


@pytest.mark.parametrize("relation", ["'r -C 2'", "'r: -C2'", "'r: -C last'", "x-C"])
def test_names_that_count_no_labels(make, relation):
    with pytest.raises(DataError, match="which columns are labels"):
        read(make(TEXT.replace("relation r", f"relation {relation}"), beside=None))


def test_labels_of_the_xml_beside_the_file(make):
    vectors = read(make())
    assert (vectors.names, vectors.declared, len(vectors)) == (("Two Words", "Beach"), True, 4)
    assert vectors.labels == [("Beach",), ("Two Words", "Beach"), ("Two Words",), ()]
    assert vectors.attributes == ["x", "sunny", "colour=green", "colour=blue"]
    assert rows(vectors) == [
        {"x": 0.5, "sunny": 1},
        {"colour=blue": 1},
        {"x": 2, "colour=green": 1},
        {"x": 1},
    ]
    assert (vectors.offsets.dtype, vectors.ids.dtype, vectors.values.dtype) == (
        np.int64,
        np.int32,
        np.float64,
    )


@pytest.mark.parametrize(
    ("name", "beside"),
    [
        ("a-train.arff", "a.xml"),
        ("a_TEST.ARFF", "a.xml"),
        ("a.dev.arff", "a.xml"),
        ("a-train.arff", "a-train.xml"),
    ],
)
def test_the_xml_may_leave_out_the_part(make, name, beside):
    assert read(make(name=name, beside=beside)).names == ("Two Words", "Beach")


def test_labels_that_are_given(make, tmp_path):
    path = make(beside="other.xml")
    assert read(path, labels=2).names == ("Beach", "Two Words")
    assert read(path, labels=2).labels[1] == ("Beach", "Two Words")
    assert read(path, labels=str(tmp_path / "other.xml")).names == ("Two Words", "Beach")
    assert read(path, known=["Beach"], labels=3).attributes[-1] == "Two Words"


def test_labels_may_be_lacking_where_they_are_not_asked_for(make):
    bare = "@attribute x numeric\n@data\n1\n"
    path = make(bare, beside=None)
    vectors = read(path, known=["Beach"], labelled=False)
    assert (vectors.labels, vectors.names, rows(vectors)) == (None, (), [{"x": 1.0}])
    vectors = read(make(TEXT.replace("red,1,0", "red,?,?")), labelled=False)
    assert (vectors.labels, rows(vectors)[0]) == (None, {"x": 0.5, "sunny": 1})


def test_numeric_label_columns(make):
    text = "@attribute x numeric\n@attribute l numeric\n@data\n1,1.0\n2,0\n"
    assert read(make(text), labels=1).labels == [("l",), ()]


def test_the_xml_has_the_encoding_of_the_file(tmp_path):
    (tmp_path / "x.arff").write_text(
        "@attribute x numeric\n@attribute été {0,1}\n@data\n1,1\n", encoding="latin-1"
    )
    (tmp_path / "x.xml").write_text("<labels><label name='été'/></labels>", encoding="latin-1")
    assert read(tmp_path / "x.arff", encoding="latin-1").labels == [("été",)]


def test_nested_labels(tmp_path):
    (tmp_path / "x.xml").write_text(
        "<labels><label name='a'><label name='b'/></label>\n<label name='c'/></labels>"
    )
    assert label_list(tmp_path / "x.xml") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "0.5,1",
            "?,1",
            ":8: the value of 'x' is missing (?): put a number in its place, such as 0 or the "
            "column's mean.",
        ),
        ("{0 1}", "{0 1,2 ?}", ":11: the value of 'colour' is missing (?)"),
        (
            "red,1,0",
            "red,?,0",
            ":8: the label 'Beach' is missing (?): write 1 where the instance has it, else 0.",
        ),
        ("Beach {0,1}", "Beach numeric", None),
        (
            "Beach {0,1}",
            "Beach {1,0}",
            ":5: the label 'Beach' must have the values {0,1}, in this order: declare it so.",
        ),
    ],
)
def test_malformed_columns(make, old, new, message):
    path = make(TEXT.replace(old, new))
    if message is None:
        assert read(path).labels[0] == ("Beach",)
        return
    with pytest.raises(DataError, match=f"^{re.escape(f'{path}{message}')}"):
        read(path)


def test_labels_that_are_no_switches(make):
    path = make(TEXT.replace("Beach {0,1}", "Beach numeric").replace("blue,1", "blue,0.5"))
    with pytest.raises(
        DataError,
        match=re.escape(f"{path}:9: the label 'Beach' is 0.5: write 1 where the instance has it"),
    ):
        read(path, labelled=False)


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("<labels><label name='a'></labels>", ":1: this is not XML (mismatched tag"),
        ("<labels>\n</labels>", ": no label is named here: write <label"),
        ("<labels><label name='Beach'/><label/></labels>", ": no label is named here"),
        (
            "<labels><label name='Beach'/><label name='Beach'/></labels>",
            ": the label 'Beach' is named twice: remove",
        ),
        (
            "<labels><label name='Beech'/></labels>",
            ": the label 'Beech' has no column in {path}. Did you mean 'Beach'? Is",
        ),
        (
            "<labels>"
            + "".join(
                f"<label name='{n}'/>" for n in ("x", "sunny", "colour", "Beach", "Two Words")
            )
            + "</labels>",
            ": all columns of {path} are labels: nothing is left to tell them by.",
        ),
    ],
)
def test_malformed_xml(make, tmp_path, xml, message):
    path = make(xml=xml)
    where = tmp_path / "data.xml"
    with pytest.raises(DataError, match=f"^{re.escape(f'{where}{message.format(path=path)}')}"):
        read(path)


def test_no_xml(make):
    path = make(name="data-train.arff", beside=None)
    expected = (
        f"{path}: which columns are labels? There is no data-train.xml or data.xml, "
        "and @relation has no -C: set "
        "task.labels to the number of last"
    )
    with pytest.raises(DataError, match=f"^{re.escape(expected)}"):
        read(path)
    for labels in (5, 9):
        with pytest.raises(
            ConfigError,
            match=re.escape(f"task.labels={labels}: {path} has 5 columns; give a number from 1 to"),
        ):
            read(path, labels=labels)


def test_a_models_labels_that_are_lacking(make):
    path = make()
    expected = (
        f"{path}: there is no column of the label 'Beech'. Did you mean 'Beach'? Every label "
        "needs one."
    )
    for labelled in (True, False):
        with pytest.raises(DataError, match=f"^{re.escape(expected)}"):
            read(path, known=["Beach", "Beech"], labelled=labelled)
    with pytest.raises(DataError, match="there is no column of the label 'Snow'"):
        read(path, known=["Snow"])
