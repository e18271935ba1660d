"""The contract of optimizers; the equation of a step; the schedule."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install structopt-torch")

import torch
from structopt_torch.adamw import TorchAdamW
from structopt_torch.chain import TorchChain
from torch_corpora import with_words

from structopt.plugin import LossFamily, StructoptError
from structopt.testing.components import component, run_words
from structopt.testing.optimizer import OptimizerSuite
from structopt.testing.problems import make_problem, random_encoded

TOOLS = Path(__file__).parents[1] / "tools"


def small_problem(seed=0):
    graph, inference = component("factor_graph", "linear_chain"), component("inference", "exact")
    return make_problem(
        random_encoded(1, (3, 1, 2, 4, 3, 2)), graph, LossFamily(), inference, C=20.0, seed=seed
    )


class TestTorchAdamW(OptimizerSuite):
    @pytest.fixture(
        params=[
            {},
            {"average": True, "schedule": "constant"},
            {"schedule": "cosine", "clip": None},
        ],
        ids=str,
    )
    def optimizer(self, request):
        return lambda: TorchAdamW(lr=0.1, batch_size=2, **request.param)

    @pytest.fixture
    def problem(self):
        return small_problem


def test_the_equation():
    problem, rate, decay = small_problem(), 0.03, 0.2
    method = TorchAdamW(
        lr=rate,
        batch_size=4,
        schedule="constant",
        warmup=0.0,
        clip=0.5,
        weight_decay=decay,
        epochs=1,
    )
    state, _ = method.step(problem, method.init(problem, np.full(problem.dimension, 0.1)))
    theta, m, v, order = np.full(problem.dimension, 0.1), 0.0, 0.0, problem.order(0)
    for t, batch in enumerate((order[:4], order[4:]), 1):
        g = problem.minibatch(theta, batch)[1] / len(batch)
        g *= min(1.0, 0.5 / (np.linalg.norm(g) + 1e-6))
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        theta = theta * (1 - rate * decay) - rate * (m / (1 - 0.9**t)) / (
            np.sqrt(v / (1 - 0.999**t)) + 1e-8
        )
    np.testing.assert_allclose(method.weights(state), theta, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"average": True, "clip": None}], ids=str)
def test_weights_that_stay_on_the_device_have_the_same_bits(monkeypatch, options):
    graph, inference = component("factor_graph", "linear_chain"), component("inference", "exact")
    encoded = with_words(random_encoded(1, (3, 1, 2, 4, 3, 2)))
    scorer = TorchChain(word_size=4, ngram_size=3, ngram_buckets=11, hidden=6, dropout=0.2)
    states = []
    for resident in (TorchChain.resident, lambda *_: nullcontext()):
        monkeypatch.setattr(TorchChain, "resident", resident)
        problem = make_problem(encoded, graph, LossFamily(), inference, scorer=scorer)
        method = TorchAdamW(lr=0.05, batch_size=2, epochs=2, **options)
        state = method.init(problem, problem.scorer.initial(0))
        for _ in range(2):
            state, _ = method.step(problem, state)
        states.append(state)
    for name in ("theta", "total", "gradients", "squares"):
        assert np.array_equal(states[0][name], states[1][name])
    assert states[0]["gradients"].any() and not problem.scorer._residents


def test_the_check_of_cuda_runs_on_the_cpu(capsys):
    spec = spec_from_file_location("cuda_check", TOOLS / "cuda_check.py")
    check = module_from_spec(spec)
    sys.modules["cuda_check"] = check
    spec.loader.exec_module(check)
    assert check.main(["--device=cpu", "--sentences=8"]) == 0
    assert capsys.readouterr().out.count(", ok") == 3 * 5 + 4 * 3
    if not torch.cuda.is_available():
        assert check.main([]) == 0
        assert capsys.readouterr().out == "skipped: PyTorch sees no CUDA device\n"


def test_the_schedules():
    linear, cosine, constant = (
        TorchAdamW(lr=1.0, schedule=name, warmup=0.2) for name in ("linear", "cosine", "constant")
    )
    steps = range(1, 11)
    np.testing.assert_allclose(
        [linear.rate(t, 10) for t in steps],
        [0.5, 1, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8],
    )
    assert cosine.rate(7, 10) == pytest.approx(0.5)
    assert [constant.rate(t, 10) for t in steps] == [0.5, *[1.0] * 9]
    assert TorchAdamW(lr=1.0, warmup=0.0).rate(1, 10) == 1.0
    assert TorchAdamW(lr=1.0, warmup=1.0).rate(10, 10) == 1.0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"lr": 0.0}, r"optimizer\.lr=0.0 must be greater than 0"),
        ({"clip": -1.0}, r"optimizer\.clip=-1.0 must be greater"),
        ({"epochs": -1}, r"optimizer\.epochs=-1 must be at least 0"),
        ({"batch_size": 0}, r"batch_size=0 must be at least 1"),
        ({"beta1": 1.0}, r"beta1=1.0 must be at least 0 and below 1"),
        ({"warmup": 2.0}, r"warmup=2.0 must be from 0 to 1"),
        ({"schedule": "step"}, "schedule=step must be 'constant' or 'linear' or 'cosine'"),
        ({"weight_decay": -1.0}, r"weight_decay=-1.0 must be at least 0"),
    ],
)
def test_refusals(options, text):
    with pytest.raises(StructoptError, match=text):
        TorchAdamW(**options)


def test_sparse_features_on_the_command_line(tmp_path: Path) -> None:
    words = (
        "optimizer=torch_adamw",
        "optimizer.lr=0.03",
        "optimizer.epochs=3",
        "task.limit=200",
        "tracker=none",
    )
    done = run_words(tmp_path, "task=ner", *words, "hydra.run.dir=run")
    assert done.code == 0, done.err
