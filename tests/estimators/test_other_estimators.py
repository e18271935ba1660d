"""Parsers, grids and any other task as estimators."""

import pickle

import numpy as np
import pytest

import structopt
from structopt import ConstituencyParser, DependencyParser, GridLabeler, StructuredEstimator
from structopt.errors import CompatibilityError
from structopt.formats.trees.nested import brackets

HASHED = {"features.hash_bits": 12, "features.label_bits": 8}
SENTENCES = [["Ann", "slept"], ["Bob", "saw", "Ann"]]
RELATED = [[(2, "nsubj"), (0, "root")], [(2, "nsubj"), (0, "root"), (2, "obj")]]
TREES = ["(S (NP (NNP Ann)) (VP (VBD slept)))", "(S (NP (NNP Bob)) (VP (VBD saw) (NP (NNP Ann))))"]


def test_dependency_parser():
    parser = DependencyParser(epochs=5, overrides=HASHED).fit(SENTENCES, RELATED)
    trees = parser.predict(SENTENCES)
    assert [list(map(tuple, tree)) for tree in trees] == RELATED and parser.score(
        SENTENCES, RELATED
    ) == 1.0
    assert (
        list(parser.classes_) == ["nsubj", "obj", "root"] and trees._repr_html_().count("<svg") == 2
    )
    assert parser.predict_marginals(SENTENCES)[1].shape == (3, 4)
    assert parser.predict(SENTENCES[:1], allowed=[[0, None]])[0][0].head == 0
    assert pickle.loads(pickle.dumps(parser)).predict(SENTENCES) == trees


def test_heads_alone_have_no_relations():
    heads = [[arc[0] for arc in tree] for tree in RELATED]
    parser = DependencyParser(epochs=5, overrides=HASHED).fit(SENTENCES, heads)
    assert [[arc.head for arc in tree] for tree in parser.predict(SENTENCES)] == heads
    assert parser.predict(SENTENCES)[0][0].relation is None
    assert "factor_graph.labeled=false" in DependencyParser(labeled=False).words


def test_a_graph_in_overrides_decides_if_relations_are_predicted() -> None:
    overrides = {**HASHED, "factor_graph": "second_order", "inference": "ad3"}
    parser = DependencyParser(loss="svm", epochs=1, overrides=overrides).fit(SENTENCES, RELATED)
    assert {arc.relation for tree in parser.predict(SENTENCES) for arc in tree} == {None}


def test_constituency_parser():
    nested = ("S", ("NP", ("NNP", "Ann")), ["VP", ("VBD", "slept")])
    assert brackets(nested) == TREES[0] and brackets(TREES[0]) == TREES[0]
    parser = ConstituencyParser(tags="free", optimizer="lbfgs", epochs=20).fit(
        SENTENCES, [nested, TREES[1]]
    )
    trees = parser.predict(SENTENCES)
    assert list(map(str, trees)) == TREES and parser.score(SENTENCES, TREES) == 1.0
    assert trees._repr_html_().count("<svg") == 2 and {"NP", "S", "VP"} <= set(parser.classes_)
    assert parser.fit(SENTENCES, trees).score(SENTENCES, TREES) == 1.0


def test_grid_labeler():
    generator = np.random.default_rng(0)
    y = [generator.integers(0, 2, (3, 4)) for _ in range(10)]
    X = [np.stack([labels, 1 - labels], axis=-1).astype(float) for labels in y]
    grid = GridLabeler(pixels="values", radius=0, epochs=3).fit(X, y)
    assert all(map(np.array_equal, grid.predict(X), y)) and grid.score(X, y) == 1.0
    assert grid.classes_.tolist() == [0, 1] and grid.predict(X)._repr_html_().startswith(
        "<div><pre>"
    )
    assert grid.predict(X[:1], allowed=[[[1, None, None, None], *[[None] * 4] * 2]])[0][0, 0] == 1


def test_any_task():
    X, y = [{1: 0.5, 3: 2.0}, [0.0, 1.0], {3: 1.0}], ["law", "sport", "law"]
    classifier = StructuredEstimator(task="multiclass", loss="svm", optimizer="pegasos", epochs=20)
    classifier.fit(X, y, sample_weight=[1, 2, 1])
    assert classifier.predict(X) == y and list(classifier.classes_) == ["law", "sport"]
    assert (
        classifier.config["factor_graph"]["name"] == "single"
        and classifier.predict_k_best(X, 2)[0][0].output == "law"
    )
    with pytest.raises(
        CompatibilityError, match="optimizer=sdca takes all instances to count the same"
    ):
        StructuredEstimator(task="multiclass", optimizer="sdca").fit(X, y, sample_weight=[1, 2, 1])


def test_the_package_offers_them_when_asked():
    assert {"SequenceTagger", "train"} <= set(dir(structopt))
    with pytest.raises(AttributeError, match="module 'structopt' has no attribute 'SequenceTager'"):
        structopt.SequenceTager
