"""The texts of errors that `structopt.command` raises, in one table."""

import pytest

from structopt.command import predict, resume, spelling
from structopt.errors import StructoptError


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: spelling.check_overrides(["optimizr"], ["optimizer"]),
            "'optimizr' is neither a subcommand nor KEY=VALUE. Did you mean 'optimizer=VALUE'? "
            "Write for example task=ner; structopt --help shows more.",
        ),
        (
            lambda: spelling.check_overrides(["seed="], ["seed"]),
            "'seed=' gives seed no value. Write seed=VALUE, or leave it out.",
        ),
        (
            lambda: spelling.check_overrides(["task", "=", "ner"], ["task"]),
            "There are spaces around '='. Write task=ner, without them.",
        ),
        (
            lambda: spelling.check_overrides(["\u2013seed=1"], ["seed"]),
            "'–seed=1' begins with a long dash. Write a hyphen: --seed=1",
        ),
        (
            lambda: spelling.check_overrides(["optimizer=[sgd,dca]"], ["optimizer"]),
            "'optimizer=[sgd,dca]' names several, and a run has one optimizer. To run each: "
            "--multirun optimizer=sgd,dca",
        ),
        (
            lambda: predict.SYNTAX.read(["model=m", "input=f", "output=g", "k_best=0"]),
            "k_best=0 must be at least 1.",
        ),
        (
            lambda: resume.run_folder(["resume=nowhere"]),
            "resume=nowhere does not exist. Name the folder that has checkpoint/ and .hydra/.",
        ),
        (
            lambda: spelling.check_overrides(["task", "ner"], ["task"]),
            "'task' needs a value. Write task=ner",
        ),
        (
            lambda: spelling.check_overrides(["label=“a”"], ["label"]),
            "'label=“a”' has curly quotes, which no shell knows. Write straight ones: label=\"a\"",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised:
        call()
    assert str(raised.value) == text
