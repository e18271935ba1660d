"""Every YAML composes, is valid and round-trips; and who chooses what is not typed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

import structopt
from structopt.config import registry, validation
from structopt.config.composition import compose
from structopt.config.continuation import continued
from structopt.config.feature_keys import COMMON
from structopt.config.search_path import conf_dir
from structopt.config.validation import validate
from structopt.config.wording import value_name
from structopt.errors import ConfigError
from tests.config.test_registry import write_distribution
from tests.messages import raises
from tests.parts import gate_cases

CONF = Path(conf_dir())
CHOICES = sorted(
    f"{path.parent.name}={path.stem}"
    for path in CONF.glob("*/*.yaml")
    if path.parent.name in registry.KINDS
)
PARTS = """
from structopt.plugin import Optimizer
from structopt.plugin.provisional import Task
from tests.config.test_registry import whole

@whole
class Steps(Optimizer):
    C = 1.0
    def __init__(self, epochs: int = 1, eta: float = 0.1):
        self.epochs = epochs

@whole
class Words(Task):
    limit, labels = None, ()
    def __init__(self, features: dict, train: str | None = None, default_C: float = 1.0):
        self.features = features
"""


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plugin with config files: a task that prefers crf, and optimizers of which one requires
    svm.
    """
    points = {
        "optimizer": {"steps": "acme_config_parts:Steps", "margins": "acme_config_parts:Steps"},
        "task": {"words": "acme_config_parts:Words", "wild": "acme_config_parts:Words"},
        "conf": {"acme": "structopt_acme_conf"},
    }
    task = (
        "# @package _global_\ndefaults:\n  - override /loss: crf\n\ntask:\n  name: words\n"
        "  train: null\n  default_C: 0.25\n"
    )
    files = {
        "acme_config_parts.py": PARTS,
        "structopt_acme_conf/__init__.py": "",
        "structopt_acme_conf/task/words.yaml": task + "features: {support: seen, min_count: 1}\n",
        "structopt_acme_conf/task/wild.yaml": task.replace("words", "wild")
        + "features: {support: seen, min_count: 1}\n",
        "structopt_acme_conf/optimizer/steps.yaml": "name: steps\nepochs: 3\neta: 1\n",
        "structopt_acme_conf/optimizer/margins.yaml": (
            "defaults:\n  - override /loss@_global_.loss: svm\n\nname: margins\nepochs: 3\neta: 1\n"
        ),
    }
    write_distribution(tmp_path, "structopt-acme", points, files)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("acme_config_parts", "structopt_acme_conf"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def message(function: Any, *arguments: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        function(*arguments)
    return str(caught.value)


@pytest.mark.parametrize("choice", gate_cases(CHOICES, "rest", 6))
def test_every_choice_composes_is_valid_and_round_trips(choice: str) -> None:
    config = validate(compose([choice]))
    kind, _, name = choice.partition("=")
    assert config[kind]["name"] == name
    assert (
        OmegaConf.to_container(OmegaConf.create(OmegaConf.to_yaml(OmegaConf.create(config))))
        == config
    )
    assert validate(config) == config


@pytest.mark.parametrize("choice", gate_cases(CHOICES, "rest", 6))
def test_config_files_list_every_parameter_and_no_target(choice: str) -> None:
    kind, _, name = choice.partition("=")
    described = registry.described(registry.installed(kind)[name])
    parameters = [one.name for one in described]
    # the task adds keys
    own = (
        OmegaConf.load(CONF / kind / f"{name}.yaml")
        if kind == "features"
        else compose([choice])[kind]
    )
    listed = [key for key in own if key != "name"]
    assert sorted(listed) == sorted(key for key in parameters if key not in ("features", *COMMON))
    typed = compose([choice])
    # messages and tables name the values of the config file, whatever the constructor's are
    for one in described:
        if one.name in own:
            key = (
                OmegaConf.select(OmegaConf.create(typed), one.default)
                if one.default.startswith("task.")
                else None
            )
            assert (
                one.default == value_name(own[one.name])
                or key == own[one.name]
                or one.name in typed["features"]
            )
    assert "_target_" not in (CONF / kind / f"{name}.yaml").read_text()


def test_every_installed_component_has_a_config_file() -> None:
    core = {
        f"{kind}={one.name}" for kind in registry.KINDS for one in registry.installed(kind).values()
    }
    assert set(CHOICES) <= core
    assert {
        f"{kind}={name}" for kind in registry.KINDS for name in registry.installed(kind)
    } == set(CHOICES)


def test_defaults() -> None:
    config = compose([])
    chosen = {kind: config[kind]["name"] for kind in registry.KINDS}
    assert chosen == {
        "features": "attribute_rows",
        "factor_graph": "linear_chain",
        "inference": "exact",
        "loss": "family",
        "task": "ner",
        "optimizer": "dca",
        "tracker": "mlflow",
        "executor": "serial",
    }
    assert config["loss"]["beta"] == 1.0
    assert config["loss"]["gamma"] == 0.0
    settings = {key: config[key] for key in validation.Settings.__annotations__}
    assert settings == {
        "label": None,
        "seed": 0,
        "threads": 1,
        "resume": None,
        "warm_start": {"model": None, "vocabulary": "union", "state": "none"},
        "storage": {
            "name": "memory",
            "folder": None,
            "block": 256,
            "window": 64,
            "checkpoint": 60.0,
        },
        "order": None,
        "check": False,
        "data": None,
        "scale": None,
        "tuning": None,
        "tail": None,
        "test_curve": False,
        "objective_every": "auto",
        "keep": None,
        "patience": None,
        "time_decoding": False,
        "quiet": False,
        "debug": False,
        "max_expansion": 100.0,
        "sweep": {"resume": False},
    }
    assert set(config) == set(settings) | set(registry.KINDS)


@pytest.mark.parametrize(
    ("typed", "loss"),
    [
        ([], "family"),
        (["task=words"], "crf"),
        (["optimizer=steps"], "family"),
        (["optimizer=margins"], "svm"),
        (["task=words", "optimizer=steps"], "crf"),
        (["task=words", "optimizer=margins"], "svm"),
        (["optimizer=margins", "task=words"], "svm"),
        (["task=words", "optimizer=margins", "loss=perceptron"], "perceptron"),
    ],
)
def test_typed_before_optimizer_before_task_before_default(
    acme: Path, typed: list[str], loss: str
) -> None:
    assert compose(typed)["loss"]["name"] == loss


def test_parameters_of_a_component_that_was_not_typed(acme: Path) -> None:
    config = compose(["task=words", "optimizer=margins", "loss.gamma=3", "inference.name=exact"])
    assert (config["loss"]["name"], config["loss"]["gamma"]) == ("svm", 3)


def test_the_task_chooses_C_until_one_is_typed(acme: Path) -> None:
    assert compose(["task=words"])["optimizer"]["C"] == 0.25
    assert compose(["task=words", "task.default_C=2"])["optimizer"]["C"] == 2
    assert compose(["task=words", "optimizer.C=7"])["optimizer"]["C"] == 7


KINDS = {
    "online": ["dca", "mira", "perceptron"],
    "optimum": ["lbfgs", "cutting_plane", "online_cutting_plane", "sdca", "eg", "smo"],
    "gradient": ["sgd", "adagrad", "adadelta", "pegasos", "dlpw"],
}


@pytest.mark.parametrize(
    ("kind", "name"),
    gate_cases(
        [(kind, name) for kind, names in KINDS.items() for name in names],
        "rest",
        [(kind, names[0]) for kind, names in KINDS.items()],
    ),
)
def test_every_optimizer_takes_the_task_s_C_for_its_kind(kind: str, name: str) -> None:
    # apart, so that no kind can be taken for another
    numbers = {"online": 2, "optimum": 3, "gradient": 5}
    words = [
        "task.default_C=2",
        "task.default_C_by.optimum=3",
        "task.default_C_by.gradient=5",
        f"optimizer={name}",
    ]
    assert compose(words)["optimizer"]["C"] == numbers[kind]
    assert compose([*words, "optimizer.C=7"])["optimizer"]["C"] == 7


@pytest.mark.parametrize(
    "task",
    gate_cases(
        [
            "ner",
            "dependency",
            "multilabel",
            "chunking",
            "tagging",
            "attributes",
            "multiclass",
            "grid",
        ],
        "rest",
        3,
    ),
)
def test_every_task_has_a_C_for_each_kind(task: str) -> None:
    """One optimizer of each kind stands for all: they read the same key, as the test above
    shows.
    """
    for kind, (name, *_) in KINDS.items():
        config = compose([f"task={task}", f"optimizer={name}"])
        known = {"online": config["task"]["default_C"]} | config["task"]["default_C_by"]
        assert config["optimizer"]["C"] == known[kind]


def test_a_task_with_one_default_C_gives_it_to_every_kind(acme: Path) -> None:
    """Plugins may know no kinds: their tasks state one number, their optimizers read it."""
    for name in ("lbfgs", "adagrad", "dca"):
        assert compose(["task=words", f"optimizer={name}"])["optimizer"]["C"] == 0.25


def test_C_by_kind_is_changed_alone() -> None:
    typed = "task.default_C_by.optimum=5"
    assert [
        compose(["task=ner", f"optimizer={name}", typed])["optimizer"]["C"]
        for name in ("lbfgs", "dca")
    ] == [5, 0.1]


def test_features_are_typed_at_the_top() -> None:
    config = compose(["features.support=all", "features.min_count=2"])
    assert (config["features"]["support"], config["features"]["min_count"]) == ("all", 2)
    assert "features" not in config["task"]


def test_validate_puts_numbers_into_their_types(acme: Path) -> None:
    config = validate(compose(["task=words", "optimizer=steps", "loss.beta=inf", "loss.gamma=1"]))
    assert config["loss"]["beta"] == float("inf")
    assert repr(config["loss"]["gamma"]) == "1.0"
    assert repr(config["optimizer"]["eta"]) == "1.0"
    assert list(config)[:2] == ["label", "seed"]


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        (
            ["optimizer=dac"],
            "optimizer 'dac' is not installed. Did you mean 'dca'? Installed: adadelta "
            "(structopt-trainer), adagrad",
        ),
        (
            ["optimizer.lamda=1"],
            "optimizer=steps has no parameter 'lamda'. Did you mean 'C'? ",
        ),
        (
            ["optimizer.epoch=1"],
            "optimizer=steps has no parameter 'epoch'. Did you mean 'epochs'? It takes ",
        ),
        (
            ["optimzer=dca"],
            "There is no key 'optimzer'. Did you mean 'optimizer'? Keys: check, data, debug, executor, ",
        ),
        (
            ["optimzer.C=1"],
            "There is no key 'optimzer'. Did you mean 'optimizer'? Keys: check, data, debug, executor, ",
        ),
        (
            ["features.suport=all"],
            "There is no key 'features.suport'. Did you mean 'features.support'? Keys of "
            "'features': min_count, ",
        ),
        (["sed=1"], "There is no key 'sed'. Did you mean 'seed'? Keys: "),
        (["seed.x=1"], "'seed' has no keys of its own, so 'seed.x' cannot be set."),
        (
            ["~optimzer"],
            "'~optimzer': there is no group 'optimzer'. Did you mean 'optimizer'? Groups: "
            "executor, experiment, ",
        ),
        (
            ["loss={"],
            "'loss={' cannot be read: its bracket { is not closed. Quote such words whole, for "
            "the shell: ",
        ),
        (["task=null"], "A group takes the name of a choice, such as task=ner. Groups: executor, "),
        (["optimizer.eta=${nope}"], "optimizer.eta: Interpolation key 'nope' not found"),
    ],
)
def test_compose_refuses(acme: Path, typed: list[str], text: str) -> None:
    got = message(compose, ["task=words", "optimizer=steps", *typed])
    assert got.startswith(text)
    assert "use +" not in got
    assert "HYDRA_FULL_ERROR" not in got


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        (["optimizer.epochs=abc"], "optimizer.epochs=abc is not an int."),
        (
            ["+optimizer.lamda=1"],
            "optimizer=steps has no parameter 'lamda'. Did you mean 'C'? ",
        ),
        (["+bogus=1"], "There is no key 'bogus'. Keys: check, data, "),
        (["loss.beta=x"], "loss.beta=x is not a float."),
        (
            ["loss.cost=haming"],
            "loss.cost=haming is none of: arcs, bigram_recall, brackets, coreference, ",
        ),
        (["features.support=al"], "features.support=al is none of: seen, all. Did you mean 'all'?"),
        (["features.min_count=0"], "features.min_count=0 must be at least 1."),
        (["+features.shapes=1"], "There is no key 'features.shapes'."),
        (["seed=x"], "seed=x is not an int."),
        (["threads=0"], "threads=0 must be at least 1."),
        (["patience=0"], "patience=0 must be at least 1."),
        (["scale=large"], "scale=large is none of: small, full."),
        (
            ["~optimizer"],
            "optimizer needs the name of a component: set optimizer=NAME. Installed: adadelta, "
            "adagrad, cutt",
        ),
    ],
)
def test_validate_refuses(acme: Path, typed: list[str], text: str) -> None:
    assert message(
        validate, compose(["task=words", "optimizer=steps", *[one for one in typed]])
    ).startswith(text)


@pytest.mark.parametrize(
    ("penalty", "replaced"),
    [
        (["l1", "optimizer.c1=0.5"], "c1"),
        (["elastic", "optimizer.c1=0", "optimizer.c2=0.5"], "c2"),
        (["elastic", "optimizer.c1=0.5"], ""),
        (["l2"], ""),
    ],
)
def test_two_settings_of_one_number_are_refused(penalty: list[str], replaced: str) -> None:
    words = ["optimizer=lbfgs", f"optimizer.penalty={penalty[0]}", *penalty[1:]]
    assert validate(compose(words), words)["optimizer"]["C"] == 1.0
    words.append("optimizer.C=2")
    if not replaced:
        assert validate(compose(words), words)["optimizer"]["C"] == 2.0
        return
    problem = f"has no effect with optimizer.{replaced}=0.5, which replaces it."
    with raises(ConfigError, parameter="optimizer.C", value=2.0, problem=problem):
        validate(compose(words), words)


def test_a_component_without_a_config_file(acme: Path) -> None:
    (acme / "structopt_acme_conf/optimizer/steps.yaml").unlink()
    assert message(compose, ["optimizer=steps"]) == (
        "optimizer 'steps' comes from structopt-acme, which brings no config file "
        "optimizer/steps.yaml for it. "
        "Update structopt-acme."
    )


def test_a_parameter_that_the_config_file_does_not_list(acme: Path) -> None:
    (acme / "structopt_acme_conf/optimizer/steps.yaml").write_text("name: steps\n")
    typed = ["task=words", "optimizer=steps"]
    assert message(compose, [*typed, "optimizer.eta=1"]) == (
        "optimizer.eta is a parameter of optimizer=steps, but its config file does not list it: "
        "write +optimizer.eta=VALUE."
    )
    assert validate(compose([*typed, "+optimizer.eta=1"]))["optimizer"]["eta"] == 1.0


def test_compose_may_be_called_inside_another_hydra_application() -> None:
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    with initialize_config_dir(config_dir=str(CONF), version_base="1.3"):
        assert compose(["loss=svm"]) == compose(["loss=svm"])
        assert GlobalHydra.instance().is_initialized()


def test_continued_takes_the_saved_config_and_few_changes(acme: Path) -> None:
    saved = validate(
        compose(["task=words", "optimizer=steps", "loss=svm", "tracker=none", "optimizer.eta=2"])
    )
    same = continued(saved, [])
    assert same == saved
    changed = continued(
        saved, ["optimizer.epochs=9", "threads=2", "tracker=mlflow", "tracker.experiment=again"]
    )
    assert (changed["optimizer"], changed["threads"]) == (
        {"name": "steps", "epochs": 9, "eta": 2.0},
        2,
    )
    assert (changed["tracker"]["name"], changed["tracker"]["experiment"]) == ("mlflow", "again")
    assert {key: changed[key] for key in ("task", "loss", "features", "seed")} == {
        key: saved[key] for key in ("task", "loss", "features", "seed")
    }
    assert saved == same
    assert message(continued, saved, ["loss.beta=1"]) == (
        "'loss.beta=1' is refused: a run that goes on keeps its saved config, which has "
        "loss.beta=inf. Leave it out, or train "
        "anew without resume=. What may be typed anew: optimizer.epochs, optimizer.tolerance, "
        "threads, max_expansion, tracker, "
        "quiet and tracker's parameters."
    )
    assert (
        message(continued, saved, ["optimizer.epochs=abc"]) == "optimizer.epochs=abc is not an int."
    )
    assert message(continued, saved, ["tracker=mlfow"]).startswith(
        "tracker 'mlfow' is not installed. Did you mean 'mlflow'?"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["loss=svm"],
        ["loss.beta=inf", "loss.gamma=1"],  # 1 is 1.0
        ["task=words", "optimizer=steps", "optimizer.eta=2.0"],
        ["optimizer.eta=${task.default_C}", "seed=0", "warm_start=null", "label=null"],
        ["++optimizer.eta=2"],
    ],
)
def test_what_equals_the_saved_config_may_be_typed_again(acme: Path, words: list[str]) -> None:
    typed = [
        "task=words",
        "task.default_C=2",
        "optimizer=steps",
        "loss=svm",
        "tracker=none",
        "optimizer.eta=2",
    ]
    saved = validate(compose(typed))
    if "optimizer.eta=${task.default_C}" in words:
        words = ["task.default_C=2", *words]
    assert continued(saved, words) == saved
    assert continued(saved, [*typed, "optimizer.epochs=9"])["optimizer"]["epochs"] == 9


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (
            "optimizer.eta=3",
            "'optimizer.eta=3' is refused: a run that goes on keeps its saved config, which has "
            "optimizer.eta=2",
        ),
        (
            "loss=crf",
            "'loss=crf' is refused: a run that goes on keeps its saved config, which has loss=svm.",
        ),
        ("task.train=a.txt", "which has task.train=null."),
        ("seed=x", "seed=x is not an int."),
        ("optimizer.etta=2", "optimizer=steps has no parameter 'etta'. Did you mean 'eta'?"),
        (
            "experiment=martins2010_figure3",
            "'+experiment=martins2010_figure3' is refused. Leave it out.",
        ),
        ("hydra.sweep.dir=s", "'hydra.sweep.dir=s' is refused. Leave it out."),
        ("~optimizer.eta", "'~optimizer.eta' is refused. Leave it out."),
    ],
)
def test_what_differs_from_the_saved_config_is_refused(acme: Path, word: str, text: str) -> None:
    saved = validate(
        compose(["task=words", "optimizer=steps", "loss=svm", "tracker=none", "optimizer.eta=2"])
    )
    assert text in message(continued, saved, [word])


@pytest.mark.nightly("rest")
def test_train_takes_the_folder_that_hydra_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interpolations are resolved; beside folder= it must be the same one."""
    monkeypatch.chdir(tmp_path)
    quick = ["task=multiclass", "task.limit=20", "optimizer.epochs=0", "tracker=none"]
    structopt.train([*quick, "hydra.run.dir=one/${seed}"])
    assert (tmp_path / "one/0/model/manifest.json").is_file()
    structopt.train([*quick, "hydra.run.dir='two words'"], folder=tmp_path / "two words")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two words"]
    with pytest.raises(ConfigError) as refused:
        structopt.train([*quick, "hydra.run.dir=a"], folder="b")
    assert (
        str(refused.value)
        == "The run folder is given twice: folder=b and hydra.run.dir=a. Leave one of them out."
    )


@pytest.mark.parametrize(
    "word",
    [
        "hydra.sweep.dir=a",
        "hydra/launcher=joblib",
        "hydra.mode=MULTIRUN",
        "hydra.verbose=true",
        "hydra={run: {dir: a}}",
    ],
)
def test_train_refuses_hydra_s_other_words(word: str) -> None:
    with pytest.raises(ConfigError) as refused:
        structopt.train(["tracker=none", word])
    text = (
        "train runs once, and reads only hydra.run.dir and hydra.searchpath of Hydra's settings. "
        "Leave it out."
    )
    assert (
        str(refused.value)
        == f"'{word}' has no effect here: {text} Sweeps run from the command line: structopt "
        "--multirun."
    )


@pytest.mark.parametrize("word", ["--multirun", "-m", "--cfg=job"])
def test_train_refuses_flags(word: str) -> None:
    with pytest.raises(ConfigError) as refused:
        structopt.train([word, "seed=1,2"])
    advice = "Sweeps run from the command line: structopt --multirun."
    assert str(refused.value) == f"'{word}' is not an override, and train runs once. {advice}"


@pytest.mark.parametrize(
    ("word", "key", "value"),
    [
        (r"task.separator=\t", "task.separator", r"\t"),
        (r"task.separator='\t'", "task.separator", r"\t"),
        ("task.separator=\t", "task.separator", "\t"),
        ("task.separator='\t'", "task.separator", "\t"),
        ("task.separator= ", "task.separator", " "),
        ("task.train=l'été.txt", "task.train", "l'été.txt"),
        ("task.train=it's", "task.train", "it's"),
        ("loss.cost_weights={B-é: 0.5, 0: 1}", "loss.cost_weights", {"B-é": 0.5, "0": 1.0}),
        ("loss.cost_weights={PRP$: 0.5}", "loss.cost_weights", {"PRP$": 0.5}),
        ("loss.cost_weights={'0': 1, \"a b\": 2}", "loss.cost_weights", {"0": 1.0, "a b": 2.0}),
        ("features.lists={é: l'été.txt}", "features.lists", {"é": "l'été.txt"}),
        ("features.templates=[word & é,bias]", "features.templates", ["word & é", "bias"]),
    ],
)
def test_characters_and_mappings(word: str, key: str, value: object) -> None:
    node, _, name = key.partition(".")
    words = ["task=ner", "task.train=x", word]
    assert validate(compose(words), words)[node][name] == value


@pytest.mark.parametrize("word", ['label=it\'s "so"', "label=a, b", 'label=x"'])
def test_advice_can_be_typed(word: str) -> None:
    with pytest.raises(ConfigError) as raised:
        compose(["task=ner", word])
    key = word.partition("=")[0]
    advised = shlex.split(str(raised.value)[len(word) + 2 :].replace("it's", "its"), posix=True)
    typed = [one.rstrip(".") for one in advised if one.startswith(f"{key}=")]
    assert typed
    for one in typed:
        compose(["task=ner", one])
