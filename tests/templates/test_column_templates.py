"""Feature templates: their syntax, their values against a naive reading of the words, saving, and
errors.
"""

from __future__ import annotations

import gzip
import json
import os
import pickle
import time
from itertools import pairwise
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structopt.core.data.saved_state import SavedState
from structopt.errors import ConfigError, DataError, ModelError
from structopt.templates import template_keys, template_lookup
from structopt.templates.column_templates import FeatureTemplates
from structopt.templates.syntax import parse
from structopt.templates.template_learner import TemplateLearner
from structopt.templates.word_functions import collapsed

WORDS = ["The", "cat", "sat", ".", "the", "Cat", "ran", "to", "New", "York", "City"]
COLUMNS = {"word": WORDS, "pos": list("DNV.DNVPNNN")}
OFFSETS = np.array([0, 4, 11])


def rows(fitted: FeatureTemplates, table) -> list[list[str]]:
    names = fitted.describe(table.ids)
    return [
        names[begin:end] for begin, end in zip(table.offsets[:-1], table.offsets[1:], strict=True)
    ]


def fit(*lines: str, columns=COLUMNS, offsets=OFFSETS, **options):
    fitted = FeatureTemplates(lines, **options)
    return fitted, fitted.fit(columns, offsets)


def test_window_and_padding():
    fitted, table = fit("bias", "word[-1..1]")
    attributes = rows(fitted, table)
    assert attributes[0] == ["bias", "word[-1]=<padding>", "word[0]=The", "word[1]=cat"]
    assert attributes[3] == ["bias", "word[-1]=sat", "word[0]=.", "word[1]=<padding>"]
    assert attributes[4] == ["bias", "word[-1]=<padding>", "word[0]=the", "word[1]=Cat"]
    assert table.ids.dtype == np.int32 and table.offsets.dtype == np.int64 and table.values is None


def test_a_word_spelt_like_the_padding_is_another_attribute():
    _, table = fit("word[-1]", columns={"word": ["<padding>", "a"]}, offsets=np.array([0, 2]))
    assert table.size == 2


def test_conjunction():
    fitted, table = fit("word[-1] & pos")
    assert rows(fitted, table)[1] == ["word[-1]=The & pos[0]=N"]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("word", ["word[0]"]),
        ("word[-1..1]", ["word[-1]", "word[0]", "word[1]"]),
        (
            "word[-1..0]&pos[0..1]",
            ["word[-1] & pos[0]", "word[-1] & pos[1]", "word[0] & pos[0]", "word[0] & pos[1]"],
        ),
        (
            "prefix(lower(word), 1..2)[+1]",
            ["prefix(lower(word), 1)[1]", "prefix(lower(word), 2)[1]"],
        ),
        ("list( word ,us-cities )", ["list(word, us-cities)[0]"]),
        ("pos[-1..0] & pos", ["pos[-1] & pos[0]", "pos[0]"]),
    ],
)
def test_expansion(line, names):
    assert [" & ".join(map(str, template)) for template in parse(line)] == names


def test_repeated_templates_count_once():
    assert len(FeatureTemplates(["word[-1..1]", "word", "word[1]"]).templates) == 3


def test_affixes_longer_than_the_word_are_left_out():
    fitted, table = fit("prefix(lower(word), 2..3)", "suffix(word, 2)")
    attributes = rows(fitted, table)
    assert attributes[0] == [
        "prefix(lower(word), 2)[0]=th",
        "prefix(lower(word), 3)[0]=the",
        "suffix(word, 2)[0]=he",
    ]
    assert attributes[3] == []
    assert attributes[7] == ["prefix(lower(word), 2)[0]=to", "suffix(word, 2)[0]=to"]


def test_word_list_matches_longest_phrases(tmp_path: Path):
    path = tmp_path / "places.gz"
    with gzip.open(path, "wt", encoding="utf8") as lines:
        lines.write("new york\n\nNew York City\nYork\ncat\n")
    fitted, table = fit(
        "list(word, places)", "list(lower(word), places)[1]", lists={"places": str(path)}
    )
    attributes = rows(fitted, table)
    assert attributes[1] == ["list(word, places)[0]=B"]
    assert attributes[4] == ["list(lower(word), places)[1]=B"]
    assert attributes[9] == ["list(word, places)[0]=I", "list(lower(word), places)[1]=I"]
    assert attributes[10] == ["list(word, places)[0]=I"]
    assert attributes[0] == ["list(lower(word), places)[1]=B"]


def test_min_count():
    fitted, table = fit("pos", "pos[-1] & pos", min_count=3)
    assert fitted.describe(range(table.size)) == ["pos[0]=N", "pos[-1]=D & pos[0]=N"][: table.size]
    counts = np.bincount(fit("pos", "pos[-1] & pos")[1].ids)
    assert table.size == np.count_nonzero(counts >= 3)


def test_transform_derives_views_of_unknown_words():
    fitted, _ = fit("word", "lower(word)", "collapsed(word)", "prefix(word, 2)", "word & pos")
    table = fitted.transform({"word": ["SAT", "Che"], "pos": ["V", "N"]}, np.array([0, 2]))
    assert rows(fitted, table) == [["lower(word)[0]=sat"], ["collapsed(word)[0]=Xx"]]
    assert table.size == fitted.size


@pytest.mark.parametrize("most", [3, 50, 1 << 20])
def test_kept_codes_change_nothing(monkeypatch, most):
    fitted, table = fit(*RICH)
    monkeypatch.setattr(template_lookup, "MOST_KEPT", most)
    sentences = [slice(a, b) for a, b in pairwise(OFFSETS.tolist())]
    for _ in range(2):
        for part, first, last in zip(sentences, OFFSETS, OFFSETS[1:], strict=False):
            columns = {name: cells[part] for name, cells in COLUMNS.items()}
            one = fitted.transform(columns, np.array([0, last - first]))
            assert np.array_equal(one.ids, table.subset(first, last).ids)
    kept = fitted._lookup().codes
    assert any(kept._known.values()) and not any(pickle.loads(pickle.dumps(kept))._known.values())
    monkeypatch.setattr(template_lookup, "FEW", 0)
    assert np.array_equal(fitted.transform(COLUMNS, OFFSETS).ids, table.ids)


@pytest.mark.parametrize("missing", [[], ["pos"], ["word"], ["word", "pos"]])
def test_few_tokens_with_word_lists_and_missing_columns(tmp_path, monkeypatch, missing):
    path = tmp_path / "places.txt"
    path.write_text("new york\nYork\ncat\n")
    fitted, _ = fit(*RICH, "list(word, places)[-1..1] & pos", lists={"places": str(path)})
    columns = {name: cells for name, cells in COLUMNS.items() if name not in missing}
    found = [fitted.transform(columns, OFFSETS, missing) for _ in range(2)]
    monkeypatch.setattr(template_lookup, "FEW", 0)
    expected = fitted.transform(columns, OFFSETS, missing)
    for table in found:
        assert np.array_equal(table.ids, expected.ids)
        assert np.array_equal(table.offsets, expected.offsets)


def test_missing_column_is_padding():
    fitted, _ = fit("word", "pos[-1]", "pos")
    table = fitted.transform({"word": ["cat"]}, np.array([0, 1]), missing=["pos"])
    assert rows(fitted, table) == [["word[0]=cat", "pos[-1]=<padding>"]]


RICH = [
    "bias",
    "word[-2..2]",
    "word[-1..0] & pos[0..1]",
    "shape(word) & suffix(word, 1..3)[-1]",
    "pos[-1] & pos & pos[1]",
    "kind(word)",
]


@pytest.mark.parametrize("dense", [0, 1 << 21])
@pytest.mark.parametrize("bound", [1 << 62, 20])
def test_transform_equals_fit_and_survives_saving(monkeypatch, dense, bound):
    expected = rows(*fit(*RICH))
    monkeypatch.setattr(template_keys, "DENSE", dense)
    monkeypatch.setattr(template_keys, "LARGEST_KEY", bound)
    fitted, table = fit(*RICH)
    values, arrays = fitted.state()
    assert all(array.dtype != object for array in arrays.values())
    restored = FeatureTemplates.restore(SavedState(json.loads(json.dumps(values)), arrays))
    assert rows(fitted, table) == expected
    tables = [fitted.transform(COLUMNS, OFFSETS), restored.transform(COLUMNS, OFFSETS)]
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)  # without the compiled call
    tables.append(restored.transform(COLUMNS, OFFSETS))
    for again in tables:
        assert np.array_equal(again.ids, table.ids) and np.array_equal(again.offsets, table.offsets)
    assert restored.describe(range(table.size)) == fitted.describe(range(table.size))


def test_saved_lists_need_no_file(tmp_path: Path):
    path = tmp_path / "names"
    path.write_text("New York\n", encoding="utf8")
    fitted, table = fit("list(word, names)", lists={"names": str(path)})
    path.unlink()
    restored = FeatureTemplates.restore(SavedState(*fitted.state()))
    assert np.array_equal(restored.transform(COLUMNS, OFFSETS).ids, table.ids)


def test_frequent_attributes_come_first_and_then_those_that_occur_first():
    fitted, table = fit("pos", "suffix(word, 1)")
    names = [
        name.replace("suffix(word, 1)[0]", "s").replace("pos[0]", "p")
        for name in fitted.describe(range(table.size))
    ]
    assert names[:1] == ["p=N"]  # 5 times
    assert names[1:5] == ["p=D", "s=e", "s=t", "p=V"]  # 2 or 3 times
    assert names[5:] == ["p=.", "s=.", "s=n", "p=P", "s=o", "s=w", "s=k", "s=y"]


@pytest.mark.parametrize("min_count", [1, 2])
@pytest.mark.parametrize("known", [False, True])
def test_blocks_are_numbered_as_the_whole(min_count, known):
    lines = ["bias", "word[-1..0]", "pos & lower(word)", "suffix(word, 1..2)"]
    earlier = (
        fit(*lines, columns={"word": ["Rome", "cat"], "pos": ["N", "N"]}, offsets=np.array([0, 2]))[
            0
        ]
        if known
        else None
    )
    whole = FeatureTemplates(lines, min_count=min_count)
    table = whole.fit(COLUMNS, OFFSETS, earlier)
    own = FeatureTemplates(lines, min_count=min_count)
    learner = TemplateLearner(own, earlier)
    blocks = [({name: column[:4] for name, column in COLUMNS.items()}, np.array([0, 4]))]
    blocks.append(({name: column[4:] for name, column in COLUMNS.items()}, np.array([0, 7])))
    for columns, offsets in blocks:
        values = learner.no_values()
        learner.values(values, columns, offsets)
        learner.take_values(values)
    learner.number_values()
    for columns, offsets in blocks:
        keys = learner.no_keys()
        learner.keys(keys, columns, offsets)
        learner.take_keys(keys)
    learner.finish()
    assert own.describe(range(own.size)) == whole.describe(range(whole.size))
    assert np.array_equal(own.transform(COLUMNS, OFFSETS).ids, table.ids)


def test_pruning_keeps_the_order_of_the_attributes():
    fitted, table = fit(*RICH)
    kept = np.arange(table.size) % 3 != 1
    pruned = fitted.pruned(kept)
    names = np.array(fitted.describe(range(table.size)))
    assert pruned.describe(range(pruned.size)) == names[kept].tolist()
    left = [[name for name in row if name in set(names[kept])] for row in rows(fitted, table)]
    assert rows(pruned, pruned.transform(COLUMNS, OFFSETS)) == left


def test_numbers_of_saved_models():
    fitted, table = fit("word", "pos")
    values, arrays = fitted.state()
    names = fitted.describe(range(table.size))
    before = FeatureTemplates.restore(
        SavedState(values, {name: array for name, array in arrays.items() if name != "numbers"})
    )
    # one template after another
    assert before.describe(range(table.size)) == [names[number] for number in arrays["numbers"]]
    for wrong in (np.zeros_like(arrays["numbers"]), arrays["numbers"][:-1]):
        with pytest.raises(ModelError, match="the array numbers must be"):
            FeatureTemplates.restore(SavedState(values, arrays | {"numbers": wrong}))


def naive(words: list[str], begin: int, end: int, t: int) -> list[str]:
    def at(offset: int, view=str) -> str:
        return view(words[t + offset]) if begin <= t + offset < end else "<padding>"

    attributes = [
        "bias",
        *(f"word[{d}]={at(d)}" for d in (-1, 0, 1)),
        f"lower(word)[1]={at(1, str.lower)}",
    ]
    attributes.append(f"word[-1]={at(-1)} & collapsed(word)[0]={at(0, collapsed)}")
    return attributes + [f"suffix(word, 2)[0]={words[t][-2:]}"] * (len(words[t]) >= 2)


@given(st.lists(st.lists(st.text("aAB1é", min_size=1, max_size=3), max_size=5), max_size=5))
def test_against_a_naive_reading(sentences):
    words = [word for sentence in sentences for word in sentence]
    offsets = np.cumsum([0, *map(len, sentences)])
    lines = (
        "bias",
        "word[-1..1]",
        "lower(word)[1]",
        "word[-1] & collapsed(word)",
        "suffix(word, 2)",
    )
    fitted, table = fit(*lines, columns={"word": words}, offsets=offsets)
    bounds = [
        (b, e, t) for b, e in zip(offsets[:-1], offsets[1:], strict=True) for t in range(b, e)
    ]
    assert rows(fitted, table) == [naive(words, *bound) for bound in bounds]
    assert sorted(set(table.ids.tolist())) == list(range(table.size))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("prefx(word, 2)", "unknown function 'prefx'.*Did you mean 'prefix'"),
        ("word[", "expected an offset such as -1.*found the end"),
        ("word[1", r"expected '\]'"),
        ("word[2..-2]", r"range 2..-2 is empty.*-2..2"),
        ("prefix(word, 3..1)", "range 3..1 is empty"),
        ("prefix(word, 0)", "at least 1"),
        ("prefix(word)", "number of characters"),
        ("list(word, 3)", "name of a word list"),
        ("lower(list(word, x))", "outermost"),
        ("word &", "expected a column"),
        ("word pos", "expected '&'.*found 'pos'"),
        ("word | pos", r"found '\|'"),
        ("", "expected a column"),
        ("list(word, cties)", "unknown list 'cties'; the lists are cities.*Did you mean 'cities'"),
    ],
)
def test_errors_show_the_template(line, message):
    with pytest.raises(ConfigError, match=message) as caught:
        FeatureTemplates([line], lists={"cities": "unused"})
    assert f"template '{line}'" in str(caught.value)


def test_other_errors(tmp_path: Path):
    with pytest.raises(
        ConfigError,
        match="template 'wrd & pos': unknown column 'wrd'; the columns are word, pos.*Did you mean "
        "'word'",
    ):
        fit("wrd & pos")
    with pytest.raises(ConfigError, match="min_count"):
        FeatureTemplates(["word"], min_count=0)
    with pytest.raises(ConfigError, match="quote it"):
        FeatureTemplates([{"word": 1}])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="no lists are given"):
        FeatureTemplates(["list(word, a)"])
    with pytest.raises(DataError, match="nowhere.*no such word list"):
        FeatureTemplates(["list(word, a)"], lists={"a": str(tmp_path / "nowhere")})
    (tmp_path / "latin").write_bytes(b"\xef\xbb\xbfParis\nCatal\xe1n\n")
    with pytest.raises(DataError, match="latin:2: the word list is not UTF-8"):
        FeatureTemplates(["list(word, a)"], lists={"a": str(tmp_path / "latin")})


def test_no_templates_and_no_tokens():
    _, table = fit()
    assert table.size == 0 and table.offsets.tolist() == [0] * (len(WORDS) + 1)
    fitted, table = fit(
        "bias", "word & pos", columns={"word": [], "pos": []}, offsets=np.array([0])
    )
    assert table.size == 0 and fitted.transform(COLUMNS, OFFSETS).ids.size == 0
    assert FeatureTemplates.restore(SavedState(*fitted.state())).size == 0


NER = [
    "bias",
    "word[-2..2]",
    "pos[-2..2]",
    "chunk[-2..2]",
    "collapsed(word)[-2..2]",
    "lower(word)[-2..2]",
    "prefix(lower(word), 1..6)",
    "suffix(lower(word), 1..6)",
    "prefix(lower(word), 2..4)[-1]",
    "suffix(lower(word), 2..4)[-1]",
    "prefix(lower(word), 2..4)[1]",
    "suffix(lower(word), 2..4)[1]",
    "shape(word)[-1..1]",
    "word[-1] & word",
    "word & word[1]",
    "pos[-1] & pos",
    "pos & pos[1]",
    "pos[-2] & pos[-1] & pos",
    "pos[-1] & pos & pos[1]",
    "pos & pos[1] & pos[2]",
    "collapsed(word)[-1] & collapsed(word)",
    "collapsed(word) & collapsed(word)[1]",
    "collapsed(word)[-1] & collapsed(word) & collapsed(word)[1]",
    "lower(word)[-1] & collapsed(word)",
    "collapsed(word) & lower(word)[1]",
    "digits(lower(word))",
    "pos[-1] & word",
    "word & pos[1]",
]


@pytest.mark.nightly("data")
@pytest.mark.skipif(
    "STRUCTOPT_DATA" not in os.environ, reason="STRUCTOPT_DATA, the folder of real data, is not set"
)
def test_conll2003():
    cells, offsets = [], [0]
    with gzip.open(
        Path(os.environ["STRUCTOPT_DATA"]) / "conll2003" / "eng.train.gz", "rt", encoding="utf8"
    ) as lines:
        for line in lines:
            if line.strip() and not line.startswith("-DOCSTART-"):
                cells.append(line.split())
            elif len(cells) > offsets[-1]:
                offsets.append(len(cells))
    columns = dict(zip(("word", "pos", "chunk"), zip(*cells, strict=True), strict=False))
    fitted = FeatureTemplates(NER)
    assert len(fitted.templates) == 68
    start = time.perf_counter()
    table = fitted.fit(columns, np.array(offsets))
    assert time.perf_counter() - start < 10.0
    again = fitted.transform(columns, np.array(offsets))
    assert np.array_equal(again.ids, table.ids) and np.array_equal(again.offsets, table.offsets)
    assert len(np.unique(table.ids)) == table.size
