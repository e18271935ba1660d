"""Times of calls as users write them, next to python-crfsuite: `pytest tests/benchmarks/test_calls.py
-s`.

STRUCTOPT_DATA names a folder with conll2003 and ud; without it the shipped corpora are used. Use an
idle machine with OMP_NUM_THREADS=1 and NUMBA_NUM_THREADS=1. Nothing here decides whether the tests
pass.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles
from types import SimpleNamespace
from typing import Any

import pytest

import structopt
from structopt import datasets
from structopt.factor_graph.arc_plan import ArcPlan
from structopt.formats.trees.dependency_trees import COLUMNS
from structopt.model import prediction, streaming
from tests.benchmarks.end_to_end import corpus, features, parts, read
from tests.benchmarks.measurement import Sizes, seconds_of

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

SIZES = Sizes(training=800, development=1500, iterations=30, turns=3, calls=300)
WORDS = 15
"""Words of a sentence for the parsers and for templates."""
TREES = 300
"""Sentences that a parser learns from."""
OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("input", "output"), streaming.STREAM),
    **{"inference": "", "picture": "", "threads": 1, "k_best": 1, "sentence": 1},
    **{"probabilities": False, "partial": False},
}
"""Of the command ``predict``, without the model."""


class Taggers(SimpleNamespace):
    """Data of one fit, and the taggers that it gives.

    Attributes
    ----------
    X, y, held_out : lists
        Sentences of dicts with their labels; sentences of the development part.
    ours : SequenceTagger
    peer : pycrfsuite.Tagger or None
    fits : dict
        Seconds of each fit.
    """


@pytest.fixture(scope="module")
def taggers(tmp_path_factory: pytest.TempPathFactory) -> Taggers:
    train, dev = parts(SIZES)
    X, held_out = ([[features(s, i) for i in range(len(s))] for s in part] for part in (train, dev))
    y = [[row[-1] for row in sentence] for sentence in train]
    tagger = structopt.SequenceTagger(optimizer="lbfgs", c1=0.1, c2=0.1, epochs=SIZES.iterations)
    tagger.fit(X[:50], y[:50])  # compiles
    fits = {"structopt": [seconds_of(lambda: tagger.fit(X, y)) for _ in range(SIZES.turns)]}
    peer = _peer(X, y, str(tmp_path_factory.mktemp("peer") / "model"), fits)
    return Taggers(X=X, y=y, held_out=held_out, ours=tagger, peer=peer, fits=fits)


def _peer(X: Any, y: Any, file: str, fits: dict[str, list[float]]) -> Any:
    """Train python-crfsuite on the same data; None if it is not installed."""
    try:
        import pycrfsuite
    except ImportError:
        return None

    def fit() -> None:
        trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
        iterations = {"max_iterations": SIZES.iterations, "feature.possible_transitions": True}
        trainer.set_params({"c1": 0.1, "c2": 0.1, **iterations})
        for instance, labels in zip(X, y, strict=True):
            trainer.append(instance, labels)
        trainer.train(file)

    fits["python-crfsuite"] = [seconds_of(fit) for _ in range(SIZES.turns)]
    tagger = pycrfsuite.Tagger()
    tagger.open(file)
    return tagger


def summary(seconds: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 90th percentile, in milliseconds."""
    ninety = quantiles(seconds, n=10, method="inclusive")[-1] if len(seconds) > 1 else seconds[0]
    return 1e3 * median(seconds), 1e3 * ninety


def timed(call: Callable[[Any], object], inputs: Sequence[Any], count: int = 0) -> list[float]:
    """Time a call on each input, after one call that does not count."""
    call(inputs[0])
    turns = cycle(inputs)
    return [seconds_of(partial(call, next(turns))) for _ in range(count or len(inputs))]


def show(call: str, ours: Sequence[float], peer: Sequence[float] | str = "no peer") -> None:
    """Print a row of the table: our times, those of the peer or the reason why it has none, and the
    ratio of the medians.
    """
    (middle, ninety), text = summary(ours), peer if isinstance(peer, str) else ""
    if not isinstance(peer, str):
        their_middle, their_ninety = summary(peer)
        ratio = middle / their_middle
        text = f"peer {their_middle:9.3f} {their_ninety:9.3f} ms   ratio {ratio:.2f}"
    print(f"\n{call:52} {middle:9.3f} {ninety:9.3f} ms   {text}", end="")


NO_PEER = "peer skipped: python-crfsuite is not installed (extra: dev)"


def test_taggers(taggers: Taggers) -> None:
    """One sentence of dicts, 1,500 sentences, and a fit."""
    ours, peer, dev = taggers.ours, taggers.peer, taggers.held_out
    some = dev[: SIZES.calls]
    print(f"\n{corpus()[0]}; median and 90th percentile", end="")
    tags = NO_PEER if peer is None else timed(peer.tag, some)
    show("predict([x])", timed(lambda x: ours.predict([x]), some), tags)
    show("predict_marginals([x])", timed(lambda x: ours.predict_marginals([x]), some))
    show("predict_k_best([x])", timed(lambda x: ours.predict_k_best([x]), some))
    every = NO_PEER if peer is None else timed(lambda X: list(map(peer.tag, X)), [dev], SIZES.turns)
    show(f"predict, {len(dev):,} sentences", timed(ours.predict, [dev], SIZES.turns), every)
    fits = taggers.fits.get("python-crfsuite", NO_PEER)
    show(f"fit, {len(taggers.X)} sentences, 30 iterations", taggers.fits["structopt"], fits)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Any, Path]]:
    """Models of a task, each trained once, with their folders."""
    root, known = tmp_path_factory.mktemp("models"), dict[str, tuple[Any, Path]]()

    def make(task: str) -> tuple[Any, Path]:
        if task not in known:
            words = [f"task={task}", f"task.limit={TREES}", "optimizer.epochs=2", "quiet=true"]
            ud = Path(os.environ.get("STRUCTOPT_DATA", "")) / "ud" / "en_ewt-ud-train.conllu.gz"
            if task == "dependency":
                words += ["factor_graph.labeled=true"]
                real = "STRUCTOPT_DATA" in os.environ and ud.is_file()
                words += [f"task.train={ud}"] if real else []
            model = structopt.train([*words, "tracker=none"], folder=root / task)
            known[task] = model, root / task
        return known[task]

    return make


def test_words(models: Any) -> None:
    model, _ = models("ner")
    sentences = [words for words in _words() if abs(len(words) - WORDS) <= 1]
    calls = timed(lambda x: model.predict([x]), sentences, SIZES.calls)
    show(f"model.predict([words]), task=ner, {WORDS} words", calls)


def _words() -> list[list[str]]:
    """The words of the shipped development part."""
    return [[row[0] for row in rows] for rows in read(datasets.path("dev", "conll"), TREES)]


def clocked(run: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    """Return a function that adds the seconds of each call of another one to a list."""

    def call(*arguments: Any, **named: Any) -> Any:
        began = time.perf_counter()
        try:
            return run(*arguments, **named)
        finally:
            spent.append(time.perf_counter() - began)

    return call


def clock_plan(plan: Any, spent: list[float]) -> None:
    """Add the seconds of the kernels of features and inference that a plan calls to a list."""
    if isinstance(plan, ArcPlan):
        names = ("scores", "solve", "round")
        kernels = {name: clocked(getattr(plan._kernels, name), spent) for name in names}
        plan._kernels = plan._kernels._replace(**kernels)
        return
    for owner, name in ((plan, "_solve"), (plan, "_round"), (plan._pruning, "_solve")):
        setattr(owner, name, clocked(getattr(owner, name), spent))


@pytest.mark.parametrize("task", ["dependency", "constituency"])
def test_parsers(task: str, models: Any) -> None:
    """One sentence per call: the whole time, and what it is above the time of the kernels."""
    model, _ = models(task)
    compiled: list[float] = []
    if task == "dependency":
        corpus = model.task.read(datasets.path("dev", "conllu"))
        rows = list(zip(*(corpus.cells[name] for name in COLUMNS), strict=True))
        ends = corpus.offsets.tolist()
        sentences = [rows[a:b] for a, b in zip(ends, ends[1:], strict=False)]
    else:
        corpus = model.task.read(datasets.path("dev", "ptb"))
        pairs = zip(corpus.words, corpus.tags, strict=True)
        sentences = [list(zip(words, tags, strict=True)) for words, tags in pairs]
    above = []

    def predict(sentence: Any) -> None:
        compiled.clear()
        whole = seconds_of(lambda: model.predict([sentence]))
        above.append(whole - sum(compiled))

    chosen = [one for one in sentences if abs(len(one) - WORDS) <= 1]
    assert chosen
    model.predict([chosen[0]])
    clock_plan(model._view_plans.plan, compiled)
    show(f"model.predict([x]), task={task}", timed(predict, chosen, SIZES.calls))
    show(f"  above its compiled time, task={task}", above[1:])


def test_pyfunc(models: Any, tmp_path: Path) -> None:
    """One row of MLflow's function model, and the same row without MLflow."""
    mlflow = pytest.importorskip("mlflow", reason="MLflow serves the model (extra: mlflow)")
    pandas = pytest.importorskip("pandas", reason="a pyfunc takes a DataFrame")
    from structopt.tracker.logged_model import save_pyfunc

    model, folder = models("ner")
    logged = SimpleNamespace(artifact_location=None, model_id=None)
    save_pyfunc(tmp_path / "pyfunc", folder / "model", logged, None)
    served = mlflow.pyfunc.load_model(str(tmp_path / "pyfunc"))
    row = {"tokens": [_words()[0]]}
    frame = pandas.DataFrame(row)
    show("pyfunc, one row", timed(served.predict, [frame], SIZES.calls))
    show("  the model's own call", timed(model.predict_table, [row], SIZES.calls))


@pytest.mark.parametrize(("task", "ending"), [("ner", "conll"), ("dependency", "conllu")])
def test_stream(task: str, ending: str, models: Any) -> None:
    """Sentences per second of CPU: all in one piece, and one by one."""
    model, folder = models(task)
    options = {**OPTIONS, "model": str(folder)}
    executor = prediction.executor_of(1)
    predict = partial(prediction._predict_file, model, executor, options)
    text = datasets.path("dev", ending).read_bytes()
    sentences = [one + b"\n\n" for one in text.strip().split(b"\n\n")][: SIZES.calls]

    def rate(pieces: Iterator[bytes]) -> float:
        began = time.process_time()
        source, sink = (lambda size: next(pieces, b"")), (lambda data: None)
        count = streaming.stream(model.task, options, predict, source, sink)
        return count / (time.process_time() - began)

    rates = [(rate(iter([b"".join(sentences)])), rate(iter(sentences))) for _ in range(SIZES.turns)]
    batch, single = (median(every) for every in zip(*rates, strict=True))
    line = f"{batch:,.0f} in one piece, {single:,.0f} one by one, ratio {single / batch:.2f}"
    print(f"\nstream, task={task}, sentences per second: {line}")
