"""The core's own tasks, graphs, trackers and executors keep the contracts that plugins inherit."""

from functools import partial

import numpy as np
import pytest

from structopt import datasets as shipped
from structopt.config import registry
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.tracker import Run
from structopt.experiment.report import Report, Table
from structopt.factor_graph.arc_factored import ArcFactored
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.factor_graph.second_order import SecondOrder
from structopt.factor_graph.single import Single
from structopt.task.multiclass import Multiclass
from structopt.testing.executor import ExecutorSuite
from structopt.testing.factor_graph import FactorGraphSuite
from structopt.testing.problems import random_encoded, random_graphs, random_trees
from structopt.testing.report import ReportSuite
from structopt.testing.task import TaskSuite
from structopt.testing.tracker import TrackerSuite
from structopt.tracker.mlflow import MLflowTracker
from structopt.tracker.none import NoTracker

TASKS = {
    "ner": (
        "conll",
        200,
        {"columns": {"word": 0, "pos": 1, "chunk": 2, "tag": -1}},
        ["a NN B-NP O", "b NN B-NP"],
    ),
    "attributes": ("crfsuite", 100, {}, ["O\tw=a", "O\tw=a:x"]),
    "multiclass": ("libsvm", 60, {}, ["1 1:2", "1 1:two"]),
    "multilabel": ("multilabel", 60, {}, ["a,b 1:2", "a 1:two"]),
    "dependency": ("conllu", 200, {}, ["1 Ann _ X X _ 2 dep _ _", "3 slept _ X X _ 0 root _ _"]),
}


@pytest.fixture(scope="module", params=TASKS)
def chosen(request):
    return request.param


class TestTasks(TaskSuite):
    @pytest.fixture
    def task(self, chosen):
        return partial(registry.create, "task", {"name": chosen, **TASKS[chosen][2]})

    @pytest.fixture
    def path(self, chosen, tmp_path):
        kind, count, *_ = TASKS[chosen]
        lines = shipped.path("train", kind).read_text(encoding="utf8").splitlines()
        while count < len(lines) and lines[count - 1]:
            count += 1
        file = tmp_path / f"train.{kind}"
        file.write_text("\n".join(lines[:count]) + "\n", encoding="utf8")
        return file

    @pytest.fixture
    def malformed(self, chosen, tmp_path):
        lines = TASKS[chosen][3]
        file = tmp_path / f"malformed.{TASKS[chosen][0]}"
        text = "\n".join(lines) + "\n"
        file.write_text(
            text.replace(" ", "\t") if chosen == "dependency" else text, encoding="utf8"
        )
        return file, len(lines)


GRAPHS = {
    "chain": (LinearChain(), random_encoded(1)),
    "chain, constrained": (LinearChain(), random_encoded(2, constrained=True, partial=True)),
    "chain of order 2": (LinearChain(order=2), random_encoded(3)),
    "chain, anchored": (LinearChain(), random_encoded(4, anchored=True)),
    "single": (Single(), random_encoded(5, lengths=(1, 1, 1))),
    "trees": (ArcFactored(), random_trees(1)),
    "trees, labelled": (ArcFactored(labeled=True), random_trees(2, lengths=(1, 2, 3))),
    "trees, projective": (ArcFactored(projective=True), random_trees(3, projective=True)),
    "trees, second order": (SecondOrder(), random_trees(4, lengths=(1, 2, 3))),
    "complete graphs": (Pairwise("complete"), random_graphs(1)),
    "grids": (Pairwise(), random_graphs(2, sizes=(2, 4), edges="grid", labels=3)),
    "no edges": (Pairwise("none"), random_graphs(3)),
}


class TestFactorGraphs(FactorGraphSuite):
    @pytest.fixture(params=GRAPHS)
    def case(self, request):
        return GRAPHS[request.param]

    @pytest.fixture
    def graph(self, case):
        return case[0]

    @pytest.fixture
    def encoded(self, case):
        return case[1]


class TestNoTracker(TrackerSuite):
    @pytest.fixture
    def tracker(self):
        return partial(registry.create, "tracker", {"name": "none"})


@pytest.fixture(scope="module")
def store(tmp_path_factory, empty_store):
    """The address of one store."""
    return empty_store(tmp_path_factory.mktemp("store") / "mlflow.db")


class TestMLflow(TrackerSuite):
    @pytest.fixture
    def tracker(self, store):
        return partial(MLflowTracker, uri=store)

    @pytest.fixture
    def broken(self, tmp_path):
        (tmp_path / "file").write_text("", encoding="utf8")
        return partial(MLflowTracker, uri=f"sqlite:///{tmp_path / 'file' / 'store.db'}")


class TestExecutors(ExecutorSuite):
    @pytest.fixture(params=["serial", "threads"])
    def executor(self, request):
        return registry.create(
            "executor",
            {"name": request.param, "workers": 3 if request.param == "threads" else None},
        )


class Backwards:
    """An executor that returns results in the wrong order."""

    workers = 1

    def map(self, function, shards):
        return [function(shard) for shard in reversed(list(shards))]


class Loud(NoTracker):
    """A tracker that raises."""

    def log_epoch(self, epoch, metrics):
        raise OSError("disk full")


class WrongGold(LinearChain):
    """A graph that forgets one of the gold parts."""

    def gold(self, encoded, structure):
        right = super().gold(encoded, structure)
        return SparseVectors(
            right.offsets,
            right.parts,
            np.where(np.arange(len(right.values)) == 2, 0.0, right.values),
        )


class WrongView(LinearChain):
    """A graph that reads the first label of two alike."""

    def view(self, name, encoded, structure, outputs):
        return np.maximum(super().view(name, encoded, structure, outputs), 1)


class Forgetful(Multiclass):
    """A task whose state lacks an attribute's name."""

    def state(self):
        values, arrays = super().state()
        return {**values, "labels": values["labels"][:-1]}, arrays


def test_suites_find_what_is_wrong(tmp_path):
    """A suite that no component can fail would promise nothing."""
    with pytest.raises(AssertionError):
        ExecutorSuite().test_results_come_in_shard_order(Backwards())
    with pytest.raises(AssertionError, match="disk full"):
        TrackerSuite().test_metrics_that_are_no_numbers(Loud, Run(tmp_path, {}, {}, "label"))
    encoded = random_encoded(1)
    with pytest.raises(AssertionError):
        FactorGraphSuite().test_gold_is_an_output(
            WrongGold(), encoded, LinearChain().build(encoded)
        )
    for test in (
        FactorGraphSuite().test_views,
        FactorGraphSuite().test_outputs_survive_their_views,
    ):
        with pytest.raises(AssertionError):
            test(WrongView(), encoded, LinearChain().build(encoded))
    file = tmp_path / "train.libsvm"
    file.write_text("a 1:1\nb 2:1\nc 1:1 2:1\n", encoding="utf8")
    with pytest.raises(AssertionError):
        TaskSuite().test_state_is_all_it_learnt(Forgetful, file)
    ragged = Report("title", "source", (Table(("a", "b"), (("only a",),)),))
    with pytest.raises(AssertionError):
        ReportSuite().test_tables_are_rectangular(ragged)
