"""Models of arrays: saved, loaded, and applied to other batches."""

import json
import re

import numpy as np
import pytest
import scipy.sparse

import structopt as so
from structopt.inference.exact import Exact
from structopt.optimizer.dca import DCA
from tests.messages import raises


class Careful(Exact):
    """An inference without a registered name."""

    def __init__(self, care: int = 1) -> None:
        super().__init__()
        self.care = care


def fitted(inference=None, features=None):
    rng = np.random.default_rng(0)
    chain = so.LinearChain().batch(lengths=[3, 5, 2], labels=["a", "b", "c"], forbidden=[(0, 1)])
    x = {"label": rng.normal(size=(10, 4))} if features is None else None
    gold = chain.gold([0, 2, 1, 1, 0, 0, 2, 2, 1, 1])
    problem = so.Problem(chain, x, gold, so.CRF(), 0.5, inference, features)
    return so.fit(problem, DCA(), epochs=2).model()


def test_round_trip(tmp_path):
    model, x = fitted(), {"label": np.random.default_rng(1).normal(size=(6, 4))}
    model.save(tmp_path)
    loaded = so.load(tmp_path)
    assert loaded.coef["label"].tobytes() == model.coef["label"].tobytes()
    ours, theirs = model.predict(x, lengths=[4, 2]), loaded.predict(x, lengths=[4, 2])
    assert ours["labels"].tolist() == theirs["labels"].tolist()
    assert ours.score.tobytes() == theirs.score.tobytes()
    assert loaded.scores(x, lengths=[4, 2]).batch.encoded.forbidden_transitions == ((0, 1),)
    with pytest.raises(ValueError, match="read-only"):
        loaded.coef["label"][0] = 1.0


def test_a_sparse_map_is_given_again(tmp_path):
    A = scipy.sparse.random_array((57, 5), density=0.4, random_state=0).tocsr()
    chain = so.LinearChain().batch(lengths=[3, 5, 2], labels=3)
    assert int(chain.offsets[-1]) == 57
    model = fitted(features=so.SparseMap(A))
    model.save(tmp_path)
    loaded = so.load(tmp_path)
    scores = loaded.scores(features=so.SparseMap(A), lengths=[3, 5, 2])
    assert scores.flat == pytest.approx(A @ model.weights)
    with raises(so.ArgumentError, match="must be given", parameter="features"):
        loaded.predict(lengths=[3, 5, 2])


def test_unregistered_classes_are_passed(tmp_path):
    """Loading runs no code of the folder: it has a name, and the caller has the class."""
    fitted(Careful(3)).save(tmp_path)
    with raises(
        so.StructoptError,
        match="needs the class Careful",
        remedy="Give it: structopt.load(folder, components=[Careful]).",
    ):
        so.load(tmp_path)
    assert so.load(tmp_path, components=[Careful]).inference.care == 3


def test_commands_refuse_it(tmp_path, capsys):
    from structopt.command.main import main

    fitted().save(tmp_path / "model")
    (tmp_path / "input.txt").write_text("Oslo NNP B-NP\n")
    files = [f"{key}={tmp_path}/{key}" for key in ("model", "output")]
    assert main(["predict", *files, f"input={tmp_path}/input.txt"]) == 2
    assert "is a model of arrays, which has no task" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("config.json", {"inference": {"name": "exakt"}}, "exakt"),
        ("config.json", {"factor_graph": {"name": "linear_chain", "order": 0}}, "order"),
        ("config.json", {"arrays": {"options": {}}}, "features"),
        ("vocabulary.json", {"features": {"name": "attribute_rows"}}, "groups"),
        ("vocabulary.json", {}, "features"),
    ],
)
def test_altered_folders_are_one_message(tmp_path, file, change, words):
    from structopt.core.data import file_sets

    fitted().save(tmp_path)
    path = tmp_path / file
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | change if change else change))
    with pytest.raises(so.StructoptError, match="altered"):
        so.load(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["sha256"][file] = file_sets.digest(path)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(so.StructoptError, match=re.escape(words)):
        so.load(tmp_path)
