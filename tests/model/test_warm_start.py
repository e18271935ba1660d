"""The weights of an earlier model as a start, and its vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.core.data.saved_state import SavedState
from structopt.errors import ConfigError
from structopt.run import history
from tests.parts import gate_cases

QUICK = ["task=ner", "task.limit=60", "tracker=none"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    structopt.train([*QUICK, "optimizer.epochs=3"], folder)
    return folder


@pytest.mark.nightly("rest")
def test_same_data(run: Path, tmp_path: Path) -> None:
    start = structopt.train([*QUICK, "optimizer.epochs=0", f"warm_start={run}"], tmp_path / "zero")
    np.testing.assert_array_equal(start.weights, structopt.load(run).weights)
    structopt.train([*QUICK, "optimizer.epochs=1", f"warm_start={run / 'model'}"], tmp_path / "one")
    assert (
        history.read(tmp_path / "one/history.csv")[0]["loss"]
        < 0.5 * history.read(run / "history.csv")[0]["loss"]
    )


def named(model: structopt.Model) -> dict[tuple[str, str, int], float]:
    """Non-zero weights by part group, attribute name and configuration number."""
    found = {}
    for group, block in model.scorer.tables_of(model.weights).items():
        names = [*model.task.attribute_names(group), ""]
        found |= {
            (group, names[a], int(y)): float(block[a, y])
            for a, y in zip(*np.nonzero(block), strict=True)
        }
    return found


def test_matched_by_name(run: Path, tmp_path: Path) -> None:
    """Other words, one label new and others gone: what both have is carried over, and no more."""
    text = (
        "Oslo NNP B-NP B-LOC\n, , O O\nZq NNP B-NP B-NEW\n\nJan NNP B-NP B-PER\nslept VBD B-VP O\n"
    )
    (tmp_path / "train.txt").write_text(text)
    words = [
        *QUICK,
        "optimizer.epochs=0",
        f"task.train={tmp_path / 'train.txt'}",
        f"warm_start={run}",
    ]
    words += ["warm_start.vocabulary=new"]
    old, new = structopt.load(run), structopt.train(words, tmp_path / "run")
    assert new.labels == ("B-LOC", "B-NEW", "B-PER", "O")
    before, after = named(old), named(new)
    label = {(a, new.labels[y]): w for (group, a, y), w in after.items() if group == "label"}
    known = {(a, old.labels[y]): w for (group, a, y), w in before.items() if group == "label"}
    assert label and set(label) <= set(known)
    assert all(w == known[key] for key, w in label.items())
    assert not any(name == "B-NEW" for _, name in label)
    L, K = len(new.labels), len(old.labels)
    pairs = {
        (new.labels[y // L], new.labels[y % L]): w
        for (group, _, y), w in after.items()
        if group == "transition"
    }
    past = {
        (old.labels[y // K], old.labels[y % K]): w
        for (group, _, y), w in before.items()
        if group == "transition"
    }
    assert pairs == {key: w for key, w in past.items() if set(key) <= set(new.labels)}
    assert pairs


@pytest.mark.nightly("runs")
@pytest.mark.parametrize("task", ["multilabel", "synthetic"])
def test_graphs_whose_variables_have_weights_of_their_own(task: str, tmp_path: Path) -> None:
    """The width of their parts is no power of the number of states."""
    quick = [f"task={task}", "task.limit=20", "tracker=none", "optimizer=dlpw"]
    model = structopt.train([*quick, "optimizer.epochs=1"], tmp_path / "run")
    start = structopt.train(
        [*quick, "optimizer.epochs=0", f"warm_start={tmp_path / 'run'}"], tmp_path / "zero"
    )
    np.testing.assert_array_equal(start.weights, model.weights)


@pytest.mark.nightly("runs")
def test_fewer_labels(tmp_path: Path) -> None:
    """What the kept labels and the edges between them have is carried over."""
    quick = ["task=multilabel", "task.limit=60", "tracker=none", "optimizer=dlpw"]
    model = structopt.train([*quick, "optimizer.epochs=1"], tmp_path / "run")
    few = [*quick, "task.most_frequent=3", "optimizer.epochs=0", f"warm_start={tmp_path / 'run'}"]
    start = structopt.train(few, tmp_path / "few")
    assert len(start.task.names) == 3 < len(model.task.names)
    kept = [model.task.names.index(name) for name in start.task.names]
    blocks = [
        one.weights[: len(one.task.attribute_names()) * 2 * len(one.task.names)]
        for one in (model, start)
    ]
    tables = [
        block.reshape(-1, len(one.task.names), 2)
        for block, one in zip(blocks, (model, start), strict=True)
    ]
    np.testing.assert_array_equal(tables[1], tables[0][:, kept])


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """The shipped training files in two parts, of other sentences, without the labels LOC and the
    relation obj in the second.
    """
    folder, found = tmp_path_factory.mktemp("halves"), {}
    for name, mark in (("conll", "LOC"), ("conllu", "\tobj\t"), ("crfsuite", "LOC")):
        blocks = datasets.path("train", name).read_text().strip().split("\n\n")
        first, rest = blocks[:120], [block for block in blocks[120:] if mark not in block][:120]
        paths = folder / f"first.{name}", folder / f"second.{name}"
        for path, part in zip(paths, (first, rest), strict=True):
            path.write_text("\n\n".join(part) + "\n\n")
        found[name] = paths
    for name in ("libsvm", "multilabel"):
        lines = datasets.path("train", name).read_text().splitlines(keepends=True)
        gone = lines[0].split()[0].partition(",")[0]
        rest = [line for line in lines[60:] if gone not in line.split()[0].split(",")][:60]
        paths = folder / f"first.{name}", folder / f"second.{name}"
        for path, part in zip(paths, (lines[:60], rest), strict=True):
            path.write_text("".join(part))
        found[name] = paths
    return found


TASKS = {
    "ner": ("conll", ["features.transitions=[bias,word]"]),
    "attributes": ("crfsuite", []),
    "dependency": (
        "conllu",
        ["factor_graph.labeled=true", "features.hash_bits=16", "features.label_bits=10"],
    ),
    "multiclass": ("libsvm", []),
    "multilabel": ("multilabel", ["optimizer=dlpw"]),
}


@pytest.mark.parametrize("task", gate_cases(TASKS, "runs", ("ner",)))
def test_the_vocabulary_is_kept(
    task: str, halves: dict[str, tuple[Path, Path]], tmp_path: Path, caplog: Any
) -> None:
    """Started on other data and not trained, the model answers on the old data as before; the
    counts are said.
    """
    name, more = TASKS[task]
    words = [f"task={task}", "tracker=none", "objective_every=0", *more]
    first, second = halves[name]
    old = structopt.train([*words, "optimizer.epochs=2", f"task.train={first}"], tmp_path / "old")
    again = [*words, "optimizer.epochs=0", f"task.train={second}", f"warm_start={tmp_path / 'old'}"]
    structopt.train(again, tmp_path / "new")
    new = structopt.load(tmp_path / "new")
    before, after = (
        [sorted(map(str, out)) for out in one.best_outputs(one.examples(one.task.read(first)))]
        for one in (old, new)
    )
    assert after == before
    if task != "multilabel":  # whose scores are over all labels that it knows
        assert new.evaluate(first) == old.evaluate(first)
    assert set(old.task.vocabulary()["labels"]) <= set(new.task.vocabulary()["labels"])
    assert set(old.task.attribute_names()) <= set(new.task.attribute_names())
    assert np.count_nonzero(new.weights) == np.count_nonzero(old.weights)
    (said,) = [
        record.getMessage()
        for record in caplog.records
        if record.getMessage().startswith("warm start: ")
    ]
    assert f"; {np.count_nonzero(old.weights)} weights carried over" in said
    labels = len(old.task.vocabulary()["labels"])
    assert f"{labels} labels of the model and " in said
    if old.task.attribute_names():
        before, after = (set(one.task.attribute_names()) for one in (old, new))
        assert len(after - before) > 0
    else:
        before, after = (one.task.vocabulary()["values"] for one in (old, new))
        assert f"{len(before)} values of the model and {len(after) - len(before)} new" in said


@pytest.mark.nightly("runs")
def test_old_data_after_training_on_new(
    halves: dict[str, tuple[Path, Path]], tmp_path: Path
) -> None:
    """What is known of the old data survives training on others far better with the union than
    without.
    """
    words = ["task=ner", "tracker=none", "objective_every=0", "optimizer.epochs=2"]
    first, second = halves["conll"]
    old = structopt.train([*words, f"task.train={first}"], tmp_path / "old")
    start = [*words, f"task.train={second}", f"warm_start={tmp_path / 'old'}"]
    union = structopt.train(start, tmp_path / "union")
    new = structopt.train([*start, "warm_start.vocabulary=new"], tmp_path / "new")
    f1 = {
        name: structopt.load(tmp_path / name).evaluate(first)["f1"]
        for name in ("old", "union", "new")
    }
    assert f1["new"] < f1["union"] <= f1["old"]
    assert "B-LOC" in union.labels
    assert "B-LOC" not in new.labels
    assert len(union.task.attribute_names()) > max(
        len(one.task.attribute_names()) for one in (old, new)
    )


@pytest.mark.nightly("runs")
def test_the_support_grows(halves: dict[str, tuple[Path, Path]], tmp_path: Path) -> None:
    """A weight that could move in the earlier model can move in the new one, even where it was
    zero.
    """
    words = ["task=attributes", "tracker=none", "objective_every=0", "optimizer.epochs=0"]
    first, second = halves["crfsuite"]
    old = structopt.train([*words, f"task.train={first}"], tmp_path / "old")
    new = structopt.train(
        [*words, f"task.train={second}", f"warm_start={tmp_path / 'old'}"], tmp_path / "new"
    )
    alone = structopt.train([*words, f"task.train={second}"], tmp_path / "alone")
    assert new.scorer.count > max(old.scorer.count, alone.scorer.count)
    before, after = (
        dict(
            zip(
                one.task.attribute_names(),
                one.scorer.tables_of(one.scorer.support)["label"],
                strict=True,
            )
        )
        for one in (old, new)
    )
    places = [new.labels.index(label) for label in old.labels]
    assert all((after[name][places] >= row).all() for name, row in before.items())


@pytest.mark.nightly("runs")
def test_old_values_keep_their_codes(halves: dict[str, tuple[Path, Path]], tmp_path: Path) -> None:
    words = [
        "task=dependency",
        "task.missing=pad",
        "tracker=none",
        "optimizer.epochs=1",
        "objective_every=0",
        "features.hash_bits=14",
    ]
    first, second = halves["conllu"]
    old = structopt.train([*words, f"task.train={first}"], tmp_path / "old")
    new = structopt.train(
        [*words, f"task.train={second}", f"warm_start={tmp_path / 'old'}"], tmp_path / "new"
    )
    sentences = [{"form": ["The", "man", "sleeps"], "upos": ["DET", "NOUN", "VERB"]}]
    for a, b in zip(old.task._columns._codes, new.task._columns._codes, strict=True):
        assert list(b)[: len(a)] == list(a)
        assert all(b[value] == code for value, code in a.items())
        assert list(b.values()) == list(range(1, len(b) + 1))
    assert any(
        len(b) > len(a)
        for a, b in zip(old.task._columns._codes, new.task._columns._codes, strict=True)
    )
    assert len(structopt.load(tmp_path / "new").predict(sentences)[0]) == 3
    with pytest.raises(
        ConfigError, match="hashed weights stand where the numbers of the values put them"
    ):
        start = [
            f"task.train={second}",
            f"warm_start={tmp_path / 'old'}",
            "warm_start.vocabulary=new",
        ]
        structopt.train([*words, *start], tmp_path / "refused")


def test_templates_keep_attributes_whose_keys_were_renumbered() -> None:
    """Conjunctions whose keys would not fit 62 bits, over vocabularies that grow."""
    from structopt.templates import column_templates

    def columns(words: int, seed: int) -> tuple[dict[str, list[str]], Any]:
        drawn = np.random.default_rng(seed).integers(0, words, 400) + seed * words // 2
        return {"word": [f"w{n}" for n in drawn]}, np.arange(0, 401, 10)

    texts = [
        "bias",
        "word",
        "word[-1] & word",
        "word[-2] & word[-1] & word & word[1] & word[2] & word[3] & word[4] & word[5]",
    ]
    first, second = columns(300, 0), columns(300, 1)
    old, new = (
        column_templates.FeatureTemplates(texts),
        column_templates.FeatureTemplates(texts, min_count=2),
    )
    old.fit(*first)
    table = new.fit(*second, old)
    assert old._learnt[-1].prefixes
    before, after = set(old.describe(range(old.size))), new.describe(range(new.size))
    assert before <= set(after) and len(set(after)) == len(after)
    names = [
        [after[j] for j in sorted(row)]
        for row in np.split(new.transform(*first).ids, new.transform(*first).offsets[1:-1])
    ]
    known = old.transform(*first)
    was = [[old.describe([j])[0] for j in row] for row in np.split(known.ids, known.offsets[1:-1])]
    assert all(set(a) <= set(b) for a, b in zip(was, names, strict=True))
    assert_same_table(table, new.transform(*second))
    restored = column_templates.FeatureTemplates.restore(SavedState(*new.state()))
    assert_same_table(restored.transform(*first), new.transform(*first))


def assert_same_table(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.offsets, other.offsets)
    np.testing.assert_array_equal(one.ids, other.ids)


def test_standardised_columns_keep_their_means() -> None:
    from structopt.formats.vectors.labelled_vectors import LabelledVectors
    from structopt.task.vector_attributes import AttributeColumns

    def vectors(names: list[str], values: list[list[float]]) -> LabelledVectors:
        n, k = len(values), len(names)
        return LabelledVectors(
            "x",
            np.arange(n + 1) * k,
            names,
            np.tile(np.arange(k), n),
            np.ravel(values),
            None,
            (),
            False,
        )

    old, new = AttributeColumns(standardize="columns"), AttributeColumns(standardize="columns")
    old.fit(vectors(["1", "2"], [[1.0, 2.0], [3.0, 6.0]]))
    new.fit(vectors(["2", "3"], [[9.0, 1.0], [5.0, 2.0]]), old)
    assert list(new.numbers) == ["1", "2", "3"]
    np.testing.assert_array_equal(new.means[:2], old.means)
    np.testing.assert_array_equal(new.deviations[:2], old.deviations)


def test_images_keep_labels_and_colours(tmp_path: Path) -> None:
    from structopt.formats.labelled_images import Image, images_of
    from structopt.task.grid import Grid

    def images(colour: int, label: int) -> Any:
        return images_of([Image(np.full((2, 2, 1), colour), np.full((2, 2), label, np.int32))] * 3)

    old, new = Grid(), Grid()
    old.fit(images(7, 3))
    new.fit(images(5, 10), old)
    assert new.labels == ("3", "10")
    assert set(old.attribute_names()) < set(new.attribute_names())


def test_both_keys_are_typed(run: Path, tmp_path: Path) -> None:
    """In either order, as `++`, and in the config of a run of version 0.1.0, which dropped what the
    data lacked.
    """
    from structopt.config import composition, saved_config, validation

    expected = {"model": "M", "vocabulary": "new", "state": "none"}
    for words in (
        ["warm_start=M", "warm_start.vocabulary=new"],
        ["warm_start.vocabulary=new", "++warm_start=M"],
    ):
        assert validation.validate(composition.compose(words))["warm_start"] == expected
    assert (
        validation.validate(composition.compose(["warm_start=null"]))["warm_start"]["model"] is None
    )
    assert (
        validation.validate(composition.compose(["warm_start={model: M}"]))["warm_start"][
            "vocabulary"
        ]
        == "union"
    )
    (tmp_path / ".hydra").mkdir()
    text = (run / ".hydra/config.yaml").read_text()
    node = "warm_start:\n  model: null\n  vocabulary: union\n  state: none\n"
    assert node in text
    nothing = {"model": None, "vocabulary": "union", "state": "none"}
    for old, wanted in (("warm_start: M\n", expected), ("warm_start: null\n", nothing)):
        (tmp_path / ".hydra/config.yaml").write_text(text.replace(node, old))
        assert saved_config.read(tmp_path)["warm_start"] == wanted


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["warm_start.vocabulary=new"],
            "warm_start.vocabulary=new needs a model: set warm_start=MODEL too.",
        ),
        (
            ["warm_start=M", "warm_start.vocabulary=old"],
            "warm_start.vocabulary=old is none of: union, new.",
        ),
    ],
)
def test_refused(words: list[str], text: str) -> None:
    from structopt.config import composition, validation

    with pytest.raises(ConfigError) as refused:
        validation.validate(composition.compose(words))
    assert str(refused.value) == text


def test_yaml_names_the_key(run: Path) -> None:
    from structopt.config import saved_config, validation

    with pytest.raises(
        ConfigError, match="in YAML write 'warm_start: {model: PATH}'; set warm_start=PATH"
    ):
        validation.validate({**saved_config.read(run), "warm_start": "M"})


def test_another_task_s_model(run: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=r"\(SequenceLabelling\) is not this one \(AttributeLabelling\), so its vocabulary "
        r"cannot",
    ):
        structopt.train(
            ["task=attributes", "tracker=none", "task.limit=5", f"warm_start={run}"], tmp_path
        )


def test_labels_of_another_scheme(run: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="that model's labels are of the scheme iob2, and these of bioes"
    ):
        structopt.train([*QUICK, "task.target_scheme=bioes", f"warm_start={run}"], tmp_path)


def test_in_sweeps_and_experiments(run: Path, tmp_path: Path) -> None:
    """The short form is spelled out wherever overrides are listed."""
    from structopt.config.overrides import spelled_out
    from structopt.sweep.experiment_plan import Plan

    typed = [
        "warm_start=a,b",
        "+warm_start=a",
        "inference.warm_start=true",
        "-m",
        "warm_start={model: a}",
    ]
    assert spelled_out(typed) == ["warm_start.model=a,b", "+warm_start.model=a", *typed[2:]]
    plan = Plan.read(
        "x",
        {
            "title": "x",
            "report": "x",
            "settings": {"a": ["warm_start=M", "warm_start.vocabulary=new"]},
        },
    )
    (job,) = plan.jobs(None, "small", [], [[]])
    assert [word for word in job if "warm" in word] == [
        "warm_start.model=M",
        "warm_start.vocabulary=new",
    ]


@pytest.mark.nightly("runs")
def test_the_command_line_sweeps(run: Path, tmp_path: Path) -> None:
    from structopt.command.main import main

    words = [*QUICK, "optimizer.epochs=0", f"warm_start={run}", "warm_start.vocabulary=union,new"]
    assert main(["--multirun", *words, f"hydra.sweep.dir={tmp_path}"]) == 0
    for job, kind in enumerate(("union", "new")):
        saved = (tmp_path / str(job) / ".hydra/config.yaml").read_text()
        assert f"warm_start:\n  model: {run}\n  vocabulary: {kind}\n" in saved
