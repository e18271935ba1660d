"""The contract by finite differences; the equations; training, resume and predictions on the
command line.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install structopt-torch")

from structopt_torch.arc import TorchArc
from torch_corpora import with_dense, with_words

from structopt.plugin import ConfigError, LossFamily
from structopt.testing.components import component, run_words
from structopt.testing.problems import make_problem, random_encoded, random_trees
from structopt.testing.scorer import ScorerContract

SMALL = {
    "word_size": 4,
    "ngram_size": 3,
    "ngram_buckets": 11,
    "tag_size": 2,
    "hidden": 6,
    "layers": 1,
    "arc_size": 4,
    "relation_size": 3,
    "dropout": 0.0,
    "word_dropout": 0.0,
    "precision": "float64",
}
TEMPLATES = {
    "hash_bits": 10,
    "label_bits": 4,
    "templates": ["h.upos & m.upos", "m.form"],
    "labels": ["m.upos"],
}
GRAPHS = {
    "arcs": {},
    "relations": {"labeled": True},
    "projective": {"projective": True, "labeled": True},
}


class TestTorchArc(ScorerContract):
    @pytest.fixture(params=GRAPHS)
    def graph(self, request):
        return component("factor_graph", "arc_factored", **GRAPHS[request.param])

    @pytest.fixture(params=["all heads", "candidates"])
    def encoded(self, request):
        pruned = request.param == "candidates"
        encoded = with_words(random_trees(1, (3, 1, 2, 4, 1), candidates=pruned, projective=True))
        return with_dense(encoded) if pruned else encoded

    @pytest.fixture(params=["plain", "two layers", "seen", "all"])
    def scorer(self, request):
        beside = {"sparse": True, "support": request.param, **TEMPLATES}
        return TorchArc(
            **SMALL | {"plain": {}, "two layers": {"layers": 2}}.get(request.param, beside)
        )


def fitted(scorer, encoded=None, **options):
    encoded = with_words(random_trees(1, (3, 2))) if encoded is None else encoded
    graph, inference = (
        component("factor_graph", "arc_factored", **options),
        component("inference", "exact"),
    )
    return make_problem(encoded, graph, LossFamily(), inference, scorer=scorer)


def test_the_equations():
    problem = fitted(TorchArc(**SMALL), labeled=True)
    scorer, structure = problem.scorer, problem.structure
    theta = scorer.initial(0) + 0.1 * np.random.default_rng(0).normal(size=scorer.dimension)
    module = scorer.module(theta, False).eval()
    batch = problem.examples.prepared.network.tokens.batch(np.array([0]))
    h = module.encoder(module.inputs(batch, module.arc.root), batch.lengths).numpy()
    named = {name: one.numpy() for name, one in module.named_parameters()}

    def vectors(form, side):
        linear = h @ named[f"{form}.{side}.weight"].T + named[f"{form}.{side}.bias"]
        return np.where(linear > 0.0, linear, 0.1 * linear)

    p, q, v, w = (vectors(form, side) for form in ("arc", "label") for side in ("head", "modifier"))
    arcs, relations = [], []
    for head, modifier in structure.part_tokens["arc"][: structure.groups[0].offsets[1]]:
        ph, vh = (
            named[f"{form}.root"][0] if head < 0 else some[head]
            for form, some in (("arc", p), ("label", v))
        )
        arcs.append(ph @ named["arc.form"][0] @ q[modifier] + named["arc.of_head.weight"][0] @ ph)
        bilinear = np.einsum("i,rij,j->r", vh, named["label.form"], w[modifier])
        linear = (
            named["label.of_head.weight"] @ vh + named["label.of_modifier.weight"] @ w[modifier]
        )
        relations.append(bilinear + linear + named["label.of_head.bias"])
    expected = np.concatenate([np.ravel(relations), arcs])
    np.testing.assert_allclose(problem.examples.scores(theta, np.array([0])), expected, atol=1e-12)


def test_tags_are_those_that_the_corpus_has():
    assert list(fitted(TorchArc(**SMALL)).scorer.sizes["columns"]) == ["upos"]
    assert fitted(TorchArc(**SMALL, tags=["feats"])).scorer.sizes["columns"] == {}


def test_refusals():
    encoded, graph = (
        with_words(random_encoded(1, (3, 2))),
        component("factor_graph", "linear_chain"),
    )
    structure = graph.build(encoded)
    with pytest.raises(ConfigError, match="features=torch_arc scores the arcs of dependency trees"):
        TorchArc().fit(encoded, structure, graph.gold(encoded, structure))
    with pytest.raises(
        ConfigError, match=r"features=torch_arc needs words, as task=ner has them\."
    ):
        fitted(TorchArc(), random_trees(1, (3, 2)))
    with pytest.raises(ConfigError, match="leave nothing to read"):
        fitted(TorchArc(word_size=0, ngram_size=0, tag_size=0))
    trees, graph = (
        with_words(random_trees(1, (3, 2))),
        component("factor_graph", "second_order", siblings="consecutive"),
    )
    with pytest.raises(ConfigError, match="factor_graph=arc_factored"):
        TorchArc().fit(trees, structure := graph.build(trees), graph.gold(trees, structure))
    trees = with_words(random_trees(1, (3, 2), labels=3))
    structure = component("factor_graph", "arc_factored", labeled=True).build(trees)
    with pytest.raises(ConfigError, match="the model has weights for 2 labels, the corpus has 3"):
        fitted(TorchArc(**SMALL), labeled=True).scorer.prepare(trees, structure)


WORDS = (
    "features=torch_arc",
    "task=dependency",
    "optimizer=torch_adamw",
    "optimizer.schedule=constant",
    "optimizer.warmup=0",
    "features.hidden=40",
    "features.layers=1",
    "features.ngram_buckets=500",
    "optimizer.batch_size=8",
    "tracker=none",
    "task.limit=150",
    "optimizer.lr=0.01",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arc")
    done = run_words(folder, *WORDS, "optimizer.epochs=4", "hydra.run.dir=run")
    assert done.code == 0, done.err
    return folder


def test_it_learns_the_shipped_corpus(run: Path) -> None:
    splits = json.loads((run / "run" / "metrics.json").read_text(encoding="utf8"))
    assert splits["dev"]["uas"] > 0.55


def test_a_resumed_run_has_the_same_bits(run: Path) -> None:
    shorter = run_words(run, *WORDS, "optimizer.epochs=2", "hydra.run.dir=again")
    assert shorter.code == 0, shorter.err
    done = run_words(run, "resume=again", "optimizer.epochs=4")
    assert done.code == 0, done.err
    one, other = (run / name / "model" / "weights.safetensors" for name in ("run", "again"))
    assert one.read_bytes() == other.read_bytes()


def test_a_saved_model_predicts(run: Path) -> None:
    rows = ("1\tAnn\tAnn\tPROPN\tNNP\t_\t_\t_\t_\t_", "2\tslept\tsleep\tVERB\tVBD\t_\t_\t_\t_\t_")
    (run / "plain.conllu").write_text("\n".join(rows) + "\n\n", encoding="utf8")
    done = run_words(
        run,
        "predict",
        "model=run",
        "input=plain.conllu",
        "output=parsed.conllu",
        "probabilities=true",
    )
    assert done.code == 0, done.err
    assert "Ann" in (run / "parsed.conllu").read_text(encoding="utf8")


@pytest.mark.parametrize(
    "words",
    [
        ("loss=svm",),
        ("loss=softmax_margin", "factor_graph.labeled=true"),
        ("loss.beta=3", "loss.gamma=1"),
        ("factor_graph.projective=true",),
        ("features.sparse=true", "features.hash_bits=14", "features.label_bits=8"),
    ],
    ids=" ".join,
)
def test_losses_and_graphs(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run_words(
        tmp_path, *WORDS, "task.limit=40", "optimizer.epochs=3", "hydra.run.dir=run", *words
    )
    assert done.code == 0, done.err
    history = (tmp_path / "run" / "history.csv").read_text(encoding="utf8").splitlines()
    column = history[0].split(",").index("loss")
    values = [float(line.split(",")[column]) for line in history[1:]]
    assert values[-1] < values[0]


def test_a_pruner_needs_linear_features(tmp_path: Path) -> None:
    words = (
        "task=dependency",
        "factor_graph=second_order",
        "inference=loopy_bp",
        "features=torch_arc",
        "optimizer=torch_adamw",
    )
    done = run_words(tmp_path, *words, "task.limit=5", "tracker=none")
    assert done.code == 2
    assert (
        "features=torch_arc: a pruner is trained with features that are linear in the weights. "
        "Train one in a run" in done.err
    )
