"""Coreference from end to end: columns of mentions, noun phrases, every learner, files, pictures,
commands.
"""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.command.main import main
from structopt.errors import ConfigError, DataError
from structopt.formats.coreference import coreference_files
from structopt.formats.coreference.document_picture import draw
from structopt.formats.coreference.documents_in_memory import in_memory
from structopt.task.coreference.coreference import Coreference
from structopt.task.coreference.mention_columns import head_words, mention_cells, mention_types
from structopt.task.coreference.noun_phrases import with_noun_phrases
from structopt.testing.task import TaskSuite
from tests.messages import raises
from tests.parts import gate_cases

FEATURES = {
    "new": ["m.head"],
    "links": ["m.head & a.head", "same.text", "distance"],
    "joined": ["bias", "m.type"],
}
LEARNERS = {
    "adagrad mentions": ["factor_graph.instances=mentions", "loss=crf", "optimizer.eta=0.1"],
    "perceptron mentions": ["factor_graph.instances=mentions"],
    "online_cutting_plane mentions": [
        "factor_graph.instances=mentions",
        "loss=svm",
        "optimizer.tolerance=0",
    ],
    "adagrad": ["loss=crf", "optimizer.eta=0.1"],
    "adagrad l1": ["loss=svm", "optimizer.penalty=l1", "optimizer.C=10"],
    "adadelta": ["loss=crf"],
    "sgd": ["loss=crf"],
    "lbfgs": ["loss=crf"],
    "dca": ["loss=softmax_margin", "loss.cost=coreference"],
    "mira": ["optimizer.C=0.01"],
    "perceptron": [],
    "pegasos": ["loss=svm", "loss.cost=coreference"],
    "cutting_plane": ["loss=svm", "optimizer.C=0.01", "optimizer.tolerance=0"],
    "online_cutting_plane": ["loss=svm", "optimizer.C=0.01", "optimizer.tolerance=0"],
}
TEXT = """#begin document (first); part 000
first 0 0 Ann NNP (0)
first 0 1 met VBD -
first 0 2 Bob NNP (1)
first 0 3 . . -

first 0 0 She PRP (0)
first 0 1 liked VBD -
first 0 2 his PRP$ (2|(1)
first 0 3 hat NN 2)
first 0 4 . . -

#end document
#begin document (second); part 000
second 0 0 It PRP (0)
second 0 1 rained VBD -

#end document
#begin document (third); part 000
third 0 0 Ann NNP (5
third 0 1 Smith NNP 5)

#end document
"""


class TestCoreference(TaskSuite):
    @pytest.fixture
    def task(self):
        return lambda: Coreference(features=FEATURES)

    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "three.conll"
        path.write_text(TEXT)
        return path

    @pytest.fixture
    def unlabelled(self, tmp_path):
        path = tmp_path / "marked.conll"
        path.write_text(re.sub(r"\((\d)\|\((\d)\)", "(8|(9)", TEXT).replace(" 2)\n", " 8)\n"))
        return path

    @pytest.fixture
    def malformed(self, tmp_path):
        path = tmp_path / "broken.conll"
        path.write_text(TEXT.replace("hat NN 2)", "hat NN 3)"))
        return path, 10

    def gold_view(self, encoded):
        """The nearest earlier mention of the entity."""
        view = []
        for a, b in zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True):
            own = encoded.gold[a:b].tolist()
            view += [
                max((k for k in range(m) if own[k] == own[m]), default=-1) for m in range(len(own))
            ]
        return np.array(view)

    def test_outcomes_add_up_to_the_scores(self, task, path):
        component = task()
        corpus = component.read(path)
        encoded = component.fit(corpus)
        outputs = component.decode(encoded, np.full(len(encoded.gold), -1))
        outcomes = component.outcomes(corpus, outputs)
        assert len(outcomes) == len(encoded)
        assert outcomes.scores() == pytest.approx(component.evaluate(corpus, outputs))


def documents(**further):
    """One document in memory; its mentions: the old man of the sea, he, The tall Bob, Mrs. Dow."""
    sentences = [
        ["the", "old", "man", "of", "the", "sea", "saw", "he"],
        ["The", "tall", "Bob", "met", "Mrs.", "Dow", "."],
    ]
    mentions = [[0, 6], [7, 8], [8, 11], [12, 14]]
    return in_memory([{"sentences": sentences, "mentions": mentions, **further}])


def test_columns_without_tags():
    cells = mention_cells(documents())
    assert cells["head"] == ["man", "_", "bob", "dow"]
    assert cells["type"] == ["NOMINAL", "he", "PROPER", "PROPER"]
    assert cells["first"] == ["the", "_", "the", "mrs."] and cells["last"] == [
        "sea",
        "_",
        "bob",
        "dow",
    ]
    assert cells["before"] == ["<edge>", "saw", "<edge>", "met"] and cells["after"] == [
        "saw",
        "<edge>",
        "met",
        ".",
    ]
    assert cells["length"] == ["6", "1", "3", "2"]
    assert cells["gender"] == ["male", "male", "_", "female"]
    assert cells["text"][2] == "the tall bob" and cells["content"][2] == "tall bob"
    assert cells["head_tag"] == ["_"] * 4 and cells["speaker"] == ["_"] * 4


def test_tags_and_dependencies_tell_heads_and_types():
    tags = [
        ["DT", "JJ", "NN", "IN", "DT", "NN", "VBD", "PRP"],
        ["DT", "JJ", "NN", "VBD", "NNP", "NNP", "."],
    ]
    tagged = documents(xpos=tags)
    heads = head_words(tagged)
    assert [tagged.cells["form"][place] for place in heads] == ["man", "he", "Bob", "Dow"]
    assert mention_types(tagged, heads, tagged.cells["xpos"]) == [
        "NOMINAL",
        "he",
        "NOMINAL",
        "PROPER",
    ]
    parsed = documents(heads=[[3, 3, 7, 6, 6, 3, 0, 7], [2, 4, 2, 0, 4, 5, 4]])
    assert [parsed.cells["form"][place] for place in head_words(parsed)] == [
        "man",
        "he",
        "tall",
        "Mrs.",
    ]


def test_noun_phrases_of_trees(tmp_path):
    rows = [
        ("Ann", "NNP", "(TOP(S(NP*)"),
        ("saw", "VBD", "(VP*"),
        ("her", "PRP$", "(NP(NP*"),
        ("dog", "NN", "*)"),
        ("in", "IN", "(PP*"),
        ("Rome", "NNP", "(NP*)))))"),
    ]
    text = "\n".join(
        f"d 0 {k} {form} {tag} {parse} lemma - - - * -" for k, (form, tag, parse) in enumerate(rows)
    )
    (tmp_path / "a.conll").write_text(f"#begin document (d); part 000\n{text}\n\n#end document\n")
    read = coreference_files.read(tmp_path / "a.conll", labelled=False)
    assert with_noun_phrases(read).mentions.tolist() == [[0, 1], [2, 6], [2, 4], [2, 3], [5, 6]]


def test_noun_phrases_of_dependencies(tmp_path):
    rows = [
        ("Ann", "PROPN", 2, "nsubj"),
        ("saw", "VERB", 0, "root"),
        ("the", "DET", 5, "det"),
        ("big", "ADJ", 5, "amod"),
        ("dog", "NOUN", 2, "obj"),
        ("in", "ADP", 7, "case"),
        ("Rome", "PROPN", 5, "nmod"),
        (".", "PUNCT", 2, "punct"),
    ]
    lines = [
        f"{k}\t{form}\t_\t{tag}\t_\t_\t{head}\t{rel}\t_\t_"
        for k, (form, tag, head, rel) in enumerate(rows, 1)
    ]
    path = tmp_path / "a.conllu"
    path.write_text("# newdoc id = d\n" + "\n".join(lines) + "\n\n")
    read = Coreference(features=FEATURES).read(path, labelled=False)
    assert read.mentions.tolist() == [[0, 1], [2, 7], [6, 7]]
    assert (
        len(Coreference(mentions="given", features=FEATURES).read(path, labelled=False).mentions)
        == 0
    )


def test_that_noun_phrases_are_taken_is_said(tmp_path, caplog):
    (tmp_path / "a.conllu").write_text("# newdoc id = d\n1\tAnn\t_\tPROPN\t_\t_\t0\troot\t_\t_\n\n")
    Coreference(features=FEATURES).read(tmp_path / "a.conllu", labelled=False)
    assert "a.conllu: 1 noun phrases and pronouns are taken for mentions." in caplog.text
    (tmp_path / "b.conll").write_text(
        re.sub(r"\S+$", "-", TEXT, flags=re.MULTILINE).replace("part -", "part 000")
    )
    with pytest.raises(DataError, match="names no mentions, and has neither trees"):
        Coreference(features=FEATURES, format="conll").read(
            _without_mentions(tmp_path), labelled=False
        )


DEPENDENCIES = """# newdoc id = d
1\tAnn\t_\tPROPN\t_\t_\t2\tnsubj\t_\tEntity=(1-person)
2\tsaw\t_\tVERB\t_\t_\t0\troot\t_\t_
3\tthe\t_\tDET\t_\t_\t4\tdet\t_\tEntity=(2-animal
4\tdog\t_\tNOUN\t_\t_\t2\tobj\t_\tEntity=2)

1\tShe\t_\tPRON\t_\t_\t2\tnsubj\t_\tEntity=(1-person)
2\tfed\t_\tVERB\t_\t_\t0\troot\t_\tEntity=(3-event)
3\tit\t_\tPRON\t_\t_\t2\tobj\t_\tEntity=(2-animal)

# newdoc id = e
1\tRain\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tfell\t_\tVERB\t_\t_\t0\troot\t_\tEntity=(1-event)

"""


def test_noun_phrases_in_training(tmp_path, caplog):
    """Phrases have the entities of the mentions with their words; scores compare with the file."""
    path = tmp_path / "a.conllu"
    path.write_text(DEPENDENCIES)
    task = Coreference(mentions="phrases", features=FEATURES)
    read = task.read(path)
    assert "5 noun phrases and pronouns are taken for mentions; 4 of the 6 marked" in caplog.text
    assert read.mentions.tolist() == [[0, 1], [2, 4], [4, 5], [6, 7], [7, 8]]
    assert read.clusters.tolist() == [0, 1, 0, 1, 0] and read.offsets.tolist() == [0, 4, 5]
    key = [[[(0, 1), (4, 5)], [(2, 4), (6, 7)], [(5, 6)]], [[(1, 2)]]]
    assert [read.entities(i) for i in range(2)] == key
    assert read.subset(1, 2).entities(0) == key[1]
    gold = Coreference(features=FEATURES).read(path)
    encoded = task.fit(read)
    linked = task.decode(encoded, np.array([-1, -1, 0, 1, -1]))
    scores = task.evaluate(read, linked)
    # the key has 6 mentions, 4 of them found; 1 of the 5 phrases is spurious
    assert (scores["muc_f1"], scores["b3_recall"], scores["b3_precision"]) == (1.0, 4 / 6, 4 / 5)
    assert scores == Coreference(features=FEATURES).evaluate(gold, linked)


def entity_file(folder, cells, words="Ann saw the dog She fed it", name="d.conll"):
    rows = enumerate(zip(words.split(" "), cells, strict=True))
    text = "".join(f"{k}\t{word}\t{cell}\n" for k, (word, cell) in rows)
    (folder / name).write_text(f"# begin document \n{text}# end document\n")


def test_entities_of_other_files(tmp_path, caplog):
    """Three columns or those of CoNLL-2012, brackets that run together, words that are missing."""
    path, folder = tmp_path / "a.conllu", tmp_path / "entities"
    path.write_text(DEPENDENCIES)
    folder.mkdir()
    entity_file(folder, ["(7", "_", "_", "7)", "(9(7)9)", "_", "_"], "Ann saw the dog She fed it")
    (folder / "e.v.conll").write_text(
        "#begin document (e); part 000\ne 0 0 Rain X (3)\ne 0 1 fell X (1)|(4)\n#end document\n"
    )
    read = Coreference(features=FEATURES, entities=f"{folder}/*.conll").read(path)
    assert "2 mentions of the words of another mention are left out" in caplog.text
    assert [read.entities(i) for i in range(2)] == [[[(0, 4), (4, 5)]], [[(0, 1)], [(1, 2)]]]
    entity_file(folder, ["(7)", "_", "_", "-", "(7)", "_", "_"], "Ann saw  dog She fed it")
    read = Coreference(features=FEATURES, entities=f"{folder}/*.conll", mentions="phrases")
    assert read.read(path).clusters.tolist() == [0, 1, 0, 2, 0]
    assert read.read(path, labelled=False).clusters is None


@pytest.mark.parametrize(
    ("cells", "words", "text"),
    [
        ("_ _ _ _ _ _", "Ann saw the dog She fed", "d.conll:7: the document 'd' ends here"),
        ("_ _ _ _ _ _ _ _", "Ann saw the dog She fed it it", "'it' is here, but no further word"),
        (
            "_ _ _ _ _ _ _",
            "Ann saw the cat She fed it",
            "d.conll:5: the word 'cat' is here, but 'dog",
        ),
        ("(7 _ _ _ 7) _ _", "Ann saw the dog She fed it", "ends in another sentence"),
        ("(7 _ _ _ _ _ _", "Ann saw the dog She fed it", "is not closed by the end"),
        ("x _ _ _ _ _ _", "Ann saw the dog She fed it", "'x' in the last column does not read as"),
        ("7 _ _ _ _ _ _", "Ann saw the dog She fed it", "'7' in the last column does not read as"),
    ],
)
def test_malformed_entity_files(cells, words, text, tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(DEPENDENCIES.partition("# newdoc id = e")[0])
    entity_file(tmp_path, cells.split(" "), words)
    with pytest.raises(DataError, match=re.escape(text)):
        Coreference(features=FEATURES, entities=str(tmp_path / "d.conll")).read(path)


def test_documents_without_entities(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(DEPENDENCIES)
    entity_file(tmp_path, ["_"] * 7)
    with pytest.raises(DataError, match="has no entities of the document 'e'"):
        Coreference(features=FEATURES, entities=str(tmp_path / "d.conll")).read(path)
    (tmp_path / "d.conll").write_text("0 Ann\n")
    with pytest.raises(DataError, match="this row has 2 columns"):
        Coreference(features=FEATURES, entities=str(tmp_path / "d.conll")).read(path)


def _without_mentions(folder):
    path = folder / "none.conll"
    path.write_text(
        "#begin document (d); part 000\nd 0 0 Ann NNP -\nd 0 1 slept VBD -\n\n#end document\n"
    )
    return path


def test_crossing_mentions_are_said(tmp_path, caplog):
    path = tmp_path / "a.conll"
    path.write_text(
        "#begin document (d); part 000\nd 0 0 a X (1\nd 0 1 b X (2\nd 0 2 c X 1)\nd 0 3 d X 2)\n"
        "\n#end document\n"
    )
    Coreference(features=FEATURES).read(path)
    assert (
        "a.conll:2: the mentions that begin here and in line 3 cross (1 such pairs here): both "
        "are kept." in caplog.text
    )


def test_mentions_that_are_left_out_are_counted(tmp_path, caplog):
    path = tmp_path / "a.conllu"
    cells = ["(e1)", "(e2[1/2])", "(e1)", "(e2[2/2])"]
    rows = [
        "\t".join([number, "w", *"_" * 7, f"Entity={cell}\n"])
        for number, cell in zip(("1", "2", "2.1", "3"), cells, strict=True)
    ]
    path.write_text("".join(rows))
    task = Coreference(features=FEATURES, discontinuous="hull")
    task.read(path)
    assert "a.conllu: 1 discontinuous mentions are read as their hulls." in caplog.text
    assert "a.conllu: 1 mentions without words of their own (" in caplog.text
    caplog.clear()
    task.write_outputs(task.read(path, labelled=False), tmp_path / "b", [[[(0, 1), (1, 3)]]])
    assert "not predicted, but copied from the input: 1 mentions" in caplog.text


def test_clusters_follow_the_antecedents():
    task = Coreference(features=FEATURES)
    encoded = task.fit(replace(documents(), clusters=np.zeros(4, np.int32)))
    assert task.decode(encoded, np.array([-1, 0, -1, 1])) == [
        [[(0, 6), (7, 8), (12, 14)], [(8, 11)]]
    ]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Settings of twelve documents of the shipped corpus, which are the dev split too."""
    text = datasets.path("train", "coref").read_text()
    path = tmp_path_factory.mktemp("small") / "small.conll"
    path.write_text("#end document\n".join(text.split("#end document\n")[:12]) + "#end document\n")
    return [
        "task=coreference",
        "features.hash_bits=12",
        f"task.train={path}",
        f"task.dev={path}",
        "tracker=none",
        "quiet=true",
        "objective_every=1",
    ]


@pytest.mark.parametrize("name", gate_cases(LEARNERS, "pairs", 2))
def test_every_learner(name, small, tmp_path):
    words = [
        *small,
        f"optimizer={name.split()[0]}",
        *LEARNERS[name],
        "optimizer.epochs=8",
        f"hydra.run.dir={tmp_path}",
    ]
    trained = structopt.train(words)
    scores = json.loads((tmp_path / "metrics.json").read_text())
    assert scores["dev"]["conll"] > 0.75, scores["dev"]
    assert (scores["train"]["dual"], scores["train"]["gap"]) == (None, None)
    assert np.isfinite(trained.weights).all()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["optimizer=eg"],
            "optimizer=eg needs gold outputs that are known in full, and task=coreference leaves "
            "some open",
        ),
        (
            ["optimizer=smo"],
            "optimizer=smo needs gold outputs that are known in full, and task=coreference "
            "leaves some open",
        ),
        (
            ["optimizer=sdca"],
            "optimizer=sdca needs gold outputs that are known in full, and task=coreference "
            "leaves some open",
        ),
        (
            ["optimizer=lbfgs", "optimizer.tolerance=0.1"],
            "the losses of task=coreference are not convex, and have none.",
        ),
        (["factor_graph=linear_chain"], "Factor graphs that offer antecedents: antecedent"),
        (["features.new=[m.haed]"], "there is no column 'haed'. Did you mean 'head'?"),
        (
            ["loss.cost=coreference", "loss.cost_weights={false_link: 1}"],
            "loss.cost_weights has the key 'false_link', which loss.cost=",
        ),
        (
            ["loss.cost=coreference", "loss.cost_weights={wrong_link: -1}"],
            "loss.cost_weights.wrong_link=-1",
        ),
        (
            ["loss.cost=arcs"],
            "This loss counts its cost in parts of the role arc, which factor_graph=antecedent "
            "does not have.",
        ),
        (
            ['features.links=["m.backoff(head,x,head_tag)"]'],
            "needs a column, a number from 1 to 99 and another column.",
        ),
    ],
)
def test_refusals(words, text, small, capsys):
    loss = (
        [] if any(word.startswith(("loss", "optimizer=lbfgs")) for word in words) else ["loss=svm"]
    )
    assert main([*small, *loss, *words]) == 2
    assert text in capsys.readouterr().err


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of the shipped corpus."""
    folder = tmp_path_factory.mktemp("coreference")
    words = [
        "task=coreference",
        "loss=crf",
        "optimizer=adagrad",
        "optimizer.eta=0.1",
        "optimizer.epochs=6",
        "tracker=none",
    ]
    quick = ["features.hash_bits=16", "quiet=true", "objective_every=0"]
    return structopt.train([*words, *quick, f"hydra.run.dir={folder}"]), folder


def test_the_shipped_corpus(model):
    scores = model[0].evaluate(datasets.path("dev", "coref"))
    assert scores["conll"] > 0.8
    assert set(scores) == {
        f"{name}{version}"
        for name in (
            "conll",
            *(f"{m}_{p}" for m in ("muc", "b3", "ceafe") for p in ("recall", "precision", "f1")),
        )
        for version in ("", "_no_singletons")
    }


def test_in_memory(model):
    sentences = [["Ann", "met", "Bob", "."], ["She", "liked", "him", "."]]
    document = {"sentences": sentences, "mentions": [[0, 1], [2, 3], [4, 5], [6, 7]]}
    (clusters,) = model[0].predict([document])
    assert sorted(span for cluster in clusters for span in cluster) == [
        (0, 1),
        (2, 3),
        (4, 5),
        (6, 7),
    ]
    marginals = model[0].marginals([document])
    np.testing.assert_allclose(marginals[0].sum(axis=1), 1.0)
    assert marginals[0].shape == (4, 5) and marginals[0][0, 0] == 1.0
    assert set(marginals.table) == {"document", "mention", "antecedent", "probability"}
    ranked = model[0].predict_k_best([document], 3)[0]
    assert len(ranked) == 3 and ranked[0][1] == clusters
    assert model[0].predict_table({"sentences": [sentences], "mentions": [document["mentions"]]})[
        "clusters"
    ] == [[[list(span) for span in cluster] for cluster in clusters]]
    with pytest.raises(DataError):
        model[0].predict([{"sentences": sentences, "mentions": [[3, 9]]}])


def test_commands(model, tmp_path, capsys):
    _, folder = model
    (tmp_path / "a.conll").write_text(TEXT)
    out, page = tmp_path / "out.conll", tmp_path / "a.html"
    words = [f"model={folder}", f"input={tmp_path / 'a.conll'}", f"output={out}", "quiet=true"]
    assert main(["predict", *words, "probabilities=true", f"picture={page}"]) == 0
    again = coreference_files.read(out)
    assert again.mentions.tolist() == coreference_files.read(tmp_path / "a.conll").mentions.tolist()
    header, *rows = (
        line.split("\t") for line in (tmp_path / "out.conll.links.tsv").read_text().splitlines()
    )
    assert header == ["document", "mention", "text", "antecedent", "antecedent_text", "probability"]
    assert rows[0] == ["first; part 000", "1", "Ann", "0", "(new)", "1.000"]
    assert page.read_text().startswith("<!DOCTYPE html>") and "Ann" in page.read_text()
    assert main(["predict", *words, "k_best=2"]) == 2
    assert "k_best=2: a file of documents has one column of entities." in capsys.readouterr().err
    assert main(["evaluate", f"model={folder}", f"input={tmp_path / 'a.conll'}"]) == 0
    assert "without singletons" in capsys.readouterr().out


def test_picture(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text(TEXT)
    corpus = coreference_files.read(path)
    clusters = [[(0, 1), (6, 7)], [(2, 3)], [(4, 5)], [(6, 8)]]  # his: Ann's, She: new
    page = draw(corpus, 0, clusters, np.eye(5, 6))
    assert page.count("<span class=") == page.count("</span>") == 5
    assert page.count("wrong") == 2 and page.count("missed") == 2  # once in the style sheet
    assert "mention 1, entity 1; antecedent none: 1.00" in page
    # the longer mention holds the shorter one
    assert page.index('title="mention 4') < page.index('title="mention 5')
    unknown = coreference_files.read(path, labelled=False)
    assert "wrong" not in draw(unknown, 0, clusters).partition("</style>")[2]


def test_texts_are_escaped():
    corpus = in_memory([{"sentences": [["<b>", "&"]], "mentions": [[0, 2]]}])
    page = draw(corpus, 0, [[(0, 2)]])
    assert "&lt;b&gt;" in page and "<b>" not in page


def test_warm_start_goes_on(model, tmp_path):
    _, folder = model
    words = [
        "task=coreference",
        "loss=crf",
        "optimizer=adagrad",
        "optimizer.epochs=0",
        "features.hash_bits=16",
        "tracker=none",
    ]
    assert main([*words, f"warm_start={folder}", f"hydra.run.dir={tmp_path}", "quiet=true"]) == 0
    scores = [
        json.loads((place / "metrics.json").read_text())["dev"]["conll"]
        for place in (folder, tmp_path)
    ]
    assert scores[0] == pytest.approx(scores[1])


def test_parameters():
    with raises(ConfigError, parameter="features.min_count", value=0):
        Coreference(features={"min_count": 0, **FEATURES})
