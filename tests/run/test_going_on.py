"""Training that goes on from the state of an earlier run: with the same data, with more, with new
labels and attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.config import registry, saved_config
from structopt.errors import ConfigError, ModelError
from structopt.formats import durable_files
from structopt.kernels.waist.record import Array
from structopt.run import history
from structopt.run.records import read_json
from tests.parts import gate_cases

pytestmark = pytest.mark.nightly("runs")

NER = ["task=ner", "tracker=none", "quiet=true"]
METHODS: dict[str, list[str]] = {
    "dca": [],
    "mira": [],
    "perceptron": [],
    "sgd": ["optimizer.eta=0.1", "optimizer.average=true"],
    "adagrad": ["optimizer.batch_size=3"],
    "adadelta": [],
    "pegasos": ["loss=svm", "optimizer.average=true"],
    "sdca": ["optimizer.average=true", "optimizer.sampling=gap"],
    "sdca loss=svm": [],
}
BOUND = {
    "lbfgs": "its steps are built from changes of one objective's gradient",
    "cutting_plane": "its planes are bounds of the losses of the data",
    "online_cutting_plane": "its planes are bounds of the losses of the data",
    "eg": "its potentials are of the outputs of the data",
    "smo": "its marginals are of the outputs of the data",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Sentences without ORG, others with many ORG, and both together."""
    folder = tmp_path_factory.mktemp("files")
    blocks = datasets.path("train", "conll").read_text().strip().split("\n\n")
    sentences = [block for block in blocks if "-DOCSTART-" not in block]
    old = [one for one in sentences if "ORG" not in one][:40]
    new = [one for one in sentences if "-ORG" in one][:40]
    found = {}
    for name, blocks in (("old", old), ("new", new), ("all", old + new)):
        found[name] = folder / f"{name}.txt"
        found[name].write_text("\n\n".join(blocks) + "\n\n")
    return found


@pytest.fixture(scope="module")
def run(files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of dca."""
    folder = tmp_path_factory.mktemp("run")
    structopt.train([*NER, f"task.train={files['old']}", "optimizer.epochs=2"], folder)
    return folder


def words_of(method: str) -> list[str]:
    return [*NER, "task.limit=25", *f"optimizer={method}".split(), *METHODS[method]]


@pytest.mark.parametrize("method", gate_cases(METHODS, "runs", ("dca", "adagrad")))
def test_going_on_with_the_same_data_is_one_run(method: str, tmp_path: Path) -> None:
    """1 + 2 passes are 3, to the bit; only the objective's last digit may differ."""
    words = words_of(method)
    whole = structopt.train([*words, "optimizer.epochs=3"], tmp_path / "whole")
    part = structopt.train([*words, "optimizer.epochs=1"], tmp_path / "part")
    rest = structopt.partial_fit(
        part, ["warm_start.state=all", "optimizer.epochs=2"], tmp_path / "rest"
    )
    np.testing.assert_array_equal(rest.weights, whole.weights)
    rows, all_rows = (history.read(tmp_path / name / "history.csv") for name in ("rest", "whole"))
    assert [row["epoch"] for row in rows] == [1, 2]
    assert [row["loss"] for row in rows] == [row["loss"] for row in all_rows[1:]]
    assert [row["primal"] for row in rows] == pytest.approx(
        [row["primal"] for row in all_rows[1:]], rel=1e-12
    )
    assert rest.trained is not None
    assert rest.trained.seen == 25
    if method.startswith("sdca"):  # from the folder: arrays over instances too
        start = ["optimizer.epochs=2", f"warm_start={tmp_path / 'part'}", "warm_start.state=all"]
        np.testing.assert_array_equal(
            structopt.train([*words, *start], tmp_path / "typed").weights, whole.weights
        )


def test_mixed_shards_go_on(files: Mapping[str, Path], tmp_path: Path) -> None:
    words = [*words_of("dca"), "executor=threads", "executor.workers=2", "executor.mixing=2"]
    whole = structopt.train([*words, "optimizer.epochs=3"], tmp_path / "whole")
    half = structopt.train([*words, "optimizer.epochs=1"], tmp_path / "half")
    for earlier, name in ((half, "rest"), (tmp_path / "half", "folder")):
        rest = structopt.partial_fit(
            earlier, ["optimizer.epochs=2", "warm_start.state=all"], tmp_path / name
        )
        np.testing.assert_array_equal(rest.weights, whole.weights)
    new = structopt.partial_fit(
        half, [f"task.train={files['new']}", "optimizer.epochs=1"], tmp_path / "new"
    )
    assert len(new.labels) > len(half.labels) or len(new.task.attribute_names()) > len(
        half.task.attribute_names()
    )


def by_name(model: structopt.Model, array: Array) -> dict[Any, float]:
    """The non-zero entries of an array over the weights, by part group, attribute and labels."""
    labels = model.labels
    named = {"label": labels, "transition": [(a, b) for a in labels for b in labels]}
    found = {}
    for group, table in model.scorer.tables_of(array).items():
        names = [*model.task.attribute_names(group), "constant"]
        for a, y in zip(*np.nonzero(table), strict=True):
            found[group, names[a], named[group][y]] = float(table[a, y])
    return found


@pytest.mark.parametrize("method", gate_cases(METHODS, "runs", ("dca", "adagrad")))
def test_old_weights_are_unmoved_by_a_new_label(
    method: str, files: Mapping[str, Path], tmp_path: Path
) -> None:
    """Averages, squares and weights append zeros: before any further pass all of the state is as it
    was, by name.
    """
    words = [word for word in words_of(method) if "limit" not in word]
    old = structopt.train(
        [*words, f"task.train={files['old']}", "optimizer.epochs=1"], tmp_path / "old"
    )
    new = structopt.partial_fit(
        old, [f"task.train={files['new']}", "optimizer.epochs=0"], tmp_path / "new"
    )
    assert set(new.labels) - set(old.labels) >= {"B-ORG", "I-ORG"}
    assert len(new.task.attribute_names()) > len(old.task.attribute_names())
    assert by_name(new, new.weights) == by_name(old, old.weights)
    assert old.trained is not None
    assert new.trained is not None
    optimizer = registry.create("optimizer", {"name": method.split()[0]})
    for name in optimizer.names("weights"):
        before, after = old.trained.state[name], new.trained.state[name]
        if len(before):
            assert by_name(new, after) == by_name(old, before)
    numbers = optimizer.names("numbers")
    assert numbers and all(new.trained.state[name] == old.trained.state[name] for name in numbers)
    assert new.trained.seen == 80


def f1_of(model: structopt.Model, path: Path, label: str) -> float:
    """F1 of the tokens of a label."""
    gold = [line.split()[-1] for line in path.read_text().splitlines() if line.strip()]
    predicted = [label for sentence in model.predict(path) for label in sentence]
    pairs = list(
        zip((one == label for one in gold), (one == label for one in predicted), strict=True)
    )
    return 2 * sum(a and b for a, b in pairs) / max(1, sum(a + b for a, b in pairs))


@pytest.mark.parametrize("method", gate_cases(["dca", "adagrad", "sdca loss=svm"], "runs", 1))
def test_a_new_label_is_learnt(method: str, files: Mapping[str, Path], tmp_path: Path) -> None:
    words = [word for word in words_of(method) if "limit" not in word]
    old = structopt.train(
        [*words, f"task.train={files['old']}", "optimizer.epochs=3"], tmp_path / "old"
    )
    assert f1_of(old, files["new"], "B-ORG") == 0.0
    new = structopt.partial_fit(
        old, [f"task.train={files['new']}", "optimizer.epochs=5"], tmp_path / "new"
    )
    assert f1_of(new, files["new"], "B-ORG") > 0.8
    assert f1_of(new, files["old"], "B-PER") > 0.8 * f1_of(old, files["old"], "B-PER")


def test_the_regulariser_counts_all_instances(
    files: Mapping[str, Path], run: Path, tmp_path: Path
) -> None:
    """C stays: lambda = 1/(C m) with m = 40 + 40, and then 40 + 40 + 80."""
    start = [*NER, f"task.train={files['new']}", "optimizer.epochs=0", f"warm_start={run}"]
    model = structopt.train([*start, "warm_start.state=new"], tmp_path / "new")
    structopt.train(start, tmp_path / "weights")
    metrics, alone = (
        read_json(tmp_path / name / "metrics.json")["train"] for name in ("new", "weights")
    )
    assert (metrics["instances"], metrics["instances_seen"]) == (40, 80)
    assert "instances_seen" not in alone
    C, square = saved_config.read(run)["optimizer"]["C"], float(model.weights @ model.weights)
    expected = alone["objective"] + (1 / (80 * C) - 1 / (40 * C)) * square / 2
    assert metrics["objective"] == pytest.approx(expected, rel=1e-12)
    structopt.partial_fit(model, [f"task.train={files['all']}"], tmp_path / "third")
    assert read_json(tmp_path / "third/metrics.json")["train"]["instances_seen"] == 160


@pytest.mark.parametrize(("loss", "tolerance"), [("crf", 1e-3), ("svm", 3e-2)])
def test_dual_variables_go_on_in_the_union(
    loss: str, tolerance: float, files: Mapping[str, Path], tmp_path: Path
) -> None:
    """Old instances, which have new labels now, and new ones: the certified optimum of a run over
    all from the start.
    """
    words = [
        *NER,
        f"loss={loss}",
        "optimizer=sdca",
        "optimizer.C=0.1",
        f"optimizer.tolerance={tolerance}",
        "optimizer.epochs=60",
    ]
    old = structopt.train([*words, f"task.train={files['old']}"], tmp_path / "old")
    more = [f"task.train={files['all']}", "warm_start.state=all"]
    structopt.partial_fit(old, more, tmp_path / "on")
    structopt.train([*words, f"task.train={files['all']}"], tmp_path / "whole")
    on, whole = (read_json(tmp_path / name / "metrics.json")["train"] for name in ("on", "whole"))
    assert max(one["gap"] / one["objective"] for one in (on, whole)) <= tolerance
    assert on["objective"] == pytest.approx(whole["objective"], rel=tolerance)
    duals = [row["dual"] for row in history.read(tmp_path / "on/history.csv")]
    assert duals == sorted(duals)


def test_new_instances_alone_have_no_certificate(files: Mapping[str, Path], tmp_path: Path) -> None:
    words = [*NER, "optimizer=sdca", "optimizer.epochs=2"]
    old = structopt.train([*words, f"task.train={files['old']}"], tmp_path / "old")
    new = structopt.partial_fit(old, [f"task.train={files['new']}"], tmp_path / "new")
    assert all(
        row["dual"] is None and row["gap"] is None
        for row in history.read(tmp_path / "new/history.csv")
    )
    with pytest.raises(
        ConfigError,
        match=r"new instances alone do not have: theta has a share of earlier ones\. Set it to 0",
    ):
        structopt.partial_fit(
            old, [f"task.train={files['new']}", "optimizer.tolerance=1e-2"], tmp_path / "a"
        )
    with pytest.raises(
        ConfigError,
        match=r"the dual variables of that state are not those of the first instances of these data",
    ):
        structopt.partial_fit(
            new, [f"task.train={files['all']}", "warm_start.state=all"], tmp_path / "b"
        )
    shuffled = tmp_path / "shuffled.txt"
    shuffled.write_text(
        "\n\n".join(reversed(files["old"].read_text().strip().split("\n\n"))) + "\n\n"
    )
    with pytest.raises(
        ConfigError, match=r"warm_start\.state=all: .* first instances of these data"
    ):
        structopt.partial_fit(
            old, [f"task.train={shuffled}", "warm_start.state=all"], tmp_path / "c"
        )


TASKS = {
    "dependency": ["factor_graph.labeled=true", "features.hash_bits=14", "features.label_bits=8"],
    "multiclass": [],
    "multilabel": ["optimizer=dlpw"],
    "attributes": ["optimizer=adagrad"],
}
FORMATS = {
    "dependency": "conllu",
    "multiclass": "libsvm",
    "multilabel": "multilabel",
    "attributes": "crfsuite",
}


@pytest.mark.parametrize("task", gate_cases(TASKS, "runs", ("multiclass",)))
def test_other_tasks(task: str, tmp_path: Path) -> None:
    """Relations, classes, labels of sets: the first instances lack one that the others have; no
    number of the state is lost.
    """
    text, lines = (
        datasets.path("train", FORMATS[task]).read_text(),
        FORMATS[task] in ("libsvm", "multilabel"),
    )
    blocks, mark = (
        text.strip().split("\n" if lines else "\n\n"),
        {"dependency": "\tobj\t", "attributes": "LOC"}.get(task, ""),
    )
    mark = mark or blocks[0].split()[0].partition(",")[0]
    has = [mark in (block.split()[0].split(",") if lines else block) for block in blocks]
    parts = [
        [b for b, one in zip(blocks, has, strict=True) if one == wanted][:30]
        for wanted in (False, True)
    ]
    paths = [tmp_path / "first", tmp_path / "second"]
    for path, part in zip(paths, parts, strict=True):
        path.write_text(("\n" if lines else "\n\n").join(part) + ("\n" if lines else "\n\n"))
    words = [f"task={task}", "tracker=none", "quiet=true", "objective_every=0", *TASKS[task]]
    old = structopt.train(
        [*words, "optimizer.epochs=1", f"task.train={paths[0]}"], tmp_path / "old"
    )
    new = structopt.partial_fit(
        old, [f"task.train={paths[1]}", "optimizer.epochs=0"], tmp_path / "new"
    )
    assert set(old.labels) < set(new.labels)
    assert old.trained is not None
    assert new.trained is not None
    for name, array in old.trained.state.items():
        if isinstance(array, np.ndarray):
            np.testing.assert_array_equal(
                *(np.sort(one[one != 0]) for one in (array, new.trained.state[name]))
            )
    if task != "multilabel":  # whose scores are over all labels that it knows
        assert new.evaluate(paths[0]) == old.evaluate(paths[0])
    after = structopt.partial_fit(new, ["optimizer.epochs=1"], tmp_path / "after")
    assert np.count_nonzero(after.weights) > np.count_nonzero(new.weights)


def test_rules_of_a_grammar_append(tmp_path: Path) -> None:
    trees = [
        line for line in datasets.path("train", "ptb").read_text().splitlines() if line.strip()
    ]
    paths = [tmp_path / "first.mrg", tmp_path / "second.mrg"]
    for path, part in zip(paths, (trees[:12], trees[12:24]), strict=True):
        path.write_text("\n".join(part) + "\n")
    words = ["task=constituency", "tracker=none", "quiet=true", "objective_every=0"]
    old = structopt.train(
        [*words, "optimizer.epochs=1", f"task.train={paths[0]}"], tmp_path / "old"
    )
    new = structopt.partial_fit(
        old, [f"task.train={paths[1]}", "optimizer.epochs=0"], tmp_path / "new"
    )
    rules, more = (set(one.graph.configuration_names("rule")) for one in (old, new))
    assert rules < more
    np.testing.assert_array_equal(*(np.sort(one.weights[one.weights != 0]) for one in (old, new)))


REFUSED = {
    "optimizer=sgd": r"is of optimizer=dca, and this run has optimizer=sgd\. Set optimizer=dca, or "
    r"warm_start\.state=none",
    "optimizer.C=3": r"is of optimizer\.C=0\.1, and this run has optimizer\.C=3\.0\. Set optimizer\.C=0\.1",
    "factor_graph.order=2": r"is of factor_graph\.order=1, and this run has factor_graph\.order=2",
    "features.templates=[word]": r"is of features\.templates=\[.*\], and this run has features\.templates=\[word\]",
    "loss.gamma=1": r"is of loss\.gamma=0\.0, and this run has loss\.gamma=1\.0",
    "task=chunking": r"is of task=ner, and this run has task=chunking",
    "warm_start.vocabulary=new": r"keeps all that the earlier model knows\. Leave warm_start\.vocabulary=union",
    "task.limit=5": r"has seen 40 instances, and the training data have 5\. Give all that it has seen",
    **{f"optimizer={name}": reason for name, reason in BOUND.items()},
}


@pytest.mark.parametrize("word", REFUSED)
def test_refused(word: str, files: Mapping[str, Path], run: Path, tmp_path: Path) -> None:
    words = [*NER, f"task.train={files['old']}", f"warm_start={run}", "warm_start.state=all", word]
    words += ["loss=svm"] * (
        word.startswith("optimizer=") and "cutting" in word or word == "optimizer=smo"
    )
    with pytest.raises(ConfigError, match=REFUSED[word]) as error:
        structopt.train(words, tmp_path / "refused")
    assert str(error.value).startswith("warm_start.state=all")
    if word.split("=")[1] in BOUND:
        assert (
            "Set warm_start.state=none to start from the weights alone, or take an optimizer "
            "that can: adadelta, ad" in str(error.value)
        )


def test_what_has_no_state(files: Mapping[str, Path], run: Path, tmp_path: Path) -> None:
    start = [*NER, f"task.train={files['old']}", "warm_start.state=new"]
    with pytest.raises(
        ConfigError,
        match=r"is a model, which has weights only\. Give a run folder, with model/ and checkpoint/",
    ):
        structopt.train([*start, f"warm_start={run / 'model'}"], tmp_path / "a")
    with pytest.raises(ConfigError, match=r"is no folder of a run that was trained"):
        structopt.train([*start, f"warm_start={tmp_path / 'nowhere'}"], tmp_path / "a")
    with pytest.raises(
        ConfigError, match=r"warm_start\.state=new needs a model: set warm_start=MODEL too"
    ):
        structopt.train(start, tmp_path / "a")
    with pytest.raises(ConfigError, match=r"goes on from a run, and warm_start=counts names none"):
        structopt.train([*start, "warm_start=counts"], tmp_path / "a")
    with pytest.raises(
        ConfigError,
        match=r"this model has weights only\. Give the folder of the run that trained it",
    ):
        structopt.partial_fit(structopt.load(run))
    with pytest.raises(
        ConfigError,
        match=r"'features\.min_count=2' is refused: .* Leave it out, or train anew\. What may be",
    ):
        structopt.partial_fit(run, ["features.min_count=2"])


def test_states_of_other_versions(run: Path, files: Mapping[str, Path], tmp_path: Path) -> None:
    """An entry that is missing, and a state that is not the model's."""
    import shutil

    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    file = folder / "checkpoint/state.safetensors"
    arrays, notes = durable_files.read_arrays(file)
    notes.pop("checksum")
    durable_files.write_arrays(
        file, arrays, {**notes, "scalars": {"visits": notes["scalars"]["visits"]}}
    )
    with pytest.raises(
        ModelError,
        match=r"is of another version of the optimizer: its entry 'epoch' is not as this one",
    ):
        structopt.partial_fit(folder, [f"task.train={files['new']}"], tmp_path / "a")
    moved = {**arrays, "theta": arrays["theta"] + 1.0}
    durable_files.write_arrays(file, moved, {**notes, "checksums": {}})
    with pytest.raises(
        ModelError,
        match=r"not a state to go on from: its weights are not those of the model beside it",
    ):
        structopt.partial_fit(folder, [f"task.train={files['new']}"], tmp_path / "a")
    without = {name: value for name, value in notes.items() if name != "seen"}
    durable_files.write_arrays(file, arrays, without)  # as earlier versions wrote it
    new = structopt.partial_fit(
        folder, [f"task.train={files['new']}", "optimizer.epochs=1"], tmp_path / "b"
    )
    assert new.trained is not None
    assert new.trained.seen == 80


def test_a_run_that_goes_on_is_resumed(
    run: Path, files: Mapping[str, Path], tmp_path: Path
) -> None:
    """With the same lambda, to the same bits."""
    from structopt.run import stages

    words = [*NER, f"task.train={files['new']}", f"warm_start={run}", "warm_start.state=new"]
    whole = structopt.train([*words, "optimizer.epochs=3"], tmp_path / "whole")
    structopt.train([*words, "optimizer.epochs=1"], tmp_path / "part")
    rest = stages.resume(tmp_path / "part", ["optimizer.epochs=3"])
    np.testing.assert_array_equal(rest.weights, whole.weights)
    assert (
        history.read(tmp_path / "part/history.csv")[-1]["primal"]
        == history.read(tmp_path / "whole/history.csv")[-1]["primal"]
    )
