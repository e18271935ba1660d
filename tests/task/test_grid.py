"""Images as grids of variables: files, features, edges, shares, scores; and that edges tell what
cells alone cannot.
"""

from os import environ
from pathlib import Path

import numpy as np
import pytest

import structopt
from structopt.command import main
from structopt.datasets.snakes import snakes
from structopt.errors import ConfigError, DataError, ModelError
from structopt.factor_graph.pairwise import Pairwise
from structopt.formats.labelled_images import Image, images_of, read_images, write_images
from structopt.task.grid import Grid

PIXELS = np.array([[1, 2, 1], [3, 1, 1]])
LABELS = np.array([[0, 5, 0], [2, 0, 0]], np.int32)


def saved(tmp_path, **changes):
    """A file of one image of 2 x 3 cells and one of a single cell, with changed or missing
    arrays.
    """
    arrays = {
        "pixels": np.append(PIXELS, 9),
        "labels": np.append(LABELS, 5),
        "shapes_x": np.array([[2, 3], [1, 1]]),
    }
    path = tmp_path / "images.npz"
    np.savez(
        path, **{name: array for name, array in (arrays | changes).items() if array is not None}
    )
    return path


def attributes(task, table, row):
    names = task.attribute_names(
        "edge" if table.size == len(task.attribute_names("edge")) else "label"
    )
    return {names[j] for j in table.ids[table.offsets[row] : table.offsets[row + 1]]}


def test_reads_what_it_writes(tmp_path):
    images = read_images(saved(tmp_path))
    assert (len(images), images.offsets.tolist(), images.pixels.shape) == (2, [0, 6, 7], (7, 1))
    assert images.labels.tolist() == [0, 5, 0, 2, 0, 0, 5]
    write_images(
        tmp_path / "again.npz",
        [Image(PIXELS[..., None], LABELS), Image(np.array([[[9]]]), np.array([[5]]))],
    )
    again = read_images(tmp_path / "again.npz")
    for name in ("pixels", "labels", "shapes"):
        np.testing.assert_array_equal(getattr(again, name), getattr(images, name))
    assert read_images(saved(tmp_path, labels=None), labelled=False).labels is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": None}, "the array 'labels' is missing; the file has: pixels, shapes_x"),
        ({"pixels": None}, "the array 'pixels' is missing"),
        ({"shapes_x": None}, "the array 'shapes_x' is missing"),
        (
            {"shapes_x": np.array([[2, 4]])},
            r"'pixels' must be finite numbers of shape \(8, channels\), as 'shapes_x' says",
        ),
        (
            {"shapes_x": np.array([7])},
            r"'shapes_x' must be rows and columns, .* it is int64 of shape \(1,\)",
        ),
        ({"shapes_x": np.array([[0, 7], [7, 1]])}, "each at least 1"),
        (
            {"shapes_x": np.zeros((0, 2), int), "pixels": np.zeros(0), "labels": np.zeros(0, int)},
            "the file has no images",
        ),
        (
            {"shapes_x": np.array([[2**32, 2**32], [7, 1]])},
            r"of shape \(18446744073709551623, channels\)",
        ),
        ({"pixels": np.zeros((7, 0))}, r"'pixels' must be .* it is float64 of shape \(7, 0\)"),
        (
            {"labels": np.append(LABELS, 2**40)},
            "image 2 has the label 1099511627776; labels are whole numbers",
        ),
        ({"shapes_y": np.array([[3, 2], [1, 1]])}, "'shapes_y' differs from 'shapes_x'"),
        ({"labels": np.zeros(5, int)}, r"'labels' must be whole numbers of shape \(7,\)"),
        ({"labels": np.zeros(7)}, "'labels' must be whole numbers"),
        (
            {"labels": np.array([0, 0, 0, 0, 0, 0, -3])},
            "image 2 has the label -3; labels are whole numbers from 0 to 2",
        ),
        ({"pixels": np.full(7, np.nan)}, "'pixels' must be finite numbers"),
        ({"pixels": np.array(list("abcdefg"))}, "'pixels' must be finite numbers"),
        ({"pixels": np.array([None] * 7)}, "no npz of plain arrays"),
    ],
)
def test_malformed_files(tmp_path, changes, message):
    path = saved(tmp_path, **changes)
    with pytest.raises(DataError, match=message) as error:
        Grid(train=str(path)).read(path)
    assert str(error.value).startswith(f"{path}: ")


def test_what_is_no_npz(tmp_path):
    path = tmp_path / "x.npz"
    with pytest.raises(DataError, match="there is no such file"):
        read_images(path)
    whole = saved(tmp_path).read_bytes()
    for data in (b"", b"snakes", whole[: len(whole) // 2]):
        path.write_bytes(data)
        with pytest.raises(DataError, match="no npz of plain arrays, or a truncated one"):
            read_images(path)
    np.save(tmp_path / "y.npy", PIXELS)
    with pytest.raises(DataError, match="no npz of plain arrays"):
        read_images(tmp_path / "y.npy")


def test_cells_see_their_neighbours():
    task = Grid()
    encoded = task.fit(images_of([Image(PIXELS, LABELS)]))
    assert task.labels == encoded.labels == ("0", "2", "5")
    assert encoded.gold.tolist() == [0, 2, 0, 1, 0, 0]
    corner = {"[0,0]=1", "[0,1]=2", "[1,0]=3", "[1,1]=1", "bias"}
    outside = {f"[{a},{b}]=outside" for a, b in ((-1, -1), (-1, 0), (-1, 1), (0, -1), (1, -1))}
    assert attributes(task, encoded.tables["label"], 0) == corner | outside
    assert encoded.tables["label"].values is None
    unseen = task.encode(images_of([np.array([[1, 7]])]))
    assert "[0,1]=7" not in attributes(task, unseen.tables["label"], 0) and unseen.gold is None


def test_channels_as_values():
    task = Grid(radius=0, pixels="values")
    image = np.array([[[2.0, 0.0], [-4.0, 10.0]]])
    encoded = task.fit(images_of([Image(image, np.array([[0, 1]]))]))
    assert task.attribute_names() == ["[0,0]=outside", "bias", "[0,0]=channel0", "[0,0]=channel1"]
    assert (encoded.tables["label"].ids.tolist(), encoded.tables["label"].values) == ([1, 1], None)
    assert encoded.dense["label"][0].values(np.arange(2)).tolist() == [[0.5, 0.0], [-1.0, 1.0]]
    assert task.attribute_names("edge")[:4] == [
        "right",
        "down",
        "right.first=channel0",
        "right.first=channel1",
    ]
    assert encoded.dense["edge"][0].values(np.array([0])).tolist() == [
        [0.5, 0.0, -1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    ]
    many = images_of([Image(np.arange(80).reshape(8, 10), np.zeros((8, 10), int))])
    chosen = Grid()
    chosen.fit(many)
    assert chosen.features.pixels == "values"


def test_channels_of_neighbours():
    task = Grid(radius=1, pixels="values")
    image = np.array([[2.0, 4.0], [0.0, -4.0]])
    encoded = task.fit(images_of([Image(image, np.array([[0, 1], [1, 0]]))]))
    (dense,) = encoded.dense["label"]
    names = [name for name in task.attribute_names() if name.endswith("channel0")]
    row = dict(zip(names, dense.values(np.array([0]))[0].tolist(), strict=True))
    expected = {
        "[0,0]=channel0": 0.5,
        "[0,1]=channel0": 1.0,
        "[1,0]=channel0": 0.0,
        "[1,1]=channel0": -1.0,
    }
    assert {name: value for name, value in row.items() if value} == {
        k: v for k, v in expected.items() if v
    }
    assert dense.matrix.shape == (4, 1)


def test_models_whose_channels_stand_elsewhere_are_refused():
    task = Grid(radius=0, pixels="values")
    task.fit(images_of([Image(np.array([[2.0, 1.0]]), np.array([[0, 1]]))]))
    values, arrays = task.state()
    del values["features"]["channels"]
    with pytest.raises(ModelError, match="features.channels is missing"):
        Grid().restore(values, arrays)


@pytest.mark.parametrize("kind", ["directions", "pixels"])
def test_edges_know_their_way_and_their_ends(kind):
    task = Grid(edge_features=kind)
    encoded = task.fit(images_of([Image(PIXELS, LABELS), Image(PIXELS[:1], LABELS[:1])]))
    begin, joined = encoded.edges
    assert begin.tolist() == [0, 7, 9]
    assert joined.tolist() == [
        [0, 1],
        [0, 3],
        [1, 2],
        [1, 4],
        [2, 5],
        [3, 4],
        [4, 5],
        [0, 1],
        [1, 2],
    ]
    found = [attributes(task, encoded.tables["edge"], row) for row in (0, 1, 8)]
    ends = [
        {"right.first=1", "right.second=2"},
        {"down.first=1", "down.second=3"},
        {"right.first=2", "right.second=1"},
    ]
    expected = [{"right"}, {"down"}, {"right"}]
    assert found == (
        [a | b for a, b in zip(expected, ends, strict=True)] if kind == "pixels" else expected
    )
    assert Pairwise().build(encoded).groups[1].offsets.tolist() == [0, 7, 9]


def test_outputs_and_scores():
    task, corpus = Grid(), images_of([Image(PIXELS, LABELS), Image(PIXELS[:1], LABELS[:1])])
    encoded = task.fit(corpus)
    right = task.decode(encoded, encoded.gold)
    np.testing.assert_array_equal(right[0].labels, LABELS)
    np.testing.assert_array_equal(right[0].pixels[..., 0], PIXELS)
    assert task.evaluate(corpus, right) == {
        "accuracy": 1.0,
        "hamming_loss": 0.0,
        "macro_f1": 1.0,
        "exact": 1.0,
    }
    wrong = task.decode(encoded, np.array([0, 0, 0, 1, 0, 0, 0, 2, 0]))
    scores = task.evaluate(corpus, wrong)
    f1 = {0: 2 * 6 / (6 + 7), 2: 1.0, 5: 2 * 1 / (2 + 1)}
    expected = {
        "accuracy": 8 / 9,
        "hamming_loss": 1 / 9,
        "macro_f1": np.mean(list(f1.values())),
        "exact": 0.5,
    }
    assert scores == pytest.approx(expected)
    assert "2 images; accuracy: 88.89%" in task.report(corpus, wrong)


def test_ranked_outputs_are_columns(tmp_path):
    """Of the first image two outputs, of the second one."""
    task, corpus = Grid(), images_of([Image(PIXELS, LABELS), Image(PIXELS[:1], LABELS[:1])])
    right = task.decode(task.fit(corpus), task.encode(corpus).gold)
    other = Image(PIXELS[..., None], LABELS + 1)
    task.write_outputs(
        corpus,
        tmp_path / "out.npz",
        right,
        None,
        [[(2.0, right[0]), (1.0, other)], [(3.0, right[1])]],
    )
    with np.load(tmp_path / "out.npz") as arrays:
        first, second = arrays["ranked"].T
        np.testing.assert_array_equal(first, corpus.labels)
        np.testing.assert_array_equal(second, [*(LABELS + 1).ravel(), -1, -1, -1])


def test_scores_of_large_labels():
    task, corpus = Grid(), images_of([Image(PIXELS, np.where(LABELS > 0, 2**31 - 1, 0))])
    encoded = task.fit(corpus)
    assert task.evaluate(corpus, task.decode(encoded, encoded.gold))["macro_f1"] == 1.0


def test_unseen_labels_count_as_errors():
    task = Grid()
    task.fit(images_of([Image(PIXELS, LABELS)]))
    other = images_of([Image(PIXELS, LABELS + 1)])
    assert task.encode(other).gold.tolist() == [-1] * 6


def test_generated_snakes():
    task = Grid()
    assert {role: str(part) for role, part in task.files.items()} == {
        role: role for role in ("train", "dev", "test")
    }
    images = task.read("train")
    assert len(images) == 80 and len(task.read("dev")) == 40 and len(task.read("train", 7)) == 7
    np.testing.assert_array_equal(images.pixels, Grid().read("train").pixels)
    assert not np.array_equal(images.shapes, Grid(data_seed=1).read("train").shapes)


def test_shares_of_one_file(tmp_path):
    path = tmp_path / "snakes.npz"
    write_images(path, [Image(*one) for one in snakes(20, "y")])
    task = Grid(train=str(path), dev_share=0.25, test_share=0.1)
    assert {role: str(part) for role, part in task.files.items()} == {
        r: f"{path}#{r}" for r in ("train", "dev", "test")
    }
    assert all(part.is_file() for part in task.files.values())
    parts = [task.read(part) for part in task.files.values()]
    assert [len(part) for part in parts] == [13, 5, 2]
    whole = read_images(path)
    cells = sorted(
        image.tobytes() for part in parts for image in np.split(part.pixels, part.offsets[1:-1])
    )
    assert cells == sorted(image.tobytes() for image in np.split(whole.pixels, whole.offsets[1:-1]))
    other = Grid(train=str(path), dev_share=0.25, data_seed=5).read(f"{path}#dev")
    assert other.pixels.tobytes() != parts[1].pixels.tobytes()
    with pytest.raises(ConfigError, match=r"take images from task\.train\. Give task\.train too"):
        _ = Grid(dev_share=0.25).files
    with pytest.raises(DataError, match="its 1 images are too few for a share"):
        one = tmp_path / "one.npz"
        write_images(one, [Image(*snakes(1, "z")[0])])
        Grid(train=str(one), dev_share=0.2).read(f"{one}#dev")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, r"task\.limit=0"),
        ({"dev": "x.npz"}, "task.train is missing"),
        (
            {"train": "a", "dev": "b", "dev_share": 0.1},
            r"task\.dev_share takes images from task\.train, and task\.dev is given",
        ),
        ({"train": "a", "dev_share": 1.0}, r"task\.dev_share=1 must be at least 0 and below 1"),
        ({"train": "a", "dev_share": 0.5, "test_share": 0.5}, "leave nothing to train on"),
        ({"radius": -1}, r"task\.radius=-1"),
    ],
)
def test_refuses(options, message):
    with pytest.raises(ConfigError, match=message):
        Grid(**options)


def test_refuses_other_images():
    task = Grid()
    task.fit(images_of([Image(PIXELS, LABELS)]))
    with pytest.raises(
        ConfigError, match="pixels have 3 channels, but those of the training images 1"
    ):
        task.encode(images_of([np.zeros((2, 2, 3))]))
    with pytest.raises(
        DataError, match="^<memory>:1: an image is not numbers of such a shape, but float64"
    ):
        task.corpus([np.zeros(3)])
    with pytest.raises(DataError, match="^<memory>: the images have different numbers of channels"):
        task.corpus([np.zeros((2, 2, 3)), np.zeros((2, 2))])
    with pytest.raises(
        DataError,
        match=r"^<memory>:1: an image has labels of shape \(6,\) for \(2, 3\) rows and columns",
    ):
        images_of([Image(PIXELS, LABELS.ravel())])
    with pytest.raises(ConfigError, match="task=grid predicts everything"):
        task.given_labels(task.corpus([PIXELS]))
    with pytest.raises(DataError, match="has no labels to compare with"):
        task.evaluate(task.corpus([PIXELS]), [])


QUICK = ["task=grid", "tracker=none", "objective_every=0", "optimizer.epochs=4", "optimizer.C=100"]


@pytest.mark.nightly("runs")
def test_edges_tell_what_cells_alone_cannot(tmp_path):
    accuracy = {}
    for edges in ("none", "task"):
        words = [
            *QUICK,
            "task.limit=40",
            f"factor_graph.edges={edges}",
            f"inference={'loopy_bp' if edges == 'none' else 'ad3'}",
        ]
        accuracy[edges] = structopt.train(words, tmp_path / edges).evaluate("test")["accuracy"]
    assert accuracy["task"] > accuracy["none"] + 0.05


def test_predicts_in_the_form_of_its_files(tmp_path, capsys):
    """The npz that predict writes can be read again, and its labels are the model's; so with
    marginals.
    """
    whole = tmp_path / "whole.npz"
    write_images(whole, [Image(*one) for one in snakes(20, "whole")])
    words = [
        "loss=crf",
        "inference=loopy_bp",
        "task.edge_features=directions",
        f"task.train={whole}",
        "task.test_share=0.25",
    ]
    model = structopt.train([*QUICK, *words], tmp_path / "run")
    assert structopt.load(tmp_path / "run").evaluate(f"{whole}#test") == model.evaluate(
        f"{whole}#test"
    )
    source, target = tmp_path / "in.npz", tmp_path / "out.npz"
    images = snakes(5, "new")
    write_images(source, [Image(*one) for one in images])
    words = [f"model={tmp_path / 'run'}", f"input={source}"]
    assert main.main(["predict", *words, f"output={target}", "probabilities=true"]) == 0
    written = read_images(target)
    np.testing.assert_array_equal(written.pixels, read_images(source).pixels)
    expected = structopt.load(tmp_path / "run").predict([pixels for pixels, _ in images])
    np.testing.assert_array_equal(
        written.labels, np.concatenate([np.ravel(image.labels) for image in expected])
    )
    with np.load(target) as arrays:
        assert arrays["probabilities"].shape == (len(written.labels), len(model.labels))
        np.testing.assert_allclose(arrays["probabilities"].sum(axis=1), 1.0, atol=1e-6)
        assert arrays["label_names"].tolist() == [int(label) for label in model.labels]
    assert (
        main.main(["predict", *words, f"output={target}", "inference=ad3", "probabilities=true"])
        == 2
    )
    assert "inference=ad3 only maximises" in capsys.readouterr().err
    # the model knows no generated images
    assert main.main(["evaluate", f"model={tmp_path / 'run'}", "input=test"]) == 2
    assert (
        "test: there is no such file, and the model was trained on a file"
        in capsys.readouterr().err
    )
    assert main.main(["evaluate", *words]) == 0
    assert '"macro_f1"' in capsys.readouterr().out


@pytest.mark.nightly("data")
@pytest.mark.skipif("STRUCTOPT_DATA" not in environ, reason="STRUCTOPT_DATA is not set")
def test_real_snakes():
    path = Path(environ["STRUCTOPT_DATA"]) / "snakes" / "snakes_train.npz"
    images = read_images(path)
    assert (len(images), len(images.labels), images.pixels.shape[1]) == (200, 7566, 3)
    assert np.bincount(images.labels).tolist() == [5566] + [200] * 10
