"""scikit-learn's own checks, its searches and pipelines; and estimators where it is not
installed.
"""

import subprocess
import sys

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator

from structopt import estimators
from structopt.estimators import MultilabelClassifier, SequenceTagger
from tests.estimators.shipped import label_sets, tagged

WITHOUT_FIT = (
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_mixin_order",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
)
ORDER = "a method that goes from instance to instance in a few passes depends on their order"
WEIGHTED = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
OPTIMUM = MultilabelClassifier(
    edges="none",
    loss="crf",
    optimizer="lbfgs",
    inference="trw_bp",
    epochs=1000,
    overrides={"optimizer.gradient_tolerance": 1e-11},
)
X, y = tagged(30)


@pytest.mark.timeout(900)  # about 50 checks, each with several fits
@pytest.mark.nightly("runs")
@pytest.mark.parametrize(
    ("estimator", "failing"),
    [(MultilabelClassifier(), dict.fromkeys(WEIGHTED, ORDER)), (OPTIMUM, {})],
    ids=["dca", "lbfgs"],
)
def test_classifiers_pass_all_checks(estimator, failing):
    results = check_estimator(estimator, expected_failed_checks=failing, on_skip=None)
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {
        "check_array_api_input",
        "check_classifiers_multilabel_output_format_predict_proba",
    }


@pytest.mark.parametrize("name", estimators.__all__)
@pytest.mark.parametrize("check", WITHOUT_FIT)
def test_estimators_pass_the_checks_that_need_no_matrix(name, check):
    getattr(estimator_checks, check)(name, vars(estimators)[name]())


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"C": [-1.0]}, "ConfigError: optimizer.C=-1.0 must be greater than 0"),
        ({"optimizer": ["lbfg"]}, "ConfigError: optimizer 'lbfg' is not installed. Did you mean"),
        ({"C": ["x"]}, "ConfigError: optimizer.C=x is not a float."),
    ],
)
def test_an_error_in_a_search_is_one_message(grid, message):
    """scikit-learn prints tracebacks with all causes."""
    words, tags = [["Ann", "slept"], ["It", "rains"]], [["B-PER", "O"], ["O", "O"]]
    with pytest.raises(ValueError, match="All the 2 fits failed") as raised:
        GridSearchCV(SequenceTagger(), grid, cv=2).fit(words, tags)
    text = str(raised.value)
    assert message in text
    assert text.count("Traceback") == 1
    assert "composition" not in text and "registry" not in text


@pytest.mark.nightly("runs")
def test_searches(monkeypatch):
    search = GridSearchCV(
        SequenceTagger(epochs=2), {"C": [1e-6, 0.1], "optimizer__average": [True]}, cv=3
    ).fit(X, y)
    assert search.best_params_["C"] == 0.1 and search.predict(
        X[:1]
    ) == search.best_estimator_.predict(X[:1])
    outputs = cross_val_predict(SequenceTagger(epochs=2), X, y, cv=3)
    assert outputs.shape == (30,) and [len(labels) for labels in outputs] == [
        len(labels) for labels in y
    ]


@pytest.mark.nightly("runs")
def test_pipelines():
    X, Y, _ = label_sets()
    classifier = make_pipeline(MaxAbsScaler(), MultilabelClassifier(epochs=2)).fit(X, Y)
    assert classifier.predict(X).shape == Y.shape and 0.0 <= classifier.score(X, Y) <= 1.0
    upper = FunctionTransformer(
        lambda sentences: [[word.upper() for word in words] for words in sentences]
    )
    tagger = make_pipeline(upper, SequenceTagger(templates=["word"], epochs=2)).fit(
        [["a", "b"]], [["X", "O"]]
    )
    assert tagger.predict([["A", "b"]]) == [["X", "O"]]


def test_clones_are_not_fitted():
    tagger = SequenceTagger(optimizer="sgd", overrides={"optimizer.eta": 0.5}).fit(
        [[["a"]]], [["X"]]
    )
    copy = clone(tagger)
    assert copy.get_params() == tagger.get_params() and "model_" not in vars(copy)
    assert repr(copy) == "SequenceTagger(optimizer='sgd', overrides={'optimizer.eta': 0.5})"


WITHOUT = """
import sys
sys.modules["sklearn"] = None
import pickle
import numpy as np
from structopt import GraphLabeler, MultilabelClassifier, SequenceTagger, StructuredEstimator
assert repr(GraphLabeler(classes=np.arange(2))) == "GraphLabeler(classes=array([0, 1]))"
tagger = SequenceTagger(epochs=2).fit([[["a"], ["b"]]], [["X", "O"]])
assert pickle.loads(pickle.dumps(tagger)).predict([[["a"], ["b"]]]) == [["X", "O"]]
assert repr(tagger) == "SequenceTagger(epochs=2)", tagger
X, Y = np.eye(3), np.eye(3, dtype=int)
classifier = MultilabelClassifier(epochs=5, edges="none").fit(X, Y)
print(classifier.predict(X).tolist(), classifier.score(X, Y))
for wrong in (X[:, :2], X[0], X * np.nan):
    try:
        classifier.predict(wrong)
    except ValueError as error:
        print(error)
try:
    StructuredEstimator().predict([])
except ValueError as error:
    print(error)
"""


@pytest.mark.nightly("rest")
def test_they_work_without_it():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "[[1, 0, 0], [0, 1, 0], [0, 0, 1]] 1.0",
        "X has 2 features, but the estimator is expecting 3 features.",
        "X must be a matrix of finite numbers with at least one row; its shape is (3,).",
        "X must be a matrix of finite numbers with at least one row; its shape is (3, 3).",
        "This StructuredEstimator instance is not fitted yet. Call 'fit' first.",
    ]


def test_nothing_is_imported_before_it_is_used():
    code = (
        "import sys, structopt; sys.exit(1 if {'sklearn', 'numba', 'hydra'} & set(sys.modules) "
        "else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
