"""Places of the parts of groups in the outputs of a structure."""

import numpy as np

from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.errors import ArgumentError
from structopt.factor_graph import kinds
from structopt.kernels.waist.record import EMPTY
from tests.messages import raises


def test_spans_of_groups():
    groups = (
        PartGroup("label", 3, np.array([0, 2, 3])),
        PartGroup("transition", 9, np.array([0, 1, 1])),
    )
    structure = Structure(EMPTY, groups, part_offsets(groups), kinds.CHAIN, np.zeros(3, np.int64))
    begins, offsets = structure.spans("transition")
    assert (begins.tolist(), offsets.tolist()) == ([6, 3], [0, 9, 9])
    with raises(
        ArgumentError,
        parameter="name",
        value="transitions",
        problem="is not a group of parts of this structure. Did you mean 'transition'?",
        remedy="Choose one of: label, transition.",
    ):
        structure.spans("transitions")
