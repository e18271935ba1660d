"""The texts of errors that `structopt.formats` raises, in one table."""

import pytest

from structopt.errors import StructoptError
from structopt.formats import conll_reader, tag_schemes, text_files
from structopt.formats.conll_layouts import Layouts, checked_columns
from structopt.formats.in_memory.attributes import attribute_text
from structopt.formats.in_memory.sentences import sentence_columns
from structopt.formats.in_memory.texts import input_held
from structopt.formats.token_lists.separators import separator_of
from structopt.formats.trees import penn


def conll(text, columns):
    """Read a text as a CoNLL file of the name f."""
    with input_held("f", text.encode()):
        return conll_reader.read("f", columns)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: conll("", {"word": 0}),
            "f: the file is empty: check the path, or make the file again.",
        ),
        (
            lambda: conll("a O\nb\n", {"word": 0, "tag": 1}),
            "f:2: this line has 1 columns, but the first token line (1) has 2: give every "
            "token line the same columns, or set the separator. If each line is a sentence, "
            "write one word per line, with an empty line between sentences, or one object "
            '{"text": "..."} per line of a .jsonl file.',
        ),
        (
            lambda: conll("# sent_id = 1\na O\n", {"word": 0, "tag": 1}),
            "f:2: this line has 2 columns, but the first token line (1) has 4: give every "
            "token line the same columns, or set the separator. If lines that begin with # are "
            "comments, set task.comment=#.",
        ),
        (
            lambda: conll("# text\n" + "a\t" * 9 + "O\n", {"word": 0, "tag": 1}),
            "f:2: this line has 10 columns, but the first token line (1) has 2: give every "
            "token line the same columns, or set the separator. If this is CoNLL-U, set "
            "task.format=conllu.",
        ),
        (
            lambda: conll("a O\n", {"word": 0, "pos": 2}),
            "f:1: there is no column 2 for 'pos': this line has 2 columns, numbered 0 to 1 (or "
            "-2 to -1); set its number or the separator.",
        ),
        (
            lambda: text_files.read_text("nowhere.txt"),
            "nowhere.txt: there is no such file: check the path.",
        ),
        (
            lambda: text_files.check_encoding("utf9"),
            "task.encoding=utf9 is not an encoding Python knows. Did you mean 'utf8'? Usual "
            "ones: utf8, latin-1.",
        ),
        (
            lambda: text_files.check_encoding("rot13"),
            "task.encoding=rot13 is a codec of Python, not an encoding of text files. Usual "
            "ones: utf8, latin-1.",
        ),
        (
            lambda: text_files.check_limit(0),
            "limit=0 must be at least 1, or null for all sentences.",
        ),
        (
            lambda: separator_of(""),
            "task.separator='' must be at least one character, and not a line break. Set "
            "task.separator=tab, or null for any white space.",
        ),
        (
            lambda: tag_schemes.check_scheme("iob3"),
            "tag scheme 'iob3' is unknown. Did you mean 'iob2'? Schemes: iob1, iob2, bioes, "
            "biluo, bmes, none.",
        ),
        (
            lambda: Layouts(["word pos"]),
            "task.layouts: 'word pos' is not a layout: name the columns from left to right, "
            "each once, one of them tag and at least one other, _ for a column that is not "
            "read, such as 'word pos tag'.",
        ),
        (
            lambda: checked_columns({"tag": 1}),
            "task.columns needs 'tag' and at least one other column. Set all of them, such as "
            "'task.columns={word: 0, pos: 1, tag: 3}', or none, and they are found from the "
            "training file.",
        ),
        (
            lambda: penn.parse("(S (NN dog)", "f"),
            "f:1: the tree that begins here lacks a closing bracket.",
        ),
        (
            lambda: penn.parse("(S (NN a dog))", "f"),
            "f:1: (NN a dog) has 2 words. A tag has one: (TAG word).",
        ),
        (
            lambda: sentence_columns([["a", 1]], ["word"]),
            "<memory>:1: 1 in 'word' is not a string. Give a list of sentences, each a list of "
            "words: [['Ann', 'slept']], or of columns: [{'word': ['Ann', 'slept']}].",
        ),
        (
            lambda: attribute_text("ab"),
            "<memory>: the instances are one string, 'ab'. Give a list of sentences, each a "
            "list of tokens, each a list of attributes: [[['word=Ann', 'upper'], "
            "['word=slept']]], or a mapping from attribute to value: [[{'word': 'Ann', "
            "'length': 3.0}]].",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised:
        call()
    assert str(raised.value) == text
