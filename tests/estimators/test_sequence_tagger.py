"""Sequence taggers: every form of X, the run underneath, predictions, parameters."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

import structopt
from structopt import SequenceTagger
from structopt.errors import ArgumentError, ConfigError, DataError, StructoptError
from structopt.estimators.bases import NotFittedError
from tests.estimators.shipped import tagged
from tests.messages import raises
from tests.parts import gate_cases

X, y = tagged()
TOY = [[{"w": "a"}, {"w": "b"}], [{"w": "b"}, {"w": "a"}, {"w": "a"}]]
GOLD = [["X", "Y"], ["Y", "X", "X"]]


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(optimizer="lbfgs", epochs=10).fit(X, y)


def test_the_run_is_that_of_the_command_line(tagger, tmp_path):
    words = [
        "task=attributes",
        "task.limit=60",
        "optimizer=lbfgs",
        "optimizer.epochs=10",
        "tracker=none",
        "quiet=true",
    ]
    model = structopt.train(words, folder=tmp_path / "run")
    assert np.array_equal(tagger.model_.weights, model.weights)
    assert tagger.predict(X) == model.predict(X)
    assert tagger.score(*tagged(20, "dev")) == pytest.approx(_score(model, *tagged(20, "dev")))
    assert tagger.metrics_["train"]["epochs"] == tagger.n_iter_ == 10


def _score(model, X, y):
    from structopt.metrics import entities

    return entities.outcomes(y, model.predict(X)).scores()["f1"]


def test_predictions(tagger):
    outputs, best = tagger.predict(X), tagger.predict_k_best(X[:3], 2)
    assert [lists[0].output for lists in best] == outputs[:3]
    assert tagger.decision_function(X[:3]) == pytest.approx([lists[0].score for lists in best])
    marginals = tagger.predict_marginals(X[:1])[0]
    assert [sum(token.values()) for token in marginals] == pytest.approx([1.0] * len(X[0]))
    assert [token[label] for token, label in zip(marginals, outputs[0], strict=True)] == [
        max(t.values()) for t in marginals
    ]
    assert (
        tagger.predict_single(X[0]) == outputs[0]
        and tagger.predict_marginals_single(X[0]) == marginals
    )
    assert list(tagger.classes_) == sorted({label for labels in y for label in labels})


def test_explanations(tagger):
    one = tagger.explain(X, 2, top=3)
    assert one.chosen == tagger.predict(X)[1] and one.total == pytest.approx(
        one.difference, abs=1e-9
    )
    assert [table.title for table in tagger.explain(top=2).tables][
        0
    ] == f"label {tagger.classes_[0]}"
    with pytest.raises(NotFittedError, match="This SequenceTagger instance is not fitted yet"):
        SequenceTagger().explain()


def test_weights_by_names(tagger):
    states, pairs = tagger.state_features_, tagger.transition_features_
    assert len(states) + len(pairs) == np.count_nonzero(tagger.model_.weights)
    shown = {row.feature.attribute: row.weight for row in tagger.explain(top=3).tables[0].positive}
    assert shown == {name: states[name, tagger.classes_[0]] for name in shown}


def test_weights_by_names_are_those_of_scores():
    """Summed over the features of an output they are its score; of labels that are numbers, and of
    pairs with attributes.
    """
    tagger = SequenceTagger(epochs=3).fit(TOY, [[10, 9], [9, 10, 10]])
    labels = tagger.predict_single(TOY[0])
    score = sum(
        tagger.state_features_.get((f"w:{token['w']}", label), 0.0)
        for token, label in zip(TOY[0], labels, strict=True)
    )
    score += tagger.transition_features_.get(tuple(labels), 0.0)
    assert tagger.decision_function(TOY[:1])[0] == pytest.approx(score)
    words, gold = [["Ann", "slept"], ["slept", "Ann"]], [["X", "O"], ["O", "X"]]
    joined = SequenceTagger(
        templates=["word"], epochs=2, overrides={"features.transitions": ["word"]}
    ).fit(words, gold)
    assert set(joined.transition_features_) <= {(a, b) for a in "XO" for b in "XO"}


def test_hashed_weights_have_numbers_for_names():
    tagger = SequenceTagger(epochs=1, overrides={"features.hash_bits": 10}).fit(TOY, GOLD)
    assert {name.partition("=")[0] for name, _ in tagger.state_features_} == {"hash10"}
    with pytest.raises(NotFittedError, match="This SequenceTagger instance is not fitted yet"):
        SequenceTagger().transition_features_


def test_allowed_labels_are_kept(tagger):
    allowed = [[["B-PER", "I-PER"], "B-ORG", *[None] * (len(X[0]) - 2)], None]
    first, second = tagger.predict(X[:2], allowed=allowed)
    assert (
        first[0] in ("B-PER", "I-PER")
        and first[1] == "B-ORG"
        and second == tagger.predict(X[1:2])[0]
    )
    assert {
        label
        for label, p in tagger.predict_marginals(X[:1], allowed=allowed[:1])[0][0].items()
        if p
    } <= {"B-PER", "I-PER"}


def test_a_pickle_predicts_the_same(tagger):
    copy = pickle.loads(pickle.dumps(tagger))
    assert copy.predict(X) == tagger.predict(X) and np.array_equal(
        copy.model_.weights, tagger.model_.weights
    )
    assert copy.get_params() == tagger.get_params() and pickle.loads(
        pickle.dumps(tagger.predict(X))
    ) == tagger.predict(X)


def test_predictions_show_themselves(tagger):
    shown = tagger.predict([[["<b>"], ["x"]]])._repr_html_()
    assert "&lt;b&gt;" in shown and shown.count("<span") == 2
    assert f"<td>{tagger.model_.scorer.count}</td>" in tagger.model_._repr_html_()
    assert np.array(tagger.predict(X[:2])).shape == (2,)


@pytest.mark.parametrize(
    "tokens",
    [
        [[["w:a"], ["w:b"]], [["w:b"], ["w:a"], ["w:a"]]],
        [[{"w": ["a"]}, {"w": {"b"}}], [{"w": {"b": True}}, {"w:a": 1}, {"w": {"a": 1.0}}]],
    ],
)
def test_forms_of_features_are_the_same(tokens):
    one, other = (SequenceTagger(epochs=3).fit(some, GOLD) for some in (TOY, tokens))
    assert one.model_.task.attribute_names() == ["w:a", "w:b"]
    assert np.array_equal(one.model_.weights, other.model_.weights) and other.predict(TOY) == GOLD


def test_matrices():
    dense = [np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[0.0, 2.0], [1.0, 0.0], [1.0, 0.0]])]
    one = SequenceTagger(epochs=3).fit(dense, GOLD)
    other = SequenceTagger(epochs=3).fit(list(map(csr_array, dense)), GOLD)
    assert np.array_equal(one.model_.weights, other.model_.weights) and one.predict(dense) == GOLD


def test_numbers_as_labels():
    numbers = [[10, 9], np.array([9, 10, 10])]
    tagger = SequenceTagger(epochs=3).fit(TOY, numbers)
    assert tagger.predict(TOY) == [[10, 9], [9, 10, 10]] and sorted(tagger.classes_.tolist()) == [
        9,
        10,
    ]
    assert (
        tagger.predict(TOY, allowed=[[9, [9, 10]], None])[0] == [9, 9]
        and tagger.score(TOY, numbers) == 1.0
    )


def test_templates():
    words, labels = [["Ann", "slept"], ["Oslo", "slept"]], [["B-X", "O"], ["B-X", "O"]]
    tagger = SequenceTagger(templates=["word", "word[-1]"], valid_tags=True, epochs=2).fit(
        words, labels
    )
    assert (
        tagger.task_name == "ner"
        and tagger.predict(words) == labels
        and tagger.predict([["Bob", "slept"]])[0][1] == "O"
    )
    assert "Ann" in tagger.predict(words)._repr_html_()
    assert len(
        SequenceTagger(templates="default", epochs=1).fit(words, labels).model_.weights
    ) > len(tagger.model_.weights)


def test_sample_weights_are_copies():
    settings = {
        "optimizer": "lbfgs",
        "epochs": 300,
        "overrides": {"optimizer.gradient_tolerance": 1e-10},
    }
    weighted = SequenceTagger(**settings).fit(
        TOY, [["X", "Y"], ["Y", "Y", "X"]], sample_weight=[2, 1]
    )
    copies = SequenceTagger(**settings).fit(
        [TOY[0], *TOY], [["X", "Y"], ["X", "Y"], ["Y", "Y", "X"]]
    )
    assert np.allclose(weighted.model_.weights, copies.model_.weights, atol=1e-8)
    assert weighted.score(TOY, GOLD, sample_weight=[1, 0]) == 1.0


def test_a_dev_split_stops_early():
    tagger = SequenceTagger(epochs=9, overrides={"patience": 1}).fit(
        TOY, GOLD, X_dev=TOY, y_dev=GOLD
    )
    assert tagger.n_iter_ < 9 and tagger.metrics_["dev"]["accuracy"] == 1.0


def test_it_is_silent_unless_verbose(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SequenceTagger(epochs=1).fit(TOY, GOLD)
    assert capfd.readouterr() == ("", "") and not list(tmp_path.iterdir())
    SequenceTagger(epochs=1, verbose=True, folder="run").fit(TOY, GOLD)
    assert (
        "attributes-dca-crf" in capfd.readouterr().out
        and (tmp_path / "run" / "history.csv").is_file()
    )


def test_words():
    words = SequenceTagger(
        loss="svm",
        C=2,
        cost="weighted",
        cost_weights={"O": 0.5, "B-X": 2},
        overrides=["check=true"],
    ).words
    assert words == [
        "task=attributes",
        "loss=svm",
        "tracker=none",
        "check=true",
        "seed=0",
        "threads=1",
        "quiet=true",
        "optimizer.C=2",
        "loss.cost=weighted",
        "loss.cost_weights={O: 0.5, B-X: 2}",
    ]
    assert "tracker=none" not in SequenceTagger(overrides={"tracker": "mlflow"}).words
    typed = SequenceTagger(
        beta=float("inf"), templates=["word & 'x'"], overrides={"label": "true"}
    ).words
    assert {"loss.beta=inf", "features.templates=['word & \\'x\\'']", "label='true'"} <= set(typed)


def test_crfsuites_regularisation_chooses_lbfgs():
    config = SequenceTagger(c2=0.25).config
    assert (config["optimizer"]["name"], config["optimizer"]["C"], config["loss"]["name"]) == (
        "lbfgs",
        2.0,
        "crf",
    )
    assert {"optimizer.penalty=elastic", "optimizer.c1=0.5", "optimizer.c2=0.25"} <= set(
        SequenceTagger(c1=0.5, c2=0.25).words
    )
    assert "optimizer.penalty=l1" in SequenceTagger(c1=0.5).words


def test_parameters_of_components():
    tagger = SequenceTagger(optimizer="sgd")
    assert tagger.get_params()[
        "optimizer__eta"
    ] == "auto" and "optimizer__eta" not in tagger.get_params(deep=False)
    tagger.set_params(optimizer__eta=0.5, C=3.0)
    assert tagger.config["optimizer"]["eta"] == 0.5 and tagger.config["optimizer"]["C"] == 3.0
    assert "task__scheme" in tagger.get_params()
    with raises(ArgumentError, parameter="optimiser", value="sgd", match="mean 'optimizer'?"):
        tagger.set_params(optimiser="sgd")
    with raises(ArgumentError, parameter="overrides", value=["seed=1"]):
        SequenceTagger(overrides=["seed=1"]).set_params(optimizer__eta=1.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "dac"}, "Did you mean 'dca'"),
        (
            {"overrides": "optimizer=dca"},
            "overrides='optimizer=dca' must be a mapping, {'optimizer.eta': 0.1}, or a list",
        ),
        ({"overrides": {"hydra.sweep.dir": "x"}}, "has no effect here: train runs once"),
    ],
)
def test_wrong_settings_are_told_when_fitted(settings, message):
    tagger = SequenceTagger(**settings)
    assert tagger.get_params()["seed"] == 0
    with pytest.raises(ConfigError, match=message):
        tagger.fit(TOY, GOLD)


def test_wrong_data_are_told():
    with pytest.raises(DataError, match="<outputs>: there are 1 outputs for 2 instances"):
        SequenceTagger().fit(TOY, GOLD[:1])
    with pytest.raises(
        ValueError, match="This SequenceTagger instance is not fitted yet. Call 'fit' first."
    ):
        SequenceTagger().predict(TOY)


ONCE = {
    "generator": lambda rows: (list(row) for row in rows),
    "nested": lambda rows: (iter(row) for row in rows),
    "map": lambda rows: map(list, rows),
    "zip": lambda rows: (list(pair) for pair in zip(*zip(*rows, strict=True), strict=True)),
    "array": lambda rows: np.array(rows, object),
}
"""Forms of a list of lists of one length, most of which can be read once."""


@pytest.mark.parametrize("form", gate_cases(ONCE, "rest", ("generator", "zip")))
def test_iterables_are_read_once(form):
    form = ONCE[form]
    X, y = [["a", "b"], ["c", "b"]], [["1", "0"], ["2", "0"]]
    options = {"optimizer": "perceptron", "epochs": 2, "templates": ["word"]}
    expected = SequenceTagger(**options).fit(X, y)
    tagger = SequenceTagger(**options)
    tagger.fit(form(X), form(y), sample_weight=iter([1, 2]), X_dev=form(X), y_dev=form(y))
    assert tagger.classes_.tolist() == ["0", "1", "2"]
    assert tagger.predict(form(X), allowed=form(y)) == y
    assert tagger.predict(form(X)) == expected.predict(X)
    assert tagger.score(form(X), form(y), sample_weight=iter([1, 2])) == expected.score(X, y)
    np.testing.assert_array_equal(tagger.decision_function(form(X)), tagger.decision_function(X))
    assert tagger.predict_k_best(form(X), 2) == tagger.predict_k_best(X, 2)
    assert tagger.partial_fit(form(X), form(y)).n_samples_seen_ == 4


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([[True, False]], bool),
        ([np.array([True, False])], bool),
        ([[1, 0]], int),
        ([np.array([1, 0], np.int8)], int),
        ([np.array(["a", "b"])], str),
        ([["1", "0"]], str),
    ],
)
def test_labels_of_every_type(labels, kind):
    tagger = SequenceTagger(optimizer="perceptron", epochs=3, templates=["word"])
    predicted = tagger.fit([["a", "b"]], labels).predict([["a", "b"]])
    assert predicted == [list(map(kind, labels[0]))]
    assert {type(label) for label in predicted[0]} == {kind}
    assert {type(label) for label in tagger.classes_.tolist()} == {kind}
    other = [["x", "y"]] if kind is not str else [[5, 6]]
    with raises(ArgumentError, parameter="y", match="the labels of the first call are"):
        tagger.partial_fit([["a", "b"]], other)


def test_sets_have_no_order():
    tagger = SequenceTagger(optimizer="perceptron", epochs=1)
    X, y = [[{"a", "b"}, {"x": {"c", "d"}}]], [["A", "B"]]
    names = tagger.fit(X, y).model_.task.attribute_names()
    assert names == ["a", "b", "x:c", "x:d"]
    for arguments in ((X, [{"A", "B"}]), ([{"a", "b"}], y), ({("a",)}, y), (X, {("A", "B")})):
        with pytest.raises(StructoptError, match="is a set|are a set"):
            tagger.fit(*arguments)
