"""CRFsuite's attribute text: reading, writing, and the text of every error."""

import gzip
import random
import re

import numpy as np
import pytest

from structopt.errors import ConfigError, DataError
from structopt.formats.crfsuite import read, write
from tests.messages import raises


def rows(sentences):
    bounds = sentences.attribute_offsets
    return [
        [sentences.attributes[i] for i in sentences.ids[a:b]]
        for a, b in zip(bounds, bounds[1:], strict=False)
    ]


@pytest.mark.parametrize("name", ["data.txt", "data.gz"])
def test_reads_tokens_attributes_and_lines(make, name):
    path = make("\nB\tw=a\tbias\nO\tbias\n\n\nO\tw=b\tw=a\n", name)
    sentences = read(path)
    assert sentences.path == str(path)
    assert sentences.offsets.tolist() == [0, 2, 3]
    assert sentences.attribute_offsets.tolist() == [0, 2, 3, 5]
    assert sentences.attributes == ["w=a", "bias", "w=b"]
    assert sentences.ids.tolist() == [0, 1, 1, 2, 0]
    assert sentences.values is None
    assert sentences.labels == ["B", "O", "O"]
    assert sentences.lines.tolist() == [2, 3, 6]
    assert sentences.ids.dtype == np.int32
    assert (
        sentences.offsets.dtype
        == sentences.attribute_offsets.dtype
        == sentences.lines.dtype
        == np.int64
    )


@pytest.mark.parametrize(
    ("field", "name", "value"),
    [
        ("a:2.5", "a", 2.5),
        ("a:-1e-3", "a", -1e-3),
        (r"w=\::3", "w=:", 3),
        (r"w=\:", "w=:", 1),
        (r"w=\\:4", "w=\\", 4),
        (r"w=\\\:x", r"w=\:x", 1),
        (r"w=\n", r"w=\n", 1),
        ("w=\\", "w=\\", 1),
    ],
)
def test_escapes_and_values(make, field, name, value):
    sentences = read(make(f"O\tbias\t{field}\tlast\n"))
    assert sentences.attributes == ["bias", name, "last"]
    assert (sentences.values.tolist() if sentences.values is not None else [1, 1, 1]) == [
        1,
        value,
        1,
    ]


def test_an_escaped_name_is_the_plain_name(make):
    sentences = read(make("O\tw=\\\\\tx\nO\tx:2\tw=\\\\\n"))
    assert rows(sentences) == [["w=\\", "x"], ["x", "w=\\"]]
    assert sentences.values.tolist() == [1, 1, 2, 1]


def test_values_that_are_all_one_are_left_out(make):
    assert read(make("O\ta:1\tb:1.0\tc\n")).values is None


def test_a_line_of_many_attributes_of_all_lengths(make):
    names = ["x" * (n % 40) + ("" if n % 3 else ":") + "y" * (n % 11) + str(n) for n in range(200)]
    fields = [
        name.replace(":", "\\:") + (f":{n}" if n % 4 == 0 else "") for n, name in enumerate(names)
    ]
    lines = ["\t".join(["O", *fields]), "\t".join(["O", *reversed(fields)])]
    found = read(make("\n".join(lines)))
    ids, bounds = found.ids.tolist(), found.attribute_offsets.tolist()
    assert bounds == [0, 200, 400]
    assert [found.attributes[n] for n in ids] == [*names, *reversed(names)]
    assert found.values[:200].tolist() == [n if n % 4 == 0 else 1 for n in range(200)]
    assert len(found.attributes) == 200


def test_labels_may_hold_colons_and_escapes(make):
    assert read(make(":\ta\n\\:\ta\n\\\\\ta\n")).labels == [":", ":", "\\"]


def test_label_only_and_empty_fields(make):
    sentences = read(make("O\nB\t\ta\t\nO\t\n"))
    assert sentences.labels == ["O", "B", "O"]
    assert rows(sentences) == [[], ["a"], []]


@pytest.mark.parametrize(
    ("content", "labelled", "line"),
    [("\nAnn NNP B-PER\n", False, 2), ("a\nb\u3000O\n", False, 2), ("\na\nb\n", True, 2)],
)
def test_columns_are_refused(make, content, labelled, line):
    path = make(content)
    with raises(DataError, path=str(path), line=line) as error:
        read(path, labelled=labelled)
    assert "Are these columns" in error.value.problem
    assert not len(read(make("a\nb\n")).ids), "words to predict may have no attributes"


def test_windows_line_ends_and_last_line_without_end(make):
    sentences = read(make("O\ta\r\n\r\nB\tb"))
    assert (sentences.labels, rows(sentences), sentences.offsets.tolist()) == (
        ["O", "B"],
        [["a"], ["b"]],
        [0, 1, 2],
    )


def test_spaces_belong_to_names(make):
    assert read(make("O\tw=New York\n")).attributes == ["w=New York"]


def test_limit(make):
    sentences = read(make("O\ta\n\nO\tb\nO\tc\n\nO\tx:bad\n"), limit=2)
    assert (sentences.attributes, sentences.offsets.tolist()) == (["a", "b", "c"], [0, 1, 3])
    with pytest.raises(ConfigError, match="limit=-1 must be at least 1, or null"):
        read(make("O\ta\n"), limit=-1)


@pytest.mark.parametrize(
    ("content", "where", "text"),
    [
        (
            "O\ta\nO\tw=::\n",
            ":2",
            r"the value ':' of attribute 'w=' is not a finite number: write attribute:number",
        ),
        ("O\ta:\n", ":1", "the value '' of attribute 'a' is not a finite number"),
        ("O\ta:nan\n", ":1", "the value 'nan' of attribute 'a' is not a finite number"),
        (
            "O\ta:x\n",
            ":1",
            r"the value 'x' of attribute 'a' is not a finite number: write attribute:number, and "
            r"a colon that",
        ),
        ("\ta\n", ":1", "the line begins with a tab, so it has no label"),
        (
            "@weight:2\nO\ta\n",
            ":1",
            "instance weights (@weight) are not supported: remove the line",
        ),
        ("", "", "the file is empty"),
        ("\n\t\n", "", "the file is empty"),
        (
            b"O\ta\nO\t\xff\n",
            ":2",
            "the bytes ff are not utf8 (invalid start byte): set task.encoding",
        ),
    ],
)
def test_bad_content(make, content, where, text):
    path = make(content)
    with pytest.raises(DataError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}{where}: {text}")


def expected(text):
    """The same by Python's own functions: labels, attributes with values, and lines of the tokens
    of every sentence.
    """
    unescape = re.compile(r"\\([:\\])")
    sentences = [[]]
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.isspace():
            sentences.append([])
            continue
        label, *fields = line.split("\t")
        matches = [
            re.fullmatch(r"((?:\\.|[^:\\]|\\$)*)(?::(.*))?", field, re.DOTALL)
            for field in fields
            if field
        ]
        found = [(unescape.sub(r"\1", match[1]), float(match[2] or 1)) for match in matches]
        sentences[-1].append((unescape.sub(r"\1", label), found, number))
    return [sentence for sentence in sentences if sentence]


def as_lists(corpus):
    """A corpus in the form of `expected`."""
    values = np.ones(len(corpus.ids)) if corpus.values is None else corpus.values
    pairs = [
        (corpus.attributes[i], value)
        for i, value in zip(corpus.ids.tolist(), values.tolist(), strict=True)
    ]
    ends, lines = corpus.attribute_offsets.tolist(), corpus.lines.tolist()
    tokens = [(corpus.labels[k], pairs[ends[k] : ends[k + 1]], lines[k]) for k in range(len(lines))]
    bounds = corpus.offsets.tolist()
    return [tokens[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]


ATOMS = ["a", "b=", "word", r"\n", "\\:", "\\\\", " ", "\x1c", "é", "\u3000", "日"]
BLANK = ["", "", "", " ", "\t\x1c", "\u3000", "\xa0\t "]


def random_line(generator):
    """A line between sentences, or one of a token whose attributes may be empty, escaped, or have
    values.
    """
    if generator.random() < 0.2:
        return generator.choice(BLANK)
    fields = [
        "".join(generator.choices(ATOMS, k=generator.randrange(4)))
        for _ in range(generator.randrange(6))
    ]
    values = generator.choices(["", "\\", ":1", ":2.5"], k=len(fields))
    label = "".join(generator.choices([*ATOMS, ":"], k=generator.randint(1, 3)))
    return "\t".join([label, *map(str.__add__, fields, values)])


@pytest.mark.parametrize("seed", range(40))
def test_reads_what_python_s_functions_read(make, seed):
    generator = random.Random(seed)
    text = "\n".join(
        ["O\tfirst", *(random_line(generator) for _ in range(generator.choice([3, 30, 1000])))]
    )
    assert as_lists(read(make(text))) == expected(text)


def test_many_attributes_are_found_again(make):
    numbers = [*range(5000), *range(0, 5000, 7)]
    text = "\n".join(f"L{n % 700}\tw={n}\tw={n}:{n % 900}.5" for n in numbers)
    corpus = read(make(text))
    assert corpus.attributes == [f"w={n}" for n in range(5000)]
    assert as_lists(corpus) == expected(text)


def test_many_labels_without_attributes_are_found_again(make):
    labels = [f"L{n % 3000}" for n in range(7000)]
    assert read(make("\n".join(labels))).labels == labels


def test_lines_of_wide_white_space_end_sentences(make):
    corpus = read(make("O\ta\u3000b\n\u3000 \x85\nO\tc\xa0\n\n\xa0\t\nO\td\n"))
    assert (corpus.attributes, corpus.lines.tolist(), len(corpus)) == (
        ["a\u3000b", "c\xa0", "d"],
        [1, 3, 6],
        3,
    )


@pytest.mark.parametrize(
    ("content", "line", "text"),
    [
        ("O\ta\nO\tb:x\n@weight:2\tc\n\ta\n", 2, "the value 'x' of attribute 'b' is not"),
        ("O\ta\n@weight:2\tb:x\n\ta\n", 2, "the value 'x' of attribute 'b' is not"),
        ("O\ta\n@weight:2\tb\nO\tb:x\n\ta\n", 2, "instance weights"),
        ("O\ta\n\tb:1\n@weight:2\nO\tb:x\n", 2, "the line begins with a tab"),
        ("O\ta\n\tb:x\n", 2, "the value 'x' of attribute 'b' is not"),
        ("O\ta:1:2\tb\n", 1, "the value '1:2' of attribute 'a' is not"),
    ],
)
def test_the_first_of_several_faults_is_told(make, content, line, text):
    with pytest.raises(DataError) as error:
        read(make(content))
    assert f":{line}: {text}" in str(error.value)


def test_missing_directory_and_truncated(make, tmp_path):
    with pytest.raises(DataError, match="there is no such file"):
        read(tmp_path / "nowhere")
    with pytest.raises(DataError, match="there is no file in this folder: check the path"):
        read(tmp_path)
    with pytest.raises(DataError, match="the gzip file is truncated"):
        read(make(gzip.compress(b"O\ta\n" * 99)[:-9]))


@pytest.mark.parametrize("name", ["out.txt", "out.gz"])
def test_write_puts_labels_and_predictions_side_by_side(make, tmp_path, name):
    write(make("O\ta\nB\n\n\nO\tb:2\n"), tmp_path / name, [[["X"], ["Y"]], [["Z", "0.5"]]])
    data = (tmp_path / name).read_bytes()
    assert (
        gzip.decompress(data) if name.endswith(".gz") else data
    ) == b"O\tX\nB\tY\n\nO\tZ\t0.5\n\n"


def test_write_checks_counts(make, tmp_path):
    source = make("O\ta\n\nO\tb\n")
    with pytest.raises(
        DataError, match="the file has 2 sentences, but the predictions 1: has the file changed"
    ):
        write(source, tmp_path / "out", [[["X"]]])
    with pytest.raises(
        DataError,
        match=r"data.txt:3: the sentence that begins here has 1 tokens, but its prediction 2",
    ):
        write(source, tmp_path / "out", [[["X"]], [["X"], ["X"]]])
    assert not (tmp_path / "out").exists()
