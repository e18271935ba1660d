"""GUM in the scheme of OntoNotes, and LitBank: what is read, and runs on predicted mentions and on
single mentions.
"""

import json
import os

import pytest

import structopt
from structopt.task.coreference.coreference import Coreference
from structopt.task.coreference.noun_phrases import shared_mentions

DATA = os.environ.get("STRUCTOPT_DATA")
WHY = "STRUCTOPT_DATA is not set: GUM and LitBank are not here"
pytestmark = [pytest.mark.nightly("data"), pytest.mark.skipif(DATA is None, reason=WHY)]

GUM = f"{DATA}/gum/dep.{{}}.conllu.gz"
ONTONOTES = f"{DATA}/gum/coref_ontogum_conll.tar.gz:**/*.conll"
LITBANK = f"{DATA}/litbank/coref_conll.tar.gz:{{}}.conll"
FEATURES = {"new": ["m.head"], "links": ["same.text"], "joined": ["bias"]}
RUN = [
    "task=coreference",
    "tracker=none",
    "quiet=true",
    "objective_every=0",
    "loss.cost=coreference",
]


def test_schemes_of_gum():
    """30 documents: all entities, and those of the scheme of OntoNotes, which has two singletons."""
    files = {"features": FEATURES, "discontinuous": "hull"}
    native = Coreference(**files).read(GUM.format("dev"))
    onto = Coreference(**files, entities=ONTONOTES).read(GUM.format("dev"))
    assert (len(native), len(native.mentions)) == (30, 7897)
    assert (len(onto), len(onto.mentions)) == (30, 3817)
    assert sum(len(entity) == 1 for i in range(30) for entity in onto.entities(i)) == 2
    phrases = Coreference(**files, entities=ONTONOTES, mentions="phrases").read(GUM.format("dev"))
    assert (len(phrases.mentions), shared_mentions(phrases)) == (8654, (3457, 3817))
    assert [phrases.entities(i) for i in range(30)] == [onto.entities(i) for i in range(30)]


def test_predicted_mentions(tmp_path):
    """Forty documents of GUM, three epochs."""
    words = [
        *RUN,
        f"task.train={GUM.format('train')}",
        f"task.dev={GUM.format('dev')}",
        f"task.entities={ONTONOTES}",
        "task.mentions=phrases",
        "task.discontinuous=hull",
        "task.singletons=false",
        "task.limit=40",
        "optimizer=adagrad",
        "loss=softmax_margin",
        "optimizer.eta=0.03",
        "optimizer.epochs=3",
        f"hydra.run.dir={tmp_path}",
    ]
    structopt.train(words)
    assert json.loads((tmp_path / "metrics.json").read_text())["dev"]["conll_no_singletons"] > 0.45


def test_single_mentions(tmp_path):
    """LitBank, a step per mention."""
    words = [
        *RUN,
        f'task.train="{LITBANK.format("{1*,2*,3*,4051*,41*,4217*}")}"',
        f'task.dev="{LITBANK.format("{427*,43*,44*,45*,47*,5*,6*}")}"',
        "factor_graph.instances=mentions",
        "optimizer=adagrad",
        "loss=softmax_margin",
        "optimizer.eta=0.03",
        "optimizer.epochs=3",
        f"hydra.run.dir={tmp_path}",
    ]
    structopt.train(words)
    assert json.loads((tmp_path / "metrics.json").read_text())["dev"]["conll"] > 0.74
