"""The experiments of the neural parser, on the shipped trees."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install structopt-torch")

from structopt.testing.components import run_words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "kummerfeld2015_figure1_neural_parser",
            ("likelihood", "real-valued features", "Durrett and Klein"),
        ),
        ("kummerfeld2015_table1_neural_parser", ("Neural Parser", "Table 1")),
    ],
)
def test_a_small_experiment_writes_its_report(
    tmp_path: Path, name: str, words: tuple[str, ...]
) -> None:
    done = run_words(
        tmp_path, f"+experiment={name}", "scale=small", "tracker=none", "hydra.sweep.dir=sweep"
    )
    assert done.code == 0, done.err
    text = (tmp_path / "sweep" / "report.md").read_text(encoding="utf8")
    assert all(word in text for word in words)
    assert "did not come to their end" not in text
    assert (tmp_path / "sweep" / "figure.png").read_bytes().startswith(b"\x89PNG")
