"""Mutated files of every format, read as the program reads them: they are read, or refused with one
message, and soon.

A file that breaks the program is kept where the test's message says, and is made again from its
format and seed.
"""

from __future__ import annotations

import gzip
import io
import logging
import pickle
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from structopt.config import composition, feature_keys, validation
from structopt.core.data.encoded import EncodedTrees
from structopt.errors import StructoptError
from structopt.formats import durable_files
from structopt.run.records import read_run
from structopt.templates.word_lists import Phrases, read_list
from tests.mutations import mutated

SECONDS = 2.0
"""The most that a file of these sizes may take: a hundred times what it takes, less than what is
quadratic needs.
"""
LONGEST = 3000
"""Characters of the longest message."""
FEW, MANY = 60, 900

WORDS = """
Ann NNP B-NP B-PER
Falk NNP I-NP I-PER
visited VBD B-VP O

Oslo NNP B-NP B-LOC

-DOCSTART- -X- -X- O

so RB B-ADVP O
"""
CRFSUITE = (
    "B-PER\tword=Ann\tupper\tlength:3\nO\tword=slept\tlength:5\n\nO\tword=a\\:t\tlength:-2e-1\n"
    "O\tx\\\\\t\ty:1\n"
)
LIBSVM = "sport 1:1 3:0.5   # a comment\n+1.0 2:1 7:-1e-3\nsport 1:2\n\n-1 0:5 10:1\n"
MULTILABEL = "LOC,sport 4:1 7:1\nORG 30:2\n31:1.50\n1,LOC 4:1 # x\n"
ARFF = r"""% a comment
@relation 'any name'
@attribute weight numeric
@ATTRIBUTE 'two words' {0,1}
@attribute colour {red, 'dark blue', green}
@attribute beach {0,1} % c
@attribute "sun\"set" {0,1}
@data
0.5, 1, 'dark blue', 0, 1
{0 2, 3 1}
{2 green,4 1}
-1e-3,0,red,1,0
"""
XML = """<?xml version="1.0"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="beach"></label>
<label name="sun&quot;set"/></labels>
"""
CONLLU = """# sent_id = 1
1-2 Anna _ _ _ _ _ _ _ _
1 Ann Ann PROPN NNP Case=Nom 2 nsubj 2:nsubj _
2 slept sleep VERB VBD _ 0 root _ A=b
2.1 e _ _ _ _ _ _ _ _
3 there there ADV RB _ 2 advmod _ _

# text = no
1 no no INTJ UH _ 0 root _ _

""".replace(" ", "\t")
CONLLX = """1 Ann _ N NNP case=nom|num=sg 2 SBJ _ _
2 slept _ V VBD _ 0 ROOT _ _

1 no _ I UH _ 0 ROOT _ _
""".replace(" ", "\t")
WORD_TAG_HEAD = "Ann NNP 2\nslept VBD 0\nthere RB 2\n\nno UH 0\n"
TOKEN_LISTS = """{"id": "0", "tokens": ["Ann", "Falk"], "pos_tags": ["NNP", "NNP"], "ner_tags": ["B-PER", "I-PER"]}
{"id": "1", "tokens": ["slept", "\\u00e9"], "pos_tags": ["VBD", "X"], "ner_tags": ["O", "O"]}

{"id": "2", "tokens": [], "pos_tags": [], "ner_tags": []}
"""
INTEGERS = (
    '{"tokens": ["Ann", "slept"], "ner_tags": [1, 0]}\n{"tokens": ["Oslo"], "ner_tags": [2]}\n'
)
INFORMATION = (
    '{"features": {"ner_tags": {"feature": {"names": ["O", "B-PER", "B-LOC"], "_type": '
    '"ClassLabel"}}}}'
)
TEXTS = """{"text": "Ann Falk slept.", "entities": [[0, 8, "PER"]], "meta": {}}
{"text": "in Oslo", "entities": [{"start": 3, "end": 7, "label": "LOC"}]}
"""
SPACY = """[{"id": 0, "paragraphs": [{"raw": "Ann slept", "sentences": [{"tokens": [
 {"id": 0, "orth": "Ann", "tag": "NNP", "ner": "B-PER"}, {"id": 1, "orth": "Falk", "tag": "NNP", "ner": "L-PER"}]}, {"tokens": [
 {"id": 2, "orth": "slept", "tag": "VBD", "ner": "O"}, {"id": 3, "orth": "Oslo", "tag": "NNP", "ner": "U-LOC"}]}]}]},
{"id": 1, "paragraphs": []}]
"""
CSV_TOKENS = 'Sentence #,Word,POS,Tag\n1,Ann,NNP,B-PER\n,"""",X,O\n,"a, b",X,O\n2,Oslo,NNP,B-LOC\n'
CSV_LISTS = (
    'tokens,ner_tags,x\n"[""Ann"", ""slept""]","[""B-PER"", ""O""]",1\n"[\'so\']",[\'O\'],\n'
    '"in Oslo","O B-LOC",2\n'
)
LIST = "Oslo\nNew  York City\n# x\n\nSt. Ives\n"
TEMPLATES = """bias
word[-2..2]
prefix(lower(word), 1..3)[-1]
pos[-1] & word & shape(pos)
collapsed(word)[-1..1]
digits(lower(word))
"""
ARC_TEMPLATES = """h.form & m.upos
h.upos[-1] & m.prefix(form, 5)
m.feat(Case)
h.upos & between.upos & m.upos
"""
HISTORY = "epoch,seconds,loss,primal,dev.f1\n1,0.5,1.25,2.0,0.5\n2,1.0,0.25,,0.75\n"
METRICS = '{"train": {"objective": 1.5, "gap": null, "epochs": 2}, "dev": {"f1": 0.75}}\n'
JOB = """{"number": 1, "overrides": ["loss.beta=1"], "status": "FINISHED", "score": 0.5, "error": "",
"config": {"label": "a", "loss": {"beta": 1}}}
"""
CONFIG = (
    "label: null\nseed: 0\ntask: {name: ner, train: null}\nloss:\n  name: family\n  beta: inf\n"
    "  cost_weights: {O: 1.5}\n"
)


def _columns(width: int) -> bytes:
    numbers = {2: (0, 3), 3: (0, 1, 3), 4: (0, 1, 2, 3)}[width]
    lines = (line.split(" ") for line in WORDS.strip().split("\n"))
    return "".join(
        " ".join(line[i] for i in numbers if len(line) > 1) + "\n" for line in lines
    ).encode()


def _npz(save: Callable[..., None]) -> bytes:
    stream = io.BytesIO()
    save(
        stream,
        pixels=np.arange(8.0),
        shapes_x=np.array([[2, 3], [1, 2]]),
        labels=np.array([0, 0, 1, 0, 1, 1, 1, 0]),
    )
    return stream.getvalue()


def _parquet() -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    parquet, stream = pytest.importorskip("pyarrow.parquet"), io.BytesIO()
    columns = {
        "tokens": [["Ann", "slept"], [], ["Oslo"]],
        "pos_tags": [["NNP", "V"], [], ["NNP"]],
        "ner_tags": [[1, 0], [], [2]],
    }
    metadata = {"huggingface": f'{{"info": {INFORMATION}}}'}
    parquet.write_table(pyarrow.table(columns).replace_schema_metadata(metadata), stream)
    return stream.getvalue()


class _TooSlow(BaseException):
    """A file took too long; no error that a reader could catch."""


@dataclass(frozen=True)
class Format:
    """A sample of a format, and what reads a mutated file, given it and the sample.

    Attributes
    ----------
    data : bytes
    ending : str
        The end of the file's name.
    reads : callable
    beside : mapping
        Names and texts of the files beside it.
    gzip : bool
        Whether files are compressed.
    """

    data: bytes
    ending: str
    reads: Callable[[Path, Path], None]
    beside: Mapping[str, str] = field(default_factory=dict)
    gzip: bool = False

    def compressed(self) -> Format:
        """The same format, compressed."""
        return replace(self, ending=f"{self.ending}.gz", gzip=True)

    def lay_out(self, folder: Path) -> Path:
        """Write the sample, and the files beside it."""
        for name, text in self.beside.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf8")
        sample = folder / (
            f"sample{self.ending}" if self.ending not in self.beside else self.ending
        )
        sample.parent.mkdir(exist_ok=True)
        sample.write_bytes(gzip.compress(self.data) if self.gzip else self.data)
        return sample

    def mutated(self, random: Random) -> bytes:
        """A mutated file; where it is compressed, mutated before that or after it, or followed by
        another one.
        """
        if not self.gzip:
            return mutated(self.data, random)
        how = random.randrange(3)
        if how == 0:
            return mutated(gzip.compress(self.data, mtime=0), random)
        return gzip.compress(mutated(self.data, random), mtime=0) + (
            gzip.compress(self.data, mtime=0) if how == 1 else b""
        )


@cache
def _config(*words: str) -> dict[str, Any]:
    words = (*words, "tracker=none")
    return validation.validate(composition.compose(list(words)), list(words))


@cache
def _packed(words: tuple[str, ...]) -> bytes:
    """A task that is not fitted; to unpack it is faster than to make it."""
    return pickle.dumps(feature_keys.task_of(_config(*words)))


@cache
def _fitted(words: tuple[str, ...], sample: Path) -> Any:
    task = pickle.loads(_packed(words))
    task.fit(task.read(sample))
    return task


def _task_reads(*words: str) -> Callable[[Path, Path], None]:
    """Train on a file; evaluate on it, and predict its outputs, with what was learnt from the
    sample.
    """

    def read(path: Path, sample: Path) -> None:
        _fitted(words, sample)  # the sample itself must not be refused
        for use in (_train, _evaluate, _predict):
            with _refused():
                use(words, path, sample)

    return read


@contextmanager
def _refused() -> Iterator[None]:
    """Let a user's error pass whose message can be read."""
    try:
        yield
    except StructoptError as error:
        assert len(str(error)) < LONGEST, (
            f"a message of {len(str(error))} characters: {str(error)[:300]}"
        )


def _train(words: tuple[str, ...], path: Path, sample: Path) -> None:
    task = pickle.loads(_packed(words))
    task.fit(task.read(path, 10))


def _evaluate(words: tuple[str, ...], path: Path, sample: Path) -> None:
    task = _fitted(words, sample)
    corpus = task.read(path)
    task.outcomes(corpus, _outputs(task, task.encode(corpus)))


def _predict(words: tuple[str, ...], path: Path, sample: Path) -> None:
    task = _fitted(words, sample)
    corpus = task.read(path, labelled=False)
    task.write_outputs(
        corpus, path.with_name("predicted"), task.written(_outputs(task, task.encode(corpus)))
    )


def _outputs(task: Any, encoded: Any) -> Any:
    """The first label of every variable; of trees, the root as head of every word."""
    size = int(encoded.offsets[-1])
    return task.decode(
        encoded, np.zeros((size, 2) if isinstance(encoded, EncodedTrees) else size, np.int32)
    )


def _list_reads(path: Path, sample: Path) -> None:
    with _refused():
        Phrases(entry.split(" ") for entry in read_list(str(path)))


def _templates_read(path: Path, sample: Path) -> None:
    """Take the lines of a file as templates, and featurise a sentence with them."""
    config, lines = _config("task=ner"), path.read_bytes().decode("utf8", "replace").split("\n")
    with _refused():
        task = feature_keys.task_of(
            {**config, "features": {**config["features"], "templates": lines}}
        )
        task.fit(task.read(path.with_name("sentences.conll")))


def _arc_templates_read(path: Path, sample: Path) -> None:
    config, lines = (
        _config("task=dependency"),
        path.read_bytes().decode("utf8", "replace").split("\n"),
    )
    with _refused():
        config = {**config, "features": {**config["features"], "templates": lines}}
        feature_keys.task_of(config), feature_keys.scorer_of(config)


def _xml_reads(path: Path, sample: Path) -> None:
    with _refused():
        pickle.loads(_packed(("task=multilabel",))).read(path.with_suffix(".arff"))


def _record_reads(path: Path, sample: Path) -> None:
    """Read the folder of a run, one of whose files is mutated, as compare does."""
    with _refused():
        run = read_run(sample.parents[sample.parent.name == ".hydra"])
        run.curve("primal"), run.metric("dev.f1"), run.setting("loss.beta")


def _names_read(path: Path, sample: Path) -> None:
    """Read integers with the names that a file gives them."""
    for use in (_train, _evaluate):
        with _refused():
            use(
                (*WORDS_ONLY, f"task.names='{path}'"),
                path.with_name("sentences.jsonl"),
                path.with_name("sentences.jsonl"),
            )


def _arff_reads(path: Path, sample: Path) -> None:
    _task_reads("task=multilabel")(path, sample)
    _task_reads("task=multilabel", "task.labels=2", "task.partial=true")(path, sample)


NER = (
    "task=ner",
    "features.templates=[bias,'word[-1..1]','prefix(lower(word),1..2)','pos & shape(word)']",
)
WORDS_ONLY = ("task=ner", "features.templates=[bias,'word[-1..1]','prefix(lower(word),1..2)']")
TREES = (
    "task=dependency",
    "features.templates=['h.form & m.upos','h.upos & between.upos','m.suffix(form,3)']",
)
RUN = {
    "metrics.json": METRICS,
    "history.csv": HISTORY,
    "job.json": JOB,
    ".hydra/config.yaml": CONFIG,
}
FORMATS = {
    "columns2": Format(_columns(2), ".conll", _task_reads(*NER)),
    "columns3": Format(_columns(3), ".conll", _task_reads(*NER, "task.partial=true")),
    "columns4": Format(_columns(4), ".conll", _task_reads(*NER)),
    "columns_latin": Format(_columns(4), ".conll", _task_reads(*NER, "task.encoding=latin-1")),
    "columns_utf16": Format(
        _columns(4).decode().encode("utf-16"), ".conll", _task_reads(*NER, "task.encoding=utf-16")
    ),
    "columns_tab": Format(
        _columns(2).replace(b" ", b"\t"),
        ".conll",
        _task_reads("task=tagging", "task.separator='\t'"),
    ),
    "jsonl": Format(TOKEN_LISTS.encode(), ".jsonl", _task_reads(*NER)),
    "jsonl_integers": Format(
        INTEGERS.encode(), ".jsonl", _task_reads(*WORDS_ONLY), {"dataset_info.json": INFORMATION}
    ),
    "texts": Format(TEXTS.encode(), ".jsonl", _task_reads(*WORDS_ONLY)),
    "spacy": Format(SPACY.encode(), ".json", _task_reads(*NER)),
    "csv_tokens": Format(CSV_TOKENS.encode(), ".csv", _task_reads(*NER)),
    "csv_lists": Format(CSV_LISTS.encode(), ".csv", _task_reads(*WORDS_ONLY)),
    "parquet": Format(_parquet(), ".parquet", _task_reads(*NER)),
    "names": Format(
        INFORMATION.encode(), "dataset_info.json", _names_read, {"sentences.jsonl": INTEGERS}
    ),
    "crfsuite": Format(CRFSUITE.encode(), ".crfsuite", _task_reads("task=attributes")),
    "libsvm": Format(LIBSVM.encode(), ".libsvm", _task_reads("task=multiclass")),
    "multilabel": Format(
        MULTILABEL.encode(), ".multilabel", _task_reads("task=multilabel", "task.partial=true")
    ),
    "arff": Format(ARFF.encode(), ".arff", _arff_reads, {"mutated.xml": XML, "sample.xml": XML}),
    "mulan_xml": Format(XML.encode(), ".xml", _xml_reads, {"mutated.arff": ARFF}),
    "conllu": Format(CONLLU.encode(), ".conllu", _task_reads(*TREES)),
    "conllu_words": Format(CONLLU.encode(), ".conllu", _task_reads("task=tagging")),
    "conllx": Format(CONLLX.encode(), ".conll", _task_reads(*TREES, "task.partial=true")),
    "word_tag_head": Format(WORD_TAG_HEAD.encode(), ".penn", _task_reads(*TREES)),
    "npz": Format(_npz(np.savez_compressed), ".npz", _task_reads("task=grid")),
    "npz_stored": Format(_npz(np.savez), ".npz", _task_reads("task=grid")),
    "word_list": Format(LIST.encode(), ".txt", _list_reads),
    "templates": Format(
        TEMPLATES.encode(), ".txt", _templates_read, {"sentences.conll": _columns(4).decode()}
    ),
    "arc_templates": Format(ARC_TEMPLATES.encode(), ".txt", _arc_templates_read),
    "metrics_json": Format(METRICS.encode(), "metrics.json", _record_reads, RUN),
    "history_csv": Format(HISTORY.encode(), "history.csv", _record_reads, RUN),
    "job_json": Format(JOB.encode(), "job.json", _record_reads, RUN),
    "run_config": Format(CONFIG.encode(), ".hydra/config.yaml", _record_reads, RUN),
}
COMPRESSED = (
    "columns4",
    "jsonl",
    "crfsuite",
    "libsvm",
    "multilabel",
    "arff",
    "conllu",
    "conllx",
    "word_tag_head",
    "word_list",
)
FORMATS |= {f"{name}_gz": FORMATS[name].compressed() for name in COMPRESSED}


@contextmanager
def _in_time(seconds: float) -> Iterator[None]:
    """Raise _TooSlow where something takes more seconds of the processor, between its instructions
    or in a regular expression.
    """

    def expired(*_: object) -> None:
        raise _TooSlow(f"took longer than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def broken(name: str, seeds: range, folder: Path) -> dict[str, str]:
    """Read mutated files of a format; return what broke, a line a cause, with the first file of
    each.
    """
    form, causes = FORMATS[name], dict[str, str]()
    sample = form.lay_out(folder)
    path = sample.with_name(sample.name.replace("sample", "mutated"))
    for seed in seeds:
        data = form.mutated(Random(f"{name} {seed}"))
        path.write_bytes(data)
        try:
            with _in_time(SECONDS):
                form.reads(path, sample)
        except (Exception, _TooSlow) as error:
            cause = _cause(error)
            if cause not in causes:
                kept = folder / f"{name}-{seed}"
                kept.write_bytes(data)
                causes[cause] = str(kept)
    return causes


def _cause(error: BaseException) -> str:
    """The error, and the last line of the program that it came from."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "structopt" in Path(frame.filename).parts
    ]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "the test"
    return f"{type(error).__name__} in {where}: {str(error)[:200]}"


GROUPS = {
    "columns": [
        "columns2",
        "columns3",
        "columns4",
        "columns_latin",
        "columns_utf16",
        "columns_tab",
    ],
    **{
        name: [name]
        for name in (
            "crfsuite",
            "libsvm",
            "multilabel",
            "conllu",
            "conllx",
            "word_tag_head",
            "word_list",
        )
    },
    "token_lists": ["jsonl", "jsonl_integers", "texts", "spacy", "conllu_words", "names"],
    "csv": ["csv_tokens", "csv_lists"],
    "parquet": ["parquet"],
    "arff": ["arff", "arff", "mulan_xml"],
    "npz": ["npz", "npz_stored"],
    "gzip": [f"{name}_gz" for name in COMPRESSED],
    "templates": ["templates", "arc_templates"],
    "runs": ["metrics_json", "history_csv", "job_json", "run_config"],
}
"""Formats, of each of which as many files are read, and their variants."""


def _broken_of(
    group: str, seeds: range, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    monkeypatch.setattr(durable_files.os, "fsync", lambda _: None)
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)
    variants, causes = GROUPS[group], dict[str, str]()
    for index, name in enumerate(variants):
        (folder / f"{index}").mkdir()
        causes |= broken(
            name, range(seeds.start + index, seeds.stop, len(variants)), folder / f"{index}"
        )
    return causes


@pytest.mark.parametrize("group", GROUPS)
def test_few(group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _broken_of(group, range(FEW), tmp_path, monkeypatch) == {}


@pytest.mark.nightly("fuzzing")
@pytest.mark.parametrize("group", GROUPS)
def test_many(
    group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    first = MANY * pytestconfig.getoption("fuzzing_seed")
    assert _broken_of(group, range(first, first + MANY), tmp_path, monkeypatch) == {}
