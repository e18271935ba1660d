"""Components in blank pipelines: training, prediction, storage and refusals."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy_corpora import Sentence, document, examples, sentences
from structopt_spacy.component import Component
from structopt_spacy.sentences import gold_arcs, gold_attributes, gold_entities, spans, tree

import structopt
from structopt import StructoptError

TRAIN, DEV = sentences(60, 0), sentences(30, 1)
FACTORIES = ("structopt_tagger", "structopt_parser", "structopt_ner")


def blank(language: str = "en", **settings: Any) -> Language:
    nlp = spacy.blank(language)
    for factory in FACTORIES:
        nlp.add_pipe(factory, config=settings)
    return nlp


@pytest.fixture(scope="module", params=["en", "es"])
def pipeline(request: pytest.FixtureRequest) -> Language:
    nlp = blank(request.param, optimizer="dca", C=1.0, epochs=5)
    nlp.initialize(examples(nlp, TRAIN))
    return nlp


def annotations(doc: Doc) -> list[tuple[Any, ...]]:
    return [
        (one.text, one.tag_, one.head.i, one.dep_, one.ent_iob_, one.ent_type_, one.is_sent_start)
        for one in doc
    ]


def predicted(nlp: Language) -> list[list[tuple[Any, ...]]]:
    docs = (Doc(nlp.vocab, words=one.words) for one in DEV)
    return list(map(annotations, nlp.pipe(docs)))


def test_predictions_are_those_of_the_estimators(pipeline: Language) -> None:
    settings: dict[str, Any] = {"optimizer": "dca", "C": 1.0, "epochs": 5}
    train, dev = ([{"word": one.words} for one in part] for part in (TRAIN, DEV))
    tagger = structopt.StructuredEstimator(task="tagging", **settings)
    tags = tagger.fit(train, [one.tags for one in TRAIN]).predict(dev)
    entities = structopt.StructuredEstimator(task="ner", **settings)
    labels = entities.fit(train, [one.entities for one in TRAIN]).predict(dev)
    parser = structopt.DependencyParser(**settings)
    gold = [
        [(0 if head == i else head + 1, relation) for i, (head, relation) in enumerate(pairs)]
        for pairs in (zip(one.heads, one.relations, strict=True) for one in TRAIN)
    ]
    trees = parser.fit([one.words for one in TRAIN], gold).predict([one.words for one in DEV])
    for rows, own_tags, own_labels, arcs in zip(
        predicted(pipeline), tags, labels, trees, strict=True
    ):
        assert [row[1] for row in rows] == list(own_tags)
        assert [row[4] + "-" * bool(row[5]) + row[5] for row in rows] == list(own_labels)
        heads = [0 if row[2] == i else row[2] + 1 for i, row in enumerate(rows)]
        assert heads == [arc.head for arc in arcs]
        assert [row[3] for row in rows] == [arc.relation for arc in arcs]


def test_scores_and_labels(pipeline: Language) -> None:
    scores = pipeline.evaluate(examples(pipeline, DEV)())
    assert min(scores[key] for key in ("tag_acc", "dep_uas", "dep_las", "ents_f")) > 0.5
    labels = pipeline.pipe_labels
    assert labels["structopt_ner"] == ["LOC", "ORG", "PER"]
    assert labels["structopt_tagger"] == ["DT", "IN", "JJ", "NN", "NNP", "NNS", "VB"]
    assert "nsubj" in labels["structopt_parser"]
    assert pipeline.update(examples(pipeline, DEV)()) == {}


def test_pipelines_are_stored(pipeline: Language, tmp_path: Path) -> None:
    expected = predicted(pipeline)
    pipeline.to_disk(tmp_path / "pipeline")
    assert not [path for path in (tmp_path / "pipeline").rglob("*.pkl")]
    loaded = spacy.load(tmp_path / "pipeline")
    assert predicted(loaded) == expected
    assert loaded.to_bytes() == pipeline.to_bytes()
    copy = spacy.blank(pipeline.lang, config=pipeline.config).from_bytes(pipeline.to_bytes())
    assert predicted(copy) == expected
    assert predicted(pickle.loads(pickle.dumps(pipeline))) == expected


PROCESSES = """
import multiprocessing, sys
import spacy
from spacy.tokens import Doc

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[2])
    nlp = spacy.load(sys.argv[1])
    texts = ["Ann saw the old dog in Oslo", "the tree liked Ben Old", "Cora watch Rome"] * 4
    lists = [
        [[(t.tag_, t.head.i, t.dep_, t.ent_type_) for t in doc] for doc in docs]
        for docs in (nlp.pipe(texts), nlp.pipe(texts, n_process=2, batch_size=3))
    ]
    assert lists[0] == lists[1] and lists[0][0][0][0] == "NNP"
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_annotate_alike(pipeline: Language, tmp_path: Path, method: str) -> None:
    pipeline.to_disk(tmp_path / "pipeline")
    script = tmp_path / "script.py"
    script.write_text(PROCESSES, encoding="utf8")
    command = [sys.executable, str(script), str(tmp_path / "pipeline"), method]
    subprocess.run(command, check=True, timeout=300)


def test_documents_keep_their_sentences(pipeline: Language) -> None:
    """One root per given sentence; white space has no effect on words."""
    words = ["Ann", "saw", "Cora", "\n\n", " ", "the", "dog", "liked", "Ben", "\n", " "]
    starts = [True, False, False, False, True, False, False, False, False, True, False]
    doc = Doc(pipeline.vocab, words=words, sent_starts=starts)
    for name in FACTORIES:
        doc = pipeline.get_pipe(name)(doc)
    assert [one.is_sent_start for one in doc] == starts
    assert [len([one for one in sent if one.head == one]) for sent in doc.sents] == [1, 1, 1]
    assert [one.tag_ for one in doc if one.is_space] == ["_SP"] * 4
    plain = [
        annotations(pipeline(Doc(pipeline.vocab, words=one))) for one in (words[:3], words[5:9])
    ]
    tags = [row[1] for rows in plain for row in rows]
    assert [one.tag_ for one in doc if not one.is_space] == tags
    for text in ("", " ", "\n \n"):
        assert pipeline(text).text == text


def test_misaligned_tokens_are_open() -> None:
    nlp = spacy.blank("en")
    gold = Doc(
        nlp.vocab,
        words=["New", "Delhi", "is", "big", "now"],
        spaces=[True, True, True, False, False],
        tags=["NNP", "NNP", "VBZ", "JJ", ""],
        heads=[1, 2, 2, 2, 3],
        deps=["compound", "nsubj", "ROOT", "acomp", "advmod"],
        ents=["B-LOC", "I-LOC", "O", "O", "O"],
    )
    words = ["New", "Delhi", "is", "bignow"]
    example = Example(Doc(nlp.vocab, words=words, spaces=[True, True, True, False]), gold)
    assert gold_attributes(example, "TAG") == ["NNP", "NNP", "VBZ", None]
    assert gold_entities(example) == ["B-LOC", "I-LOC", "O", "O"]
    arcs = gold_arcs(example)
    assert arcs == [(1, "compound"), (2, "nsubj"), (2, "ROOT"), None]
    tokens = list(example.predicted)
    assert tree(tokens, arcs) == [(2, "compound"), (3, "nsubj"), (0, "ROOT"), None]
    assert tree(tokens[:2], arcs) == [(2, "compound"), None]
    assert tree(tokens[:2], [(0, "a"), (1, "b")]) == [None, None]
    other = Example(
        Doc(nlp.vocab, words=["NewDelhi", "is"], spaces=[True, False]), gold[:3].as_doc()
    )
    assert gold_entities(other) == ["B-LOC", "O"] or gold_entities(other)[0] is None
    unknown = Example(Doc(nlp.vocab, words=words[:2]), Doc(nlp.vocab, words=words[:2]))
    assert gold_entities(unknown) == gold_arcs(unknown) == [None, None]
    assert gold_attributes(unknown, "TAG") == [None, None]


def test_open_labels_train() -> None:
    """Every third gold annotation is missing, and the others are learnt."""
    nlp = blank(epochs=5)
    own = examples(nlp, TRAIN)()
    for example in own:
        for token in list(example.reference)[::3]:
            token.tag_ = ""
    rough = [
        Example(
            Doc(
                nlp.vocab,
                words=["".join(one.words[:2]), *one.words[2:]],
                spaces=[True] * (len(one.words) - 2) + [False],
            ),
            Doc(
                nlp.vocab,
                words=one.words,
                spaces=[False] + [True] * (len(one.words) - 2) + [False],
                tags=one.tags,
                heads=one.heads,
                deps=one.relations,
                ents=one.entities,
            ),
        )
        for one in TRAIN[:20]
    ]
    nlp.initialize(lambda: own + rough)
    for name in FACTORIES:
        assert nlp.get_pipe(name).model.config["task"]["partial"] == (
            name != "structopt_ner" or any(None in gold_entities(one) for one in rough)
        )
    assert nlp.evaluate(examples(nlp, DEV)())["tag_acc"] > 0.7


def test_trees_over_one_document_are_split_by_gold_sentences() -> None:
    nlp = spacy.blank("en")
    parser = nlp.add_pipe("structopt_parser", config={"epochs": 3})
    docs = [document(nlp, TRAIN[i : i + 3]) for i in range(0, 60, 3)]
    words = [[token.text for token in doc] for doc in docs]
    nlp.initialize(
        lambda: [Example(Doc(nlp.vocab, words=w), doc) for w, doc in zip(words, docs, strict=True)]
    )
    single = spacy.blank("en")
    one = single.add_pipe("structopt_parser", config={"epochs": 3})
    single.initialize(examples(single, TRAIN))
    assert parser.to_bytes() == one.to_bytes()


def test_columns_read_annotating_components() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("structopt_tagger", config={"epochs": 5})
    config = {"columns": {"xpos": "tag_"}, "epochs": 5}
    parser = nlp.add_pipe("structopt_parser", config=config)
    with pytest.raises(StructoptError, match=r"columns\.xpos.*tag_.*annotating_components"):
        nlp.initialize(examples(nlp, TRAIN))
    nlp.config["training"]["annotating_components"] = ["structopt_tagger"]
    nlp.initialize(examples(nlp, TRAIN))
    assert parser.model.task.needed_columns == ("form", "xpos")
    assert nlp.evaluate(examples(nlp, DEV)())["dep_uas"] > 0.8


def test_models_of_runs_are_used(tmp_path: Path) -> None:
    words = ["task=ner", "tracker=none", "quiet=true", "optimizer.epochs=1"]
    model = structopt.train(words, folder=tmp_path / "run")
    nlp = spacy.blank("en")
    nlp.add_pipe("structopt_ner")
    settings = {"structopt_ner": {"model": str(tmp_path / "run")}}
    nlp.config["initialize"]["components"] = settings
    nlp.initialize()
    doc = nlp(Doc(nlp.vocab, words=["Ann", "Smith", "visited", "New", "York"]))
    assert [(one.start, one.end, one.label_) for one in doc.ents] == spans(
        model.predict([[token.text for token in doc]])[0]
    )
    nlp.add_pipe("structopt_tagger")
    with pytest.raises(StructoptError, match="task=ner.*needs task=tagging"):
        nlp.get_pipe("structopt_tagger").initialize(list, nlp=nlp, model=str(tmp_path / "run"))


def test_tags_may_be_universal() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("structopt_pos", config={"epochs": 3})
    names = {
        "DT": "DET",
        "IN": "ADP",
        "JJ": "ADJ",
        "NN": "NOUN",
        "NNP": "PROPN",
        "NNS": "NOUN",
        "VB": "VERB",
    }
    own = [
        Example(
            Doc(nlp.vocab, words=one.words),
            Doc(nlp.vocab, words=one.words, pos=[names[tag] for tag in one.tags]),
        )
        for one in TRAIN
    ]
    nlp.initialize(lambda: own)
    assert nlp.evaluate(own)["pos_acc"] > 0.9
    assert [token.pos_ for token in nlp("the dog ")] == ["DET", "NOUN"]


def test_settings_reach_the_run() -> None:
    nlp = blank(loss="svm", optimizer="sgd", overrides=["optimizer.eta=0.5", "task.partial=true"])
    parser = nlp.get_pipe("structopt_parser")
    estimator = parser._estimator([[(0, "ROOT"), None]])
    config = estimator.config
    assert (config["optimizer"]["name"], config["optimizer"]["eta"]) == ("sgd", 0.5)
    assert config["loss"]["beta"] == float("inf")
    assert config["task"]["partial"] is True


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "nothing"}, "nothing"),
        ({"overrides": ["optimizer.rate=1"]}, "rate"),
        ({"columns": {"pos": "tagg"}}, r"columns\.pos.*'tagg' is not an attribute"),
        ({"columns": {"nothing": "tag_"}}, "nothing"),
        ({"overrides": ["task=tagging"]}, "component 'structopt_ner', whose task is ner"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    nlp = spacy.blank("en")
    with pytest.raises(StructoptError, match=message):
        nlp.add_pipe("structopt_ner", config=settings)
        nlp.initialize(examples(nlp, TRAIN))


def test_streamed_corpora_are_refused() -> None:
    nlp = blank()
    nlp.config["training"]["max_epochs"] = -1
    with pytest.raises(StructoptError, match=r"training\.max_epochs.*100 examples.*Set it to 1"):
        nlp.initialize(examples(nlp, TRAIN))


def test_labels_that_look_like_sets_are_refused() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("structopt_tagger", config={"epochs": 1})
    own = examples(nlp, TRAIN)()
    own[0].reference[0].tag_ = "A|B"
    nlp.initialize(lambda: own)
    assert "A|B" in nlp.pipe_labels["structopt_tagger"]
    own[0].reference[1].tag_ = ""
    with pytest.raises(StructoptError, match=r"the label 'A\|B', whose \| would"):
        nlp.initialize(lambda: own)


def test_parsers_without_relations_are_named_dep() -> None:
    nlp = spacy.blank("en")
    overrides = ["factor_graph=second_order", "inference=ad3"]
    nlp.add_pipe("structopt_parser", config={"loss": "svm", "epochs": 1, "overrides": overrides})
    nlp.rename_pipe("structopt_parser", "parser")
    nlp.initialize(examples(nlp, TRAIN))
    doc = nlp("Ann saw the dog")
    assert sorted(one.dep_ for one in doc) == ["ROOT", "dep", "dep", "dep"]


def test_examples_need_annotations() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("structopt_ner")
    with pytest.raises(StructoptError, match="has no model.*Call nlp.initialize"):
        nlp("Ann")
    with pytest.raises(StructoptError, match="No token of the examples has gold annotations"):
        nlp.initialize()
    texts: list[str] = []
    nlp.set_error_handler(lambda *given: texts.extend(doc.text for doc in given[2]))
    assert list(nlp.pipe(["Ann", "Ben"])) == [] and texts == ["Ann", "Ben"]


def test_damaged_bytes_are_refused(pipeline: Language) -> None:
    parser: Component = pipeline.get_pipe("structopt_parser")
    data = parser.to_bytes()
    files = srsly.msgpack_loads(data)
    for name in files:
        content = files[name]
        broken = srsly.msgpack_dumps({**files, name: content[: len(content) // 2]})
        with pytest.raises(StructoptError):
            spacy.blank("en").add_pipe("structopt_parser").from_bytes(broken)
    for name in ("../outside", "/tmp/outside"):
        with pytest.raises(StructoptError, match="outside the model"):
            parser.from_bytes(srsly.msgpack_dumps({name: b""}))
    assert parser.to_bytes() == data


@pytest.mark.parametrize(
    ("labels", "entities"),
    [
        (["O", "I-A", "I-A", "B-A", "I-B"], [(1, 3, "A"), (3, 4, "A"), (4, 5, "B")]),
        (["S-A", "B-A", "E-A", "I-A"], [(0, 1, "A"), (1, 3, "A"), (3, 4, "A")]),
        (["U-A", "B-x-y", "L-x-y", "O"], [(0, 1, "A"), (1, 3, "x-y")]),
        ([], []),
    ],
)
def test_spans_of_schemes(labels: list[str], entities: list[tuple[int, int, str]]) -> None:
    assert spans(labels) == entities


def test_corpora_have_one_root() -> None:
    for one in [*TRAIN, *DEV]:
        assert isinstance(one, Sentence)
        assert sum(head == i for i, head in enumerate(one.heads)) == 1
