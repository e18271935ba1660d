"""Commands, files, output and pictures of the pages under docs must be those of the program."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from structopt import datasets as shipped
from structopt.command import main
from structopt.config.composition import compose
from structopt.config.validation import validate
from tests.pages import (
    NOT_TRAINING,
    PAGES,
    RECORDS,
    ROOT,
    anchors,
    blocks,
    commands,
    console,
    headings,
    links,
    runs,
    trainings,
)
from tests.parts import gate_cases

README = ROOT / "README.md"
PLUGINS = (ROOT / "docs" / "plugins.md").read_text(encoding="utf8")
TEXTS = {page.name: page.read_text(encoding="utf8") for page in (README, *PAGES)}
CONSOLES = [
    block.text for text in TEXTS.values() for block in blocks(text) if block.language == "console"
]
EXPERIMENTS = [line for line in trainings(PLUGINS) if "+experiment=" in line]
RUN_FOLDER = re.compile(r"outputs/\d{4}-\d\d-\d\d/[\d-]+")


@pytest.fixture(scope="module")
def distribution(tmp_path_factory):
    """The files of docs/plugins.md as an installed distribution: a folder with its packages and its
    metadata.
    """
    folder = tmp_path_factory.mktemp("distribution")
    for block in blocks(PLUGINS):
        assert block.path, "a block of docs/plugins.md does not begin with the name of its file"
        file = folder / block.path
        assert not file.exists(), f"docs/plugins.md writes {block.path} twice"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.text, encoding="utf8")
    for package in ("structopt_example", "structopt_example/conf"):
        (folder / package / "__init__.py").touch()
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf8"))["project"]
    info = folder / f"structopt_example-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = [
        [f"[{group}]", *(f"{k} = {v}" for k, v in points.items())]
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text(
        "\n".join(line for group in groups for line in group), encoding="utf8"
    )
    return folder


@pytest.fixture(scope="module")
def plugins(distribution):
    """The distribution, importable in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(distribution))
        yield distribution
    for name in [name for name in sys.modules if name.partition(".")[0] == "structopt_example"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A folder with the files that the commands of docs/plugins.md name, written from the shipped
    corpus.
    """
    folder = tmp_path_factory.mktemp("texts")
    for split, count in (("train", 40), ("dev", 20)):
        sentences = (
            shipped.path(split, "conll").read_text(encoding="utf8").strip().split("\n\n")[:count]
        )
        rows = [[line.split() for line in sentence.splitlines()] for sentence in sentences]
        (folder / f"{split}.txt").write_text(
            "".join(" ".join(f"{r[0]}/{r[1]}" for r in s) + "\n" for s in rows)
        )
    (folder / "plain.txt").write_text(
        re.sub(r"/[^/\s]+(?=\s)", "", (folder / "dev.txt").read_text())
    )
    return folder


def test_every_kind_has_an_example(plugins):
    """The example's distribution has one component of each kind."""
    from structopt.config import registry

    for kind in registry.KINDS:
        examples = [
            one
            for one in registry.installed(kind).values()
            if one.distribution == "structopt-example"
        ]
        assert len(examples) == 1, f"docs/plugins.md shows no {kind}"
        file = plugins / "structopt_example" / "conf" / kind / f"{examples[0].name}.yaml"
        assert f"name: {examples[0].name}\n" in file.read_text(encoding="utf8")


@pytest.mark.parametrize(
    "line",
    gate_cases([line for line in trainings(PLUGINS) if line not in EXPERIMENTS], "documents", 2),
)
def test_plugins_train(line, plugins, texts, tmp_path, monkeypatch):
    """The commands of the page train, and reach a dev score that zero weights do not reach."""
    monkeypatch.chdir(tmp_path)
    for file in texts.iterdir():
        (tmp_path / file.name).symlink_to(file)
    words = [*runs(line)[0], "hydra.run.dir=run", *([] if "tracker=" in line else ["tracker=none"])]
    assert main.main(words) == 0
    scores = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf8"))["dev"]
    assert scores["f1" if "task=" not in line else "accuracy"] > 0.2
    if "tracker=jsonlines" in line:
        events = [
            json.loads(line)["event"] for line in (tmp_path / "runs.jsonl").read_text().splitlines()
        ]
        assert events == ["start", "pass", "pass", "end"]
    if "task=slashed" in line:
        predict = next(line for line in commands(PLUGINS) if line.startswith("predict "))
        assert main.main(predict.replace("MODEL", "run").split()) == 0
        tagged = (tmp_path / "tagged.txt").read_text(encoding="utf8").split()
        assert [token.rpartition("/")[0] for token in tagged] == (
            tmp_path / "plain.txt"
        ).read_text().split()


def test_the_scorer_is_that_of_the_plugin():
    """docs/plugins.md shows the module of plugins/structopt-numpy-scorer, under another name."""
    shown = next(
        block.text for block in blocks(PLUGINS) if block.path == "structopt_example/hidden_layer.py"
    )
    module = ROOT / "plugins" / "structopt-numpy-scorer" / "structopt_numpy_scorer" / "scorer.py"
    text = (
        module.read_text(encoding="utf8")
        .replace("tanh_layer", "hidden_layer")
        .replace("TanhLayer", "HiddenLayer")
    )
    assert shown.partition('"""')[1:] == text.partition('"""')[1:]
    assert len(text.splitlines()) < 140


@pytest.mark.nightly("experiments")
@pytest.mark.parametrize("line", EXPERIMENTS)
def test_experiments_report(line, plugins, tmp_path, monkeypatch):
    """A plugin's experiment runs its jobs and writes its report."""
    monkeypatch.chdir(tmp_path)
    assert main.main([*runs(line)[0], "tracker=none", "hydra.sweep.dir=sweep"]) == 0
    written = (tmp_path / "sweep" / "report.md").read_text(encoding="utf8")
    assert all(f"| {name} | " in written for name in ("crf", "softmax margin", "svm"))
    assert (tmp_path / "sweep" / "table.csv").is_file()


@pytest.mark.nightly("documents")
def test_tests_of_the_page_pass(plugins):
    """The tests that docs/plugins.md shows."""
    paths = [str(plugins), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(plugins),
        str(plugins / "tests"),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        words, cwd=plugins, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", gate_cases(PAGES, "documents", 5), ids=lambda page: page.name)
def test_training_commands_compose(page, plugins):
    """Training commands compose and are valid; commands of experiments are run by another test."""
    for line in trainings(TEXTS[page.name]):
        for overrides in [] if "+experiment=" in line else runs(line):
            validate(compose(overrides))


@pytest.mark.parametrize(
    "name",
    gate_cases(
        [name for name, text in TEXTS.items() if name != "plugins.md" and "```python" in text],
        "documents",
        ("README.md",),
    ),
)
def test_python_runs(name, trained, tmp_path, monkeypatch, capsys):
    """The Python blocks of a page run in order, print what a block of text below them shows, and
    draw the page's pictures; other tests run the blocks that are files.
    """
    shown = [block for block in blocks(TEXTS[name]) if not block.path]
    for module in ("torch", "jax"):
        if any(f"import {module}\n" in block.text for block in shown):
            pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    run = trained("ner").as_posix()
    for block in shown:
        if block.language == "python":
            capsys.readouterr()
            exec(compile(RUN_FOLDER.sub(run, block.text), name, "exec"), namespace)
        elif block.language == "text":
            assert capsys.readouterr().out == block.text
    for picture in tmp_path.glob("*.png"):
        assert_same_picture(picture, ROOT / "docs" / "images" / picture.name)


@pytest.mark.nightly("documents")
@pytest.mark.parametrize("block", CONSOLES)
def test_consoles_show_what_happens(block, tmp_path, monkeypatch, capsys):
    """Commands print what is shown below them; a shown file is compared if a command wrote it, and
    written otherwise.
    """
    monkeypatch.chdir(tmp_path)
    for typed, shown in console(block):
        if typed.startswith("cat "):
            file = Path(typed.removeprefix("cat "))
            if file.exists():
                assert file.read_text(encoding="utf8") == shown
            else:
                file.write_text(shown, encoding="utf8")
            continue
        words = shlex.split(typed.removeprefix("python -m structopt ").removesuffix(" > log"))
        main.main(words if words[0] in NOT_TRAINING else [*words, "tracker=none"])
        printed = capsys.readouterr()
        if not typed.endswith(" > log"):
            assert printed.err + printed.out == shown


def assert_same_picture(drawn: Path, shown: Path) -> None:
    """Equal up to differences between versions of the fonts and of the library."""
    import numpy as np
    from matplotlib.image import imread

    one, other = imread(drawn), imread(shown)
    assert one.shape == other.shape
    assert np.abs(one - other).mean() < 0.01


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_somewhere(name):
    """Relative links and pictures exist, and anchors are headings."""
    page = README if name == README.name else ROOT / "docs" / name
    for target in links(TEXTS[name]):
        assert (page.parent / target).exists(), target
    for anchor in anchors(TEXTS[name]):
        assert anchor in headings(TEXTS[name]), anchor


def test_links_of_records_lead_somewhere():
    """Relative links of the records of decisions exist, and their index lists all of them."""
    texts = {path: path.read_text(encoding="utf8") for path in RECORDS}
    for path, text in texts.items():
        assert all((path.parent / target).exists() for target in links(text)), path.name
    index = next(path for path in RECORDS if path.name == "index.md")
    assert sorted(links(texts[index])) == [path.name for path in RECORDS if path != index]


def test_every_picture_is_shown():
    """Every picture in docs/images is shown on a page."""
    shown = {Path(target).name for text in TEXTS.values() for target in links(text)}
    assert {path.name for path in (ROOT / "docs" / "images").rglob("*.*")} <= shown


@pytest.mark.parametrize(
    "optimizer", gate_cases(["lbfgs", "sdca", "eg", "cutting_plane", "smo"], "documents", 1)
)
def test_refusals_of_the_loss_name_what_works(optimizer, plugins, tmp_path, monkeypatch, capsys):
    """What `loss=huber` is refused with can be typed: of the losses and optimizers that the message
    names, the first trains.
    """
    monkeypatch.chdir(tmp_path)
    assert main.main(["loss=huber", f"optimizer={optimizer}", "tracker=none"]) == 2
    message = capsys.readouterr().err
    assert "loss.beta=1" not in message
    loss, gradients = (
        re.search(r"Use (loss=\w+)", message),
        re.search(r"gradients alone: optimizer=(\w+)", message),
    )
    small = ["tracker=none", "task.limit=20", "optimizer.epochs=1"]
    assert loss and main.main([loss[1], f"optimizer={optimizer}", *small]) == 0
    if gradients:
        assert main.main(["loss=huber", f"optimizer={gradients[1]}", *small]) == 0
