"""The contracts of task, graph, factor kind, inferences, losses and optimizers; the budget in every
inference; commands.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structopt_knapsack.data import EncodedKnapsacks
from structopt_knapsack.factor import Knapsack
from structopt_knapsack.graph import KIND, KnapsackGraph
from structopt_knapsack.task import Knapsacks

from structopt import StructuredEstimator
from structopt.plugin import ConfigError, DataError, LossFamily, Structure
from structopt.plugin.provisional import AttributeTable
from structopt.testing.components import component, run_words
from structopt.testing.factor_graph import FactorGraphSuite, dense
from structopt.testing.factor_kind import FactorKindSuite, OneFactor
from structopt.testing.inference import InferenceSuite, run
from structopt.testing.loss import LossSuite
from structopt.testing.optimizer import OptimizerSuite, passes
from structopt.testing.problems import make_problem, outputs
from structopt.testing.task import TaskSuite


def packs(seed: int = 0, sizes: tuple[int, ...] = (1, 3, 4, 6)) -> EncodedKnapsacks:
    """Random instances; some items weigh nothing, some too much; some gold selections are empty."""
    random, items = np.random.default_rng(seed), sum(sizes)
    offsets = np.cumsum([0, *sizes]).astype(np.int64)
    weights, budgets = random.integers(0, 6, items), random.integers(0, 12, len(sizes))
    attributes, gold = random.integers(0, 6, (items, 3)).astype(np.int32), np.zeros(items, np.int32)
    worth = random.normal(size=6)[attributes].sum(axis=1)
    for j in np.argsort(-worth):
        i = int(np.searchsorted(offsets, j, side="right")) - 1
        items_of = slice(offsets[i], offsets[i + 1])
        gold[j] = worth[j] > 0 and gold[items_of] @ weights[items_of] + weights[j] <= budgets[i]
    table = AttributeTable(np.arange(0, 3 * items + 1, 3), attributes.ravel(), None, 6)
    return EncodedKnapsacks(
        offsets, {"item": table}, ("out", "in"), gold, weights=weights, budgets=budgets
    )


@pytest.fixture(params=range(4))
def encoded(request: pytest.FixtureRequest) -> EncodedKnapsacks:
    return packs(request.param)


class TestGraph(FactorGraphSuite):
    @pytest.fixture(params=range(4))
    def encoded(self, request: pytest.FixtureRequest) -> EncodedKnapsacks:
        return packs(request.param)

    @pytest.fixture
    def graph(self) -> KnapsackGraph:
        return KnapsackGraph()


class TestKind(FactorKindSuite):
    @pytest.fixture
    def kind(self) -> Knapsack:
        return Knapsack()

    @pytest.fixture(params=[(5, 1, 2, 3, 4), (0, 1, 0, 2), (9, 9, 0, 10, 3, 6)])
    def factor(self, request: pytest.FixtureRequest) -> OneFactor:
        return OneFactor((1,) * (len(request.param) - 1), 0, request.param)


class Solved(InferenceSuite):
    """Structures as an inference prepares them."""

    @pytest.fixture
    def structure(self, encoded: EncodedKnapsacks, inference: Any) -> Structure:
        prepared: Structure = inference.prepare(KnapsackGraph().build(encoded))
        return prepared


class TestExact(Solved):
    @pytest.fixture
    def inference(self) -> Any:
        return component("inference", "exact")


@pytest.mark.parametrize("name", ["ilp", "lp"])
class TestPrograms(Solved):
    tolerance = 1e-6

    @pytest.fixture
    def inference(self, name: str) -> Any:
        return component("inference", name)


class TestAD3(Solved):
    tolerance = 1e-6

    @pytest.fixture
    def inference(self) -> Any:
        return component("inference", "ad3", exact=True)


@pytest.mark.parametrize("beta", [1.0, inf])
class TestLoss(LossSuite):
    @pytest.fixture
    def problem(self, beta: float) -> Any:
        return make_problem(
            packs(1),
            KnapsackGraph(),
            LossFamily(beta=beta, gamma=1.0),
            component("inference", "exact"),
        )


@pytest.mark.parametrize(
    ("name", "beta"), [("lbfgs", 1.0), ("sdca", 1.0), ("mira", inf), ("sgd", 1.0)]
)
class TestOptimizers(OptimizerSuite):
    decrease, many = 0.97, 20

    @pytest.fixture
    def optimizer(self, name: str) -> Any:
        return lambda: component("optimizer", name)

    @pytest.fixture
    def problem(self, beta: float) -> Any:
        loss, exact = LossFamily(beta=beta, gamma=1.0), component("inference", "exact")
        return lambda seed: make_problem(packs(1), KnapsackGraph(), loss, exact, seed=seed)

    def test_starts_from_given_weights(self, optimizer: Any, problem: Any) -> None:
        """Optimizers that keep dual variables refuse initial weights."""
        try:
            super().test_starts_from_given_weights(optimizer, problem)
        except ConfigError as refused:
            assert "optimizer=sdca starts from a dual point" in str(refused)


LINES = [
    {
        "items": [{"features": {"kind": "tent", "size": 2.5}, "weight": 3}, {"weight": 4}],
        "budget": 5,
        "selected": [0],
    },
    {
        "items": [{"features": {"kind": "rope", "wet": True}, "weight": 1}],
        "budget": 0,
        "selected": [],
        "note": "kept",
    },
    {
        "items": [{"features": {"size": -1}, "weight": 0}, {"features": {}, "weight": 2}],
        "budget": 9,
        "selected": [1, 0],
    },
]


def written(folder: Path, name: str, lines: list[Any]) -> Path:
    file = folder / name
    file.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n",
        encoding="utf8",
    )
    return file


class TestTask(TaskSuite):
    @pytest.fixture
    def task(self) -> Any:
        return Knapsacks

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return written(tmp_path, "train.jsonl", [LINES[0], "", *LINES[1:]])

    @pytest.fixture
    def unlabelled(self, tmp_path: Path) -> Path:
        return written(
            tmp_path,
            "new.jsonl",
            [{k: v for k, v in line.items() if k != "selected"} for line in LINES],
        )

    @pytest.fixture
    def malformed(self, tmp_path: Path) -> tuple[Path, int]:
        return written(tmp_path, "malformed.jsonl", [LINES[0], "", '{"items": [']), 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"items": []}, '"items" must be a list of at least one object'),
        ({"items": [3]}, "item 0 is no object"),
        (
            {"items": [{"weight": 2.5}]},
            '"weight" of item 0 must be a whole number from 0 to 2147483647, not 2.5',
        ),
        ({"budget": -1}, '"budget" must be a whole number'),
        ({"budget": True}, '"budget" must be a whole number'),
        ({"selected": [0, 0]}, '"selected" must be a list of different item numbers from 0 to 1'),
        ({"selected": [2]}, '"selected" must be a list of different item numbers from 0 to 1'),
        ({"selected": None}, '"selected" must be a list'),
        ({"budget": 2}, 'the items in "selected" weigh 3, over the budget of 2'),
        (
            {"items": [{"weight": 1, "features": {"a": None}}, {"weight": 1}]},
            '"a" of item 0 must be a finite number',
        ),
    ],
)
def test_lines_are_checked(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    file = written(tmp_path, "wrong.jsonl", [LINES[1], LINES[0] | change])
    with pytest.raises(DataError) as refused:
        Knapsacks().read(file)
    assert str(refused.value).startswith(f"{file}:2: {words}")


def test_learns_from_memory() -> None:
    items = [{"features": {"kind": kind}, "weight": 1} for kind in ("tent", "chair", "stove")]
    X, y = [{"items": items, "budget": 2}, {"items": items[:2], "budget": 2}], [[0, 2], [0]]
    estimator = StructuredEstimator(
        task="knapsack", factor_graph="knapsack", epochs=20, C=10.0
    ).fit(X, y)
    assert estimator.predict(X) == y
    assert estimator.score(X, y) == 1.0
    with pytest.raises(
        DataError,
        match=r"<memory>: there are 1 selections for 2 instances\. Give one for each: \[\[0, "
        r"2\]\]\.",
    ):
        estimator.fit(X, y[:1])
    with pytest.raises(
        DataError,
        match='<memory>:2: "selected" must be a list of different item numbers from 0 to 1',
    ):
        estimator.fit(X, [y[0], [2]])


def test_cost_counts_wrong_items(encoded: EncodedKnapsacks) -> None:
    problem = make_problem(
        encoded, KnapsackGraph(), LossFamily(beta=inf, gamma=1.0), component("inference", "exact")
    )
    for i in range(problem.m):
        listed = outputs(problem, i)
        np.testing.assert_allclose(
            listed.costs, np.abs(listed.vertices - listed.gold).sum(axis=1), atol=1e-12
        )


def test_subsets_of_corpora(encoded: EncodedKnapsacks) -> None:
    graph = KnapsackGraph()
    whole, some = graph.build(encoded), graph.build(encoded.subset(1, 3))
    for k, i in enumerate((1, 2)):
        size = int(np.diff(whole.parts)[i])
        lists = [KIND.vertices(one.record, j, size, 100) for one, j in ((whole, i), (some, k))]
        np.testing.assert_array_equal(*lists)
        gold = [
            dense(graph.gold(one, s), j, size)
            for one, s, j in ((encoded, whole, i), (encoded.subset(1, 3), some, k))
        ]
        np.testing.assert_array_equal(*gold)


def test_a_relaxation_is_above_the_best_and_its_selection_fits() -> None:
    graph, encoded = KnapsackGraph(), packs(3)
    structure, fractional = graph.build(encoded), 0
    for i, s in product(range(len(encoded)), np.random.default_rng(0).normal(size=(20, 6)) + 0.5):
        scores = s[: int(np.diff(structure.parts)[i])]
        best = run(component("inference", "exact").kernels(KIND).solve, structure, i, scores, 0.0)[
            0
        ]
        value, z = run(component("inference", "lp").kernels(KIND).solve, structure, i, scores, 0.0)
        assert value >= best - 1e-9
        fractional += value > best + 1e-6
        weights = encoded.weights[encoded.offsets[i] : encoded.offsets[i + 1]]
        assert (z > 1 - 1e-6) @ weights <= encoded.budgets[i]
    assert fractional


def test_large_instances_against_integer_programs() -> None:
    random = np.random.default_rng(0)
    weights = random.integers(1, 200, 40)
    encoded = replace(
        packs(0, (40,)),
        weights=weights,
        budgets=np.array([weights.sum() // 3]),
        gold=np.zeros(40, np.int32),
    )
    structure = KnapsackGraph().build(encoded)
    for _ in range(5):
        s = random.normal(size=40)
        values = [
            run(component("inference", n).kernels(KIND).solve, structure, 0, s, 0.0)[0]
            for n in ("exact", "ilp")
        ]
        assert values[0] == pytest.approx(values[1])


def test_rounding_keeps_outputs_and_the_budget(encoded: EncodedKnapsacks) -> None:
    structure, random = KnapsackGraph().build(encoded), np.random.default_rng(0)
    for i, size in enumerate(np.diff(structure.parts)):
        vertices = KIND.vertices(structure.record, i, int(size), 100)
        for z in (*vertices, *random.random((20, size))):
            rounded = z.copy()
            KnapsackGraph().rounding(structure.record, i, rounded, structure.work)
            assert (vertices == rounded).all(axis=1).any()
            assert not (vertices == z).all(axis=1).any() or np.array_equal(rounded, z)


def test_one_factor_is_exact_in_belief_propagation(encoded: EncodedKnapsacks) -> None:
    inference = component("inference", "loopy_bp")
    plain = KnapsackGraph().build(encoded)
    structure, random = inference.prepare(plain), np.random.default_rng(0)
    for i, size in enumerate(np.diff(plain.parts)):
        s = random.normal(size=size)
        value, z = run(component("inference", "exact").kernels(KIND).solve, plain, i, s, 1.0)
        other_value, other = run(inference.kernels(KIND).solve, structure, i, s, 1.0)
        assert other_value == pytest.approx(value, abs=1e-5)
        np.testing.assert_allclose(other, z, atol=1e-5)


def test_optimizers_agree() -> None:
    reached = []
    for name in ("lbfgs", "sdca"):
        problem = make_problem(
            packs(1),
            KnapsackGraph(),
            LossFamily(beta=1.0, gamma=1.0),
            component("inference", "exact"),
        )
        optimizer = component("optimizer", name)
        state = passes(optimizer, problem, optimizer.init(problem, np.zeros(problem.dimension)), 60)
        reached.append(problem.objective(optimizer.weights(state)))
    assert reached[0] == pytest.approx(reached[1], rel=1e-5)


def test_refusals() -> None:
    encoded, graph = packs(0), KnapsackGraph()
    with pytest.raises(ConfigError, match="over the budget of 0"):
        poor = replace(
            encoded,
            budgets=np.zeros(4, np.int64),
            weights=encoded.weights + 1,
            gold=np.ones(14, np.int32),
        )
        graph.gold(poor, graph.build(poor))
    with pytest.raises(ConfigError, match="instance 4 has 6 items and a budget of 200000000"):
        graph.build(
            replace(encoded, weights=encoded.weights + 200_000_000, budgets=np.full(4, 200_000_000))
        )
    with pytest.raises(ConfigError, match="must be at least 0"):
        graph.build(replace(encoded, weights=encoded.weights - 1))
    with pytest.raises(ConfigError, match="Did you mean 'min_count'"):
        Knapsacks(features={"mincount": 2})


def trained(folder: Path, *words: str) -> float:
    """Dev F1 of a run over the shipped corpus."""
    done = run_words(folder, "task=knapsack", *words, "tracker=none", "hydra.run.dir=run")
    assert done.code == 0, done.err
    return float(json.loads((folder / "run" / "metrics.json").read_text())["dev"]["f1"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run."""
    path = tmp_path_factory.mktemp("knapsack")
    assert trained(path, "loss=crf", "optimizer=lbfgs") > 0.85
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("optimizer=dca",),
        ("optimizer=sdca", "loss=svm"),
        ("optimizer=mira",),
        ("optimizer=adagrad", "loss=softmax_margin"),
        ("optimizer=sdca", "loss=svm", "inference=ilp", "task.limit=40"),
        ("optimizer=dca", "loss=svm", "inference=lp", "task.limit=40"),
        ("optimizer=dca", "loss=crf", "inference=trw_bp", "task.limit=40"),
        ("optimizer=dca", "loss=svm", "loss.cost=weighted", "loss.cost_weights={in: 2}"),
    ],
    ids=" ".join,
)
def test_trains(words: tuple[str, ...], tmp_path: Path) -> None:
    assert trained(tmp_path, *words, "optimizer.epochs=5") > 0.75


def test_predicts_within_the_budget(folder: Path) -> None:
    items = [
        {"features": {"kind": kind, "rating": 5}, "weight": 3}
        for kind in ("tent", "stove", "chair")
    ]
    written(
        folder,
        "new.jsonl",
        [{"items": items, "budget": 6, "id": "a"}, {"items": items, "budget": 2}],
    )
    done = run_words(
        folder,
        "predict",
        "model=run",
        "input=new.jsonl",
        "output=out.jsonl",
        "probabilities=true",
        "k_best=3",
    )
    assert done.code == 0, done.err
    rows = [
        json.loads(line) for line in (folder / "out.jsonl").read_text(encoding="utf8").splitlines()
    ]
    assert [row["selected"] for row in rows] == [[0, 1], []]
    assert rows[0]["id"] == "a"
    assert rows[0]["probabilities"][0] > rows[0]["probabilities"][2]
    assert rows[1]["probabilities"] == [0.0, 0.0, 0.0]
    assert [len(row["k_best"]) for row in rows] == [3, 1]
    listed = rows[0]["k_best"]
    assert listed[0]["selected"] == [0, 1]
    assert listed[0]["score"] >= listed[1]["score"] >= listed[2]["score"]


def test_other_inferences_decode(folder: Path) -> None:
    shipped = str(Path(Knapsacks().files["dev"]))
    scores = {}
    for name in ("exact", "ilp", "lp", "ad3"):
        done = run_words(folder, "evaluate", "model=run", f"input={shipped}", f"inference={name}")
        assert done.code == 0, done.err
        scores[name] = json.loads(done.out.splitlines()[-1])
    # where two selections are equally good, they may choose differently
    for name in ("ilp", "ad3"):
        assert scores[name] == pytest.approx(scores["exact"], abs=0.05)
    assert 0 < scores["lp"]["filled"] <= scores["exact"]["filled"] <= 1


def test_warm_start(folder: Path) -> None:
    done = run_words(
        folder,
        "task=knapsack",
        "loss=crf",
        "optimizer=dca",
        "optimizer.epochs=0",
        "warm_start=run",
        "tracker=none",
        "hydra.run.dir=again",
    )
    assert done.code == 0, done.err
    scores = [
        json.loads((folder / name / "metrics.json").read_text())["dev"] for name in ("run", "again")
    ]
    assert scores[0]["f1"] == pytest.approx(scores[1]["f1"])


def test_table(folder: Path) -> None:
    import structopt

    model = structopt.load(str(folder / "run"))
    table = {"features": [[["kind=tent"], ["kind=chair"]]], "weights": [[2, 2]], "budget": [2]}
    assert model.predict_table(table) == {"selected": [[0]]}


def test_wrong_pairs_are_refused(tmp_path: Path) -> None:
    done = run_words(tmp_path, "task=knapsack", "factor_graph=linear_chain", "tracker=none")
    assert done.code == 2
    assert "Factor graphs that offer selection: coverage, knapsack" in done.err
    done = run_words(tmp_path, "task=ner", "factor_graph=knapsack", "tracker=none")
    assert done.code == 2
    assert "reads the labels of outputs" in done.err
