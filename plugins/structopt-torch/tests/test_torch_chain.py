"""The contract by finite differences; the equations; training, resume and predictions on the
command line.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install structopt-torch")

from structopt_torch.chain import TorchChain
from torch_corpora import with_dense, with_words

from structopt.plugin import ConfigError, LossFamily, ModelError
from structopt.testing.components import component, run_words
from structopt.testing.problems import make_problem, random_encoded, random_graphs, random_trees
from structopt.testing.scorer import ScorerContract

SMALL = {
    "word_size": 4,
    "ngram_size": 3,
    "ngram_buckets": 11,
    "hidden": 6,
    "precision": "float64",
    "dropout": 0.0,
    "word_dropout": 0.0,
}


class WithWords(ScorerContract):
    @pytest.fixture(params=[False, True], ids=["words", "dense"])
    def encoded(self, request):
        encoded = with_words(random_encoded(1, (3, 1, 2, 4, 1)))
        return with_dense(encoded) if request.param else encoded


class TestNetworks(WithWords):
    @pytest.fixture(params=["bilstm", "window", "two layers", "no words", "no n-grams"])
    def scorer(self, request):
        options = {
            "bilstm": {},
            "window": {"encoder": "window"},
            "two layers": {"layers": 2},
            "no words": {"word_size": 0},
            "no n-grams": {"ngram_size": 0},
        }
        return TorchChain(**SMALL | options[request.param])


class TestBesideSparseFeatures(WithWords):
    @pytest.fixture(params=[("bilstm", "seen"), ("window", "all")], ids="-".join)
    def scorer(self, request):
        encoder, support = request.param
        return TorchChain(**SMALL, encoder=encoder, sparse=True, support=support)


OTHERS = {
    "single": (random_encoded(2, (1, 1, 1)), {}),
    "linear_chain": (random_encoded(2, (2, 3)), {"order": 2}),
    "pairwise": (random_graphs(2, (2, 3)), {}),
}


@pytest.mark.parametrize("graph", OTHERS)
def test_other_graphs(graph):
    encoded, options = with_words(OTHERS[graph][0]), OTHERS[graph][1]
    inference = component("inference", "enumeration")
    structure = component("factor_graph", graph, **options)
    problem = make_problem(encoded, structure, LossFamily(), inference, scorer=TorchChain(**SMALL))
    theta, generator = problem.scorer.initial(0), np.random.default_rng(1)
    _, gradient = problem.minibatch(theta, np.arange(len(encoded)))
    direction = generator.normal(size=len(theta))
    ahead, behind = (problem.losses(theta + sign * 1e-5 * direction) for sign in (1, -1))
    assert (ahead - behind) / 2e-5 == pytest.approx(gradient @ direction, rel=1e-6, abs=1e-6)


def fitted(scorer, encoded=None):
    encoded = with_words(random_encoded(1, (3, 2))) if encoded is None else encoded
    graph, inference = component("factor_graph", "linear_chain"), component("inference", "exact")
    return make_problem(encoded, graph, LossFamily(), inference, scorer=scorer)


def test_the_equation_of_a_window():
    problem = fitted(TorchChain(**SMALL | {"ngram_size": 0}, encoder="window", window=1))
    scorer, words = problem.scorer, problem.examples.encoded.words
    theta = scorer.initial(0) + 0.1
    named, first = {}, 0
    for name, shape in scorer.layout:
        named[name] = theta[first : first + np.prod(shape)].reshape(shape)
        first += np.prod(shape)
    known = {word: k for k, word in enumerate(scorer.sizes["words"], 1)}
    E = named["inputs.words.weight"][[known.get(word.lower(), 0) for word in words]]
    scores = []
    for begin, end in ((0, 3), (3, 5)):
        rows = np.concatenate([np.zeros((1, 4)), E[begin:end], np.zeros((1, 4))])
        x = np.concatenate([rows[:-2], rows[1:-1], rows[2:]], axis=1)
        h = np.maximum(0.0, x @ named["encoder.layers.0.weight"].T + named["encoder.layers.0.bias"])
        scores += [(h @ named["output.weight"].T + named["output.bias"]).ravel(), named["table_1"]]
    np.testing.assert_allclose(
        problem.examples.scores(theta, np.arange(2)), np.concatenate(scores), atol=1e-12
    )


def test_noise_is_drawn_by_its_numbers_alone():
    problem = fitted(TorchChain(**SMALL | {"dropout": 0.5, "word_dropout": 0.2}))
    theta, prepared, chosen = problem.scorer.initial(0), problem.examples.prepared, np.arange(2)
    (first, pullback), (again, _), (other, _) = (
        problem.scorer.training(theta, prepared, chosen, noise)
        for noise in ((0, 1), (0, 1), (0, 2))
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
    r = np.random.default_rng(0).normal(size=len(first))
    direction = np.random.default_rng(1).normal(size=len(theta))
    ahead, behind = (
        problem.scorer.training(theta + sign * 1e-5 * direction, prepared, chosen, (0, 1))[0] @ r
        for sign in (1, -1)
    )
    assert (ahead - behind) / 2e-5 == pytest.approx(pullback(r) @ direction, rel=1e-6, abs=1e-6)
    np.testing.assert_array_equal(pullback(r), pullback(r))


def test_chunks_do_not_change_the_scores(monkeypatch):
    lengths = np.random.default_rng(0).integers(1, 9, 40)
    problem = fitted(TorchChain(**SMALL), with_words(random_encoded(1, lengths)))
    theta, chosen = problem.scorer.initial(0), np.arange(40)[::-1]
    r = np.random.default_rng(0).normal(size=int(problem.structure.parts[-1]))
    whole, slope = (
        problem.examples.scores(theta, chosen),
        problem.scorer.pullback(theta, problem.examples.prepared, chosen, r),
    )
    monkeypatch.setattr("structopt_torch.chunks.INSTANCES", 7)
    monkeypatch.setattr("structopt_torch.chunks.PARTS", 100)
    np.testing.assert_allclose(problem.examples.scores(theta, chosen), whole, rtol=1e-12)
    np.testing.assert_allclose(
        problem.scorer.pullback(theta, problem.examples.prepared, chosen, r), slope, atol=1e-12
    )


def test_refusals():
    encoded, graph = random_encoded(1, (3, 2)), component("factor_graph", "linear_chain")
    structure = graph.build(encoded)
    with pytest.raises(
        ConfigError, match=r"features=torch_chain needs words, as task=ner has them\."
    ):
        TorchChain().fit(encoded, structure, graph.gold(encoded, structure))
    trees, graph = with_words(random_trees()), component("factor_graph", "arc_factored")
    structure = graph.build(trees)
    with pytest.raises(ConfigError, match="For dependency trees take features=torch_arc"):
        TorchChain().fit(trees, structure, graph.gold(trees, structure))
    with pytest.raises(ConfigError, match="leave nothing to read"):
        fitted(TorchChain(word_size=0, ngram_size=0))
    scorer = fitted(TorchChain(**SMALL), with_dense(with_words(random_encoded(1, (3, 2))))).scorer
    with pytest.raises(
        ConfigError, match=r"weights for dense tables of \[2, 6\] numbers, but this corpus has \[\]"
    ):
        scorer.prepare(
            with_words(encoded), component("factor_graph", "linear_chain").build(encoded)
        )
    with pytest.raises(ConfigError, match="other parts than those of training"):
        scorer.prepare(
            with_dense(with_words(encoded)),
            component("factor_graph", "linear_chain", order=2).build(encoded),
        )


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"options": {"hidden": "x"}}, "options.hidden must be an option of TorchChain"),
        (
            {"options": {"hidden": 7}},
            r"must be options that fit together \(features.hidden=7 must be even",
        ),
        ({"options": {"colour": 7}}, "options.colour must be an option of TorchChain"),
        ({"sizes": {"words": 3}}, "sizes.words must be a list of distinct strings"),
        ({"sizes": {"groups": [{"name": "label"}]}}, "width is missing"),
    ],
)
def test_saved_values_that_are_wrong(change, text):
    layout, arrays = fitted(TorchChain(**SMALL)).scorer.state()
    changed = json.loads(json.dumps(layout))
    for key, values in change.items():
        changed[key] |= values
    with pytest.raises(ModelError, match=text):
        TorchChain.restore(changed, arrays)


WORDS = (
    "features=torch_chain",
    "task=ner",
    "optimizer=torch_adamw",
    "optimizer.schedule=constant",
    "optimizer.warmup=0",
    "features.word_size=20",
    "features.ngram_size=20",
    "features.ngram_buckets=500",
    "features.hidden=40",
    "optimizer.batch_size=8",
    "optimizer.lr=0.01",
    "tracker=none",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chain")
    done = run_words(folder, *WORDS, "task.limit=250", "optimizer.epochs=4", "hydra.run.dir=run")
    assert done.code == 0, done.err
    return folder


def metrics(run: Path) -> dict[str, dict[str, float]]:
    splits: dict[str, dict[str, float]] = json.loads(
        (run / "metrics.json").read_text(encoding="utf8")
    )
    return splits


def test_it_learns_the_shipped_corpus(run: Path) -> None:
    splits = metrics(run / "run")
    assert splits["dev"]["f1"] > 0.6
    assert (splits["train"]["dual"], splits["train"]["gap"]) == (None, None)


def test_a_resumed_run_has_the_same_bits(run: Path) -> None:
    shorter = run_words(run, *WORDS, "task.limit=250", "optimizer.epochs=2", "hydra.run.dir=again")
    assert shorter.code == 0, shorter.err
    done = run_words(run, "resume=again", "optimizer.epochs=4")
    assert done.code == 0, done.err
    one, other = (run / name / "model" / "weights.safetensors" for name in ("run", "again"))
    assert one.read_bytes() == other.read_bytes()


def test_a_saved_model_predicts(run: Path) -> None:
    (run / "plain.txt").write_text(
        "Ann NNP B-NP\nslept VBD B-VP\n. . O\n\nOslo NNP B-NP\n\n", encoding="utf8"
    )
    words = (
        "model=run",
        "input=plain.txt",
        "output=tagged.txt",
        "probabilities=true",
        "k_best=2",
        "threads=2",
    )
    done = run_words(run, "predict", *words)
    assert done.code == 0, done.err
    assert (run / "tagged.txt").read_text(encoding="utf8").startswith("Ann NNP B-NP ")


def test_no_pickle_is_in_a_run(run: Path) -> None:
    files = {path.suffix for path in (run / "run").rglob("*") if path.is_file()}
    assert not files & {".pt", ".pth", ".pkl", ".bin", ".npy"}


@pytest.mark.parametrize(
    "words",
    [
        ("loss=crf",),
        ("loss=svm",),
        ("loss=softmax_margin",),
        ("loss.beta=3", "loss.gamma=1"),
        ("features.sparse=true", "features.encoder=window"),
        ("optimizer=adagrad", "optimizer.eta=0.05", "optimizer.batch_size=8"),
        ("optimizer=lbfgs", "features.encoder=window"),
        ("task.target_scheme=bioes", "threads=2"),
    ],
    ids=" ".join,
)
def test_losses_optimizers_and_graphs(tmp_path: Path, words: tuple[str, ...]) -> None:
    basis = [
        word
        for word in WORDS
        if not words[0].startswith("optimizer=") or not word.startswith("optimizer")
    ]
    done = run_words(
        tmp_path, *basis, "task.limit=60", "optimizer.epochs=3", "hydra.run.dir=run", *words
    )
    assert done.code == 0, done.err
    history = (tmp_path / "run" / "history.csv").read_text(encoding="utf8").splitlines()
    column = history[0].split(",").index("loss")
    values = [float(line.split(",")[column]) for line in history[1:]]
    assert values[-1] < values[0]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ("optimizer=sdca",),
            "optimizer=sdca needs scores that are linear in the weights, with sparse columns, and "
            "those of ",
        ),
        (("features.encoder=lstm",), "features.encoder=lstm is none of: bilstm, window."),
        (
            ("features.hidden=7",),
            "features.hidden=7 must be even: half of it reads in each direction.",
        ),
        (("features.dropout=1",), "features.dropout=1.0 must be at least 0 and below 1."),
        (("features.device=gpu",), "features.device=gpu is none of: cpu, cuda, auto."),
        (("features.precision=half",), "features.precision=half is none of: float32, float64."),
    ],
)
def test_refusals_on_the_command_line(tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    done = run_words(
        tmp_path,
        "features=torch_chain",
        "optimizer=torch_adamw",
        "task=ner",
        "tracker=none",
        *words,
    )
    assert done.code == 2
    assert f"structopt: {text}" in done.err


def test_cuda_is_refused_where_there_is_none(tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("PyTorch sees a CUDA device here")
    done = run_words(
        tmp_path,
        "features=torch_chain",
        "optimizer=torch_adamw",
        "tracker=none",
        "features.device=cuda",
    )
    assert done.code == 2
    assert (
        "structopt: features.device=cuda: PyTorch sees no CUDA device here. Set "
        "features.device=cpu." in done.err
    )
