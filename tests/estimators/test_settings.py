"""Parameters of estimators: zeros, two settings of one thing, values that no override could hold."""

from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from structopt import GridLabeler, SequenceTagger, StructuredEstimator
from structopt.config import composition, saved_config, validation
from structopt.errors import ArgumentError, ConfigError
from structopt.estimators.application import Settings, composed
from tests.messages import raises

AWKWARD = [
    "PRP$",
    ".",
    "é",
    "",
    "B-é",
    "a: b",
    "{x}",
    "[1]",
    "${seed}",
    "it's",
    'a "b"',
    "a,b",
    "null",
]
"""Text that Hydra's grammar refuses or reads as other values."""


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"c2": 0.25}, {"name": "lbfgs", "penalty": "l2", "C": 2.0}),
        ({"c1": 0, "c2": 0.25}, {"name": "lbfgs", "penalty": "l2", "C": 2.0}),
        ({"c1": 0.5, "c2": 0}, {"name": "lbfgs", "penalty": "l1", "c1": 0.5}),
        ({"c1": 0.5, "c2": 2}, {"name": "lbfgs", "penalty": "elastic", "c1": 0.5, "c2": 2.0}),
        ({"c2": np.float32(0.5), "optimizer": "sgd"}, {"name": "sgd", "C": 1.0}),
    ],
)
def test_regularisation(parameters, expected):
    node = SequenceTagger(**parameters).config["optimizer"]
    assert {key: node[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("parameters", "parameter", "problem"),
    [
        ({"c2": 0}, "c2", "leaves the weights free to grow without bound."),
        ({"c1": 0}, "c1", "leaves the weights free to grow without bound."),
        ({"c1": 0, "c2": 0.0}, "c2", "leaves the weights free to grow without bound."),
        ({"c1": -1}, "c1", "must be at least 0."),
        ({"c2": float("nan")}, "c2", "must be a finite number."),
        ({"C": 1, "c2": 0.001}, "C", "has no effect with c2=0.001, which sets the same penalty."),
        ({"C": 1, "c1": 1}, "C", "has no effect with c1=1, which sets the same penalty."),
        (
            {"C": 1, "overrides": {"optimizer.C": 2}},
            "C",
            "sets optimizer.C, and so does overrides={'optimizer.C': 2}.",
        ),
        (
            {"epochs": 3, "overrides": ["optimizer.epochs=4"]},
            "epochs",
            "sets optimizer.epochs, and so does overrides={'optimizer.epochs': '4'}.",
        ),
        (
            {"c2": 1, "overrides": {"optimizer.C": 3}},
            "c2",
            "sets optimizer.C, and so does overrides={'optimizer.C': 3}.",
        ),
        (
            {"c1": 1, "overrides": ["optimizer.c1=2"]},
            "c1",
            "sets optimizer.c1, and so does overrides={'optimizer.c1': '2'}.",
        ),
        (
            {"c1": 1, "c2": 1, "overrides": {"optimizer.c2": 0}},
            "c2",
            "sets optimizer.c2, and so does overrides={'optimizer.c2': 0}.",
        ),
        (
            {"templates": ["word"], "overrides": {"features.templates": ["bias"]}},
            "templates",
            "sets features.templates, and so does overrides={'features.templates': ['bias']}.",
        ),
        (
            {"cost_weights": {None: 1}},
            "loss.cost_weights",
            "must have keys that are text or numbers.",
        ),
    ],
)
def test_settings_that_are_refused(parameters, parameter, problem):
    """The estimator can be shown and copied all the same."""
    tagger = SequenceTagger(**parameters)
    with raises(ArgumentError, parameter=parameter, problem=problem):
        _ = tagger.config
    assert tagger.get_params()["c2"] is tagger.c2


def test_one_value_given_twice():
    assert SequenceTagger(C=2, overrides={"optimizer.C": 2}).config["optimizer"]["C"] == 2.0
    assert SequenceTagger(overrides={"seed": 3}).config["seed"] == 3


WEIGHTED = {"optimizer": "pegasos", "loss": "svm", "cost": "weighted"}


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({0: 0.1, 1: 5.0}, {"0": 0.1, "1": 5.0}),
        ({"0": 0.1, "1": 5}, {"0": 0.1, "1": 5.0}),
        ({np.int64(3): np.float32(0.5)}, {"3": 0.5}),
        (OrderedDict({True: 2}), {"True": 2.0}),
        *(({text: 0.5}, {text: 0.5}) for text in AWKWARD),
    ],
)
def test_keys_of_cost_weights(weights, expected):
    for estimator in (SequenceTagger, GridLabeler):
        node = estimator(**WEIGHTED, cost_weights=weights).config["loss"]
        assert node["cost_weights"] == expected


@pytest.mark.parametrize("text", AWKWARD)
def test_values_of_every_kind_go_into_the_config_as_they_are(text, tmp_path):
    """And are read back by a run that is resumed."""
    overrides = {
        "label": text,
        "features.lists": {text: Path(text)},
        "features.templates": (text, "word"),
        "task.columns": {"word": np.int64(0), "tag": -1},
        "task.train": f"{text}.txt",
        "task.separator": "\t",
    }
    settings = Settings.of({"task": "ner"}, overrides)
    config = composed(settings)
    assert config["label"] == text
    assert config["features"]["lists"] == {text: str(Path(text))}
    assert config["features"]["templates"] == [text, "word"]
    assert config["task"]["columns"] == {"word": 0, "tag": -1}
    assert (config["task"]["train"], config["task"]["separator"]) == (f"{text}.txt", "\t")
    saved_config.save(config, tmp_path)
    assert saved_config.read(tmp_path) == config


def test_values_that_others_are_computed_from():
    """The default of optimizer.C is task.default_C."""
    estimator = StructuredEstimator(
        task="ner", optimizer="dca", overrides={"task.default_C": 0.25, "storage": "disk"}
    )
    assert estimator.config["optimizer"]["C"] == 0.25
    assert estimator.config["storage"]["name"] == "disk"


@pytest.mark.parametrize(
    "overrides", [{"optimizer.etaa": 1}, {"optimizr.eta": 1}, {"sed": 1}, {"loss.beta": "x"}]
)
def test_unknown_keys(overrides):
    with pytest.raises(ConfigError):
        _ = SequenceTagger(overrides=overrides).config


def test_words_can_be_typed():
    """The same config comes from the command line."""
    for text in AWKWARD[:5]:
        tagger = SequenceTagger(**WEIGHTED, cost_weights={0: 1, text: 2}, overrides={"label": text})
        words = tagger.words
        assert validation.validate(composition.compose(words), words) == tagger.config
