"""Benchmarks of calls and commands as users write them, next to python-crfsuite."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import structopt
from structopt import datasets
from tests.benchmarks.measurement import (
    NOT_INSTALLED,
    OURS,
    Case,
    Seconds,
    Sizes,
    installed,
    seconds_of,
    timer,
)

CRFSUITE = "python-crfsuite"
Rows = list[list[str]]
COMMAND = ["task=ner", "optimizer=dca", "loss.beta=1"]
"""README's first command."""
OUR_PROCESS = """
import sys, json, time
began = time.perf_counter()
import structopt
imported = time.perf_counter()
model = structopt.load(sys.argv[1])
loaded = time.perf_counter()
model.predict([json.loads(sys.argv[2])])
predicted = time.perf_counter()
print(json.dumps([imported - began, loaded - imported, predicted - loaded]))
"""
PEER_PROCESS = """
import sys, json, time
began = time.perf_counter()
import pycrfsuite
imported = time.perf_counter()
tagger = pycrfsuite.Tagger()
tagger.open(sys.argv[1])
loaded = time.perf_counter()
tagger.tag(json.loads(sys.argv[2]))
predicted = time.perf_counter()
print(json.dumps([imported - began, loaded - imported, predicted - loaded]))
"""
STAGES = {
    "import": "Import the package",
    "load": "Load a model",
    "first prediction": "First prediction",
    "process": "The whole process",
}


def corpus() -> tuple[str, Path, Path]:
    """Return the name and the files of the corpus: real data if STRUCTOPT_DATA names them."""
    folder = Path(os.environ.get("STRUCTOPT_DATA", "")) / "conll2003"
    train, dev = (folder / f"eng.{part}.gz" for part in ("train", "testa"))
    if "STRUCTOPT_DATA" in os.environ and train.is_file() and dev.is_file():
        return "CoNLL-2003 English", train, dev
    return "the shipped corpus", datasets.path("train", "conll"), datasets.path("dev", "conll")


def parts(sizes: Sizes) -> tuple[list[Rows], list[Rows]]:
    """Read the sentences of the training and the development part."""
    _, train, dev = corpus()
    return read(train, sizes.training), read(dev, sizes.development)


def read(path: Path, count: int) -> list[Rows]:
    """Read the first sentences of a file of columns."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf8", "replace")
    sentences = [
        [line.split() for line in block.splitlines()] for block in text.strip().split("\n\n")
    ]
    return [one for one in sentences if one[0] and one[0][0] != "-DOCSTART-"][:count]


def features(rows: Rows, position: int) -> dict[str, str | bool]:
    """Build the features of a token: its form and part of speech, and those of its neighbours."""
    word, tag = rows[position][:2]
    found: dict[str, str | bool] = {
        "bias": True,
        "word": word.lower(),
        "suffix2": word[-2:],
        "suffix3": word[-3:],
        "upper": word.isupper(),
        "title": word.istitle(),
        "digit": word.isdigit(),
        "tag": tag,
    }
    for name, other in (("-1", position - 1), ("+1", position + 1)):
        if not 0 <= other < len(rows):
            found[f"{name}:end"] = True
            continue
        word, tag = rows[other][:2]
        found |= {f"{name}:word": word.lower(), f"{name}:title": word.istitle(), f"{name}:tag": tag}
    return found


def sequences(sizes: Sizes, scratch: Path) -> Iterator[Case]:
    """Train a tagger on feature dicts, and label sentences with it."""
    name, (train, dev) = corpus()[0], parts(sizes)
    X, held_out = ([[features(s, i) for i in range(len(s))] for s in part] for part in (train, dev))
    y = [[row[-1] for row in sentence] for sentence in train]
    tokens = sum(map(len, held_out))
    model, taggers = str(scratch / "crfsuite"), {}

    def fit() -> None:
        tagger = structopt.SequenceTagger(c2=1.0, epochs=sizes.iterations)
        taggers[OURS] = tagger.fit(X, y)

    def peer_fit() -> None:
        import pycrfsuite

        trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
        options = {"c1": 0.0, "c2": 1.0, "feature.possible_transitions": True}
        trainer.set_params({**options, "max_iterations": sizes.iterations})
        for instance, labels in zip(X, y, strict=True):
            trainer.append(instance, labels)
        trainer.train(model)

    peer = installed(CRFSUITE) != NOT_INSTALLED
    yield _case(
        "fit",
        f"Train: {len(X):,} sentences of {name}, {sizes.iterations} iterations of L-BFGS",
        {OURS: fit, CRFSUITE: peer_fit},
        sizes.turns,
    )
    tagger = taggers[OURS]
    if peer:
        import pycrfsuite

        taggers[CRFSUITE] = pycrfsuite.Tagger()
        taggers[CRFSUITE].open(model)
    yield _case(
        "batch",
        f"Label {len(held_out):,} sentences in one call ({tokens:,} tokens)",
        {
            OURS: lambda: tagger.predict(held_out),
            CRFSUITE: lambda: [taggers[CRFSUITE].tag(one) for one in held_out],
        },
        sizes.turns,
    )
    ours, theirs = cycle(held_out), cycle(held_out)
    yield _case(
        "one sentence",
        "Label one sentence per call",
        {
            OURS: lambda: tagger.predict([next(ours)]),
            CRFSUITE: lambda: taggers[CRFSUITE].tag(next(theirs)),
        },
        sizes.calls,
    )


def words(sizes: Sizes, scratch: Path) -> Iterator[Case]:
    """Label plain words with a model of ``task=ner``."""
    settings = ["task=ner", f"task.limit={sizes.training}", f"optimizer.epochs={sizes.iterations}"]
    model = structopt.train(
        [*settings, "optimizer=dca", "tracker=none", "quiet=true"], folder=scratch / "words"
    )
    sentence = ["John", "Smith", "visited", "Paris", "."]
    yield _case(
        "words",
        "Label a sentence of 5 words per call, `model.predict([words])`",
        {OURS: lambda: model.predict([sentence])},
        sizes.calls,
    )


def start(sizes: Sizes, scratch: Path) -> Iterator[Case]:
    """Start processes that label one sentence, and commands."""
    limit, epochs = f"task.limit={sizes.training}", f"optimizer.epochs={sizes.iterations}"
    folder = scratch / "attributes"
    settings = ["task=attributes", limit, "optimizer=dca", epochs, "tracker=none", "quiet=true"]
    structopt.train(settings, folder=folder)
    from tests.benchmarks.attribute_file import read_sentences

    programs: dict[str, Callable[[], Seconds]] = {}
    sentence = json.dumps(read_sentences(1)[0][0])
    programs[OURS] = lambda: _stages(OUR_PROCESS, str(folder), sentence)
    if installed(CRFSUITE) != NOT_INSTALLED:
        from tests.benchmarks.attribute_file import peer

        model = str(scratch / "attributes.crfsuite")
        peer("lbfgs", sizes.iterations, read_sentences(0)[: sizes.training]).train(model)
        programs[CRFSUITE] = lambda: _stages(PEER_PROCESS, model, sentence)
    yield Case(STAGES, programs, sizes.turns)
    yield Case(
        {"help": "`structopt --help`"},
        {OURS: lambda: {"help": [_command(["--help"], scratch)]}},
        sizes.turns,
    )
    yield Case(
        {"command": "README's first command: train 30 epochs, evaluate, save"},
        {OURS: lambda: {"command": [_command(COMMAND, scratch)]}},
        min(3, sizes.turns),
    )


def compilation(sizes: Sizes, scratch: Path) -> Iterator[Case]:
    """Run the first command of README without compiled kernels."""
    kernels = scratch / "kernels"

    def command() -> Seconds:
        shutil.rmtree(kernels, ignore_errors=True)
        return {"first": [_command(COMMAND, scratch, NUMBA_CACHE_DIR=str(kernels))]}

    yield Case(
        {"first": "README's first command, if no kernel is compiled yet"},
        {OURS: command},
        turns=1,
        warm=False,
    )


def _case(name: str, title: str, works: Mapping[str, Callable[[], object]], turns: int) -> Case:
    """Return a case with one row, without the programs that are not installed."""
    programs = {
        program: timer(name, work)
        for program, work in works.items()
        if program == OURS or installed(program) != NOT_INSTALLED
    }
    return Case({name: title}, programs, turns)


def _stages(program: str, *arguments: str) -> Seconds:
    """Run a program in a process, and return the times of its stages."""
    done: Any = None

    def run() -> None:
        nonlocal done
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
        )

    whole = seconds_of(run)
    stages = [*json.loads(done.stdout), whole]
    return {name: [seconds] for name, seconds in zip(STAGES, stages, strict=True)}


def _command(arguments: list[str], folder: Path, **environment: str) -> float:
    """Run a structopt command in a process, and return its seconds."""
    return seconds_of(
        lambda: subprocess.run(
            [sys.executable, "-m", "structopt", *arguments],
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
    )
