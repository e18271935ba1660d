"""What models answer from Python, held against all outputs of small instances, and against the
command line.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.command import main
from structopt.errors import (
    ArgumentError,
    CompatibilityError,
    ConfigError,
    DataError,
    InfeasibleError,
)
from structopt.formats.labelled_images import Image
from tests.messages import raises
from tests.parts import gate_cases

pytestmark = pytest.mark.nightly("runs")

QUICK = ["optimizer.epochs=2", "task.limit=40", "tracker=none"]
WORDS = {
    "word": ["Ann", "saw", "Oslo"],
    "pos": ["NNP", "VBD", "NNP"],
    "chunk": ["B-NP", "B-VP", "B-NP"],
}
TREE = {
    "form": ["He", "slept", "well", "."],
    "lemma": ["he", "sleep", "well", "."],
    "upos": ["PRON", "VERB", "ADV", "PUNCT"],
    "xpos": ["PRP", "VBD", "RB", "."],
}
PIXELS = np.array([[[2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]])
FILES = {
    "task=ner": "conll",
    "task=attributes": "crfsuite",
    "task=multiclass": "libsvm",
    "task=dependency": "conllu",
    "task=multilabel": "multilabel",
}
"""The shipped training files: typed, there are no dev data, whose evaluation takes longer than the
training.
"""
ALL = 5_000
LOOPY = ("second order", "multilabel", "grid", "synthetic")


class Case(NamedTuple):
    """A task with an instance that has few outputs, what is given of its output, and the row of the
    table for a choice.
    """

    overrides: list[str]
    instance: Any
    given: Any
    agrees: Any  # output -> whether it agrees with what is given
    choices: Any  # output -> rows of the table, without number and probability


def arcs(output: Any) -> list[Any]:
    return [(m, arc.head, arc.relation) for m, arc in enumerate(output, 1)]


def cells(output: Image) -> list[Any]:
    assert output.labels is not None
    return [(r + 1, c + 1, int(label)) for (r, c), label in np.ndenumerate(output.labels)]


CASES = {
    "ner": Case(
        ["task=ner"],
        WORDS,
        [None, "O", "B-PER|B-MISC"],
        lambda y: y[1] == "O" and y[2] in ("B-PER", "B-MISC"),
        lambda y: list(enumerate(y, 1)),
    ),
    "order 2": Case(
        ["task=ner", "factor_graph.order=2"],
        WORDS,
        ["B-ORG", None, None],
        lambda y: y[0] == "B-ORG",
        lambda y: list(enumerate(y, 1)),
    ),
    "attributes": Case(
        ["task=attributes"],
        [["word=Ann"], ["word=slept"]],
        [None, "B-PER"],
        lambda y: y[1] == "B-PER",
        lambda y: list(enumerate(y, 1)),
    ),
    "multiclass": Case(
        ["task=multiclass"], {1: 1.0, 5: 2.0}, "culture", lambda y: y == "culture", lambda y: [(y,)]
    ),
    "trees": Case(
        ["task=dependency", "factor_graph.labeled=false"],
        TREE,
        [4, None, (4, None), None],
        lambda y: y[0].head == 4 and y[2].head == 4,
        arcs,
    ),
    "projective": Case(
        ["task=dependency", "factor_graph.projective=true", "factor_graph.labeled=false"],
        TREE,
        [3, None, None, None],
        lambda y: y[0].head == 3,
        arcs,
    ),
    "labelled": Case(
        ["task=dependency", "factor_graph.labeled=true"],
        {name: column[:2] for name, column in TREE.items()},
        [(None, "obj"), 0],
        lambda y: y[0].relation == "obj" and y[1].head == 0,
        arcs,
    ),
    "second order": Case(
        ["task=dependency", "factor_graph=second_order", "loss=svm", "loss.gamma=1"],
        TREE,
        [4, None, None, None],
        lambda y: y[0].head == 4,
        arcs,
    ),
    "multilabel": Case(
        ["task=multilabel", "optimizer=dlpw"],
        {1: 1.0, 5: 2.0},
        {"PER": True, "sport": False},
        lambda y: "PER" in y and "sport" not in y,
        lambda y: [(a,) for a in y],
    ),
    "grid": Case(
        ["task=grid", "task.limit=5"],
        PIXELS,
        [[None, 3, None]],
        lambda y: y.labels[0, 1] == 3,
        cells,
    ),
    "synthetic": Case(
        ["task=synthetic", "task.variables=3", "task.held_out=0"],
        [0.5, -1.0, 2.0],
        [None, 2, None],
        lambda y: y[1] == 2,
        lambda y: [(i, str(s)) for i, s in enumerate(y.tolist(), 1)],
    ),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every model when it is first asked for."""

    class Trained(dict[str, Any]):
        def __missing__(self, name: str) -> Any:
            overrides = CASES[name].overrides
            data = (
                [f"task.train={datasets.path('train', FILES[overrides[0]])}"]
                if overrides[0] in FILES
                else []
            )
            model = structopt.train([*QUICK, *overrides, *data], tmp_path_factory.mktemp("model"))
            self[name] = model.with_inference("ilp") if name in LOOPY else model
            return self[name]

    return Trained()


def plain(output: Any) -> Any:
    """An output as something that can be compared."""
    return (
        np.asarray(output.labels).tolist()
        if isinstance(output, Image)
        else np.asarray(output, object).tolist()
    )


@pytest.mark.parametrize(
    "name", gate_cases(CASES, "runs", ("ner", "multiclass", "labelled", "multilabel"))
)
def test_against_all_outputs(name: str, models: dict[str, Any]) -> None:
    """Best outputs, lists, marginals, with something given and without, are those of a listing of
    all outputs.
    """
    model, case = models[name], CASES[name]
    listing = model.with_inference("enumeration")
    [everything] = listing.predict_k_best([case.instance], ALL)
    agreeing = [one for one in everything if case.agrees(one.output)]
    assert 0 < len(agreeing) < len(everything) < ALL
    for given, expected in ((None, everything), ([case.given], agreeing)):
        scores = np.array([one.score for one in expected])
        p = np.exp((scores - scores[0]) / model.temperature)
        p /= p.sum()
        assert plain(model.predict([case.instance], given=given)[0]) == plain(expected[0].output)
        [ranked] = listing.predict_k_best([case.instance], 3, given=given)
        assert [plain(one.output) for one in ranked] == [plain(one.output) for one in expected[:3]]
        for one, probability in zip(ranked, p, strict=False):
            assert (
                one.probability is None
                if not model.gibbs
                else abs(one.probability - probability) < 1e-9
            )
        table = defaultdict(float)
        for one, probability in zip(expected, p, strict=True):
            for choice in case.choices(one.output):
                table[choice] += probability
        columns = listing.marginals([case.instance], given=given).table
        assert set(columns[next(iter(columns))]) == {1}
        rows = list(zip(*list(columns.values())[1:], strict=True))
        assert {row[:-1] for row in rows} >= set(table)
        for *choice, probability in rows:
            assert abs(table[tuple(choice)] - probability) < 1e-9


@pytest.mark.parametrize(
    "name", ["ner", "attributes", "multiclass", "trees", "projective", "labelled"]
)
def test_exact_lists_and_marginals(name: str, models: dict[str, Any]) -> None:
    """The fast algorithms agree with the listing where something is given."""
    model, case = models[name], CASES[name]
    listing = model.with_inference("enumeration")
    for given in (None, [case.given]):
        [one], [other] = (
            m.predict_k_best([case.instance], 4, given=given) for m in (model, listing)
        )
        assert [plain(y.output) for y in one] == [plain(y.output) for y in other]
        np.testing.assert_allclose([y[0::2] for y in one], [y[0::2] for y in other], rtol=1e-9)
        [one], [other] = (m.marginals([case.instance], given=given) for m in (model, listing))
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_names_of_columns(models: dict[str, Any]) -> None:
    names = {
        name: tuple(models[name].marginals([CASES[name].instance]).table)
        for name in ("ner", "multiclass", "labelled")
    }
    assert names == {
        "ner": ("sentence", "token", "label", "probability"),
        "multiclass": ("instance", "label", "probability"),
        "labelled": ("sentence", "modifier", "head", "relation", "probability"),
    }
    for name, columns in (
        ("multilabel", ("instance", "label")),
        ("grid", ("image", "row", "column", "label")),
    ):
        listing = models[name].with_inference("enumeration")
        assert tuple(listing.marginals([CASES[name].instance]).table) == (*columns, "probability")
    assert models["ner"].marginals([]).table == {"sentence": [], "probability": []}
    assert models["multilabel"].labels == (
        "LOC",
        "MISC",
        "ORG",
        "PER",
        "business",
        "courts",
        "culture",
        "sport",
    )


TEXT = "Ann NNP B-NP _\nsaw VBD B-VP O\nOslo NNP B-NP B-ORG\n\nOslo NNP B-NP B-PER\n"


def test_files_are_the_command_line_s(models: dict[str, Any], tmp_path: Path) -> None:
    """A path gives what the command writes, labels that are kept included."""
    model = models["ner"]
    model.save(str(tmp_path / "saved"))
    (tmp_path / "in.txt").write_text(TEXT)
    words = [
        "predict",
        f"model={tmp_path / 'saved'}",
        f"input={tmp_path / 'in.txt'}",
        f"output={tmp_path / 'out.txt'}",
    ]
    for option, given in ([], None), (["partial=true"], True):
        assert main.main([*words, *option, "k_best=2"]) == 0
        rows = [line.split() for line in (tmp_path / "out.txt").read_text().splitlines() if line]
        for path in (tmp_path / "in.txt", str(tmp_path / "in.txt")):
            assert [label for output in model.predict(path, given=given) for label in output] == [
                row[4] for row in rows
            ]
        ranked = model.predict_k_best(tmp_path / "in.txt", 2, given=given)
        assert [[one.output for one in best] for best in ranked] == [
            [[row[5 + k] for row in rows[:3]] for k in range(2)],
            [[row[5 + k] for row in rows[3:]] for k in range(2 if given is None else 1)],
        ]
    in_memory = [
        dict(zip(("word", "pos", "chunk"), zip(*rows, strict=True), strict=True))
        for rows in (
            [line.split()[:3] for line in block.splitlines()] for block in TEXT.split("\n\n")
        )
    ]
    assert model.predict(in_memory, given=[[None, "O", "B-ORG"], ["B-PER"]]) == model.predict(
        tmp_path / "in.txt", given=True
    )


def test_partial_trees_on_the_command_line(models: dict[str, Any], tmp_path: Path) -> None:
    model = models["labelled"]
    model.save(tmp_path / "saved")
    row = "{}\t{}\t_\t{}\t_\t_\t{}\t{}\t_\t_\n"
    text = "".join(
        row.format(i, word, tag, head, relation)
        for i, (word, tag, head, relation) in enumerate(
            zip(
                TREE["form"],
                TREE["upos"],
                ["_", "_", "4", "_"],
                ["obj", "_", "_", "_"],
                strict=True,
            ),
            1,
        )
    )
    (tmp_path / "in.conllu").write_text(text + "\n")
    words = [
        f"model={tmp_path / 'saved'}",
        f"input={tmp_path / 'in.conllu'}",
        f"output={tmp_path / 'out.conllu'}",
    ]
    assert main.main(["predict", *words, "partial=true"]) == 0
    written = [
        line.split("\t") for line in (tmp_path / "out.conllu").read_text().splitlines() if line
    ]
    assert written[2][6] == "4" and written[0][7] == "obj"
    [output] = model.predict([TREE], given=[[(None, "obj"), None, 4, None]])
    assert [(str(arc.head), arc.relation) for arc in output] == [
        (cells[6], cells[7]) for cells in written
    ]
    (tmp_path / "in.conllu").write_text(text.replace("obj", "objj") + "\n")
    with pytest.raises(
        DataError,
        match=r"in\.conllu:1: given relation=objj is not a label of the model\. Did you mean",
    ):
        model.predict(tmp_path / "in.conllu", given=True)


WRONG: list[tuple[str, Any, str]] = [
    (
        "ner",
        [["O"]],
        "<given>:1: the output has 1 cells for 3 tokens. Give one cell for each, and None for open ones.",
    ),
    (
        "ner",
        [None, None],
        "<given>: there are 2 outputs for 1 instances. Give one for every instance: [[",
    ),
    ("ner", "O O O", "<given>: 'O O O' is not a list of outputs."),
    ("ner", ["OOO"], "<given>:1: the output 'OOO' is not a list."),
    ("ner", [[1, None, None]], "<given>:1: the given label 1 is no string."),
    ("trees", [[1, None, None, None]], "<given>:1: word 1 is given as its own head."),
    ("trees", [[{2, 1}, None, None, None]], "<given>:1: word 1 is given as its own head."),
    ("trees", [[set(), None, None, None]], "<given>:1: word 1 is given an empty set of heads."),
    (
        "trees",
        [[5, None, None, None]],
        "<given>:1: the given head 5 of word 1 is not an integer from 0 (the root) to 4.",
    ),
    (
        "trees",
        [["2", None, None, None]],
        "<given>:1: the given head '2' of word 1 is not an integer",
    ),
    (
        "multilabel",
        [["PER"]],
        "<given>:1: the given output is ['PER']. Give a mapping from label to True or False, or "
        "None.",
    ),
    (
        "multilabel",
        [{"PER": "yes"}],
        "<given>:1: the given state 'yes' of 'PER' is none of True, False and None.",
    ),
    ("grid", [[[1, 2]]], "<given>:1: the output has 2 cells for 3 cells of a row."),
    ("synthetic", [[1, 2]], "<given>:1: the output has 2 cells for 3 variables."),
]


@pytest.mark.parametrize(("name", "given", "message"), WRONG)
def test_given_outputs_that_are_refused(
    name: str, given: Any, message: str, models: dict[str, Any]
) -> None:
    with pytest.raises(DataError) as caught:
        models[name].predict([CASES[name].instance], given=given)
    assert message in str(caught.value)


UNKNOWN: list[tuple[str, Any, Any, str]] = [
    ("ner", [None, "B-PERR", None], "B-PERR", "instance 0, position 1"),
    ("ner", [None, None, "O|ZZ"], "ZZ", "instance 0, position 2"),
    ("attributes", ["ZZ|_", None], "ZZ", "instance 0, position 0"),
    ("multiclass", "sprot", "sprot", "instance 0"),
    ("multilabel", {"PERR": True}, "PERR", "instance 0"),
    ("trees", [None, (None, "objj"), None, None], "objj", "instance 0, position 1"),
    ("grid", [[1, 2, 77]], 77, "instance 0, position 0, column 2"),
    ("synthetic", [0, None, 9], 9, "instance 0, position 2"),
]


@pytest.mark.parametrize(("name", "given", "value", "where"), UNKNOWN)
def test_given_labels_that_the_model_lacks(
    name: str, given: Any, value: Any, where: str, models: dict[str, Any]
) -> None:
    with raises(ArgumentError, parameter="given", value=value, where=where):
        models[name].predict([CASES[name].instance], given=[given])


@pytest.mark.parametrize("name", ["trees", "projective"])
def test_heads_may_be_sets(models: dict[str, Any], name: str) -> None:
    """The best tree with heads from sets is the best one of the trees with each choice of heads."""
    model, sets = models[name], [{0, 2, 4}, {np.int64(0), 3}, None, frozenset({1})]
    best = []
    for heads in product(*[one or [None] for one in sets]):
        try:
            score = float(model.scores([TREE], given=[list(heads)])[0])
        except InfeasibleError:
            continue
        best.append((score, model.predict([TREE], given=[list(heads)])[0]))
    score, tree = max(best, key=lambda one: one[0])
    assert model.predict([TREE], given=[sets])[0] == tree
    assert float(model.scores([TREE], given=[sets])[0]) == pytest.approx(score)
    for head, allowed in zip(
        models["second order"].predict([TREE], given=[sets])[0], sets, strict=True
    ):
        assert allowed is None or head.head in allowed


def test_no_output_agrees(models: dict[str, Any]) -> None:
    for name, given in (
        ("trees", [2, 1, None, None]),
        ("trees", [0, 0, None, None]),
        ("second order", [2, 1, None, None]),
    ):
        with pytest.raises(
            InfeasibleError, match="instance 0: The constraints allow no output. Loosen"
        ):
            models[name].predict([TREE], given=[given])
    with pytest.raises(
        InfeasibleError, match="instance 2: The constraints"
    ):  # empty instances count
        models["trees"].predict([TREE, [], TREE], given=[None, [], [2, 1, None, None]])


def test_calls_that_are_refused(models: dict[str, Any]) -> None:
    model, loopy = models["ner"], models["multilabel"]
    for k in (0, -1, 1.5, True, "2"):
        with pytest.raises(ConfigError, match="must be an integer, at least 1"):
            model.predict_k_best([WORDS], k)
    with pytest.raises(ConfigError, match="given=True keeps the labels of a file"):
        model.predict([WORDS], given=True)
    with pytest.raises(DataError, match="there is no such file"):
        model.predict("nowhere.txt")
    with pytest.raises(
        CompatibilityError,
        match=r"model\.marginals needs marginals.*come from: enumeration, exact, loopy_bp, trw_bp",
    ):
        loopy.marginals([{1: 1.0}])
    with pytest.raises(
        CompatibilityError,
        match=r"k=2 needs the k best outputs.*come from: enumeration.*with_inference\(NAME\)",
    ):
        loopy.predict_k_best([{1: 1.0}], 2)
    assert loopy.with_inference("ad3", exact=True).predict([{1: 1.0}]) == loopy.predict([{1: 1.0}])
    with pytest.raises(ConfigError, match="exactt"):
        loopy.with_inference("ad3", exactt=True)
    with pytest.raises(
        CompatibilityError, match="inference=ad3 cannot solve structures of kind chain"
    ):
        model.with_inference("ad3")


def test_what_models_say_of_themselves(models: dict[str, Any]) -> None:
    assert repr(models["ner"]).startswith(
        "Model(task=ner, factor_graph=linear_chain, inference=exact, loss=family, beta=1, "
    )
    assert repr(models["multilabel"]).startswith(
        "Model(task=multilabel, factor_graph=pairwise, inference=ilp, loss=svm, beta=i"
    )
    assert models["ner"].gibbs and not models["multilabel"].gibbs
