"""The texts of errors that `structopt.factor_graph` raises, as the command line writes them, in one table."""

import pytest

from structopt.config.wording import keyed
from structopt.errors import StructoptError
from structopt.factor_graph import tree_corpora
from structopt.factor_graph.antecedent import Antecedent
from structopt.factor_graph.grammar.grammar import Grammar
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.factor_graph.second_order import SecondOrder
from structopt.factor_graph.single import Single
from structopt.testing.problems import random_encoded
from tests.messages import keys_of

CHAINS = random_encoded(labels=2, attributes=2, lengths=(1, 2))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: LinearChain(0),
            "factor_graph.order=0 must be at least 1.",
        ),
        (
            lambda: LinearChain(30).build(CHAINS),
            "factor_graph.order=30 has 1073741824 states with 2 labels. Set a smaller "
            "factor_graph.order.",
        ),
        (
            lambda: SecondOrder(prune_ratio=1.0),
            "factor_graph.prune_ratio=1.0 must be at least 0 and below 1; 0 prunes by "
            "factor_graph.max_heads only.",
        ),
        (
            lambda: SecondOrder(max_heads=-1),
            "factor_graph.max_heads=-1 must be at least 1, or 0 for no limit.",
        ),
        (
            lambda: Antecedent(distance=0),
            "factor_graph.distance=0 must be at least 1, or null for no limit.",
        ),
        (
            lambda: Grammar(vertical=0),
            "factor_graph.vertical=0 must be at least 1.",
        ),
        (
            lambda: Grammar(prune_threshold=1.0),
            "factor_graph.prune_threshold=1.0 must be at least 0 and below 1; 0 means no pruning.",
        ),
        (
            lambda: Pairwise().build(CHAINS),
            "factor_graph=pairwise needs task=multilabel, grid or synthetic. Use the factor "
            "graph of your task.",
        ),
        (
            lambda: Single().build(CHAINS),
            "instance 1: factor_graph=single needs one variable per instance, and this one has "
            "2. For sequences use factor_graph=linear_chain.",
        ),
        (
            lambda: tree_corpora.trees_of(CHAINS),
            "This factor graph needs dependency trees. Use task=dependency, or the factor "
            "graph of your task.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised, keyed(keys_of("factor_graph")):
        call()
    assert str(raised.value) == text
