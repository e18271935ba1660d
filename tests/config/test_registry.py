"""Components are found through entry points only, and every message says what to do next."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from structopt.config import registry, schema
from structopt.config.compatibility import check
from structopt.core.ability import Ability
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.optimizer import Optimizer
from structopt.core.structure_kind import StructureKind
from structopt.errors import CompatibilityError, ConfigError

NAMES = {
    "task": [
        "attributes",
        "chunking",
        "constituency",
        "coreference",
        "dependency",
        "grid",
        "multiclass",
        "multilabel",
        "ner",
        "summarization",
        "synthetic",
        "tagging",
    ],
    "features": ["anchored_templates", "attribute_rows", "hashed_templates", "mention_templates"],
    "factor_graph": [
        "antecedent",
        "arc_factored",
        "coverage",
        "grammar",
        "linear_chain",
        "pairwise",
        "second_order",
        "single",
        "span",
    ],
    "inference": [
        "ad3",
        "cut",
        "enumeration",
        "exact",
        "greedy",
        "ilp",
        "loopy_bp",
        "lp",
        "mplp",
        "trw_bp",
    ],
    "loss": ["crf", "family", "perceptron", "ramp", "risk", "softmax_margin", "svm"],
    "optimizer": [
        "adadelta",
        "adagrad",
        "cutting_plane",
        "dca",
        "dlpw",
        "eg",
        "lbfgs",
        "mira",
        "online_cutting_plane",
        "pegasos",
        "perceptron",
        "sdca",
        "sgd",
        "smo",
    ],
    "tracker": ["mlflow", "none"],
    "executor": ["ray", "serial", "threads"],
    "cost": [
        "arcs",
        "bigram_recall",
        "brackets",
        "coreference",
        "hamming",
        "hamming_normalized",
        "labeled_arcs",
        "rules",
        "weighted",
    ],
    "factor_kind": [
        "automaton",
        "budget",
        "coverage",
        "exactly_one",
        "length_budget",
        "linear_budget",
        "pairs",
        "table",
        "tree",
    ],
}


def whole(cls: Any) -> Any:
    """A component of which a test needs a part only: what its contract asks for beside is not asked
    for.
    """
    cls.__abstractmethods__ = frozenset()
    return cls


MODULE = '''
from dataclasses import dataclass, field
from typing import ClassVar, Literal
from structopt.plugin import Ability, Executor, Inference, Needs, Optimizer
from tests.config.test_registry import whole

@whole
class Steps(Optimizer):
    """Takes steps.

    Parameters
    ----------
    lambda_ : float
        Strength of the
        regulariser.
    epochs : int
        Passes.
    """

    C = 1.0

    def needs(self, loss, graph):
        return Needs(Ability.MARGINALS)

    def __init__(
        self, lambda_: float = 1.0, epochs: int = 10, *, variant: Literal["max_loss", "prediction"] = "max_loss", seed: int = 0
    ):
        self.lambda_, self.epochs, self.variant, self.seed = lambda_, epochs, variant, seed

class Inherits(Steps):
    pass

@whole
@dataclass
class Sized(Executor):
    workers, shards, mixing = 1, 1, 0
    size: int
    lists: dict[str, float] = field(default_factory=dict)
    kind: ClassVar[str] = "sized"

@whole
class Maximiser(Inference):
    def provides(self, kind):
        return Ability.MAP | Ability.EXACT
'''


def write_distribution(
    folder: Path, name: str, points: Mapping[str, Mapping[str, str]], modules: Mapping[str, str]
) -> None:
    """Write what an installed distribution is: modules, metadata, entry points."""
    info = folder / f"{name.replace('-', '_')}-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    groups = (
        f"[structopt.{group}]\n" + "".join(f"{key} = {value}\n" for key, value in one.items())
        for group, one in points.items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups))
    for path, text in modules.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(textwrap.dedent(text))


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution structopt-acme with components of its own, one of which cannot be imported."""
    points = {
        "optimizer": {
            "steps": "acme_parts:Steps",
            "inherits": "acme_parts:Inherits",
            "broken": "acme_broken:Broken",
        },
        "executor": {"sized": "acme_parts:Sized"},
        "inference": {"argmax": "acme_parts:Maximiser"},
    }
    modules = {"acme_parts.py": MODULE, "acme_broken.py": "import there_is_no_such_module\n"}
    write_distribution(tmp_path / "site", "structopt-acme", points, modules)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "acme_parts", raising=False)
    return tmp_path


def message(function: Any, *arguments: Any, **keywords: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        function(*arguments, **keywords)
    return str(caught.value)


@pytest.mark.parametrize("kind", registry.KINDS)
def test_registered_names_are_on_the_golden_list(kind: str) -> None:
    core = [
        name
        for name, one in registry.installed(kind).items()
        if one.distribution == "structopt-trainer"
    ]
    assert core == NAMES[kind]


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in NAMES.items() for name in names]
)
def test_every_registered_class_loads_and_its_source_tells_the_same_parameters(
    kind: str, name: str
) -> None:
    described = registry.described(registry.installed(kind)[name])
    assert sorted(one.name for one in described) == sorted(registry.parameters_of(kind, name))


def test_installed_imports_nothing(acme: Path) -> None:
    assert str(registry.installed("optimizer")["steps"]) == "steps (structopt-acme)"
    registry.described(registry.installed("optimizer")["steps"])
    assert "acme_parts" not in sys.modules


def test_unknown_name(acme: Path) -> None:
    said = message(registry.load, "optimizer", "step")
    assert said.startswith(
        "optimizer 'step' is not installed. Did you mean 'steps'? Installed: adadelta "
        "(structopt-trainer), "
    )
    assert all(f"{name} (structopt-acme)" in said for name in ("broken", "inherits", "steps"))
    assert message(registry.load, "optimizer", "dac").startswith(
        "optimizer 'dac' is not installed. Did you mean 'dca'? Installed: "
    )


def test_name_claimed_twice(acme: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_distribution(
        acme / "other", "structopt-other", {"optimizer": {"dca": "acme_parts:Steps"}}, {}
    )
    monkeypatch.syspath_prepend(str(acme / "other"))
    assert message(registry.load, "optimizer", "dca") == (
        "optimizer 'dca' is claimed by two distributions, structopt-other and structopt-trainer. "
        "Uninstall one of them."
    )


def test_plugin_that_cannot_be_imported(acme: Path) -> None:
    assert message(registry.load, "optimizer", "broken") == (
        "optimizer=broken comes from structopt-acme, and acme_broken:Broken cannot be imported: "
        "ModuleNotFoundError: "
        "No module named 'there_is_no_such_module'. Reinstall or update structopt-acme."
    )


def test_plugin_that_lacks_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a task that was written before tasks had schemas."""
    module = (
        "class Old:\n    input_schema = output_schema = None\n\n"
        "    def output_table(self, outputs): ...\n"
    )
    write_distribution(
        tmp_path / "site",
        "structopt-old",
        {"task": {"old": "old_task:Old"}},
        {"old_task.py": module},
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert message(registry.load, "task", "old") == (
        "task=old of structopt-old lacks attribute_names, columns, corpus, decode, encode, "
        "files, fit, input_example, instances, "
        "main_metric, outcomes, read, report, restore, state, vocabulary, write_outputs, which "
        "every task has (structopt.plugin.provisional."
        "Task says what it does, and has a default where one makes sense). Update structopt-old."
    )


def test_schema_from_class_and_from_source_agree(acme: Path) -> None:
    for kind, name in [("optimizer", "steps"), ("optimizer", "inherits"), ("executor", "sized")]:
        from_source = {
            one.name: one.doc for one in registry.described(registry.installed(kind)[name])
        }
        from_class = {key: one.doc for key, one in registry.parameters_of(kind, name).items()}
        assert from_source == from_class
    shown = [str(one) for one in registry.schema(registry.load("optimizer", "steps")).values()]
    assert shown[:3] == [
        "lambda_: float = 1.0",
        "epochs: int = 10",
        'variant: Literal["max_loss", "prediction"] = "max_loss"',
    ]
    assert (
        registry.schema(registry.load("optimizer", "steps"))["lambda_"].doc
        == "Strength of the regulariser."
    )
    assert [str(one) for one in registry.schema(registry.load("executor", "sized")).values()] == [
        "size: int",
        "lists: dict[str, float] = {}",
    ]


def test_create(acme: Path) -> None:
    steps = registry.create(
        "optimizer", {"name": "steps", "lambda_": 1, "epochs": 3}, seed=7, features={}
    )
    assert (steps.lambda_, type(steps.lambda_), steps.epochs, steps.seed) == (1.0, float, 3, 7)
    assert registry.create("optimizer", {"name": "steps", "lambda_": "inf"}).lambda_ == float("inf")
    assert registry.create("optimizer", {"name": "steps", "seed": 2}, seed=7).seed == 2


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (
            {"name": "steps", "lambdaa_": 1},
            "optimizer=steps has no parameter 'lambdaa_'. Did you mean 'lambda_'? It takes lambda_: "
            "float = 1.0, ",
        ),
        ({"name": "steps", "epochs": "abc"}, "optimizer.epochs=abc is not an int."),
        ({"name": "steps", "epochs": True}, "optimizer.epochs=true is not an int."),
        ({"name": "steps", "epochs": 1.5}, "optimizer.epochs=1.5 is not an int."),
        ({"name": "steps", "lambda_": "one"}, "optimizer.lambda_=one is not a float."),
        ({"name": "steps", "lambda_": float("nan")}, "optimizer.lambda_=nan is not a float."),
        ({"name": "steps", "lambda_": None}, "optimizer.lambda_=null is not a float."),
        (
            {"name": "steps", "variant": "max_los"},
            "optimizer.variant=max_los is none of: max_loss, prediction. Did you mean 'max_loss'?",
        ),
        (
            {},
            "optimizer needs the name of a component: set optimizer=NAME. Installed: adadelta, "
            "adagrad, broken, c",
        ),
    ],
)
def test_create_refuses(acme: Path, node: dict[str, Any], text: str) -> None:
    assert message(registry.create, "optimizer", node).startswith(text)


def test_required_parameter(acme: Path) -> None:
    text = "executor=sized needs a value: set executor.size=... (size: int)."
    assert message(registry.create, "executor", {"name": "sized"}) == text
    assert registry.create("executor", {"name": "sized"}, size=3).size == 3


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, float, 1.0),
        ("inf", float, float("inf")),
        (".inf", float, float("inf")),
        ("-inf", float, float("-inf")),
        (None, float | None, None),
        (1, float | None, 1.0),
        ("auto", float | Literal["auto"], "auto"),
        (2024, str, "2024"),
        (2, str | float, 2.0),
        ([1, 2], list[float], [1.0, 2.0]),
        ([1, 2], tuple[float, ...], (1.0, 2.0)),
        ({"O": 1}, dict[str, float], {"O": 1.0}),
        ({"O": 1}, Mapping[str, float] | None, {"O": 1.0}),
        ("x", Path, Path("x")),
        (True, bool, True),
        ([{"a": 1}], list[Any], [{"a": 1}]),
    ],
)
def test_coerce(value: Any, hint: Any, expected: Any) -> None:
    got = schema.coerce("here", value, hint)
    assert got == expected
    assert type(got) is type(expected)


@pytest.mark.parametrize(
    ("value", "hint", "text"),
    [
        (1, bool, "here=1 is not a bool. Set here=true or here=false."),
        (True, float, "here=true is not a float."),
        (True, str, "here=true is not a str."),
        ("x", float | None, "here=x is not a float."),
        ("x", float | int, "here=x is not a float | int."),
        ("x", Literal["a"] | None, "here=x is none of: a."),
        (["x"], list[int], "here[0]=x is not an int."),
        ({"O": "x"}, dict[str, float], "here.O=x is not a float."),
        ("abc", list[str], "here=abc is a text, and here takes a list. Set 'here=[abc]'."),
        (
            3,
            dict[str, int],
            (
                "here=3 is a number, and here takes a mapping. Set 'here={NAME: 0}', with the "
                "quotes, which keep the shell from "
                "dividing it."
            ),
        ),
        (1, Literal["a", "b"], "here=1 is none of: a, b."),
    ],
)
def test_coerce_refuses(value: Any, hint: Any, text: str) -> None:
    assert message(schema.coerce, "here", value, hint) == text


class _NeedsMarginals:
    requires = Ability.MARGINALS
    beta = 1.0


@whole
class _Maximum(Loss):
    """A loss that any inference will do for."""

    temperature, requires, member = 0.0, Ability(0), "maximum"


@whole
class _NeedsMarginals(_Maximum):
    temperature, requires = 1.0, Ability.MARGINALS


@whole
class _NeedsNothing(Optimizer):
    epochs, C = 1, 1.0


@whole
class _NoAlgorithm(Inference):
    def provides(self, kind: StructureKind) -> Ability:
        return Ability(0)


def test_compatibility(acme: Path) -> None:
    argmax, graph = (
        registry.create("inference", {"name": "argmax"}),
        registry.create("factor_graph", {"name": "linear_chain"}),
    )
    check(graph, argmax, _Maximum(), _NeedsNothing())
    with pytest.raises(CompatibilityError) as caught:
        check(graph, argmax, _NeedsMarginals(), _NeedsNothing())
    beginning = "loss=_NeedsMarginals needs marginals, but inference=argmax only maximises. With this factor graph, "
    assert str(caught.value).startswith(beginning)
    with pytest.raises(
        CompatibilityError,
        match="^optimizer=steps needs marginals, but inference=argmax only maximises",
    ):
        check(graph, argmax, _Maximum(), registry.create("optimizer", {"name": "steps"}))
    with pytest.raises(
        CompatibilityError, match="cannot solve structures of kind chain. Those that can: .*argmax"
    ):
        check(graph, _NoAlgorithm(), _Maximum(), _NeedsNothing())


def test_compatibility_names_the_inferences_that_would_do(acme: Path) -> None:
    graph = registry.create("factor_graph", {"name": "linear_chain"})
    with pytest.raises(
        CompatibilityError, match=r"With this factor graph, marginals come from: .*exact\."
    ):
        check(
            graph,
            registry.create("inference", {"name": "argmax"}),
            _NeedsMarginals(),
            _NeedsNothing(),
        )


def test_components_without_a_constructor_are_told_from_source() -> None:
    assert schema.of_source("structopt.inference.enumeration", "Enumeration") == []
    assert schema.of_source("structopt.loss.cost.arcs", "Arcs") == []
