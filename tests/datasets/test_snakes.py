"""Images of snakes: colours show the way from label to label, inside a border."""

import numpy as np

from structopt.datasets.snakes import BACKGROUND, COLOURS, snakes


def test_snakes():
    steps = {colour: step for step, colour in COLOURS.items()}
    for pixels, labels in snakes(20, "x"):
        cells = [tuple(np.argwhere(labels == number)[0].tolist()) for number in range(1, 11)]
        assert np.count_nonzero(labels) == 10
        for a, b in zip(cells[:-1], cells[1:], strict=True):
            assert steps[tuple(pixels[a].tolist())] == (b[0] - a[0], b[1] - a[1])
        assert (pixels[labels == 0] == BACKGROUND).all()
        assert not (
            labels[0].any() or labels[-1].any() or labels[:, 0].any() or labels[:, -1].any()
        )
