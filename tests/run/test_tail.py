"""The end of the training file as the dev split: its size and order, what is learnt without it, and
what is refused.
"""

import json

import numpy as np
import pytest

from structopt import datasets
from structopt.command.main import main
from structopt.config import feature_keys
from structopt.config.composition import compose
from structopt.config.validation import validate
from structopt.core.data.in_memory import InMemory
from structopt.core.data.splits import SplitPath, divided, with_tail
from structopt.core.task import Task
from structopt.errors import ConfigError
from structopt.run.components import make_components
from structopt.testing.task import assert_same
from tests.parts import gate_cases

pytestmark = pytest.mark.nightly("runs")

TASKS = (
    "ner",
    "attributes",
    "dependency",
    "constituency",
    "multilabel",
    "multiclass",
    "coreference",
    "summarization",
    "grid",
    "synthetic",
)


def components(*words):
    return make_components(validate(compose([*words, "tracker=none"])))


@pytest.mark.parametrize("name", gate_cases(TASKS, "runs", ("ner", "multilabel")))
def test_the_last_fifth_is_the_dev_split_and_the_rest_is_learnt_alone(name):
    of = components(f"task={name}", "tail=0.2")
    task, path = of.task, of.task.files["train"]
    whole = task.read(path)
    first = len(whole) - round(len(whole) / 5)
    fitted, alone = (
        task.fit(of.read("train")),
        feature_keys.task_of(validate(compose([f"task={name}"]))),
    )
    assert len(of.read("train")) == first
    assert_same(fitted, alone.fit(alone.read(path, first)))  # nothing of the tail is known
    tail, encoded = of.read("dev"), task.encode(whole)
    assert len(tail) == len(whole) - first
    if name != "summarization":  # whose sentences are compared with those of the whole corpus
        assert_same(task.encode(tail), encoded.subset(first, len(whole)))


@pytest.mark.parametrize("name", gate_cases(TASKS, "runs", ("ner", "multilabel")))
def test_the_tail_is_scored_as_its_instances_are_in_the_whole(name):
    """Gold of the tail against gold in another order: the counts of its instances are those of the
    whole corpus.
    """
    task = components(f"task={name}", "tail=0.2").task
    whole = task.read(task.files["train"], limit=20)
    task.fit(whole)
    tail = task.subset(whole, 16, 20)
    assert len(tail) == 4
    assert len(task.encode(tail)) == 4
    np.testing.assert_array_equal(
        np.diff(task.encode(tail).offsets), np.diff(task.encode(whole).offsets)[16:]
    )


def test_the_tail_of_an_archive_s_treebank(tmp_path):
    import tarfile

    text = datasets.path("train", "ptb").read_text()
    with tarfile.open(tmp_path / "trees.tar.gz", "w:gz") as archive:
        for number in (1, 2):
            (tmp_path / f"wsj_{number}.mrg").write_text(text)
            archive.add(tmp_path / f"wsj_{number}.mrg", f"wsj_{number}.mrg")
    of = components("task=constituency", f"task.train={tmp_path}/trees.tar.gz", "tail=0.5")
    train, dev = of.read("train"), of.read("dev")
    assert train.words == dev.words
    assert train.tags == dev.tags
    assert "test" not in of.files


def test_the_limit_is_of_what_the_tail_leaves():
    of = components("task=ner", "tail=0.2", "task.limit=7")
    assert len(of.read("train")) == 7
    assert of.read("dev").lines[0] > of.read("train").lines[-1]


def test_the_former_dev_split_is_the_test_split(tmp_path):
    words = [f"task.{split}={datasets.path(split, 'conll')}" for split in ("train", "dev")]
    of = components(*words, "tail=0.2")
    assert of.files["test"] == datasets.path("dev", "conll")
    assert str(of.files["dev"]).endswith("train.conll#dev")
    run = [
        *words,
        "tail=0.2",
        "tracker=none",
        "task.limit=40",
        "optimizer.epochs=2",
        f"hydra.run.dir={tmp_path}",
    ]
    assert main([*run, "test_curve=true"]) == 0
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert {"dev", "test"} <= set(metrics)
    header, *_, last = (tmp_path / "history.csv").read_text().splitlines()
    assert float(last.split(",")[header.split(",").index("test.f1")]) == metrics["test"]["f1"]


def test_without_test_curve_the_history_has_no_test_scores(tmp_path):
    assert (
        main(
            [
                "tail=0.2",
                "tracker=none",
                "task.limit=40",
                "optimizer.epochs=1",
                f"hydra.run.dir={tmp_path}",
            ]
        )
        == 0
    )
    assert "test." not in (tmp_path / "history.csv").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tail=1.5"], "tail=1.5 must be more than 0 and less than 1"),
        (["tail=0"], "tail=0.0 must be more than 0"),
        (
            ["task=grid", "task.train=a.npz", "task.dev_share=0.2", "tail=0.2"],
            "is one already. Leave out one of the two",
        ),
    ],
)
def test_shares_that_are_refused(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez(
        tmp_path / "a.npz",
        pixels=np.zeros((2, 1)),
        shapes_x=np.ones((2, 2), int),
        labels=np.zeros(2, int),
    )
    with pytest.raises(ConfigError, match=message):
        components(*words)


def test_parts_without_instances_are_refused():
    assert divided(10, 0.2) == 8
    with pytest.raises(ConfigError):
        divided(2, 0.2)


def test_disk_and_memory_are_refused(capsys):
    assert main(["tail=0.2", "storage=disk", "tracker=none"]) == 2
    assert "and tail takes a part of them apart. Set storage=memory." in capsys.readouterr().err
    with pytest.raises(
        ConfigError, match="tail=0.2 divides training files, and the data are in memory"
    ):
        make_components(
            validate(compose(["tail=0.2", "tracker=none"])), {"train": InMemory([["a"]], [["B"]])}
        )


def test_a_task_that_cannot_divide_its_data_says_so():
    assert Task.subset(None, [1, 2, 3], 1, 3) == [2, 3]
    with pytest.raises(
        ConfigError, match=r"cannot be divided. Give `dev` and `test`, and leave out `tail`."
    ):
        Task.subset(None, object(), 0, 1)


def test_a_generated_split_has_a_tail():
    assert with_tail({"train": SplitPath("train"), "dev": 1}, 0.2) == {
        "train": SplitPath("train"),
        "dev": SplitPath("dev"),
        "test": 1,
    }
