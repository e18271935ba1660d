"""Models with every source of features: trained, saved, loaded in a new process, applied to a file
and to sentences in memory.
"""

import json
import subprocess
import sys

import numpy as np
import pytest

import structopt
from structopt.errors import ArgumentError, ConfigError, DataError
from structopt.testing.components import run_words
from tests.messages import raises

SENTENCES = [["Ann", "slept"], ["in", "Oslo"], ["Bo", "saw", "Oslo"]]
SIZES = [["1.5", "0.25"], ["0.5", "2.0"], ["1.25", "0.125", "2.5"]]
TAGS = [["B-PER", "O"], ["O", "B-LOC"], ["B-PER", "O", "B-LOC"]]
EMBEDDINGS = np.array(
    [[1, 0, 0.5], [0, 1, 0], [0, 1, 1], [2, 0, -1], [1, 0, 0.25], [0, 1, 0], [2, 0, -1.5]]
)
"""One row per token."""
BY_SENTENCE = np.split(EMBEDDINGS, [2, 4])
SOURCES = {
    "vectors": ["features.vectors=vectors.txt", "features.vectors_unknown=<unk>"],
    "column": ['features.dense=["size[-1..1]"]'],
    "matrix": ["features.dense=[train.npy]"],
    "pattern": ['features.dense=["*.npy[-1..0]"]', "features.standardize=columns"],
    "all": ["features.vectors=vectors.txt", "features.dense=[vectors,size,train.npy,other.npy]"],
    "lists": ["features.lists={places: places.txt}", 'features.templates=["list(word,places)"]'],
    "pairs": ["features.transitions=[word]", "features.hash_bits=10"],
}
"""Overrides by source."""
MATRICES = {
    "matrix": {"dense": ["test.npy"]},
    "pattern": {"dense": "*.npy"},
    "all": {"dense": ["test.npy", "other.npy"], "vectors": "vectors.txt"},
}
"""Files of features of the data to predict, for `structopt.load`."""
LATER = """
import json, sys
import numpy as np
import structopt

results = {}
for name, sources in json.loads(sys.argv[1]).items():
    instances = json.loads(sys.argv[2])[name]
    tables = json.loads(sys.argv[3])[name]
    model = structopt.load(name)
    in_memory = [model.predict(instances), model.scores(instances).tolist()]
    in_memory.append(model.predict_table(tables)["labels"])
    model = structopt.load(name, sources)
    results[name] = [model.predict("test.txt"), model.scores("test.txt").tolist(), *in_memory]
    results[name].append(model.evaluate("test.txt"))
print(json.dumps(results))
"""


def sentences(name):
    """The test sentences with what the source needs."""
    return [
        {"word": words, "size": sizes}
        | ({"dense": rows.tolist()} if name in MATRICES else {})
        | ({"dense2": rows[:, :1].tolist()} if name == "all" else {})
        for words, sizes, rows in zip(SENTENCES, SIZES, BY_SENTENCE, strict=True)
    ]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of all models, and their predictions before they were saved."""
    folder = tmp_path_factory.mktemp("sources")
    rows = [
        "".join(map("{} {} {}\n".format, words, sizes, tags))
        for words, sizes, tags in zip(SENTENCES, SIZES, TAGS, strict=True)
    ]
    for name in ("train.txt", "test.txt"):
        (folder / name).write_text("\n".join(rows) + "\n", encoding="utf8")
    (folder / "vectors.txt").write_text(
        "Ann 1 0\nslept 0 2\nOslo 3 4\n<unk> 9 9\n", encoding="utf8"
    )
    (folder / "places.txt").write_text("Oslo\n", encoding="utf8")
    for name in ("train", "test"):
        np.save(folder / f"{name}.npy", EMBEDDINGS.astype(np.float32))
    np.save(folder / "other.npy", EMBEDDINGS[:, :1])
    words = [
        "task=ner",
        "task.train=train.txt",
        "task.columns={word: 0, size: 1, tag: 2}",
        "optimizer=perceptron",
        "optimizer.epochs=3",
        "tracker=none",
        "quiet=true",
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        before, metrics = {}, {}
        for name, source in SOURCES.items():
            plain = [] if "templates" in str(source) else ["features.templates=[bias]"]
            model = structopt.train([*words, *plain, *source], folder=name)
            before[name] = [model.predict("train.txt"), model.scores("train.txt").tolist()]
            metrics[name] = model.evaluate("train.txt")
    return folder, before, metrics


def test_a_new_process(trained):
    folder, before, metrics = trained
    sources = {name: MATRICES.get(name, {}) for name in SOURCES}
    instances = {name: sentences(name) for name in SOURCES}
    tables = {
        name: {"tokens" if key == "word" else key: [one[key] for one in every] for key in every[0]}
        for name, every in instances.items()
    }
    words = map(json.dumps, (sources, instances, tables))
    done = subprocess.run(
        [sys.executable, "-c", LATER, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name, (outputs, scores, *in_memory, table, scored) in json.loads(done.stdout).items():
        assert [outputs, scores] == before[name], name
        assert in_memory == before[name], name
        assert table == outputs, name
        assert scored == metrics[name], name


def test_the_command_line(trained):
    folder, before, _ = trained
    words = ("model=matrix", "features.dense=[test.npy]")
    done = run_words(folder, "predict", *words, "input=test.txt", "output=out.txt")
    assert done.code == 0, done.err
    lines = (folder / "out.txt").read_text(encoding="utf8").split("\n")
    assert [line.split()[-1] for line in lines if line] == sum(before["matrix"][0], [])
    done = run_words(folder, "evaluate", *words, "input=test.txt")
    assert done.code == 0, done.err
    done = run_words(folder, "evaluate", "model=matrix", "input=test.txt")
    assert done.code == 2
    assert "Set features.dense=[FILE.npy], the matrix of this file." in done.err


def test_numbers_in_columns_of_numbers(trained):
    """Python's and NumPy's, in mappings and in tuples."""
    model = structopt.load(trained[0] / "column")
    expected = model.scores(sentences("column")).tolist()
    numbers = [list(map(float, sizes)) for sizes in SIZES]
    for cells in (numbers, list(map(np.array, numbers))):
        mappings = [{"word": w, "size": s} for w, s in zip(SENTENCES, cells, strict=True)]
        assert model.scores(mappings).tolist() == expected
        tuples = [list(zip(w, s, strict=True)) for w, s in zip(SENTENCES, cells, strict=True)]
        assert model.scores(tuples).tolist() == expected


def test_matrices_that_are_refused(trained):
    model = structopt.load(trained[0] / "matrix")
    good = sentences("matrix")

    def with_matrix(matrix):
        return [good[0], {"word": ["in", "Oslo"], "dense": matrix}]

    with raises(
        DataError, remedy="Give it with every sentence, as {'tokens': [...], 'dense': MATRIX}."
    ):
        model.predict(SENTENCES)
    for matrix, fields in (
        (
            None,
            {"where": "instance 1", "problem": "is missing, and other sentences have a matrix."},
        ),
        (
            [[1, 2, 3]],
            {
                "where": "instance 1",
                "problem": "must have one row per token and 3 columns, so the shape (2, 3), but "
                "has the shape (1, 3).",
            },
        ),
        ([[1, 2], [3, 4]], {"where": "instance 1"}),
        ([[1, 2, 3], [1, np.nan, 3]], {"where": "instance 1, position 1, column 1"}),
        ([[1, 2, 3], [1, 2, 1e300]], {"where": "instance 1, position 1, column 2"}),
    ):
        with raises(ArgumentError, parameter="dense", **fields):
            model.predict(with_matrix(matrix))
    with raises(ConfigError, parameter="features.dense"):
        structopt.load(trained[0] / "matrix", {"dense": ["a.npy", "b.npy"]})
    with raises(ConfigError, parameter="features.dense"):
        structopt.load(trained[0] / "matrix", {"dense": ["a.npy[1]"]})


def test_embeddings_of_an_estimator():
    """The matrices come with the sentences, in training too."""
    X = [{"word": words, "dense": rows} for words, rows in zip(SENTENCES, BY_SENTENCE, strict=True)]
    tagger = structopt.SequenceTagger(
        templates=["bias"],
        optimizer="perceptron",
        epochs=3,
        overrides={"features.dense": ["embeddings.npy"]},
    )
    assert list(tagger.fit(X, TAGS).predict(X)) == TAGS
    assert list(tagger.partial_fit(X[:1], TAGS[:1]).predict(X)) == TAGS
