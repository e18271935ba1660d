"""Messages: what they quote of data is cut and shown as a terminal can, and a close name is found
in reasonable time.
"""

import pickle

from structopt.errors import ConfigError, DataError, did_you_mean, legible


def test_messages_that_quote_data():
    message = str(DataError("a.txt", 3, f"the label {'x' * 9000!r} is odd: \x1b[2J\ud800 \u00e9\n"))
    assert message.startswith("a.txt:3: the label 'xxx") and message.endswith(
        "xxx' is odd: \\x1b[2J\\ud800 \u00e9\n"
    )
    assert "..." in message and len(message) < 700
    assert len(legible("\x00" * 9000)) <= 3000 and len(legible("a " * 9000)) <= 3000
    assert legible("plain: ok.") == "plain: ok."


def test_close_names():
    assert did_you_mean("epoch", ["epochs", "eta"]) == " Did you mean 'epochs'?"
    assert did_you_mean("x" * 10_000, ["x" * 9_999]) == ""
    assert did_you_mean("x", ("y" * 1_000_000 for _ in range(100))) == ""


def test_errors_of_workers_arrive_as_they_were():
    for error in (
        DataError("a.txt", 3, "a label is odd."),
        DataError("a.txt", None, "it is empty."),
        ConfigError("wrong"),
    ):
        arrived = pickle.loads(pickle.dumps(error))
        assert (
            type(arrived) is type(error)
            and str(arrived) == str(error)
            and vars(arrived) == vars(error)
        )
