"""The treebank grammar of relative frequencies against nltk's, on a toy treebank: the same best
tree, the same probability.
"""

from math import log

import nltk
import pytest

import structopt

TREES = [
    "(ROOT (S (NP (D the) (N dog)) (VP (V saw) (NP (D a) (N cat)))))",
    "(ROOT (S (NP (D the) (N man)) (VP (V saw) (NP (NP (D the) (N dog)) (PP (P with) (NP (D a) "
    "(N tail)))))))",
    "(ROOT (S (NP (D a) (N man)) (VP (VP (V saw) (NP (D the) (N cat))) (PP (P with) (NP (D the) "
    "(N glass))))))",
    "(ROOT (S (NP (D the) (N cat)) (VP (V fed) (NP (D the) (N man)))))",
]
SENTENCES = [
    "the dog saw a cat",
    "a man fed the dog with a glass",
    "the cat saw the man with a tail with the glass",
    "the man with the dog fed a cat with a tail",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    (folder / "toy.mrg").write_text("\n".join(TREES))
    return structopt.train(
        [
            "task=constituency",
            f"task.train={folder / 'toy.mrg'}",
            "task.tags=free",
            "features.min_count=1",
            "warm_start=counts",
            "optimizer=dca",
            "optimizer.epochs=0",
            "factor_graph.prune_threshold=0",
            "tracker=none",
            "quiet=true",
            f"hydra.run.dir={folder}",
        ]
    )


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_best_tree_and_its_probability(model, sentence):
    trees = [nltk.Tree.fromstring(text) for text in TREES]
    grammar = nltk.induce_pcfg(
        nltk.Nonterminal("ROOT"), [rule for tree in trees for rule in tree.productions()]
    )
    (expected,) = nltk.ViterbiParser(grammar).parse(sentence.split())
    ((best, *_),) = model.predict_k_best([sentence.split()], 1)
    assert str(best.output) == " ".join(str(expected).rpartition(" (p=")[0].split())
    assert best.score == pytest.approx(log(expected.prob()))
