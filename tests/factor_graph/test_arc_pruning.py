"""Which arcs are probable enough to be kept (what pruners keep of a corpus:
tests/model/test_pruning.py).
"""

import numpy as np

from structopt.factor_graph.arc_pruning import probable


def test_probable_heads_by_hand():
    p = np.array([0.5, 0.3, 0.2, 0.0, 0.05, 0.95, 1.0])
    arcs = np.array([0, 4, 6, 7])
    assert probable(p, arcs, 0.0, 0).all()
    assert probable(p, arcs, 0.5, 0).tolist() == [True, True, False, False, False, True, True]
    assert probable(p, arcs, 0.1, 2).tolist() == [True, True, False, False, False, True, True]
    assert probable(p, arcs, 0.0, 1).tolist() == [True, False, False, False, False, True, True]
    assert probable(np.full(4, 0.25), np.array([0, 4]), 0.0, 2).tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert probable(np.zeros(0), np.array([0]), 0.1, 2).tolist() == []
