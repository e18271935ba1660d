"""A few instances of every shipped task, with their outputs, for `StructuredEstimator`."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Instances:
    """Instances and outputs, and settings with which they are learnt.

    `score` is what training reaches at least; `refused` are outputs of the first instance, as
    Python, and what is said of them.
    """

    X: list[Any]
    y: list[Any]
    settings: dict[str, Any] = field(default_factory=dict)
    score: float = 1.0
    refused: dict[str, str] = field(default_factory=dict)


WORDS = [["Ann", "slept"], ["Bob", "saw", "Ann"], ["Ann", "saw", "Bob"]]
ARCS = [[(2, "nsubj"), (0, "root")], *[[(2, "nsubj"), (0, "root"), (2, "obj")]] * 2]
TREES = [
    "(S (NP (NNP Ann)) (VP (VBD slept)))",
    "(S (NP (NNP Bob)) (VP (VBD saw) (NP (NNP Ann))))",
    "(S (NP (NNP Ann)) (VP (VBD saw) (NP (NNP Bob))))",
]
TAGS = [["B-PER", "O"], ["B-PER", "O", "B-PER"], ["B-PER", "O", "B-PER"]]
VECTORS = [{1: 0.5, 3: 2.0}, [0.0, 1.0], {3: 1.0}]
CELLS = [np.array([[0, 1], [1, 0]]), np.array([[1, 1, 0]]), np.array([[0], [1]])]
DOCUMENTS = [
    {
        "sentences": [["Ann", "met", "Bob", "."], ["Ann", "left", "."]],
        "mentions": [[0, 1], [2, 3], [4, 5]],
    },
    {
        "sentences": [["Eve", "slept", "."], ["Then", "Eve", "woke", "."]],
        "mentions": [[0, 1], [4, 5]],
    },
    {"sentences": [["Bob", "saw", "Eve", "."]], "mentions": [[0, 1], [2, 3]]},
]
ENTITIES = [[[[0, 1], [4, 5]], [[2, 3]]], [[(0, 1), (4, 5)]], [[(0, 1)], [(2, 3)]]]
TEXTS = [
    ["Clean rooms, big beds.", "We went by train.", "The clean rooms had big beds and a view."],
    ["The sun shone.", "Rain fell in the night."],
    {"sentences": ["Clean rooms, big beds.", "We went by train again."]},
]
SAMPLES = [[1.0, -0.5, 0.5], [-1.0, 0.5, 0.5], [0.5, 0.5, -1.0], [-0.5, -0.5, 1.0]]
HASHED = {"features.hash_bits": 12, "features.label_bits": 8}
NO_CELLS = {
    "5": "the output 5 is not a list. Give one cell for each of the",
    "['B-PER']": "the output has 1 cells for",
}

EVERY = {
    "ner": Instances(WORDS, TAGS, {"epochs": 5}, refused=NO_CELLS),
    "chunking": Instances(WORDS, TAGS, {"epochs": 5}, refused=NO_CELLS),
    "tagging": Instances(WORDS, TAGS, {"epochs": 5}, refused=NO_CELLS),
    "attributes": Instances(
        [[{"w": word} for word in words] for words in WORDS], TAGS, {"epochs": 5}, refused=NO_CELLS
    ),
    "multiclass": Instances(
        VECTORS,
        ["law", "sport", "law"],
        {"epochs": 20},
        refused={"None": "the instance has no class."},
    ),
    "constituency": Instances(
        WORDS,
        TREES,
        {"optimizer": "lbfgs", "epochs": 20, "overrides": {"task.tags": "free"}},
    ),
    "dependency": Instances(
        WORDS,
        ARCS,
        {"epochs": 10, "overrides": {**HASHED, "factor_graph.labeled": True}},
        refused={
            "5": "the output 5 is not a list. Give one cell",
            "['a', 2]": "'a' is neither a head nor a pair (head, relation)",
        },
    ),
    "grid": Instances(
        [np.stack([cells, 1 - cells], axis=-1).astype(float) for cells in CELLS],
        CELLS,
        {"epochs": 5, "overrides": {"task.pixels": "values", "task.radius": 0}},
    ),
    "multilabel": Instances(
        VECTORS,
        [["a", "b"], [], ["a"]],
        {"optimizer": "lbfgs", "loss": "crf", "inference": "enumeration", "epochs": 50, "C": 10.0},
        refused={
            "5": "the output 5 is no list of labels.",
            "['a', 'a']": "a label stands twice in ['a', 'a'].",
        },
    ),
    "coreference": Instances(
        DOCUMENTS,
        ENTITIES,
        {"optimizer": "adagrad", "epochs": 20, "C": 10.0},
        refused={
            "5": "the output 5 is no list of entities. Write a list of entities, each a list of "
            "mentions",
            "[[]]": "an entity has no mention.",
            "[[5]]": "the mention 5 is not two whole numbers.",
            "[[[0, 1], [0, 1]]]": "the mention [0, 1] stands twice in the entities. Keep one of them.",
            "[[[0, 1], [4, 5]]]": "the mention [2, 3] is in no entity. Give it one, of its own if there is no "
            "other.",
            "[[[0, 1], [2, 3], [4, 5], [5, 6]]]": "the mention [5, 6] of an entity is none of the document's.",
        },
    ),
    "summarization": Instances(
        TEXTS,
        [
            ["Clean rooms. Big beds.", ["Clean rooms,", "big beds."]],
            [["Rain fell in the night"]],
            ["Clean rooms, big beds."],
        ],
        {"optimizer": "perceptron", "epochs": 10, "overrides": {"task.budget": 5}},
        score=0.8,
        refused={
            "5": "the output 5 is no list of references.",
            "'A text.'": "the output 'A text.' is no list of references.",
            "[]": "the document has no reference summary.",
            "[' ']": "a reference summary is empty.",
            "[[1.5]]": "1.5 in a reference summary is no text.",
            "[1, 4]": "there is no sentence 4 for an extract: the document has 3, counted from 1.",
            "[1, 1]": "a sentence stands twice in the extract [1, 1].",
        },
    ),
    "synthetic": Instances(
        SAMPLES,
        [[int(x > 0) for x in sample] for sample in SAMPLES],
        {"optimizer": "dca", "epochs": 20, "overrides": {"task.variables": 3, "task.states": 2}},
        refused={
            "5": "the output 5 is not a list. Give one cell for each of the 3 variables.",
            "[0, 1]": "the output has 2 cells for 3 variables.",
            "[0, 1, 2]": "2 is no state. Give whole numbers from 0 to 1, or more task.states.",
        },
    ),
}
"""By the task's name."""
