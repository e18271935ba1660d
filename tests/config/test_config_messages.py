"""The texts of errors that `structopt.config` raises, in one table."""

import pytest

from structopt.config import registry, schema
from structopt.config.overrides import check_single_run
from structopt.errors import StructoptError
from structopt.estimators.plain_values import plain_value


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: registry.installed("optimiser"),
            "There is no kind of component called 'optimiser'. Did you mean 'optimizer'? "
            "Kinds: task, features, factor_graph, factor_kind, inference, loss, cost, "
            "optimizer, tracker, executor.",
        ),
        (
            lambda: registry.checked("inference", {"name": "greedy", "scalling": 1.0}, {}),
            "inference=greedy has no parameter 'scalling'. Did you mean 'scaling'? It takes "
            "scaling: float = 1.0.",
        ),
        (
            lambda: schema.coerce("seed", "x", int),
            "seed=x is not an int.",
        ),
        (
            lambda: schema.coerce("check", "yes", bool),
            "check=yes is not a bool. Set check=true or check=false.",
        ),
        (
            lambda: schema.coerce("loss.beta", "infinity", float),
            "loss.beta=infinity is not a float. Set inf.",
        ),
        (
            lambda: schema.coerce("task.columns", ["word"], dict[str, int]),
            "task.columns=[word] is a list, and task.columns takes a mapping. Set "
            "'task.columns={word: 0}', with the quotes, which keep the shell from dividing it.",
        ),
        (
            lambda: check_single_run(["--multirun"]),
            "'--multirun' is not an override, and train runs once. Sweeps run from the command "
            "line: structopt --multirun.",
        ),
        (
            lambda: check_single_run(["hydra/launcher=ray"]),
            "'hydra/launcher=ray' has no effect here: train runs once, and reads only "
            "hydra.run.dir and hydra.searchpath of Hydra's settings. Leave it out. Sweeps run "
            "from the command line: structopt --multirun.",
        ),
        (
            lambda: plain_value("task.columns", {1j: 0}),
            "task.columns=1j must have keys that are text or numbers.",
        ),
        (
            lambda: plain_value("seed", 1j),
            "seed=1j must be a number, text, a list or a mapping, not of type complex.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised:
        call()
    assert str(raised.value) == text
