"""The texts of errors that `structopt.features` raises, as the command line writes them, in one table."""

import pytest

from structopt.config.wording import keyed
from structopt.errors import StructoptError
from structopt.features.anchored_templates import AnchoredTemplates
from structopt.features.attribute_rows import AttributeRows
from structopt.features.hashed_templates import HashedTemplates
from structopt.features.mention_templates import MentionTemplates
from tests.messages import keys_of


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: AttributeRows(support="some"),
            "features.support=some must be 'seen' or 'all'.",
        ),
        (
            lambda: HashedTemplates(hash_bits=9),
            "features.hash_bits=9 must be an integer from 10 to 28.",
        ),
        (
            lambda: HashedTemplates(label_bits=True),
            "features.label_bits=True must be an integer.",
        ),
        (
            lambda: HashedTemplates(distances=[3, 1]),
            "features.distances=[3, 1] must have at most 6 ascending integers from 1, the "
            "upper bounds of the distance bins.",
        ),
        (
            lambda: MentionTemplates(distances=[0]),
            "features.distances=[0] must have fewer than 32 ascending integers from 1, the "
            "upper bounds of the bins.",
        ),
        (
            lambda: AnchoredTemplates(hash_bits=40),
            "features.hash_bits=40 must be an integer from 10 to 30.",
        ),
        (
            lambda: AnchoredTemplates(lengths=[3, 1]),
            "features.lengths=[3, 1] must have fewer than 32 ascending integers from 1, the "
            "upper bounds of the bins of lengths.",
        ),
        (
            lambda: AnchoredTemplates(joined=[]),
            "features.joined=[] must be [rule], [parent] or [rule, parent].",
        ),
        (
            lambda: AnchoredTemplates(unseen=101),
            "features.unseen=101 must be from 0 (no bins) to 100.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised, keyed(keys_of("features")):
        call()
    assert str(raised.value) == text
