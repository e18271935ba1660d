"""Training data in files: the same bits as in memory, whatever the optimizer; folders that are cut
off, altered or foreign.
"""

import json
import logging
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.config import composition, registry, validation
from structopt.core.storage import arrays as storage
from structopt.errors import ConfigError
from structopt.factor_graph.pairwise import Pairwise
from structopt.formats import array_folder, text_pieces
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.inference.mplp import MPLP
from structopt.loss.family import LossFamily
from structopt.objective.on_disk.corpus_folder import open_corpus, open_shard
from structopt.run.components import make_components
from structopt.run.featurised import featurised
from structopt.testing.problems import make_problem, random_graphs
from tests.messages import raises
from tests.parts import gate_cases

COMMON = [
    "task.limit=60",
    "task.dev=null",
    "task.test=null",
    "tracker=none",
    "quiet=true",
    "order=blocks",
    "storage.block=4",
    "storage.window=3",
    "optimizer.epochs=2",
]


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    """Corpora of many pieces, ranges and segments, in a folder of the test."""
    monkeypatch.setattr(storage, "RANGE", 16)
    monkeypatch.setattr(text_pieces.read_pieces, "__defaults__", ("utf8", 1000))
    monkeypatch.setattr(array_folder, "SEGMENT", 4096)
    monkeypatch.chdir(tmp_path)


def trained(folder: Path, *words: str) -> tuple[bytes, bytes]:
    """The files of the model, and the passes without their times."""
    structopt.train([*COMMON, *words], folder)
    rows = (folder / "history.csv").read_text().splitlines()
    passes = "\n".join(",".join(row.split(",")[3:]) for row in rows).encode()
    return b"".join(
        path.read_bytes()
        for path in sorted((folder / "model").iterdir())
        if "config" not in path.name
    ), passes


def corpora() -> list[Path]:
    return sorted(
        path for path in Path("outputs/featurised").iterdir() if not path.name.startswith(".")
    )


OPTIMIZERS = [
    *(name for name in sorted(registry.installed("optimizer")) if name not in ("dlpw", "eg")),
    "eg optimizer.online=true",
    "sdca loss=svm optimizer.sampling=gap",
    "dca factor_graph.order=2",
]


@pytest.mark.parametrize("optimizer", gate_cases(OPTIMIZERS, "runs", ("dca", "lbfgs")))
def test_bits_are_those_of_memory(optimizer):
    words = ["task=ner", *f"optimizer={optimizer}".split()]
    assert trained(Path("disk"), *words, "storage=disk") == trained(Path("memory"), *words)


@pytest.mark.parametrize(
    "words",
    gate_cases(
        [
            ["task=attributes"],
            ["task=attributes", "features.hash_bits=12"],
            ["task=ner", "features.hash_bits=12"],
            [
                "task=ner",
                "features.min_count=3",
                "features.transitions=[bias,word]",
                "features.support=all",
            ],
            ["task=tagging", "task.encoding=latin-1"],
        ],
        "runs",
        1,
    ),
    ids=" ".join,
)
def test_models_are_those_of_memory_with_names_or_slots(words):
    assert trained(Path("disk"), *words, "storage=disk") == trained(Path("memory"), *words)


@pytest.mark.nightly("runs")
@pytest.mark.parametrize(
    "words",
    gate_cases(
        [
            ["task=ner", "features.hash_bits=12"],
            ["task=ner", "features.min_count=2", "optimizer=adagrad"],
            ["task=attributes", "task.scheme=none", "optimizer=perceptron"],
        ],
        "runs",
        1,
    ),
    ids=" ".join,
)
def test_training_goes_on_in_blocks_with_the_vocabulary_of_before(words):
    """To the bits of memory; new attributes stand beside those of before, however rare these are in
    the new file.
    """
    kind = "crfsuite" if "task=attributes" in words else "conll"
    sentences = datasets.path("train", kind).read_text(encoding="utf8").strip().split("\n\n")
    for name, part in (("old", sentences[:60]), ("new", sentences[60:150])):
        Path(name).write_text("\n\n".join(part) + "\n", encoding="utf8")
    found = []
    for where in ("disk", "memory"):
        trained(Path(where), *words, "task.train=old", "task.limit=null", f"storage={where}")
        on = ["task.train=new", f"warm_start={where}", "warm_start.state=new", f"storage={where}"]
        found.append(trained(Path(f"{where}_on"), *words, "task.limit=null", *on))
    assert found[0] == found[1]
    assert len(corpora()) == 2
    trained(Path("alone"), *words, "task.train=new", "task.limit=null", "storage=disk")
    assert len(corpora()) == 3  # another vocabulary, another folder


@pytest.mark.nightly("runs")
def test_a_corpus_is_featurised_once_for_all_graphs_and_optimizers(caplog):
    first = trained(Path("first"), "task=ner", "storage=disk")
    folders = corpora()
    stamps = [path.stat().st_mtime_ns for path in folders]
    with caplog.at_level(logging.WARNING):
        again = trained(Path("again"), "task=ner", "storage=disk")
        trained(
            Path("other"),
            "task=ner",
            "storage=disk",
            "optimizer=perceptron",
            "factor_graph.order=2",
        )
    assert again == first
    assert [path.stat().st_mtime_ns for path in corpora()] == stamps and len(folders) == 1
    assert "not used" not in caplog.text
    trained(Path("limited"), "task=ner", "storage=disk", "task.limit=59")
    assert len(corpora()) == 2


def cut(folder: Path) -> None:
    file = folder / "label.ids.npy"
    file.write_bytes(file.read_bytes()[:-4])


def alter(folder: Path) -> None:
    file = folder / "label.ids.npy"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def alter_header(folder: Path) -> None:
    file = folder / "gold.npy"
    file.write_bytes(file.read_bytes().replace(b"<i4", b"<u4", 1))


def alter_manifest(folder: Path) -> None:
    file = folder / "manifest.json"
    file.write_text(file.read_text().replace("B-PER", "B-LOC", 1))


def lose_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def lose_array(folder: Path) -> None:
    (folder / "lengths.npy").unlink()


def take_another(folder: Path) -> None:
    """The files of another corpus, whole."""
    trained(Path("another"), "task=ner", "storage=disk", "task.limit=50")
    other = next(path for path in corpora() if path != folder)
    for file in other.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())


def take_another_version(folder: Path) -> None:
    file = folder / "manifest.json"
    content = json.loads(file.read_text())
    del content["checksum"]
    content["format"] += 1
    file.write_text(json.dumps(content | {"checksum": array_folder._checksum_of(content)}))


def sign(folder: Path, content: dict) -> None:
    """Write a manifest with the checksums of the files as they are."""
    content.pop("checksum", None)
    for name, entry in content["arrays"].items():
        with (folder / f"{name}.npy").open("rb") as stream:
            stream.seek(array_folder.HEADER)
            entry["checksums"] = list(array_folder._checksums(stream))
    manifest = json.dumps(content | {"checksum": array_folder._checksum_of(content)})
    (folder / "manifest.json").write_text(manifest)


def forge(folder: Path, name: str, value: int) -> None:
    """Change the second element of an array so that all checksums agree."""
    array = np.load(folder / f"{name}.npy", mmap_mode="r+")
    array[1] = value
    array.flush()
    sign(folder, json.loads((folder / "manifest.json").read_text()))


def forge_notes(folder: Path, change) -> None:
    """Change the notes so that all checksums agree."""
    content = json.loads((folder / "manifest.json").read_text())
    change(content)
    sign(folder, content)


FORGED = {
    "id beyond": (lambda f: forge(f, "label.ids", 1 << 30), "tables['label'].ids=1073741824 must"),
    "negative id": (lambda f: forge(f, "label.ids", -1), "tables['label'].ids=-1 must be from 0"),
    "negative length": (lambda f: forge(f, "lengths", -7), "offsets=-"),
    "long length": (lambda f: forge(f, "lengths", 1 << 40), "inconsistent"),
    "long row": (lambda f: forge(f, "label.lengths", 1 << 30), "inconsistent"),
    "negative row": (lambda f: forge(f, "label.lengths", -5), "inconsistent"),
    "gold beyond": (lambda f: forge(f, "gold", 99), "gold=99 must be from 0 to"),
    "negative gold": (lambda f: forge(f, "gold", -2), "gold=-2 must be from 0 to"),
    "small vocabulary": (
        lambda f: forge_notes(f, lambda c: c["notes"]["tables"].update(label=1)),
        "must be from 0 to 0",
    ),
    "no labels": (lambda f: forge_notes(f, lambda c: c["notes"].pop("labels")), "KeyError"),
    "other labels": (lambda f: forge_notes(f, lambda c: c["notes"].update(labels=3)), "TypeError"),
    "transition": (
        lambda f: forge_notes(f, lambda c: c["notes"].update(forbidden_transitions=[[0, 99]])),
        "inconsistent",
    ),
    "no gold": (lambda f: forge_notes(f, lambda c: c["arrays"].pop("gold")), "KeyError"),
    "no type": (
        lambda f: forge_notes(f, lambda c: c["notes"].pop("state")),
        "its manifest is incomplete",
    ),
}


def test_ids_and_offsets_are_checked_where_checksums_agree(tmp_path):
    """Checksums guard against accidents only."""
    trained(Path("first"), "task=ner", "storage=disk", "optimizer.epochs=1")
    whole = corpora()[0]
    differing = []
    for name, (harm, reason) in FORGED.items():
        folder = tmp_path / name
        shutil.copytree(whole, folder)
        harm(folder)
        with pytest.raises(array_folder.UnusableFolder) as raised:
            open_corpus(folder)
        if reason not in str(raised.value):
            differing.append((name, str(raised.value)))
    assert differing == []


@pytest.mark.nightly("runs")
def test_a_forged_folder_is_made_anew(caplog):
    words = ["task=ner", "storage=disk"]
    first = trained(Path("first"), *words)
    for harm in (FORGED["id beyond"][0], lambda f: forge_notes(f, _forget_columns)):
        harm(corpora()[0])
        with caplog.at_level(logging.WARNING):
            assert trained(Path("again"), *words) == first
        assert "it is not used, and made anew" in caplog.text
        caplog.clear()
        shutil.rmtree("again")


def _forget_columns(content: dict) -> None:
    """Damage the state of the task."""
    content["notes"]["state"] = {}


@pytest.mark.parametrize(
    ("harm", "reason"),
    gate_cases(
        [
            (cut, "label.ids.npy is truncated, or longer than it was"),
            (alter, "label.ids.npy was altered"),
            (alter_header, "gold.npy was altered"),
            (alter_manifest, "its manifest was altered"),
            (lose_manifest, "there is no manifest"),
            (lose_array, "lengths.npy cannot be read"),
            (take_another, "it is of other data or settings"),
            (take_another_version, "it was written by another version"),
        ],
        "runs",
        1,
    ),
)
def test_damaged_and_foreign_folders_are_made_anew_and_never_used(harm, reason, caplog):
    words = ["task=ner", "storage=disk"]
    first = trained(Path("first"), *words)
    harm(corpora()[0])
    with caplog.at_level(logging.WARNING):
        assert trained(Path("again"), *words) == first
    assert f"{reason}" in caplog.text and "it is not used, and made anew" in caplog.text


def test_a_writer_that_is_cut_off_leaves_no_folder(monkeypatch):
    monkeypatch.setattr(
        array_folder.ArrayFolderWriter,
        "finish",
        lambda *_: (_ for _ in ()).throw(OSError(28, "full")),
    )
    with pytest.raises(structopt.errors.StructoptError):
        trained(Path("run"), "task=ner", "storage=disk")
    assert list(Path("outputs/featurised").iterdir()) == []


def test_shards_are_opened_by_path_and_range():
    config = validation.validate(
        composition.compose(
            [*COMMON, "task=ner", "storage=disk", "features.transitions=[bias,word]"]
        )
    )
    whole = featurised(config, make_components(config))
    assert whole.storage.in_files and open_corpus(corpora()[0])[0].labels == whole.labels
    for first, last in [(0, 60), (7, 31), (59, 60), (5, 5)]:
        shard, expected = open_shard(corpora()[0], first, last), whole.subset(first, last)
        np.testing.assert_array_equal(shard.offsets, expected.offsets)
        np.testing.assert_array_equal(shard.gold, expected.gold)
        for name, table in expected.tables.items():
            np.testing.assert_array_equal(shard.tables[name].offsets, table.offsets)
            np.testing.assert_array_equal(shard.tables[name].ids, table.ids)


INFERENCES = {
    "dlpw": MPLP(passes=3, tolerance=0.0, warm_start=True),
    "pegasos": Enumeration(),
    "sdca": Exact(),
    "eg": Exact(),
}


@pytest.mark.parametrize("method", INFERENCES)
def test_messages_of_graphs_of_pairs_are_mapped(tmp_path, method):
    """The bits are those of memory too where an inference keeps messages, or a dual method uses
    junction trees; no task reads such graphs in blocks yet.
    """
    encoded, states = random_graphs(1, (4, 3) * 9, 2, "complete", values=True), []
    for where in (encoded, replace(encoded, storage=storage.InFiles(tmp_path))):
        loss = LossFamily(np.inf, 1.0)
        problem = make_problem(where, Pairwise(), loss, INFERENCES[method], C=0.5)
        optimizer = registry.load("optimizer", method)()
        state = optimizer.init(problem, np.zeros(problem.dimension))
        for _ in range(3):
            state, _ = optimizer.step(problem, state)
        states.append(
            (
                optimizer.weights(state),
                problem.messages,
                problem.objective(optimizer.weights(state)),
            )
        )
    for one, other in zip(*states, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not list(tmp_path.glob("*.npy"))


def test_vectors_of_a_full_disk_are_refused(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "posix_fallocate", full)
    with pytest.raises(
        ConfigError,
        match=r"there is no room for 80 MB more \(No space left on device\). Free some, or set",
    ):
        storage.InFiles(tmp_path).zeros(10_000_000)


def test_vectors_in_files_have_no_name_and_keep_what_is_written(tmp_path):
    kept = storage.InFiles(tmp_path / "new")
    vector, grown = (
        kept.zeros(1000),
        kept.joined(iter([np.arange(3), np.zeros(0), np.arange(2)]), np.int32),
    )
    vector[5] = 2.0
    assert (vector.sum(), grown.tolist(), type(grown)) == (2.0, [0, 1, 2, 0, 1], np.ndarray)
    assert list((tmp_path / "new").iterdir()) == [] and kept.zeros(0).tolist() == []


@pytest.mark.parametrize(
    "task", gate_cases(sorted(registry.installed("task")), "runs", ("grid", "ner"))
)
def test_every_task_runs_in_files_or_refuses_with_the_reason(task):
    words = [
        f"task={task}",
        "storage=disk",
        "optimizer.epochs=1",
        "task.limit=8",
        "tracker=none",
        "quiet=true",
    ]
    if task in ("ner", "chunking", "tagging", "attributes"):
        structopt.train(words, "run")
        return
    with pytest.raises(
        ConfigError,
        match=f"storage=disk reads training data in blocks, and task={task} reads them as a whole",
    ):
        structopt.train(words, "run")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["task=ner", "task.partial=true"], "task.partial=true makes sets of labels"),
        (
            ["task=ner", "features.dense=[word]"],
            "features.vectors and features.dense need the training data in memory",
        ),
        (
            ["task=ner", "features.hash_bits=12", "features.min_count=2"],
            "stores no names",
        ),
        (["task=ner", "features.hash_bits=9"], "features.hash_bits=9 must be from 10 to 28"),
        (
            ["task=attributes", "features.hash_bits=29"],
            "features.hash_bits=29 must be from 10 to 28",
        ),
    ],
)
def test_what_needs_memory_is_refused(words, reason):
    with pytest.raises(ConfigError, match=reason):
        trained(Path("run"), *words, "storage=disk")


def test_urls_are_refused():
    with raises(ConfigError, parameter="storage.folder", value="memory://corpus"):
        trained(Path("disk"), "task=ner", "storage=disk", "storage.folder=memory://corpus")
    assert not Path("memory:").exists()
