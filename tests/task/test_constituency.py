"""Trees of phrases: what is learnt of brackets, how trees are written again, words without tags,
files and commands.
"""

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.errors import ConfigError, DataError
from structopt.formats.trees import penn
from structopt.task.constituency.constituency import Constituency
from structopt.task.constituency.lexicon import Lexicon
from structopt.task.constituency.phrases import ROOT, phrases_of
from structopt.task.constituency.word_classes import word_class
from tests.parts import gate_cases


def parsed(text):
    return phrases_of(penn.parse(text, "f")[0], "f")


@pytest.mark.parametrize(
    ("text", "constituents", "tags"),
    [
        (
            "( (S (NP (NN rain)) (VP (VBZ falls))))",
            [(ROOT, 0, 2), ("S", 0, 2), ("NP", 0, 1), ("VP", 1, 2)],
            ["NN", "VBZ"],
        ),
        ("(S (NN rain))", [(ROOT, 0, 1), ("S", 0, 1)], ["NN"]),
        ("(TOP (S (NN a) (NN b)))", [(ROOT, 0, 2), ("S", 0, 2)], ["NN", "NN"]),
        (
            "(ROOT (S (NP-SBJ=2 (-NONE- *)) (NP-TMP (NN a)) (-LRB- -LRB-)))",
            [(ROOT, 0, 2), ("S", 0, 2), ("NP", 0, 1)],
            ["NN", "-LRB-"],
        ),
        ("(ROOT (NP (NP (NN a) (NN b))))", [(ROOT, 0, 2), ("NP", 0, 2)], ["NN", "NN"]),
        ("(ROOT (NP (NP (-NONE- *)) (NP (NN a))))", [(ROOT, 0, 1), ("NP", 0, 1)], ["NN"]),
    ],
)
def test_what_is_learnt_of_a_tree(text, constituents, tags):
    assert parsed(text) == (constituents, tags)


def test_trees_that_cannot_be_learnt_are_refused():
    with pytest.raises(DataError, match="f:1: this tree has no words"):
        parsed("(ROOT (NP (-NONE- *)))")
    deep = "(A (B " * 150 + "(NN a)" + "))" * 150
    with pytest.raises(DataError, match="nested more than 200 deep"):
        parsed(deep)


def test_word_classes():
    words = ["Oslo", "NATO", "1,200", "B-52", "well-known", "walking", "cities", "$", "bus", "the"]
    assert [word_class(word, False) for word in words] == [
        "<cap>",
        "<caps>",
        "<number>",
        "<caps-digit-hyphen>",
        "<hyphen>",
        "<ing>",
        "<s>",
        "<sign>",
        "<word>",
        "<word>",
    ]
    assert word_class("Walked", True) == "<first-ed>"


def test_the_lexicon_gives_words_their_tags():
    lexicon = Lexicon(2)
    lexicon.fit([["a", "dog", "a", "Cat"]], [["DT", "NN", "DT", "NNP"]])
    assert lexicon.names == ["a", "<cap>", "<word>"] and lexicon.tags == ("DT", "NN", "NNP")
    words = [["a", "cow", "Eel", "running", "a"]]
    table, allowed = lexicon.encode(words, [["", "", "", "", "NN"]])
    assert table.ids.tolist() == [0, 2, 1, 0] and np.diff(table.offsets).tolist() == [1, 1, 1, 0, 1]
    assert [
        [tag for tag, may in zip(lexicon.tags, row, strict=True) if may] for row in allowed
    ] == [
        ["DT"],
        ["NN"],
        ["NNP"],
        ["NN", "NNP"],
        ["NN"],
    ]
    _, allowed = lexicon.encode([["a"]], [["XX"]])
    assert allowed.tolist() == [[True, False, False]]  # a tag that training did not show


FREQUENCIES = [
    "task=constituency",
    "warm_start=counts",
    "optimizer=dca",
    "optimizer.epochs=0",
    "tracker=none",
    "quiet=true",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A grammar of relative frequencies on a part of the shipped treebank."""
    few = ["task.limit=300", "task.dev=null", "task.test=null", "objective_every=0"]
    return structopt.train([*FREQUENCIES, *few], tmp_path_factory.mktemp("grammar") / "run")


@pytest.mark.nightly("runs")
def test_relative_frequencies_predict_the_shipped_treebank(tmp_path):
    model = structopt.train(FREQUENCIES, tmp_path / "run")
    scores = model.evaluate(datasets.path("dev", "ptb"))
    assert scores["bracket_f1"] > 0.83 and scores["tag_accuracy"] == 1.0


def test_sentences_in_memory(model):
    tree = datasets.path("dev", "ptb").read_text().splitlines()[0]
    words = [(leaf.word, leaf.label) for leaf in penn.parse(tree, "f")[0].leaves()]
    tagged, free = model.predict([words, [word for word, _ in words]])
    assert [leaf.label for leaf in tagged.leaves()] == [tag for _, tag in words]
    assert [leaf.word for leaf in free.leaves()] == [
        word for word, _ in words
    ] and tagged.label == "ROOT"
    table = model.predict_table(
        {"tokens": [[word for word, _ in words]], "tags": [[tag for _, tag in words]]}
    )
    assert table == {"tree": [str(tagged)]}


def test_lists_and_probabilities(model):
    words = [("Judge", "NNP"), ("froze", "VBD"), ("two", "CD"), ("metres", "NNS"), (".", ".")]
    (ranked,) = model.predict_k_best([words], 5)
    assert (
        ranked[0].score >= ranked[-1].score
        and len({str(one.output) for one in ranked}) == len(ranked) > 1
    )
    assert str(ranked[0].output) == str(model.predict([words])[0])
    assert 0 < sum(one.probability for one in ranked) <= 1 + 1e-9
    unspanned = [("of", "IN")] * 3
    assert str(model.predict([unspanned])[0]) == "(ROOT (S (IN of) (S (IN of) (IN of))))"
    assert model.predict_k_best([unspanned], 5) == [[]]
    table = model.marginals([words]).table
    assert list(table) == ["sentence", "label", "begin", "end", "probability"]
    whole = [
        p
        for label, b, e, p in zip(
            table["label"], table["begin"], table["end"], table["probability"], strict=True
        )
        if (label, b, e) == ("ROOT", 1, 5)
    ]
    assert whole == [pytest.approx(1.0)] and min(table["probability"]) >= 1e-3


def test_models_are_saved_with_their_rules(model, tmp_path):
    model.save(tmp_path / "model")
    again = structopt.load(tmp_path / "model")
    words = [["Judge", "froze", "two", "metres", "."]]
    assert list(map(str, again.predict(words))) == list(map(str, model.predict(words)))
    assert again.graph.rules.symbols == model.graph.rules.symbols


def test_a_sentence_without_a_tree_falls_back(model):
    examples = model.examples(model.task.corpus([[("a", "NN"), ("b", "NN"), ("c", "NN")]]))
    weights, model.weights = model.weights, np.full(len(model.weights), -np.inf)
    try:
        (tree,) = model.best_outputs(examples)
        assert model.k_best_outputs(examples, 3)[0].scores.tolist() == []
        assert model.view_marginals(examples)[0].shape == (0, 4)
    finally:
        model.weights = weights
    label = tree.children[0].label
    assert str(tree) == f"(ROOT ({label} (NN a) ({label} (NN b) (NN c))))"


@pytest.mark.parametrize(("root", "written"), [("ROOT", "(ROOT"), ("", "(")])
def test_the_fallback_of_a_treebank_without_constituents_is_flat(root, written, tmp_path):
    """Training trees have no label below the root."""
    from structopt.core.data.constituents import Bracketings

    path = tmp_path / "t.mrg"
    path.write_text(f"({root} (. !) (. ?))\n({root} (. !))\n")
    task = Constituency()
    task.fit(task.read(path))
    encoded = task.encode(task.corpus([["!"], ["?", "!", "?"]]))
    nothing = Bracketings(np.zeros(3, np.int64), np.zeros((0, 3), np.int32), np.full(4, -1))
    assert list(map(str, task.decode(encoded, nothing))) == [
        f"{written} (. !))",
        f"{written} (. ?) (. !) (. ?))",
    ]


def test_sentences_of_punctuation_have_no_brackets_to_score(tmp_path):
    path = tmp_path / "t.mrg"
    path.write_text("(ROOT (FRAG (. !) (. ?)))\n(ROOT (. !))\n")
    task = Constituency()
    corpus = task.read(path)
    scores = task.evaluate(corpus, list(corpus.trees))
    assert (scores["bracket_f1"], scores["complete_match"]) == (0.0, 1.0)


def test_tags_of_the_input_are_asked_for():
    task = Constituency(tags="column", limit=30)
    task.fit(task.read(datasets.path("train", "ptb"), 30))
    with pytest.raises(
        DataError,
        match=r"'b' has no tag, which this model needs \(task.tags=column\). Write word_TAG.",
    ):
        task.encode(task.corpus([[("a", "NN"), ("b", "")]]))
    with pytest.raises(
        ConfigError, match="task.tags=model takes tags from a model: set task.tagger=FOLDER too"
    ):
        Constituency(tags="model").annotator
    with pytest.raises(ConfigError, match="and task.tags=gold. Set task.tags=model."):
        Constituency(tagger="runs/tagger")
    with pytest.raises(ConfigError, match="task.max_length=0 must be at least 1"):
        Constituency(max_length=0)


@pytest.mark.nightly("runs")
def test_tags_of_a_model(tmp_path, short):
    """Predictions take the tagger's tags, which is saved with the grammar; scores compare with
    those of the trees.
    """
    treebank = penn.parse(datasets.path("train", "ptb").read_text(), "f")[:200]
    lines = ["".join(f"{leaf.word} {leaf.label}\n" for leaf in tree.leaves()) for tree in treebank]
    (tmp_path / "tags.conll").write_text("\n".join(lines))
    tagger = [
        "task=tagging",
        f"task.train={tmp_path / 'tags.conll'}",
        "optimizer=perceptron",
        "optimizer.epochs=3",
        "tracker=none",
        "quiet=true",
        "features.templates=['word','suffix(word,1..2)']",
        f"hydra.run.dir={tmp_path / 'tagger'}",
    ]
    structopt.train(tagger)
    trained = structopt.train(
        [
            *short,
            "task.tags=model",
            f"task.tagger={tmp_path / 'tagger'}",
            "warm_start=counts",
            "optimizer=dca",
            "optimizer.epochs=0",
            f"hydra.run.dir={tmp_path / 'grammar'}",
        ]
    )
    words = [["Judge", "froze", "two", "metres", "."]]
    moved = (tmp_path / "grammar" / "model").rename(tmp_path / "moved")
    again = structopt.load(moved)
    (tree,) = again.predict(words)
    assert [leaf.label for leaf in tree.leaves()] == structopt.load(tmp_path / "tagger").predict(
        words
    )[0]
    assert str(tree) == str(trained.predict(words)[0])
    scores = again.evaluate(datasets.path("dev", "ptb"))
    assert 0.5 < scores["tag_accuracy"] < 1.0
    with pytest.raises(
        ConfigError,
        match="this is a model of task=constituency, which gives no label to every word",
    ):
        structopt.train(
            [
                *short,
                "task.tags=model",
                f"task.tagger={moved}",
                f"hydra.run.dir={tmp_path / 'refused'}",
            ]
        )
    (tmp_path / "others.conll").write_text(
        (tmp_path / "tags.conll").read_text().replace(" ", " X-")
    )
    others = [
        word.replace("tags.conll", "others.conll").replace("/tagger", "/others") for word in tagger
    ]
    structopt.train(others)
    message = (
        r"none of the labels that this model gives \(X-.*, \.\.\.\) is a tag of the training "
        r"trees \("
    )
    with pytest.raises(ConfigError, match=message):
        structopt.train(
            [
                *short,
                "task.tags=model",
                f"task.tagger={tmp_path / 'others'}",
                f"hydra.run.dir={tmp_path / 'no'}",
            ]
        )


def test_free_tags_are_chosen_in_training_too():
    task = Constituency(tags="free", features={"min_count": 3})
    encoded = task.fit(task.read(datasets.path("train", "ptb"), 100))
    assert (
        encoded.allowed.sum() > len(encoded.allowed)
        and encoded.allowed[np.arange(len(encoded.gold)), encoded.gold].all()
    )


@pytest.mark.parametrize(("root", "written"), [("( ", "( (S"), ("(TOP ", "(TOP (S"), ("", "(S")])
def test_roots_are_written_as_in_training(root, written, tmp_path):
    text = f"{root}(S (NP (NN rain)) (VP (VBZ falls)){')' if root else ''})"
    (tmp_path / "t.mrg").write_text(f"{text}\n" * 3)
    task = Constituency()
    corpus = task.read(tmp_path / "t.mrg")
    from structopt.factor_graph.grammar.grammar import Grammar

    encoded, graph = task.fit(corpus), Grammar()
    graph.fit(encoded)
    structure = graph.build(encoded)
    (tree, *_) = task.decode(
        encoded, graph.view("constituents", encoded, structure, graph.gold(encoded, structure))
    )
    assert str(tree).startswith(written) and str(tree).count("(") == text.count("(")


LEARNERS = {
    "perceptron": [],
    "mira": ["optimizer.k_best=3", "loss=svm"],
    "dca": ["loss=softmax_margin"],
    "sdca": ["loss=crf"],
    "sgd": ["loss=crf"],
    "lbfgs": ["loss=crf", "loss.beta=0.5"],
    "adagrad": ["loss=svm", "loss.cost=brackets"],
    "adadelta": ["loss=svm"],
    "pegasos": ["loss=svm"],
    "cutting_plane": ["loss=svm", "loss.cost=rules"],
    "online_cutting_plane": ["loss=svm"],
    "eg": ["loss=crf"],
    "smo": ["loss=svm"],
}


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Settings of a corpus of short sentences: 30 to train on, which are the dev split too."""
    lines = [
        line
        for line in datasets.path("train", "ptb").read_text().splitlines()
        if line.count(" ") <= 14
    ][:30]
    path = tmp_path_factory.mktemp("short") / "short.mrg"
    path.write_text("\n".join(lines) + "\n")
    return [
        "task=constituency",
        f"task.train={path}",
        f"task.dev={path}",
        "optimizer.C=1",
        "tracker=none",
        "quiet=true",
    ]


@pytest.mark.parametrize("optimizer", gate_cases(LEARNERS, "pairs", ("dca", "adagrad")))
def test_every_learner(optimizer, short, tmp_path):
    trained = structopt.train(
        [
            *short,
            f"optimizer={optimizer}",
            *LEARNERS[optimizer],
            "optimizer.epochs=3",
            f"hydra.run.dir={tmp_path}",
        ]
    )
    names, *rows = _rows(tmp_path / "history.csv")
    history = [dict(zip(names, row, strict=True)) for row in rows]
    assert 1 < len(history) <= 3 and float(history[-1]["dev.bracket_f1"]) > 0.4
    for row in history:
        if row["dual"] and row["primal"]:
            assert float(row["dual"]) <= float(row["primal"]) + 1e-9
    assert np.isfinite(trained.weights).all()


@pytest.mark.nightly("optima")
def test_dual_methods_reach_the_optimum_of_the_batch_method(short, tmp_path):
    """sdca on tied rules, eg on the rules at their places, and lbfgs minimise the same P."""
    objectives = {}
    for optimizer in ("sdca", "eg", "lbfgs"):
        structopt.train(
            [
                *short,
                f"optimizer={optimizer}",
                "loss=crf",
                "optimizer.epochs=60",
                "optimizer.tolerance=1e-5",
                f"hydra.run.dir={tmp_path / optimizer}",
            ]
        )
        names, *rows = _rows(tmp_path / optimizer / "history.csv")
        objectives[optimizer] = min(
            float(row[names.index("primal")]) for row in rows if row[names.index("primal")]
        )
    assert objectives["sdca"] == pytest.approx(objectives["lbfgs"], rel=1e-4)
    assert objectives["eg"] == pytest.approx(objectives["lbfgs"], rel=1e-3)


def _rows(path):
    return [line.split(",") for line in path.read_text().splitlines()]


def test_long_sentences_are_refused_before_memory_is_allocated() -> None:
    task = Constituency(max_words=3)
    words, message = [["a"] * 3, ["b"] * 4], "has 4 words, and task.max_words=3 is the bound"
    task.fit(task.labelled([["a"]], ["(S (N a))"]))
    with pytest.raises(DataError, match=message):
        task.encode(task.corpus(words))
    with pytest.raises(DataError, match=message):
        task.fit(task.labelled(words[1:], ["(S (N b) (N b) (N b) (N b))"]))
    assert len(task.encode(task.corpus(words[:1])).offsets) == 2
    with pytest.raises(ConfigError, match="task.max_words=0 must be at least 1"):
        Constituency(max_words=0)
