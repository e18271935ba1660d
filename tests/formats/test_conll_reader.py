"""CoNLL column files: reading, and the text of every error."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from structopt.errors import ConfigError, DataError
from structopt.formats.conll_reader import convert_tags, first_line, read, read_blocks
from tests.messages import raises

TEXT = (
    "-DOCSTART- -X- O\n\nEU NNP I-ORG\nrejects VBZ O\n\n  \t\n-DOCSTART- -X- O\nPeter NNP I-PER\n"
)


def message(error):
    return str(error.value)


@pytest.mark.parametrize("name", ["data.txt", "data.gz"])
def test_reads_sentences_cells_and_lines(make, name):
    path = make(TEXT, name)
    columns = read(path, {"word": 0, "ner": -1})
    assert columns.path == str(path)
    assert columns.offsets.tolist() == [0, 2, 3]
    assert columns.offsets.dtype == columns.lines.dtype == np.int64
    assert columns.cells == {"word": ["EU", "rejects", "Peter"], "ner": ["I-ORG", "O", "I-PER"]}
    assert columns.lines.tolist() == [3, 4, 8]
    assert columns.sentences("word") == [["EU", "rejects"], ["Peter"]]


def test_gzip_is_recognised_by_content(make):
    assert len(read(make(gzip.compress(TEXT.encode()), "data.txt"), {"word": 0}).lines) == 3


def test_windows_line_ends_byte_order_mark_and_last_line_without_end(make):
    columns = read(make(b"\xef\xbb\xbfa X\r\n\r\nb Y\r\nc Z"), {"word": 0, "tag": 1})
    assert columns.cells == {"word": ["a", "b", "c"], "tag": ["X", "Y", "Z"]}
    assert columns.offsets.tolist() == [0, 1, 3]


def test_limit_takes_the_first_sentences_and_looks_no_further(make):
    path = make("a X\n\nb X\n\nragged\n")
    assert read(path, {"word": 0}, limit=2).cells["word"] == ["a", "b"]
    assert read(make(TEXT), {"word": 0}, limit=99).offsets.tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("comment", "words"),
    [(None, ["#", "a", "#", "b", "##"]), ("# ", ["a", "##"]), ("#", ["a"])],
)
def test_comments(make, comment, words):
    path = make("# X\na X\n# X\n\n# b\n\n## Y\n".replace("# b", "b Z" if not comment else "# b"))
    read_columns = read(path, {"word": 0}, comment=comment)
    assert read_columns.cells["word"] == words
    assert read_columns.lines[words.index("a")] == 2
    blocks = read_blocks(path, {"word": 0}, comment=comment)
    assert [word for block in blocks for word in block.cells["word"]] == words
    assert first_line(path, comment=comment) == ((2, 2) if comment else (1, 2))


def test_only_ascii_white_space_parts_cells(make):
    columns = read(make("10\xa0000 CD\n\u3000 X\n\x85 Y\n"), {"word": 0, "tag": 1})
    assert columns.cells["word"] == ["10\xa0000", "\u3000", "\x85"]


def test_separator_keeps_spaces_and_empty_cells(make):
    columns = read(
        make("New York\t\tB\n\t\nx\ty\tO\n"), {"word": 0, "pos": 1, "tag": 2}, separator="\t"
    )
    assert columns.cells == {"word": ["New York", "x"], "pos": ["", "y"], "tag": ["B", "O"]}
    assert columns.offsets.tolist() == [0, 1, 2]


def test_equal_strings_are_one_object(make):
    words = read(make("long-word X\nlong-word X\n"), {"word": 0}).cells["word"]
    assert words[0] is words[1]


@pytest.mark.parametrize(
    ("line", "present"), [("a NN O", {"word", "pos", "ner"}), ("a NN", {"word", "pos"})]
)
@pytest.mark.parametrize("number", [2, -1])
def test_optional_column_may_be_absent(make, line, present, number):
    columns = read(make(f"{line}\n"), {"word": 0, "pos": 1, "ner": number}, optional=["ner"])
    assert set(columns.cells) == present


def test_encoding(make):
    assert read(make("café X\n".encode("latin-1")), {"word": 0}, encoding="latin-1").cells[
        "word"
    ] == ["café"]


@pytest.mark.parametrize(
    ("content", "where", "text"),
    [
        (
            "a b c\na b\n",
            ":2",
            "this line has 2 columns, but the first token line (1) has 3: give every token line "
            "the same",
        ),
        ("", "", "the file is empty: check the path"),
        ("\n \n", "", "the file is empty: check the path"),
        ("-DOCSTART- X\n\n", "", "the file has no sentences: check the path"),
        (
            b"a b c\n\nx \xe9t c\n",
            ":3",
            "the bytes e9 are not utf8 (invalid continuation byte): set task.encoding",
        ),
        (
            "\na b\n",
            ":2",
            "there is no column 2 for 'ner': this line has 2 columns, numbered 0 to 1 (or -2 to "
            "-1); set its",
        ),
    ],
)
def test_bad_content(make, content, where, text):
    path = make(content)
    with pytest.raises(DataError) as error:
        read(path, {"word": 0, "ner": 2})
    assert message(error).startswith(f"{path}{where}: {text}")


def test_bad_encoding_suggests_latin_1(make):
    with pytest.raises(DataError, match="for example task.encoding=latin-1"):
        read(make(b"\xe9 X\n"), {"word": 0})


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(DataError, match=r"nowhere: there is no such file: check the path\."):
        read(tmp_path / "nowhere", {"word": 0})
    with pytest.raises(DataError, match="there is no file in this folder: check the path"):
        read(tmp_path, {"word": 0})
    (tmp_path / "file").write_text("a X\n")
    with pytest.raises(
        DataError, match=r"the file cannot be read \(Not a directory\): check the path"
    ):
        read(tmp_path / "file" / "x", {"word": 0})


def test_damaged_gzip(make):
    whole = gzip.compress(TEXT.encode() * 50)
    with pytest.raises(DataError, match="the gzip file is truncated: copy or download it again"):
        read(make(whole[:-20], "data.bin"), {"word": 0})
    with pytest.raises(DataError, match="the gzip file is damaged"):
        read(make(whole[:10] + b"\xff" * 20 + whole[30:], "data.bin"), {"word": 0})
    path = make("x")
    path = path.rename(path.with_suffix(".gz"))
    with pytest.raises(DataError, match=r"the name ends in \.gz, but this is not a gzip file"):
        read(path, {"word": 0})


def test_bad_settings(make):
    path = make(TEXT)
    with raises(ConfigError, parameter="limit", value=0):
        read(path, {"word": 0}, limit=0)
    with pytest.raises(ConfigError, match="the separator is empty"):
        read(path, {"word": 0}, separator="")
    with raises(ConfigError, parameter="task.encoding", value="latin1x"):
        read(path, {"word": 0}, encoding="latin1x")


def test_tags_are_converted_sentence_by_sentence(make):
    columns = read(make("a I-A\n\nb I-A\nc B-A\n"), {"tag": 1})
    assert convert_tags(columns, "tag", "iob1", "bioes") == ["S-A", "S-A", "S-A"]


def test_a_bad_tag_is_reported_with_its_line(make):
    path = make("a I-A\n\nb O\nc Q-PER\n")
    with pytest.raises(DataError) as error:
        convert_tags(read(path, {"tag": 1}), "tag", "iob1", "iob2")
    assert message(error).startswith(
        f"{path}:4: tag 'Q-PER' is neither O nor begins with one of B-, I- as iob1 asks"
    )


@pytest.mark.nightly("data")
@pytest.mark.skipif("STRUCTOPT_DATA" not in os.environ, reason="STRUCTOPT_DATA is not set")
@pytest.mark.parametrize(
    ("name", "sentences", "tokens", "scheme"),
    [
        ("conll2003/eng.train.gz", 14041, 203621, "iob1"),
        ("conll2003/eng.testa.gz", 3250, 51362, "iob1"),
        ("conll2002/esp.train.gz", 8323, 264715, "iob2"),
        ("conll2002/ned.train.gz", 15806, 202644, "iob2"),
        ("conll2000/train.txt.gz", 8936, 211727, "iob2"),
        ("wnut17/wnut17train.conll.gz", 3394, 62730, "iob2"),
    ],
)
def test_real_files(name, sentences, tokens, scheme):
    columns = read(Path(os.environ["STRUCTOPT_DATA"]) / name, {"word": 0, "tag": -1})
    assert (len(columns.offsets) - 1, len(columns.lines)) == (sentences, tokens)
    assert len(convert_tags(columns, "tag", scheme, "bioes")) == tokens
