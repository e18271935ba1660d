"""Training data that are featurised in stretches, by workers elsewhere: the bytes of one process,
and its errors.
"""

import gzip
import re
from dataclasses import replace
from pathlib import Path

import pytest

from structopt import datasets
from structopt.config import composition
from structopt.errors import ConfigError, DataError
from structopt.executor.serial import Serial
from structopt.formats import text_pieces
from structopt.model.warm_start import WarmStart
from structopt.objective.on_disk import stretches
from structopt.run.components import make_components
from structopt.run.featurised import featurised
from tests.parts import gate_cases

pytestmark = pytest.mark.nightly("runs")

COMMON = ["task.dev=null", "task.test=null", "tracker=none", "storage=disk"]


class Elsewhere(Serial):
    """Counts as workers that do not share the memory of this process."""

    remote = True


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    """Files of many stretches, and stretches of many pieces, in a folder of the test."""
    monkeypatch.setattr(text_pieces, "STRETCH", 4000)
    monkeypatch.setattr(text_pieces.read_pieces, "__defaults__", ("utf8", 1000))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def placed(monkeypatch):
    """The stretches that were placed with workers."""
    seen, place = [], Elsewhere.place

    def noting(executor, make, shard_data):
        seen.extend(shard_data)
        return place(executor, make, shard_data)

    monkeypatch.setattr(Elsewhere, "place", noting)
    return seen


def files(where, executor, *words, earlier=None):
    """The bytes of every file of the folder, which is the only thing that is left."""
    config = composition.compose([*COMMON, f"storage.folder={where}", *words])
    featurised(config, replace(make_components(config), executor=executor), earlier)
    (folder,) = Path(where).iterdir()
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def assert_same(*words, earlier=lambda: None):
    assert files("apart", Elsewhere(), *words, earlier=earlier()) == files(
        "here", Serial(), *words, earlier=earlier()
    )


@pytest.mark.parametrize(
    "words",
    gate_cases(
        [
            ["task=ner"],
            ["task=ner", "features.hash_bits=12"],
            ["task=ner", "features.min_count=2", "features.transitions=[pos]"],
            ["task=chunking"],
            ["task=attributes"],
            ["task=attributes", "features.hash_bits=12"],
        ],
        "runs",
        1,
    ),
    ids=" ".join,
)
def test_the_bytes_are_those_of_one_process(words, placed):
    assert_same(*words)
    assert len(placed) > 5
    assert {stretch.path for stretch in placed} == {placed[0].path}


def test_several_files_of_which_one_is_compressed(placed):
    text = datasets.path("train", "conll").read_text("utf8")
    cut = text.index("\n\n", len(text) // 2) + 2
    Path("a.conll").write_text(text[:cut], "utf8")
    Path("b.conll.gz").write_bytes(gzip.compress(text[cut:].encode()))
    assert_same("task=ner", "task.train='{a.conll,b.conll.gz}'")
    assert [stretch.end for stretch in placed].count(None) == 1


def test_values_of_some_stretches_only():
    """Before the first attribute with a value all are 1, as in one process."""
    sentences = [
        f"X\tword=a{i}\nY\tword=b{i}" + (":0.5" if i > 600 else "") + "\n\n" for i in range(900)
    ]
    Path("train.txt").write_text("".join(sentences))
    assert_same("task=attributes", "task.train=train.txt")


def test_an_earlier_vocabulary_is_kept():
    config = composition.compose(["task=ner", "task.limit=20", *COMMON, "storage.folder=first"])
    old = make_components(config)
    featurised(config, old)

    class Kept(WarmStart):
        def __init__(self):
            pass

        def kept_task(self, task):
            return old.task

    assert_same("task=ner", earlier=Kept)


def test_a_limit_is_read_in_one_process(placed):
    assert_same("task=ner", "task.limit=30")
    assert placed == []


def refusal(where, executor, *words):
    with pytest.raises((ConfigError, DataError)) as caught:
        files(where, executor, *words)
    assert list(Path(where).glob("*")) == []
    return str(caught.value)


@pytest.mark.parametrize(
    ("task", "kind", "line", "text"),
    [
        (
            "ner",
            "conll",
            "word O\n",
            r"train.txt:700: this line has 2 columns, but the first token line \(3\) has 4",
        ),
        (
            "attributes",
            "crfsuite",
            "O\tlength:three\n",
            "train.txt:700: the value 'three' of attribute 'length' is not",
        ),
        (
            "ner",
            "conll",
            "w\xe9 NN I-NP O\n".encode("latin-1"),
            "train.txt: behind line .* the file is not utf8",
        ),
    ],
    ids=["columns", "attributes", "encoding"],
)
def test_malformed_data_are_told_with_the_line_of_the_whole_file(task, kind, line, text):
    lines = datasets.path("train", kind).read_bytes().splitlines(keepends=True)
    lines[699] = line if isinstance(line, bytes) else line.encode()
    Path("train.txt").write_bytes(b"".join(lines))
    words = [f"task={task}", "task.train=train.txt"]
    told, expected = refusal("apart", Elsewhere(), *words), refusal("here", Serial(), *words)
    assert re.search(text, told)
    if "behind line" not in told:
        assert told == expected


def test_what_a_worker_wrote_must_be_here(monkeypatch, tmp_path):
    write = stretches.write_corpus
    monkeypatch.setattr(
        stretches,
        "write_corpus",
        lambda folder, *rest: write(tmp_path / "elsewhere" / folder.name, *rest),
    )
    told = refusal("apart", Elsewhere(), "task=ner")
    assert (
        "cannot be opened here: there is no manifest. Name a folder that all machines see" in told
    )
