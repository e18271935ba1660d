"""Functions of words."""

from structopt.templates.word_functions import collapsed, digits, kind, shape


def test_shapes_and_classes():
    assert shape("McDonald-95é") == "XxXxxxxx-ddx"
    assert collapsed("McDonald--95") == "XxXx-d"
    assert digits("1996-08-22") == "0000-00-00"
    words = ["EU", "Peter", "cat", "1996-08-22", "B2", ".", "J.", "U.S.", "A", "eBay", "McX", "中"]
    classes = (
        "all-caps initial-cap lower number has-digit punctuation initial acronym capital "
        "mixed-case mixed-case other"
    )
    assert [kind(word) for word in words] == classes.split()
