"""Samples of random pairwise models: read by split, encoded, scored and learnt."""

import numpy as np
import pytest

import structopt
from structopt.command import main
from structopt.errors import ArgumentError, ConfigError, DataError
from structopt.factor_graph.pairwise import Pairwise
from structopt.task.synthetic import Synthetic

SMALL = {"variables": 5, "states": 3, "samples": 12, "held_out": 6}


def test_splits_share_weights_but_not_samples():
    task, other = Synthetic(**SMALL), Synthetic(**SMALL, data_seed=1)
    splits = [task.read(name) for name in ("train", "dev", "test")]
    assert [len(split) for split in splits] == [12, 6, 6]
    assert len({split.x[0].tobytes() for split in [*splits, other.read("train")]}) == 4
    assert not np.array_equal(task.model.weights()[0], other.model.weights()[0])
    again = task.read("train", 4)
    np.testing.assert_array_equal(again.x, splits[0].x[:4])
    np.testing.assert_array_equal(again.y, splits[0].y[:4])
    assert list(Synthetic(held_out=0).files) == ["train"]


def test_encoding_has_weights_for_every_variable_and_edge():
    task = Synthetic(**SMALL)
    samples = task.read("train")
    encoded = task.fit(samples)
    assert (encoded.wide, encoded.labels, len(encoded)) == (True, ("0", "1", "2"), 12)
    assert encoded.tables["label"].ids.reshape(12, 5).tolist() == [[0, 1, 2, 3, 4]] * 12
    np.testing.assert_array_equal(encoded.tables["label"].values.reshape(12, 5), samples.x)
    structure = Pairwise("complete").build(encoded)
    assert [(g.name, g.width) for g in structure.groups] == [("label", 3), ("edge", 10 * 9)]
    assert structure.parts[1] == 5 * 3 + 10 * 9
    np.testing.assert_array_equal(task.decode(encoded, encoded.gold), samples.y)


def test_metrics():
    task = Synthetic(**SMALL)
    samples = task.read("dev")
    wrong = samples.y.copy()
    wrong[0, :2] = (wrong[0, :2] + 1) % 3
    assert task.evaluate(samples, list(samples.y)) == {
        "accuracy": 1.0,
        "hamming_loss": 0.0,
        "exact": 1.0,
    }
    scores = task.evaluate(samples, list(wrong))
    assert scores == pytest.approx({"accuracy": 28 / 30, "hamming_loss": 2 / 30, "exact": 5 / 6})
    assert "accuracy: 93.33%" in task.report(samples, list(wrong))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variables": 0}, r"task\.variables=0 must be at least 1"),
        ({"samples": 0}, r"task\.samples=0"),
        ({"coupling": -1.0}, r"coupling=-1"),
        ({"limit": 0}, r"task\.limit=0"),
    ],
)
def test_refuses(options, message):
    with pytest.raises((ArgumentError, ConfigError), match=message):
        Synthetic(**options)


def test_refuses_files_and_other_samples(tmp_path):
    task = Synthetic(held_out=0)
    for path in (tmp_path / "x.npz", "test", "x.npz#train"):
        with pytest.raises(
            DataError,
            match=r"task=synthetic reads no files, but generates its splits: give one of train\.",
        ):
            task.read(path)
    with pytest.raises(
        DataError,
        match="^<memory>:1: a sample has 3 values, but there are 20 variables. Give a list of "
        "samples",
    ):
        task.corpus([[0.0, 1.0, 2.0]])
    with pytest.raises(ConfigError, match="task=synthetic predicts everything"):
        task.given_labels(task.read("train"))
    with pytest.raises(DataError, match="no states to compare with"):
        task.evaluate(task.read("train", labelled=False), [])


@pytest.mark.nightly("runs")
def test_trains_and_predicts(tmp_path):
    """Weights of edges are learnt: they beat independent variables, on samples of the same
    model.
    """
    sizes = [
        "task.variables=4",
        "task.states=3",
        "task.samples=40",
        "task.held_out=40",
        "task.coupling=0.3",
    ]
    words = [
        "task=synthetic",
        "tracker=none",
        "inference=enumeration",
        "optimizer.C=100",
        "optimizer.epochs=6",
        *sizes,
    ]
    accuracy = {}
    for edges in ("none", "complete"):
        model = structopt.train(
            [*words, f"factor_graph.edges={edges}", "objective_every=0"], tmp_path / edges
        )
        accuracy[edges] = model.evaluate("test")["accuracy"]
    assert accuracy["complete"] > accuracy["none"] + 0.03
    model = structopt.load(tmp_path / "complete")
    samples = model.task.read("test")
    outputs = model.predict(samples.x.tolist())
    assert (np.array(outputs) == samples.y).mean() == pytest.approx(accuracy["complete"])
    target = tmp_path / "out.npz"
    words = [
        f"model={tmp_path / 'complete'}",
        "input=test",
        f"output={target}",
        "probabilities=true",
        "k_best=3",
    ]
    assert main.main(["predict", *words]) == 0
    with np.load(target) as written:
        np.testing.assert_array_equal(written["y"], outputs)
        np.testing.assert_allclose(written["probabilities"], model.marginals(samples.x.tolist()))
        np.testing.assert_allclose(written["probabilities"].sum(axis=2), 1.0)
        assert written["ranked"].shape == (40, 4, 3)
        np.testing.assert_array_equal(written["ranked"][..., 0], outputs)
        assert all(len(np.unique(ranked, axis=1).T) == 3 for ranked in written["ranked"])
