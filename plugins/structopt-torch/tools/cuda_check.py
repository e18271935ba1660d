"""Compare networks, and functions of tensors, on a CUDA device with the CPU.

Run `python plugins/structopt-torch/tools/cuda_check.py` from the root of the repository. There are
synthetic corpora of labeled tokens, of dependency trees and of constituent trees; it checks

- gradients in float64: at most 1e-15 of the largest apart; objectives: at most 1e-13, relatively;
- models that were saved from one device predict on the other, from unchanged weights;
- two epochs of torch_adamw twice on CUDA are bit-identical;
- seconds per epoch on each device, after one epoch that is not counted.

It compares the functions of `structopt.torch` for 64 chains and trees: log-partition functions,
gradients and best outputs on the device are those on the CPU bit for bit. It prints the
milliseconds of forward and backward with one thread and with all cores, copies included.

Without a CUDA device it prints one line with the reason and exits with 0; it exits with 1 if a
comparison fails. `--device=cpu` runs the comparisons of the CPU with itself, to test this script.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

GRADIENTS, OBJECTIVES = 1e-15, 1e-13
INSTANCES, WORDS, TURNS = 64, 32, 15
"""Sizes of the batches for functions of tensors, and timed turns."""
Made = tuple[Any, Any, Callable[..., Any]]
"""A corpus, its graph, and the class of the scorer."""


@dataclass
class Check:
    """Results so far."""

    device: str
    failed: int = 0

    def line(self, name: str, what: str, good: bool | None = None) -> None:
        """Print a result, and count it if it is not good."""
        self.failed += good is False
        print(f"{name}: {what}{'' if good is None else ', ok' if good else ', FAILED'}", flush=True)


def corpora(sentences: int) -> Iterator[tuple[str, Made]]:
    """Make a corpus for each scorer."""
    from structopt_torch.arc import TorchArc
    from structopt_torch.chain import TorchChain
    from structopt_torch.span import TorchSpan

    from structopt.testing.components import component
    from structopt.testing.problems import random_encoded, random_trees

    generator = np.random.default_rng(0)
    lengths = tuple(generator.integers(5, 40, sentences).tolist())
    yield (
        "chain",
        (worded(random_encoded(0, lengths)), component("factor_graph", "linear_chain"), TorchChain),
    )
    yield (
        "arc",
        (worded(random_trees(0, lengths)), component("factor_graph", "arc_factored"), TorchArc),
    )
    with TemporaryDirectory() as folder:
        file = Path(folder) / "trees.mrg"
        file.write_text("\n".join(bracketed(generator) for _ in range(sentences)), encoding="utf8")
        options = {"train": str(file), "tags": "gold", "features": {"min_count": 1}}
        task = component("task", "constituency", **options)
        encoded = task.fit(task.read(file))
    graph = component("factor_graph", "span")
    graph.fit(encoded)
    yield "span", (encoded, graph, TorchSpan)


def worded(encoded: Any) -> Any:
    """Give the tokens of a corpus words."""
    from dataclasses import replace

    numbers = np.random.default_rng(1).zipf(1.5, int(encoded.offsets[-1])) % 2000
    return replace(encoded, words=[f"w{number}" for number in numbers.tolist()])


def bracketed(generator: np.random.Generator) -> str:
    """Draw a constituent tree in brackets."""
    nouns, verbs = ["dog", "cat", "snow", "Oslo", "tree"], ["sees", "falls", "likes"]

    def phrase(depth: int) -> str:
        noun = f"(NP (DT the) (NN {generator.choice(nouns)}))"
        if depth and generator.random() < 0.6:
            return f"(NP {noun} (PP (IN of) {phrase(depth - 1)}))"
        return noun

    verb = f"(VP (VBZ {generator.choice(verbs)}) {phrase(3)})"
    return f"( (S {phrase(3)} {verb}) )"


def problem_of(made: Made, device: str, precision: str, dropout: bool) -> Any:
    """Build the training problem on a device."""
    from structopt.plugin import LossFamily
    from structopt.testing.components import component
    from structopt.testing.problems import make_problem

    encoded, graph, scorer = made
    options: dict[str, Any] = {"device": device, "precision": precision}
    if not dropout:
        options |= {"dropout": 0.0}
        if scorer.__name__ != "TorchSpan":
            options |= {"word_dropout": 0.0}
    inference = component("inference", "exact")
    return make_problem(encoded, graph, LossFamily(), inference, scorer=scorer(**options))


def compare(check: Check, name: str, made: Made) -> None:
    """Compare the devices on one corpus."""
    from structopt_torch.adamw import TorchAdamW

    exact = [problem_of(made, device, "float64", False) for device in ("cpu", check.device)]
    theta = exact[0].scorer.initial(0)
    theta += 0.01 * np.random.default_rng(2).normal(size=len(theta))
    instances = np.arange(min(32, len(exact[0].examples)))
    (loss, gradient), (other_loss, other) = (one.minibatch(theta, instances) for one in exact)
    apart = float(np.abs(gradient - other).max() / np.abs(gradient).max())
    check.line(name, f"gradients {apart:.1e} apart", apart <= GRADIENTS)
    apart = abs(loss - other_loss) / abs(loss)
    check.line(name, f"objectives {apart:.1e} apart", apart <= OBJECTIVES)

    states, seconds = {}, {}
    for key, device in (("cpu", "cpu"), ("first", check.device), ("second", check.device)):
        problem = problem_of(made, device, "float32", True)
        method = TorchAdamW(epochs=3)
        state = method.init(problem, problem.scorer.initial(0))
        for _ in range(2):
            begin = time.perf_counter()
            state, _ = method.step(problem, state)
            seconds[key] = time.perf_counter() - begin
        states[key] = state["theta"].copy()
        if key == "first":
            moved(check, name, problem, state["theta"])
    check.line(
        name,
        "two runs on the device are bit-identical",
        bool(np.array_equal(states["first"], states["second"])),
    )
    on_cpu, on_device = seconds["cpu"], seconds["second"]
    check.line(name, f"an epoch takes {on_cpu:.2f} s on the CPU, {on_device:.2f} s on the device")


def moved(check: Check, name: str, problem: Any, theta: Any) -> None:
    """Restore a scorer from its saved values on the CPU, and back, and compare the scores."""
    scorer, prepared = problem.scorer, problem.examples.prepared
    some = np.arange(min(32, len(problem.examples)))
    expected = scorer.scores(theta, prepared, some)
    layout, arrays = scorer.state()
    for device in ("cpu", check.device):
        options = {**layout["options"], "device": device}
        other = type(scorer).restore({**layout, "options": options}, arrays)
        apart = float(np.abs(other.scores(theta, prepared, some) - expected).max())
        near = apart <= 1e-4 * max(1.0, float(np.abs(expected).max()))
        check.line(name, f"a model that was moved to {device} scores {apart:.1e} apart", near)


def scored_batches() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Draw scores for a batch of each kind."""
    import structopt as so

    torch.manual_seed(0)
    lengths = [WORDS] * INSTANCES
    for labels in (9, 45):
        label = torch.randn(INSTANCES, WORDS, labels)
        scores = {"label": label, "transition": torch.randn(labels, labels)}
        yield f"chain, {labels} labels", so.LinearChain().batch(lengths, labels=labels), scores
    arcs = {"arc": torch.randn(INSTANCES, WORDS, WORDS + 1)}
    for projective, name in (False, "all trees"), (True, "projective trees"):
        yield name, so.ArcFactored(projective=projective).batch(lengths), arcs


def compare_functions(check: Check, name: str, batch: Any, scores: dict[str, Any]) -> None:
    """Compare the functions of `structopt.torch` for one batch."""
    import structopt.torch as st

    numbers, milliseconds = {}, {}
    threads = sorted({1, os.cpu_count() or 1})
    for device in ("cpu", check.device):
        own = {group: one.to(device).requires_grad_() for group, one in scores.items()}

        def step(count: int, own: dict[str, Any] = own) -> Any:
            for one in own.values():
                one.grad = None
            value = st.log_partition(batch, own, threads=count)
            value.sum().backward()
            return value

        value, best = step(1), st.argmax(batch, own)
        there = [value, best, *(one.grad for one in own.values())]
        numbers[device] = [one.detach().cpu() for one in there]
        check.line(name, f"results on {device}", all(one.device.type == device for one in there))
        for count in threads:
            milliseconds[device, count] = 1e3 * min(seconds_of(step, count) for _ in range(TURNS))
    pairs = zip(numbers["cpu"], numbers[check.device], strict=True)
    check.line(name, "bits of both devices are equal", all(torch.equal(*pair) for pair in pairs))
    for (device, count), time_taken in milliseconds.items():
        check.line(name, f"{time_taken:.1f} ms on {device}, at most {count} threads")


def seconds_of(step: Callable[[int], Any], threads: int) -> float:
    """Time a step, until the device has finished it."""
    begin = time.perf_counter()
    step(threads)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def main(arguments: list[str] | None = None) -> int:
    """Run all comparisons; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--sentences", type=int, default=1000)
    chosen = parser.parse_args(arguments)
    if torch is None:
        print("skipped: PyTorch is not installed")
        return 0
    if chosen.device == "cuda" and not torch.cuda.is_available():
        print("skipped: PyTorch sees no CUDA device")
        return 0
    check = Check(chosen.device)
    for name, made in corpora(chosen.sentences):
        compare(check, name, made)
    for name, batch, scores in scored_batches():
        compare_functions(check, name, batch, scores)
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
