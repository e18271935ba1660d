"""`evaluate` reports the share of predictions that are proved optimal."""

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.command.main import main
from structopt.model.predictor import PROVED, PROVED_BEFORE

DEV = datasets.path("dev", "multilabel")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    words = ["task=multilabel", "optimizer=dca", "optimizer.epochs=1", "tracker=none"]
    return structopt.train(words, tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    model.save(path := tmp_path_factory.mktemp("saved") / "model")
    return path


def shares(model, names):
    return {name: model.with_inference(name).evaluate(DEV).get(PROVED) for name in names}


def test_relaxations_prove_the_outputs_that_are_integral(model):
    found = shares(model, ("lp", "cut", "mplp", "ad3", "ilp", "exact", "loopy_bp"))
    assert found["ilp"] == found["exact"] == 1.0
    assert found["loopy_bp"] is None  # it has no bound
    assert found["lp"] == found["cut"] > 0.5
    for name in ("mplp", "ad3"):
        assert 0.0 < found[name] <= 1.0
        assert found[name] == pytest.approx(found["lp"], abs=0.05)


def test_the_table_has_the_share(model):
    metrics, table = model.with_inference("lp").report(DEV)
    assert table.endswith(f"proved optimal: {metrics[PROVED]:.1%}")


def test_proofs_are_right(model):
    """Outputs that a relaxation proves optimal score as much as the exact ones."""
    relaxed, exact = model.with_inference("mplp"), model.with_inference("exact")
    equal = np.isclose(relaxed.scores(DEV), exact.scores(DEV), rtol=1e-9, atol=1e-9)
    assert relaxed.evaluate(DEV)[PROVED] <= equal.mean()


def test_clusters_report_the_share_before_tightening(model):
    """It is the share that the same inference proves without clusters; others do not report it."""
    plain = model.with_inference("mplp").evaluate(DEV)
    tight = model.with_inference("mplp", clusters=50)
    metrics, table = tight.report(DEV)
    assert PROVED_BEFORE not in plain
    assert metrics[PROVED_BEFORE] == plain[PROVED] <= metrics[PROVED]
    assert table.endswith(
        f"proved optimal: {metrics[PROVED]:.1%} (before tightening: {metrics[PROVED_BEFORE]:.1%})"
    )
    exact = model.with_inference("exact")
    if metrics[PROVED] == 1.0:
        np.testing.assert_allclose(tight.scores(DEV), exact.scores(DEV), rtol=1e-8)


def test_settings_of_the_inference_on_the_command_line(folder, capsys):
    words = ["evaluate", f"model={folder}", f"input={DEV}", "inference=mplp", "quiet=true"]
    assert main([*words, "inference.clusters=50"]) == 0
    assert "before tightening" in capsys.readouterr().out
    assert main([*words, "inference.cluster=50"]) == 2
    assert "no parameter 'cluster'. Did you mean 'clusters'?" in capsys.readouterr().err
