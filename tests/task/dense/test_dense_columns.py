"""Numbers of tokens beside their attributes: word vectors, columns, matrices; in training, models
and predictions.
"""

import json

import numpy as np
import pytest

import structopt
from structopt.core.data.saved_state import SavedState
from structopt.errors import ConfigError, DataError
from structopt.formats.in_memory.instances import MEMORY
from structopt.task.dense.dense_columns import Block, DenseColumns, Tokens
from structopt.task.dense.word_rows import WordRows
from structopt.testing.components import run_words
from tests.parts import gate_cases

VECTORS = "4 2\nann 1 0\nslept 0 2\nOslo 3 4\n<unk> 9 9\n"


def tokens(words, cells=None, lengths=None, path="data/train.txt"):
    offsets = np.cumsum([0, *(lengths or [len(words)])]).astype(np.int64)
    return Tokens(path, offsets, np.arange(1, len(words) + 1), words, cells or {})


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text(VECTORS, encoding="utf8")
    return str(path)


def numbers_of(columns, corpus):
    every = np.arange(len(corpus.words))
    return np.hstack([table.values(every) for table in columns.tables(corpus)]).tolist()


def test_vectors_of_words(vectors):
    """As they are written, else in lower case, else none."""
    columns = DenseColumns(vectors)
    corpus = tokens(["Ann", "slept", "Oslo", "oslo"])
    columns.fit(corpus, False)
    assert columns.names == ["vectors.0", "vectors.1"]
    assert numbers_of(columns, corpus) == [[1, 0], [0, 2], [3, 4], [0, 0]]
    assert columns.words.numbers == {"Oslo": 0, "ann": 1, "slept": 2}


def test_cased_look_up_and_unknown_words(vectors):
    columns = DenseColumns(vectors, vectors_lower=False, vectors_unknown="<unk>")
    corpus = tokens(["Ann", "slept"])
    columns.fit(corpus, False)
    assert numbers_of(columns, corpus) == [[9, 9], [0, 2]]
    other = DenseColumns(vectors, vectors_unknown="UNK")
    with pytest.raises(
        ConfigError, match=r"features.vectors_unknown=UNK is no word of .*vectors.txt"
    ):
        other.fit(tokens(["Ann", "x"]), False)


def test_windows_end_with_the_sentence(vectors):
    columns = DenseColumns(vectors, dense=["vectors[-1..1]", "size[1]"])
    corpus = tokens(["ann", "slept", "Oslo"], {"size": ["1", "2.5", "-3e1"]}, [2, 1])
    columns.fit(corpus, False)
    assert columns.names == [f"vectors{o}.{d}" for o in ("[-1]", "", "[1]") for d in (0, 1)] + [
        "size[1]"
    ]
    assert numbers_of(columns, corpus) == [
        [0, 0, 1, 0, 0, 2, 2.5],
        [1, 0, 0, 2, 0, 0, 0],
        [0, 0, 3, 4, 0, 0, 0],
    ]


def test_standardised_over_the_tokens_of_training(vectors):
    columns = DenseColumns(vectors, dense=["vectors", "size", "same"], standardize="columns")
    corpus = tokens(
        ["ann", "ann", "Oslo", "zzz"], {"size": ["1", "2", "3", "4"], "same": ["7"] * 4}
    )
    columns.fit(corpus, False)
    found = np.array(numbers_of(columns, corpus))
    known = np.array([[1, 0], [1, 0], [3, 4]])
    np.testing.assert_allclose(
        found[:3, :2], (known - known.mean(axis=0)) / known.std(axis=0), rtol=1e-6
    )
    np.testing.assert_allclose(found[3, :2], 0)  # a word without a vector is like the mean
    np.testing.assert_allclose(
        found[:, 2], (np.arange(1, 5) - 2.5) / np.arange(1, 5).std(), rtol=1e-6
    )
    np.testing.assert_allclose(found[:, 3], 0)


def test_matrices_of_data_files(tmp_path):
    matrix = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.save(tmp_path / "train.emb.npy", matrix)
    np.save(tmp_path / "dev.emb.npy", matrix[:1].astype(np.float64))
    columns = DenseColumns(dense=[f"{tmp_path}/*.emb.npy"])
    corpus = tokens(["a", "b", "c"], path="somewhere/train.conll.gz")
    columns.fit(corpus, False)
    assert numbers_of(columns, corpus) == matrix.tolist()
    assert columns.tables(corpus)[0].matrix.base is not None  # mapped
    assert numbers_of(columns, tokens(["a"], path="dev.txt")) == [[0, 1]]
    with pytest.raises(
        DataError,
        match=r"train.emb.npy: it has 3 rows, and the data have 2 tokens: give the matrix of these",
    ):
        columns.tables(tokens(["a", "b"], path="train.txt"))
    assert columns.tables(tokens(["a", "b"], path="train.txt"), partial=True)[0].matrix.shape == (
        2,
        2,
    )
    with pytest.raises(
        DataError, match=r"test.emb.npy: there is no such file: check features.dense"
    ):
        columns.tables(tokens(["a", "b"], path="test.txt"))
    with pytest.raises(
        DataError,
        match="the model reads a matrix with one row per token. Give it with every sentence",
    ):
        columns.tables(tokens(["a", "b"], path=MEMORY))
    again = DenseColumns.restore(SavedState(*columns.state()))
    with pytest.raises(
        DataError,
        match=r"new.txt: features.dense is not set, and the model reads a matrix with one row per token. Set features.dense=\[FILE",
    ):
        again.tables(tokens(["a"], path="new.txt"))
    again.read_from({"dense": f"[{tmp_path}/dev.emb.npy]"})
    assert numbers_of(again, tokens(["a"], path="new.txt")) == [[0, 1]]
    assert str(tmp_path) not in json.dumps(columns.state()[0])


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        (
            np.zeros((2, 0), np.float32),
            "a matrix of numbers with a row a token is needed, and this is float32 of shape",
        ),
        (
            np.zeros(2),
            "a matrix of numbers with a row a token is needed, and this is float64 of shape",
        ),
        (np.array([["a"], ["b"]]), "a matrix of numbers with a row a token is needed"),
        (
            np.array([[1.0], [np.nan]]),
            "row 2, column 1: nan is no finite number in single precision",
        ),
        (
            np.array([[1.0], [1e300]]),
            "row 2, column 1: 1e\\+300 is no finite number in single precision",
        ),
        (np.array([[1.0], [None]]), "not a .npy file of numbers"),
    ],
)
def test_matrices_that_are_none(tmp_path, matrix, text):
    np.save(tmp_path / "m.npy", matrix, allow_pickle=True)
    with pytest.raises(DataError, match=text):
        DenseColumns(dense=[f"{tmp_path}/m.npy"]).fit(tokens(["a", "b"]), False)


def test_a_file_that_is_no_matrix(tmp_path):
    (tmp_path / "m.npy").write_text("1 2 3", encoding="utf8")
    with pytest.raises(DataError, match=r"m.npy: not a .npy file of numbers"):
        DenseColumns(dense=[f"{tmp_path}/m.npy"]).fit(tokens(["a", "b"]), False)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"dense": ["vectors"]},
            "features.dense names vectors, and there is no file of them. Set "
            "features.vectors=FILE.",
        ),
        (
            {"vectors": "v", "dense": ["size"]},
            "features.vectors names a file that features.dense does not use",
        ),
        ({"dense": ["size[x]"]}, "there is no column 'size\\[x\\]'"),
        (
            {"dense": ["size[2..1]"]},
            "the offsets of 'size\\[2..1\\]' must ascend, from -100 to 100",
        ),
        (
            {"dense": [" "]},
            "' ' is no source of numbers. Write NAME, NAME\\[1\\] or NAME\\[-1..1\\]",
        ),
        ({"dense": ["sise"]}, "there is no column 'sise'. Did you mean 'size'\\? Columns: size"),
        (
            {"dense": ["size"], "standardize": "rows"},
            "features.standardize=rows is none of: none, columns",
        ),
    ],
)
def test_settings_that_cannot_be(options, text):
    with pytest.raises(ConfigError, match=text):
        DenseColumns(**options).fit(tokens(["a"], {"size": ["1"]}), False)


@pytest.mark.parametrize("cell", ["x", "inf", "1e39", "1,5"])
def test_cells_that_are_no_numbers(cell):
    corpus = tokens(["a", "b"], {"size": ["1", cell]})
    with pytest.raises(
        DataError,
        match=rf"data/train.txt:2: column size: '{cell}' is no finite number, which features.dense",
    ):
        DenseColumns(dense=["size"]).fit(corpus, False)


def test_vectors_of_none_of_the_words(vectors):
    with pytest.raises(
        DataError,
        match="data/train.txt: features.vectors: .*vectors.txt has a vector of none of its words",
    ):
        DenseColumns(vectors).fit(tokens(["x", "y"]), False)


def test_the_state_has_the_vectors_that_were_used(vectors):
    columns = DenseColumns(vectors, dense=["vectors", "size"], standardize="columns")
    corpus = tokens(["ann", "Oslo"], {"size": ["1", "2"]})
    columns.fit(corpus, False)
    values, arrays = columns.state()
    assert arrays["matrix"].shape == (2, 2)
    again = DenseColumns.restore(SavedState(json.loads(json.dumps(values)), arrays))
    assert again.names == columns.names
    new = tokens(["slept", "ann"], {"size": ["1", "2"]})
    assert numbers_of(again, new)[0][:2] == [0, 0]  # not known without the file
    again.read_from({"vectors": vectors})
    assert numbers_of(again, new) == numbers_of(columns, new)
    lacking = tokens(["ann"])
    assert numbers_of(again, lacking)[0][2] == 0.0


def test_refusals_of_other_sources(vectors):
    columns = DenseColumns(dense=["size"])
    columns.fit(tokens(["a"], {"size": ["1"]}), False)
    for sources, text in (
        ({"vectors": vectors}, "features.vectors: the model reads no word vectors"),
        ({"dense": "m.npy"}, "features.dense=m.npy must name 0 files that end in .npy"),
        ({"vector": "m"}, "There is no key 'features.vector'. Did you mean 'vectors'"),
    ):
        with pytest.raises(ConfigError, match=text):
            columns.read_from(sources)


def test_earlier_vectors_and_scales_are_kept(vectors):
    old, new = (DenseColumns(vectors, standardize="columns") for _ in range(2))
    old.fit(tokens(["ann", "Oslo"]), False)
    new.fit(tokens(["slept"]), False, old)
    assert set(new.words.numbers) == {"ann", "Oslo", "slept"}
    np.testing.assert_array_equal(new.blocks[0].means, old.blocks[0].means)
    old.blocks[0].dimensions = 3
    with pytest.raises(
        ConfigError,
        match="warm_start: vectors has 2 dimensions, and 3 in that model. Take the same.",
    ):
        DenseColumns(vectors).fit(tokens(["slept"]), False, old)


def test_a_file_is_read_once_for_words_that_it_lacks(vectors, monkeypatch):
    rows = WordRows(vectors)
    assert rows.rows(["Ann", "zzz", "Ann"]).tolist() == [0, -1, 0]
    monkeypatch.setattr("structopt.formats.vectors.word_vectors.read_word_vectors", None)
    assert rows.rows(["zzz", "Ann"]).tolist() == [-1, 0]


def test_names_of_blocks():
    block = Block.of("a.npy [ -2 .. +1 ]")
    assert (block.name, block.window) == ("a.npy", (-2, -1, 0, 1))
    assert Block("size", (0,), dimensions=1).names == ["size"]


TRAIN = "Ann 1.0 B-PER\nslept 0.1 O\n\nin 0.0 O\nOslo 2.0 B-LOC\n\n" * 4
WORDS = (
    "task=ner",
    "task.train=train.txt",
    "task.dev=dev.txt",
    "task.columns={word: 0, size: 1, tag: 2}",
    "tracker=none",
    "features.vectors=vectors.txt",
    'features.dense=["vectors[-1..1]",size]',
    "features.templates=[bias,word]",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dense")
    (folder / "train.txt").write_text(TRAIN, encoding="utf8")
    (folder / "dev.txt").write_text("Ann 1.0 B-PER\nslept 0.3 O\n\n", encoding="utf8")
    (folder / "vectors.txt").write_text(
        VECTORS.replace("4 2\n", "5 2\n") + "Bo 1 0.1\n", encoding="utf8"
    )
    done = run_words(folder, *WORDS, "optimizer=lbfgs", "hydra.run.dir=run")
    assert done.code == 0, done.err
    return folder


@pytest.mark.parametrize(
    "optimizer",
    gate_cases(
        [
            "dca",
            "perceptron",
            "mira",
            "sgd",
            "adagrad",
            "adadelta",
            "pegasos",
            "lbfgs",
            "sdca",
            "eg",
            "cutting_plane",
            "online_cutting_plane",
        ],
        "pairs",
        ("dca", "lbfgs"),
    ),
)
def test_every_learner(folder, optimizer):
    """With certificates, where there are any: P - D is small in the end for those that climb the
    dual.
    """
    words = {"sdca": ("optimizer.epochs=60",), "lbfgs": ("optimizer.tolerance=1e-6",)}.get(
        optimizer, ()
    )
    done = run_words(folder, *WORDS, f"optimizer={optimizer}", *words, f"hydra.run.dir={optimizer}")
    assert done.code == 0, done.err
    scores = json.loads((folder / optimizer / "metrics.json").read_text(encoding="utf8"))
    assert scores["dev"]["f1"] == 1.0
    if optimizer in ("sdca", "lbfgs"):
        assert 0 <= scores["train"]["gap"] < 1e-2


def test_words_that_training_has_not_shown(folder):
    """Have no vector in the model, unless the file is named again: then they are tagged like their
    neighbours.
    """
    (folder / "new.txt").write_text("Bo 1.0\nslept 0.1\n\n", encoding="utf8")
    for name, words in (("plain", ()), ("read", ("features.vectors=vectors.txt",))):
        done = run_words(
            folder, "predict", "model=run", "input=new.txt", f"output={name}.txt", *words
        )
        assert done.code == 0, done.err
    assert (folder / "read.txt").read_text(encoding="utf8").startswith("Bo 1.0 B-PER\nslept 0.1 O")
    model = structopt.load(folder / "run", {"vectors": str(folder / "vectors.txt")})
    assert model.predict([{"word": ["Bo", "slept"], "size": ["1.0", "0.1"]}]) == [["B-PER", "O"]]
    arrays = structopt.load(folder / "run").task.state()[1]
    assert arrays["numbers.matrix"].shape == (3, 2)


def test_a_file_to_predict_without_the_column(folder):
    (folder / "lacking.txt").write_text("Ann\nslept\n\n", encoding="utf8")
    done = run_words(
        folder,
        "predict",
        "model=run",
        "input=lacking.txt",
        "output=out.txt",
        "task.missing=pad",
    )
    assert done.code == 0, done.err
    assert (folder / "out.txt").read_text(encoding="utf8").startswith("Ann B-PER\nslept O")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("features.vectors=nothing.txt",), "nothing.txt: there is no such file"),
        (
            ("features.dense=[size]",),
            "features.vectors names a file that features.dense does not use",
        ),
        (
            ("task=dependency", "features.vectors=vectors.txt", "features.vectors_unknown='<unk>'"),
            "features.vectors and features.dense are not read by features=hashed_templates with "
            "this factor graph",
        ),
    ],
)
def test_refusals_on_the_command_line(folder, words, text):
    given = [
        word
        for word in WORDS
        if not any(word.partition("=")[0] == other.partition("=")[0] for other in words)
    ]
    if words[0].startswith("task="):
        given = ["tracker=none", "task.limit=20"]
    done = run_words(folder, *given, *words)
    assert done.code == 2
    assert text in done.err
