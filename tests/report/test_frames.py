"""Runs and their histories as tables of pandas."""

import shutil

import pytest

import structopt as so


def test_a_run(trained):
    folder = trained("ner")
    table = so.runs(folder)
    assert list(table["folder"]) == [str(folder)]
    assert table.loc[0, "task.name"] == "ner"
    assert 0 <= table.loc[0, "dev.f1"] <= 100
    epochs = so.history(folder)
    assert list(epochs["epoch"]) == list(range(1, len(epochs) + 1))
    assert epochs["seconds"].is_monotonic_increasing


def test_cells_that_were_not_evaluated_are_missing(trained, tmp_path):
    shutil.copytree(trained("ner"), tmp_path / "run")
    (tmp_path / "run/history.csv").write_text("epoch,primal\n1,2.0\n2,0.0\n3,\n4,1.5\n")
    primal = so.history(tmp_path / "run")["primal"]
    assert primal.isna().tolist() == [False, False, True, False]
    assert primal.mean() == pytest.approx(3.5 / 3)


def test_no_run(tmp_path):
    for table in (so.runs, so.history):
        with pytest.raises(so.StructoptError, match="not the folder of a run"):
            table(tmp_path)
