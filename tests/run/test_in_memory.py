"""Training on instances in memory: the same bits as training on the file that has them."""

from itertools import pairwise

import numpy as np
import pytest

from structopt.config import composition, validation
from structopt.core.data.in_memory import InMemory
from structopt.errors import ConfigError, DataError
from structopt.formats.labelled_images import Image, write_images
from structopt.run import stages
from tests.parts import gate_cases

pytestmark = pytest.mark.nightly("runs")

QUICK = ["tracker=none", "quiet=true", "optimizer.epochs=2"]


def sliced(offsets, cells):
    return [cells[a:b] for a, b in pairwise(offsets.tolist())]


def attributes():
    text = "B-X\ta\tb:0.5\nO\ta\n\nO\tb\tc\\:d\nO\ta:2\nB-X\tc\\:d\n"
    sentences = [[{"a": 1, "b": 0.5}, ["a"]], [["b", "c:d"], {"a": 2.0}, {"c": "d"}]]
    return text, sentences, [["B-X", "O"], ["O", "O", "B-X"]]


def columns():
    text = "Ann NNP B-X\nslept VBD O\n\nin IN O\nOslo NNP B-X\n"
    return (
        text,
        [[("Ann", "NNP"), ("slept", "VBD")], [("in", "IN"), ("Oslo", "NNP")]],
        [["B-X", "O"], ["O", "B-X"]],
    )


def trees():
    rows = [("Ann", "PROPN", 2, "nsubj"), ("slept", "VERB", 0, "root")], [("Oh", "INTJ", 0, "root")]
    lines = [
        "".join(
            f"{i}\t{w}\t{w}\t{p}\t{p}\t_\t{h}\t{r}\t_\t_\n" for i, (w, p, h, r) in enumerate(one, 1)
        )
        for one in rows
    ]
    sentences = [
        {
            "form": [r[0] for r in one],
            "lemma": [r[0] for r in one],
            "upos": [r[1] for r in one],
            "xpos": [r[1] for r in one],
            "feats": ["_"] * len(one),
        }
        for one in rows
    ]
    return "\n".join(lines) + "\n", sentences, [[r[2:] for r in one] for one in rows]


def brackets():
    text = "(S (NP (NNP Ann)) (VP (VBD slept)))\n(S (VP (VB go)))\n"
    return text, [["Ann", "slept"], ["go"]], text.splitlines()


def classes():
    return "b 1:0.5 3:2\na 2:1\n", [{1: 0.5, 3: 2.0}, [0.0, 1.0]], ["b", "a"]


def sets():
    return (
        "a,b 1:0.5 3:2\n2:1\nb 1:1 2:1\n",
        [[0.5, 0.0, 2.0], {2: 1.0}, [1, 1]],
        [["b", "a"], [], ["b"]],
    )


CASES = {
    "attributes": (attributes, ["factor_graph.order=2"]),
    "ner": (columns, ["features.templates=[bias,'word[-1..1]',pos]", "task.valid_tags=true"]),
    "dependency": (
        trees,
        ["factor_graph.labeled=true", "features.hash_bits=10", "features.label_bits=8"],
    ),
    "constituency": (brackets, ["task.tags=free"]),
    "multiclass": (classes, []),
    "multilabel": (sets, []),
}


def train(task, words, folder, memory=None):
    typed = [f"task={task}", "keep=last", *QUICK, *words]
    return stages.train(
        validation.validate(composition.compose(typed), typed),
        folder,
        memory=memory,
        pictures=False,
    )


def saved(model, folder):
    model.save(folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    "task", gate_cases(CASES, "runs", ("attributes", "dependency", "multilabel"))
)
def test_equals_training_on_the_file(task, tmp_path):
    make, words = CASES[task]
    text, instances, outputs = make()
    (tmp_path / "train.txt").write_text(text)
    of_file = train(task, [*words, f"task.train={tmp_path / 'train.txt'}"], tmp_path / "file")
    splits = dict.fromkeys(["train", "dev"], InMemory(instances, outputs))
    in_memory = train(task, words, tmp_path / "memory", splits)
    assert saved(in_memory, tmp_path / "b") == saved(of_file, tmp_path / "a")
    assert "dev" in (tmp_path / "memory" / "metrics.json").read_text()
    expected = of_file.evaluate(tmp_path / "train.txt")
    expected.pop("proved_optimal", None)  # of files alone
    assert in_memory.compare(instances, outputs) == expected


def test_images_equal_those_of_the_file(tmp_path):
    generator = np.random.default_rng(0)
    images = [
        Image(generator.random((2, 3, 1)), generator.integers(0, 2, (2, 3))) for _ in range(3)
    ]
    write_images(tmp_path / "train.npz", images)
    of_file = train("grid", [f"task.train={tmp_path / 'train.npz'}"], tmp_path / "file")
    memory = {
        "train": InMemory(
            [image.pixels for image in images], [image.labels.tolist() for image in images]
        )
    }
    assert np.array_equal(train("grid", [], tmp_path / "memory", memory).weights, of_file.weights)


def test_columns_may_be_named(tmp_path):
    _, pairs, outputs = columns()
    named = [{"pos": [p for _, p in one], "word": [w for w, _ in one]} for one in pairs]
    words = CASES["ner"][1]
    models = [
        train("ner", words, tmp_path / str(len(X[0])), {"train": InMemory(X, outputs)})
        for X in (named, [*pairs])
    ]
    assert models[0].columns == ("word", "pos") and np.array_equal(
        models[0].weights, models[1].weights
    )


def test_weights_are_those_of_copies(tmp_path):
    _, X, y = attributes()
    words = ["optimizer=lbfgs", "optimizer.epochs=200", "optimizer.gradient_tolerance=1e-10"]
    weighted = train(
        "attributes", words, tmp_path / "a", {"train": InMemory(X, y, np.array([1.0, 2.0]))}
    )
    copies = train("attributes", words, tmp_path / "b", {"train": InMemory([*X, X[1]], [*y, y[1]])})
    assert np.allclose(in_order_of_names(weighted), in_order_of_names(copies), atol=1e-8)


def in_order_of_names(model):
    """The weights of attributes by their names, then of transitions: copies of instances change how
    often attributes occur.
    """
    names = model.task.attribute_names("label")
    own, rest = np.split(model.weights, [2 * len(names)])
    return np.concatenate([own.reshape(-1, 2)[np.argsort(names)].ravel(), rest])


def refused(task, X, y, message, folder, words=()):
    with pytest.raises((DataError, ConfigError), match=message):
        train(task, words, folder, {"train": InMemory(X, y)})


@pytest.mark.parametrize(
    ("task", "X", "y", "message"),
    [
        (
            "attributes",
            [[["a"]]],
            [["O"], ["O"]],
            "<outputs>: there are 2 outputs for 1 instances. Give one for every instance",
        ),
        (
            "attributes",
            [[["a"]]],
            [["O", "O"]],
            "<outputs>:1: the output has 2 cells for 1 tokens. Give one cell for each.",
        ),
        ("attributes", [[["a"]]], "O", "<outputs>: 'O' is not a list of outputs."),
        (
            "attributes",
            [[["a"]]],
            ["O"],
            "<outputs>:1: the output 'O' is not a list. Give one cell for each of the 1 tokens.",
        ),
        (
            "attributes",
            [[["a"]]],
            [[None]],
            "a token has no label. Give the label, or set task.partial=true",
        ),
        ("attributes", [[]], [[]], "<memory>: every sentence is empty."),
        ("dependency", [["Ann"]], [["root"]], "<outputs>:1: 'root' is neither a head nor a pair"),
        (
            "dependency",
            [["Ann", "slept"]],
            [[2, 1]],
            "<memory>:1: the heads go round in a circle, 1 -> 2 -> 1",
        ),
        (
            "constituency",
            [["Ann"]],
            ["(S (NNP Bob))"],
            "<memory>:1: the tree is over the words 'Bob', and the sentence",
        ),
        ("constituency", [["Ann"]], ["Ann"], "<memory>:1: the output 'Ann' is no tree."),
        ("multilabel", [[1.0]], [["a", "a"]], "<outputs>:1: a label stands twice in"),
        ("multilabel", [[1.0]], ["a"], "<outputs>:1: the output 'a' is no list of labels."),
        ("multiclass", [[1.0]], [None], "<outputs>:1: the instance has no class. Give one."),
        ("grid", [np.ones((1, 2))], [[[0.5, 1]]], "<memory>:1: labels are whole numbers from 0 to"),
        (
            "synthetic",
            [[1.0]],
            [[0]],
            "<memory>:1: a sample has 1 values, but there are 20 variables.",
        ),
    ],
)
def test_refuses(task, X, y, message, tmp_path):
    refused(task, X, y, message, tmp_path)


def test_weights_need_every_instance(tmp_path):
    _, X, y = brackets()
    memory = {"train": InMemory(X, y, np.ones(2))}
    with pytest.raises(
        ConfigError,
        match="There are 2 weights of instances, of which the task keeps 1. Leave out the setting",
    ):
        train("constituency", ["task.max_length=1", "optimizer=lbfgs"], tmp_path, memory)
