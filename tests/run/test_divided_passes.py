"""Passes in windows of blocks: the same bits wherever a run is interrupted; gaps are sampled within
a window.
"""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import structopt
from structopt.core.optimizer import Optimizer
from structopt.errors import ConfigError
from structopt.run import stages
from tests.parts import gate_cases

WORDS = [
    "task=ner",
    "task.limit=60",
    "task.dev=null",
    "task.test=null",
    "tracker=none",
    "quiet=true",
    "order=blocks",
    "storage.block=4",
    "storage.window=3",
    "storage.checkpoint=0",
    "optimizer.epochs=2",
]


def weights_of(folder: Path) -> bytes:
    return (folder / "model" / "weights.safetensors").read_bytes()


class Cut(BaseException):
    """What ends a run as a signal would: nothing is saved after it."""


@pytest.mark.nightly("rest")
@pytest.mark.parametrize(
    "words",
    gate_cases(
        [
            ["optimizer=dca"],
            ["optimizer=sdca", "optimizer.sampling=gap"],
            ["optimizer=pegasos", "optimizer.batch_size=5"],
        ],
        "runs",
        1,
    ),
    ids=" ".join,
)
def test_a_run_that_is_cut_off_inside_a_pass_goes_on_to_the_same_bits(tmp_path, monkeypatch, words):
    structopt.train([*WORDS, *words], tmp_path / "whole")
    cls = stages.make_components(
        structopt.config.validation.validate(structopt.config.composition.compose(words))
    ).optimizer
    step, left = type(cls).step, [7]

    def cut(self: Optimizer, problem, state):
        if not left[0]:
            raise Cut
        left[0] -= 1
        return step(self, problem, state)

    monkeypatch.setattr(type(cls), "step", cut)
    with pytest.raises(Cut):
        structopt.train([*WORDS, *words], tmp_path / "cut")
    left[0] = 99
    stages.resume(tmp_path / "cut", [])
    assert left[0] == 99 - 3  # of 2 passes of 5 windows, 7 were done
    assert weights_of(tmp_path / "cut") == weights_of(tmp_path / "whole")
    rows = [(tmp_path / name / "history.csv").read_text().splitlines() for name in ("whole", "cut")]
    assert [[row.split(",")[3:] for row in one] for one in rows][0] == [
        row.split(",")[3:] for row in rows[1]
    ]


def test_passes_are_whole_where_an_optimizer_is_not_divisible(tmp_path):
    structopt.train([*WORDS, "optimizer=adagrad"], tmp_path)
    state = load_file(tmp_path / "checkpoint" / "state.safetensors")
    assert np.count_nonzero(state["theta"]) > 0


def test_shuffled_order_is_refused_on_disk(tmp_path):
    with pytest.raises(
        ConfigError,
        match="order=shuffled visits the instances all over the corpus, which storage=disk cannot",
    ):
        structopt.train(["task=ner", "storage=disk", "order=shuffled"], tmp_path)
