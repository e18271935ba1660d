"""Streams: the same text as of files, whatever the pieces; answers at once; bounded memory; readers
that go away.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import structopt
from structopt import datasets
from structopt.command import main
from structopt.core.data.boundaries import EMPTY_LINE, JSON_LINE, LINE, Boundary, Instances

TASKS: dict[str, tuple[str, list[str]]] = {
    "ner": ("conll", ["probabilities=true", "k_best=2"]),
    "attributes": ("crfsuite", ["k_best=2"]),
    "dependency": ("conllu", ["probabilities=true"]),
    "constituency": ("ptb", []),
    "multiclass": ("libsvm", ["probabilities=true", "k_best=2"]),
    "multilabel": ("multilabel", ["probabilities=true", "inference=loopy_bp"]),
    "coreference": ("coref", []),
    "summarization": ("jsonl", []),
}
"""For each task the format of the shipped corpus, and options that add to the output."""


class Pieces(io.RawIOBase):
    """A stream that gives a few bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self.data, self.size = data, size

    def read1(self, size: int) -> bytes:
        piece, self.data = self.data[: min(size, self.size)], self.data[self.size :]
        return piece


class Stdin:
    def __init__(self, data: bytes, size: int) -> None:
        self.buffer = Pieces(data, size)


def streamed(data: bytes, size: int, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "stdin", Stdin(data, size))
    return main.main(["predict", *words, "input=-"])


SLOW = ("constituency", "summarization", "coreference")


@pytest.mark.parametrize(
    "task",
    [
        pytest.param(task, marks=[pytest.mark.nightly("runs")] if task in SLOW else [])
        for task in TASKS
    ],
)
def test_a_stream_is_written_as_a_file_is(
    trained: Any, task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Any
) -> None:
    form, options = TASKS[task]
    source, model = tmp_path / f"source.{form}", f"model={trained(task)}"
    boundary = structopt.load(trained(task)).task.boundary()
    first = list(Instances(boundary).of(datasets.path("dev", form).read_bytes()))[:30]
    source.write_bytes(b"".join(text for _, text in first))
    target = tmp_path / f"whole.{form}"
    assert main.main(["predict", model, *options, f"input={source}", f"output={target}"]) == 0
    whole, data = target.read_bytes().rstrip(b"\n"), source.read_bytes()
    for size in (1 << 20, 3001):
        target = tmp_path / f"stream{size}"
        assert streamed(data, size, monkeypatch, model, *options, f"output={target}") == 0
        assert target.read_bytes().rstrip(b"\n") == whole
    capsysbinary.readouterr()
    assert streamed(data, 1 << 20, monkeypatch, model, *options) == 0
    out, err = capsysbinary.readouterr()
    assert out.rstrip(b"\n") == whole
    assert re.search(
        rb"structopt: \d+ (sentence|document|instance)s in [\d.]+ s, \d+ a second\.\n$", err
    )


def test_files_to_standard_output(trained: Any, capsysbinary: Any) -> None:
    model = f"model={trained('multiclass')}"
    assert main.main(["predict", model, f"input={datasets.path('dev', 'libsvm')}", "output=-"]) == 0
    assert capsysbinary.readouterr().out.count(b"\n") == datasets.path(
        "dev", "libsvm"
    ).read_bytes().count(b"\n")


def test_json_lines_stream(
    trained: Any, monkeypatch: pytest.MonkeyPatch, capsysbinary: Any
) -> None:
    lines = b'{"tokens": ["Ann", "slept"], "x": 1}\n\n{"tokens": []}\n{"tokens": ["so"]}'
    assert streamed(lines, 7, monkeypatch, f"model={trained('ner')}", "task.format=jsonl") == 0
    out = capsysbinary.readouterr().out.splitlines()
    assert [line.partition(b', "ner_tags')[0] for line in out if line] == [
        b'{"tokens": ["Ann", "slept"], "x": 1',
        b'{"tokens": []',
        b'{"tokens": ["so"]',
    ]


def test_what_came_before_a_mistake_is_written(
    trained: Any, monkeypatch: pytest.MonkeyPatch, capsysbinary: Any
) -> None:
    lines = b"1:1\n# none\n2:1\n3:1 3:2\n4:1\n"
    assert streamed(lines, 1 << 20, monkeypatch, f"model={trained('multiclass')}") == 2
    out, err = capsysbinary.readouterr()
    assert out.count(b"\n") == 2
    assert err.startswith(b"structopt: <stdin>:4: the index 3 stands twice in this line")


@pytest.mark.parametrize(
    ("task", "words", "message"),
    [
        (
            "ner",
            ["task.format=csv"],
            "input=-: what this task reads and writes here does not end line by line",
        ),
        (
            "dependency",
            ["picture=a.svg"],
            "picture=a.svg draws an instance of a file, and input=- is none.",
        ),
    ],
)
def test_what_no_stream_has(
    trained: Any,
    task: str,
    words: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    assert streamed(b"", 1, monkeypatch, f"model={trained(task)}", *words) == 2
    assert message in capsys.readouterr().err


def started(model: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "structopt", "predict", f"model={model}", "input=-", *words]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )


def test_a_sentence_is_answered_before_the_next_is_sent(trained: Any) -> None:
    with started(trained("ner")) as process:
        assert process.stdin and process.stdout and process.stderr
        for word in (b"Ann", b"slept", b"Oslo"):
            process.stdin.write(word + b" NNP\n\n")
            answer = process.stdout.read(200)
            assert answer.startswith(word + b" NNP ") and answer.endswith(b"\n\n")
        process.stdin.close()
        assert process.stdout.read() == b""
        narrower, without, counts = process.stderr.read().decode().splitlines()
        assert narrower.startswith("<stdin>: 2 columns, but the training file has 4")
        assert without == "<stdin> has no column 'chunk'; the model reads it as padding."
        assert counts.startswith("structopt: 3 sentences in ")
        assert process.wait() == 0


@pytest.mark.nightly("rest")
def test_a_reader_that_goes_away(trained: Any) -> None:
    with started(trained("ner")) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b"Ann NNP B-NP O\n\n")
        process.stdout.read(10)
        process.stdout.close()
        while process.poll() is None:
            try:
                process.stdin.write(b"Ann NNP B-NP O\n\n")
            except BrokenPipeError:
                break
            time.sleep(0.05)
        assert (process.wait(), process.stderr.read()) == (0, b"")


@pytest.mark.nightly("runs")
def test_memory_does_not_grow_with_the_stream(trained: Any, tmp_path: Path) -> None:
    sentence = b"Ann NNP B-NP\nslept VBD B-VP\nin IN B-PP\nOslo NNP B-NP\n\n"
    with started(trained("ner"), f"output={tmp_path / 'out'}") as process:
        assert process.stdin and process.stderr
        peaks = []
        for count in (5_000, 50_000):
            for _ in range(count // 1000):
                process.stdin.write(sentence * 1000)
            while (tmp_path / "out").stat().st_size < (len(sentence) + 8) * count // 2:
                time.sleep(0.05)
            peaks.append(peak(process.pid))
        process.stdin.close()
        assert b"structopt: 55000 sentences in " in process.stderr.read()
    assert (tmp_path / "out").read_bytes().count(b"\n\n") == 55_000
    assert peaks[1] - peaks[0] < 8_000, f"{peaks} kB"


def peak(process: int) -> int:
    """The most memory that a process has had, in kB."""
    status = Path(f"/proc/{process}/status")
    if not os.access(status, os.R_OK):
        pytest.skip("there is no /proc")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
    assert found
    return int(found[1])


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_where_instances_end(size: int) -> None:
    cases: list[tuple[Boundary, bytes, list[tuple[int, bytes]]]] = [
        (LINE, b"a\n# b\n\nc", [(1, b"a\n"), (2, b"# b\n\nc")]),
        (JSON_LINE, b"# a\n\r\nb\r\n", [(1, b"# a\n"), (2, b"\r\nb\r\n")]),
        (
            EMPTY_LINE,
            b"\n-DOCSTART- x\n\na\nb\n \n\nc\n\n\n",
            [(1, b"\n-DOCSTART- x\n\na\nb\n \n"), (7, b"\nc\n\n")],
        ),
        (
            Boundary(JSON_LINE.end, brackets=r"\("),
            b"(a\n(b)\n)\nc (\n(d)",
            [(1, b"(a\n(b)\n)\n"), (4, b"c (\n"), (5, b"(d)")],
        ),
        (EMPTY_LINE, b"", []),
    ]
    for boundary, text, expected in cases:
        instances = Instances(boundary)
        pieces = [text[i : i + size] for i in range(0, len(text), size)]
        assert [one for piece in pieces for one in instances.of(piece)] + list(
            instances.rest()
        ) == expected
