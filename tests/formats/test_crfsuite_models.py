"""CRFsuite's model files: bytes as python-crfsuite writes them, and the text of every error."""

from __future__ import annotations

import pickle
import random
import struct
from pathlib import Path

import numpy as np
import pytest

from structopt.errors import ConfigError, DataError, ModelError, StructoptError
from structopt.formats import crfsuite_models
from structopt.formats.crfsuite_models import FEATURE, ChainWeights
from tests.messages import raises
from tests.mutations import mutated
from tests.parts import gate_cases

pycrfsuite = pytest.importorskip(
    "pycrfsuite", reason="python-crfsuite is the peer to compare with (extra: dev)"
)
LETTERS = "abcdefgh é日\\:=\t"
COUNT = struct.Struct("<I")


def trained(path: Path, sentences: list[tuple[list[list[str]], list[str]]]) -> bytes:
    """Train python-crfsuite; return its file, whose number of features is 0."""
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    trainer.set_params({"c1": 0.05, "c2": 0.1, "max_iterations": 10})
    for attributes, labels in sentences:
        trainer.append(attributes, labels)
    trainer.train(str(path))
    return path.read_bytes()


def weights(
    labels: list[str], attributes: list[str], features: list[tuple[int, int, int, float]]
) -> ChainWeights:
    return ChainWeights(labels, attributes, np.array(features, FEATURE))


def small() -> bytes:
    """Return a file of 4,784 bytes."""
    state = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 2, 0), (0, 2, 1), (0, 3, 2), (0, 4, 0)]
    pairs = [(1, 0, 1), (1, 1, 0), (1, 1, 2)]
    features = [(*one, 0.25 * k + 0.25) for k, one in enumerate(state + pairs)]
    return crfsuite_models.encoded(weights(["X", "Y", "Z"], ["a", "b", "c:x", "d", "e"], features))


def test_names_of_1_to_40_bytes_are_written_as_crfsuite_writes_them(tmp_path: Path) -> None:
    numbers = random.Random(1)
    names = {f"{length}" for length in range(10)}
    for length in range(1, 41):
        names |= {"".join(numbers.choices(LETTERS, k=length)) for _ in range(12)}
    labels = [f"label {k}" for k in range(5)]
    path = tmp_path / "theirs.crfsuite"
    tokens = [[name] for name in sorted(names)]
    theirs = trained(path, [(tokens, numbers.choices(labels, k=len(tokens)))])
    model = crfsuite_models.read(path)
    assert {len(name.encode()) for name in model.attributes} >= set(range(1, 41))
    assert crfsuite_models.encoded(model) == theirs
    tagger = pycrfsuite.Tagger()
    tagger.open_inmemory(crfsuite_models.encoded(model))
    features = model.features[model.features["kind"] == 0]
    assert tagger.info().state_features == pytest.approx(
        {
            (model.attributes[source], model.labels[target]): weight
            for _, source, target, weight in features.tolist()
        },
        abs=1e-6,
    )


def test_a_number_of_features_in_the_header_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.crfsuite"
    path.write_bytes(broken(small(), 16, 10))
    assert crfsuite_models.encoded(crfsuite_models.read(path)) == small()
    path.write_bytes(broken(small(), 16, 9))
    with raises(ModelError, match="counts 10 features in FEAT"):
        crfsuite_models.read(path)


def test_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "m.crfsuite"
    model = weights(["é"], ["señor"], [(0, 0, 0, 1.0)])
    crfsuite_models.write(path, model, "latin-1")
    assert crfsuite_models.read(path, "latin-1").attributes == ["señor"]
    with raises(ModelError, where=str(path), match="not utf8: b'\\\\xe9'.*task.encoding"):
        crfsuite_models.read(path)
    with raises(ModelError, match="The attribute '日' cannot be written as latin-1"):
        crfsuite_models.encoded(weights(["A"], ["日"], []), "latin-1")
    with raises(ConfigError, parameter="task.encoding"):
        crfsuite_models.read(path, "utf9")


@pytest.mark.parametrize(
    ("labels", "attributes", "match"),
    [
        (["A"], ["a\0b"], "The attribute 'a\\\\x00b' has a NUL character"),
        (["\0"], [], "The label '\\\\x00' has a NUL character"),
        (["A", "A"], [], "Two labels have the name 'A'"),
        (["A"], ["x", "y", "x"], "Two attributes have the name 'x'"),
    ],
)
def test_names_that_cannot_be_written(labels: list[str], attributes: list[str], match: str) -> None:
    with raises(ModelError, match=match):
        crfsuite_models.encoded(weights(labels, attributes, []))


def broken(content: bytes, place: int, number: int) -> bytes:
    return content[:place] + COUNT.pack(number) + content[place + 4 :]


FEAT, LABELS, ATTRIBUTES, LFRF, AFRF = (28 + 4 * k for k in range(5))
"""Where the header has the offsets."""
CASES = {
    "begins with lCRF": lambda data: b"x" + data,
    "reads no pickles, because they run code": lambda data: pickle.dumps(data),
    "ends within the header, after 20 bytes": lambda data: data[:20],
    "is a model of the type b'FOMD'": lambda data: data.replace(b"FOMC", b"FOMD"),
    "version 99": lambda data: broken(data, 12, 99),
    "has 4,783 bytes, and its header says 4,784": lambda data: data[:-1],
    "no chunk FEAT at byte 52": lambda data: broken(data, FEAT, 52),
    "ends within FEAT": lambda data: broken(data, FEAT, 1 << 31),
    "features in FEAT, which do not fit its size": lambda data: broken(data, 56, 1),
    "no database of labels at byte 48": lambda data: broken(data, LABELS, 48),
    "ends within the attributes": lambda data: broken(data, ATTRIBUTES, len(data) - 9),
    "counts 4 labels, and their database has 3": lambda data: broken(data, 20, 4),
    "too short for 3 of them": lambda data: broken(data, 280, 1 << 30),
    "offset of label 1 lies outside the records": lambda data: broken(data, 2414, 1 << 30),
    "record of label 0 has another id": lambda data: broken(data, 2332, 7),
    "name of label 0 has a wrong length": lambda data: broken(data, 2336, 1 << 31),
    "name of label 0 does not end with NUL": lambda data: broken(data, 2336, 1),
    "hash table of labels number 128 has a wrong size": lambda data: broken(data, 1312, 1),
    "does not contain label 2": lambda data: broken(data, 2370, 1),
    "feature 0 has an unknown type": lambda data: broken(data, 60, 2),
    "feature 0 has an id that the file does not define": lambda data: broken(data, 64, 5),
    "weight of feature 0 is not finite": lambda data: broken(data, 76, 0x7FF00000),
    "list of LFRF 0 lies outside the file": lambda data: broken(data, 4660, 1 << 30),
    "list of AFRF 0 is longer than the file": lambda data: broken(data, 4736, 1 << 30),
    "lists 8 features in AFRF, and has another number": lambda data: broken(data, 4736, 3),
    "bytes in AFRF, which do not fit its lists": lambda data: broken(data, 4708, 76),
    "feature of AFRF 0 does not exist": lambda data: broken(data, 4740, 99),
    "feature of AFRF 0 belongs to another list": lambda data: broken(data, 4740, 2),
    "lists a feature twice in AFRF": lambda data: broken(data, 4740, 1),
    "has two weights of one feature": lambda data: broken(data, 88, 0),
}


@pytest.mark.parametrize("match", CASES)
def test_damaged_files(match: str, tmp_path: Path) -> None:
    path = tmp_path / "m.crfsuite"
    path.write_bytes(CASES[match](small()))
    with raises(ModelError, where=str(path), match=match):
        crfsuite_models.read(path)


def test_paths_that_are_no_model_files(tmp_path: Path) -> None:
    with raises(ModelError, match="is a folder, not a model file"):
        crfsuite_models.read(tmp_path)
    with raises(DataError, match="there is no such file"):
        crfsuite_models.read(tmp_path / "none")
    path = tmp_path / "empty"
    crfsuite_models.write(path, weights([], [], []))
    with raises(ModelError, problem="has no labels."):
        crfsuite_models.read(path)


def damaged(content: bytes, numbers: random.Random) -> bytes:
    """Mutate bytes as files of text are, or write a hostile number over one of the file."""
    if numbers.random() < 0.5:
        return mutated(content, numbers)
    place = 4 * numbers.randrange(len(content) // 4)
    value = (0, 1, 2, len(content), (1 << 31) - 1, (1 << 32) - 1, numbers.getrandbits(32))
    return broken(content, place, numbers.choice(value))


@pytest.mark.parametrize("count", gate_cases([200, 10_000], "fuzzing", gate=1))
def test_mutated_files_give_one_message(count: int, tmp_path: Path) -> None:
    path, numbers = tmp_path / "m.crfsuite", random.Random(count)
    content, refused = small(), 0
    for _ in range(count):
        path.write_bytes(damaged(content, numbers))
        try:
            model = crfsuite_models.read(path)
        except StructoptError as error:
            assert str(error).count("\n") == 0
            refused += 1
        else:  # weights and unused bytes may have changed
            again = tmp_path / "again.crfsuite"
            crfsuite_models.write(again, model)
            assert (crfsuite_models.read(again).features == model.features).all()
    assert refused > count / 3
