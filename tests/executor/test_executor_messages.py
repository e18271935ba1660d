"""The texts of errors that `structopt.executor` raises, as the command line writes them, in one table."""

import pytest

from structopt.config.wording import keyed
from structopt.errors import StructoptError
from structopt.executor.threads import Threads
from tests.messages import keys_of


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: Threads(workers=0),
            "executor.workers=0 must be at least 1, or null for one worker per core.",
        ),
        (
            lambda: Threads(shards=0),
            "executor.shards=0 must be at least 1.",
        ),
        (
            lambda: Threads(mixing=-1),
            "executor.mixing=-1 must be at least 0; 0 and null mean no mixing.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised, keyed(keys_of("executor")):
        call()
    assert str(raised.value) == text
