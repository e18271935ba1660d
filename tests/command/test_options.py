"""Options of subcommands: presets, usage, and messages about words that are wrong."""

from __future__ import annotations

from typing import Any

import pytest

from structopt.command import main
from structopt.model import prediction
from tests.command.commands import Stages, failed


def test_predict_and_evaluate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(prediction, "predict", lambda options: calls.append(("predict", options)))
    monkeypatch.setattr(
        prediction,
        "evaluate",
        lambda options: calls.append(("evaluate", options)) or ({"f1": 0.5}, "a table"),
    )
    late = [
        "task.budget=50",
        "task.lengths=words",
        "task.references=null",
        "features.vectors=v.txt",
    ]
    assert (
        main.main(
            ["predict", "model=m", "input=a=b.txt", "output=o", "probabilities=true", "k_best=5"]
        )
        == 0
    )
    assert (
        main.main(
            [
                "evaluate",
                "model=m",
                "input=a",
                "inference=ad3",
                "inference.exact=true",
                "threads=2",
                "max_expansion=9",
                *late,
            ]
        )
        == 0
    )
    predict = {
        "model": "m",
        "input": "a=b.txt",
        "inference": "",
        "threads": 1,
        "quiet": False,
        "max_expansion": 100,
    }
    predict |= {"task": {}, "features": {}, "inference_settings": {}, "output": "o"}
    predict |= {"probabilities": True, "k_best": 5, "partial": False, "picture": "", "sentence": 1}
    evaluate = {
        "model": "m",
        "input": "a",
        "inference": "ad3",
        "threads": 2,
        "quiet": False,
        "max_expansion": 9,
    }
    evaluate |= {"task": {"budget": 50, "lengths": "words", "references": None}}
    evaluate |= {"features": {"vectors": "v.txt"}, "inference_settings": {"exact": True}}
    assert calls == [("predict", predict), ("evaluate", evaluate)]
    assert capsys.readouterr().out == 'a table\n{"f1": 0.5}\n'


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["predict"],
            "predict needs model=... and input=... and output=.... Usage: structopt predict "
            "model=MODEL input=FILE ",
        ),
        (
            ["evaluate", "model=m"],
            "evaluate needs input=.... Usage: structopt evaluate model=MODEL input=FILE",
        ),
        (
            ["predict", "modle=m"],
            "predict has no option 'modle'. Did you mean 'model'? Usage: structopt predict ",
        ),
        (["evaluate", "output=m"], "evaluate has no option 'output'."),
        (["predict", "model=m", "input=i", "output=o", "k_best=x"], "k_best=x is not an int."),
        (
            ["predict", "model=m", "input=i", "output=o", "k_best=0"],
            "k_best=0 must be at least 1.",
        ),
        (
            ["predict", "model=m", "input=i", "output=o", "probabilities=yes"],
            "probabilities=yes is not a bool.",
        ),
        (["predict", "model="], "predict: 'model=' gives model no value; set model=VALUE."),
        (
            ["components", "optimiser"],
            "There is no kind of component called 'optimiser'. Did you mean 'optimizer'? Kinds: ",
        ),
        (["compare", "r", "seed=-1"], "seed=-1 must be at least 0."),
        (
            ["components", "task", "loss"],
            "components takes one kind, or one KIND=NAME. Usage: structopt components [task|",
        ),
    ],
)
def test_options_that_the_user_can_mend(
    stages: Stages, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert failed(capsys, *words).startswith(text)
    assert not stages.calls


@pytest.mark.parametrize(
    "command",
    ["predict", "evaluate", "explain", "compare", "experiments", "components", "compile"]
    + ["new", "export", "import"],
)
def test_usage_of_sub_commands(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: structopt {command} ")
