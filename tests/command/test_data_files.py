"""Data of several files by the command line: trained on, predicted, scored, compared, tracked; and
what is said of mistakes.
"""

from __future__ import annotations

import re
import shlex
import tarfile
from pathlib import Path

import pytest

import structopt
from structopt import datasets
from structopt.command import main
from structopt.config.composition import compose
from structopt.config.unreadable_words import made_readable
from structopt.core.data.file_sets import data_path
from structopt.errors import ConfigError
from structopt.report.origins import check_same_file
from structopt.run.records import read_run
from structopt.tracker.facts import fingerprint
from tests.command.commands import Stages, failed

QUICK = ("optimizer=perceptron", "optimizer.epochs=1", "tracker=none")


def blocks(kind: str, first: int, last: int) -> str:
    """Sentences of the shipped training corpus."""
    return "\n\n".join(datasets.path("train", kind).read_text().split("\n\n")[first:last]) + "\n\n"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two column files and two of trees, whole and divided, in folders and archives."""
    folder = tmp_path_factory.mktemp("corpus")
    for kind in ("conll", "conllu"):
        (folder / f"whole.{kind}").write_text(blocks(kind, 0, 40))
        (folder / kind).mkdir()
        for number, (first, last) in enumerate([(0, 15), (15, 40)], 1):
            (folder / kind / f"part_{number:02d}.{kind}").write_text(blocks(kind, first, last))
        with tarfile.open(folder / f"{kind}.tar.gz", "w:gz") as archive:
            archive.add(folder / kind, arcname=f"data/{kind}")
    return folder


@pytest.fixture
def here(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(corpus)
    return corpus


def weights(folder: Path) -> bytes:
    return (folder / "model" / "weights.safetensors").read_bytes()


def train(folder: Path, *words: str) -> bytes:
    structopt.train([*words, *QUICK], folder)
    return weights(folder)


def predicted(model: Path, files: str, target: Path) -> str:
    assert (
        main.main(["predict", f"model={model}", f"input={files}", f"output={target}", "quiet=true"])
        == 0
    )
    return target.read_text()


def test_columns_by_glob(here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = train(
        tmp_path / "whole", "task=ner", "task.train=whole.conll", "task.dev=conll/part_01.conll"
    )
    several = train(
        tmp_path / "several",
        "task=ner",
        "task.train=conll/part_*.conll",
        "task.dev=conll.tar.gz:part_{01..01}.conll",
    )
    assert whole == several
    written = predicted(tmp_path / "whole", "conll/part_{01,02}.conll", tmp_path / "several.out")
    assert written == predicted(tmp_path / "whole", "whole.conll", tmp_path / "whole.out")
    capsys.readouterr()
    scores = [
        main.main(["evaluate", f"model={tmp_path / 'whole'}", f"input={name}", "quiet=true"])
        for name in ("conll", "whole.conll")
    ]
    lines = capsys.readouterr().out.splitlines()
    assert scores == [0, 0] and lines[: len(lines) // 2] == lines[len(lines) // 2 :]
    records = [read_run(tmp_path / name) for name in ("whole", "several")]
    check_same_file(records, "train")
    check_same_file(records, "dev")


@pytest.mark.nightly("runs")
def test_trees_in_an_archive(here: Path, tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", "task=dependency", "task.train=whole.conllu")
    assert whole == train(
        tmp_path / "several", "task=dependency", "task.train=conllu.tar.gz:part_{01..09}.conllu"
    )
    written = predicted(tmp_path / "whole", "conllu.tar.gz:data/*/part_*", tmp_path / "several.out")
    assert written == predicted(tmp_path / "whole", "whole.conllu", tmp_path / "whole.out")


def test_facts_of_several_files(here: Path) -> None:
    facts = fingerprint(data_path("conll.tar.gz:part_*.conll"))
    assert (
        facts["name"] == "conll.tar.gz:part_*.conll"
        and facts["size"] == Path("whole.conll").stat().st_size
    )
    assert facts["sha256"] == fingerprint(Path("whole.conll"))["sha256"]
    assert facts["uri"].startswith("file:///")


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (
            "task.train=conll.tar.gz:prt_*.conll",
            "conll.tar.gz:prt_*.conll: no file fits prt_*.conll. The nearest of 2: data",
        ),
        (
            "task.train=conll/prt_{01..02}.conll",
            "conll/prt_{01..02}.conll: no file fits conll/prt_{01..02}.conll. The",
        ),
        ("task.train=gone.tgz:*.conll", "gone.tgz: there is no such file: check the path."),
        (
            "task.train=gone.conll",
            "gone.conll: there is no such file. Check task.train, task.dev and task.test.",
        ),
    ],
)
def test_what_does_not_exist(
    here: Path, capsys: pytest.CaptureFixture[str], word: str, text: str
) -> None:
    assert failed(capsys, "task=ner", word, "tracker=none").startswith(text)


def test_errors_name_the_member_and_its_line(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.conll").write_text("Ann NNP B-NP B-PER\nslept VBD O\n")
    with tarfile.open(tmp_path / "bad.tar.gz", "w:gz") as archive:
        archive.add(here / "whole.conll", arcname="set/a.conll")
        archive.add(tmp_path / "bad.conll", arcname="set/b.conll")
    message = failed(
        capsys, "task=ner", f"task.train={tmp_path}/bad.tar.gz:*.conll", "tracker=none"
    )
    where = f"{tmp_path}/bad.tar.gz:set"
    assert message.startswith(
        f"{where}/b.conll:2: this line has 3 columns, but the first token line "
        f"({where}/a.conll:3) has 4: "
    )


@pytest.mark.parametrize(
    ("task", "name", "form"), [("grid", "npz", "an npz"), ("multilabel", "arff", "ARFF")]
)
def test_forms_of_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str, name: str, form: str
) -> None:
    (tmp_path / f"a.{name}").touch()
    message = failed(capsys, f"task={task}", f"task.train={tmp_path}/*.{name}", "tracker=none")
    assert (
        message
        == f"{tmp_path}/*.{name}: this names several files, and {form} is read from one: give "
        "its path."
    )


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("task.train=wsj_{0001..0160}.mrg", 'task.train="wsj_{0001..0160}.mrg"'),
        ("task.train=a.tar.gz:wsj_{a,b}.mrg", 'task.train="a.tar.gz:wsj_{a,b}.mrg"'),
        ("task.train=a_{1..2}.x,b_{3,4}.x", 'task.train="a_{1..2}.x","b_{3,4}.x"'),
        ("task.train=wsj_[0-9]*.mrg", 'task.train="wsj_[0-9]*.mrg"'),
        ("task.train=a/**/*.mrg", "task.train=a/**/*.mrg"),
        ("task.columns={word: 0, tag: 1}", "task.columns={word: 0, tag: 1}"),
        ("x={a,b}", "x={a,b}"),
        ("x=[a,b]", "x=[a,b]"),
    ],
)
def test_patterns_need_no_quotes_for_hydra(typed: str, read: str) -> None:
    assert made_readable(typed) == read


def test_a_pattern_reaches_the_task(stages: Stages) -> None:
    assert (
        main.main(["task=ner", "task.train=wsj_{0001..0160}.conll", "task.dev=t.tgz:{a,b}.conll"])
        == 0
    )
    config = stages.calls[0][1]
    assert (
        config["task"]["train"] == "wsj_{0001..0160}.conll"
        and config["task"]["dev"] == "t.tgz:{a,b}.conll"
    )


NAMES = ["quo'te", "k=v", "two words", "do$lar", "é ö", "b[a]r", "x{1..3}y", "100%", "~a"]
QUOTED = [
    'd"q',
    "par(en)",
    "[x].txt",
    "a,b",
    "a,b'c=d e",
    "${x",
    "x}",
    "a b,c'd",
    "'a",
    "[a",
    "{a: 1",
]


def test_names_of_files_or_the_advice_on_them_can_be_typed() -> None:
    """The second kind has to be quoted; the message shows how, in words for a shell."""
    for name in NAMES:
        assert compose([f"label={name}"])["label"] == name
    for name in QUOTED:
        with pytest.raises(ConfigError) as raised:
            compose([f"label={name}"])
        advice = re.search(
            r"(?:Set|Write|[Tt]ext:) ((?:'[^']*'|\"'\")+)(?=[.]?$|[.] )", str(raised.value)
        )
        assert advice, str(raised.value)
        assert compose(shlex.split(advice[1]))["label"] == name, advice[1]
