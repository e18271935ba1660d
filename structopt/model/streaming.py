"""A model applied to a stream: every instance is read, predicted and written as soon as it has
come.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from structopt.core.data.boundaries import Boundary, Instances
from structopt.core.task import Task
from structopt.errors import ConfigError, StructoptError, name_lines
from structopt.formats.durable_files import naming, opened_stream
from structopt.formats.in_memory.texts import INPUT, OUTPUT, input_held, output_held
from structopt.progress import console, phases

PIECE = 1 << 18
"""Bytes that are taken from a stream at most, so that a batch of instances is no larger either."""

Batch = Sequence[tuple[int, bytes]]
"""Instances: the line in which each begins, and its text."""
Predict = Callable[[str, str], int]
"""Predicts a file, writes another one, and returns the number of instances."""


STREAM = "-"
"""What is typed for standard input, or output."""


def standard_input(size: int) -> bytes:
    """Return at most so many bytes of standard input, as soon as there are some."""
    return sys.stdin.buffer.read1(size)  # type: ignore[union-attr, no-any-return, unused-ignore]


@contextmanager
def written_to(output: str) -> Iterator[Callable[[bytes], None]]:
    """Give what writes to a file, which is made anew, or to standard output, and passes on at once
    what it is given.
    """
    if output != STREAM:
        path = Path(output)
        with naming(path), opened_stream(path) or path.open("wb", buffering=0) as file:
            yield lambda data: _write_all(file, data)
        return
    yield lambda data: _write_all(sys.stdout.buffer, data)


def _write_all(file: Any, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
    file.flush()


def stream(
    task: Task,
    options: Mapping[str, Any],
    predict: Predict,
    read: Callable[[int], bytes],
    write: Callable[[bytes], None],
) -> int:
    """Predict the instances of a stream, and return how many there were.

    What one call of `read` brings is predicted together, and written before the next call: an
    instance that comes alone is answered at once, and many that wait are fast. Memory holds one
    piece of the stream, beside an instance that is longer.

    Parameters
    ----------
    task : Task
        Of the model; it says where instances end.
    options : mapping
        As of `structopt.model.prediction.predict`.
    predict : Predict
    read : callable
        Returns at most so many bytes as soon as there are some; none at the end.
    write : callable
        Passes bytes on at once.

    Raises
    ------
    ConfigError
        The task's text has no boundaries, or an option asks for more than a stream can give.
    DataError
        An instance is malformed; those before it have been written.
    """
    boundary = _boundary(task, options)
    instances, batches = Instances(boundary), _Batches(boundary, predict, write)
    begin = perf_counter()
    with phases.phase("predicting", "a stream"), console.said_once():
        while data := read(PIECE):
            batches.predict(list(instances.of(data)))
        batches.predict(list(instances.rest()))
    seconds = perf_counter() - begin
    rate = f"{batches.count / seconds:.0f} a second" if seconds > 0 else "in no time"
    console.say(
        f"structopt: {batches.count} {task.instance}s in {seconds:.1f} s, {rate}.", error=True
    )
    return batches.count


def _boundary(task: Task, options: Mapping[str, Any]) -> Boundary:
    """Where instances end."""
    if options["picture"]:
        draws = f"picture={options['picture']} draws an instance of a file"
        raise ConfigError(
            f"{draws}, and input=- is none.",
            remedy="Leave one of them out.",
        )
    boundary = task.boundary(options["probabilities"])
    if boundary is None:
        raise ConfigError(
            "input=-: what this task reads and writes here does not end line by line, so "
            "that it cannot be read as it comes.",
            remedy="Give a file, or leave out probabilities=true, or set another "
            "task.format (docs/serving.md).",
        )
    return boundary


class _Batches:
    """Predicts batches of instances, one after the other."""

    def __init__(
        self, boundary: Boundary, predict: Predict, write: Callable[[bytes], None]
    ) -> None:
        self.boundary, self.predict_file, self.write, self.count = boundary, predict, write, 0
        self.source, self.target = f"{INPUT}{boundary.ending}", f"{OUTPUT}{boundary.ending}"

    def predict(self, batch: Batch) -> None:
        """Predict instances together; one by one where they must be, or where one is malformed, so
        that those before it count.
        """
        if not batch:
            return
        if self.boundary.alone and len(batch) > 1:
            self._one_by_one(batch)
            return
        try:
            written = self._predicted(batch)
        except StructoptError:
            if len(batch) == 1:
                raise
            self._one_by_one(batch)
        else:
            self.write(written)

    def _one_by_one(self, batch: Batch) -> None:
        for instance in batch:
            self.write(self._predicted([instance]))

    def _predicted(self, batch: Batch) -> bytes:
        """What is written for a batch."""
        before = batch[0][0] - 1
        name_lines(self.source, lambda line: (INPUT, line + before))
        with (
            input_held(self.source, b"".join(text for _, text in batch)),
            output_held(self.target) as kept,
        ):
            count = self.predict_file(self.source, self.target)
        lines = b"".join(kept).split(b"\n", self.boundary.heading if self.count else 0)
        self.count += count
        return lines[-1]
