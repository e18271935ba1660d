"""Writing a CoNLL column file again, with further cells behind the tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from structopt.errors import DataError
from structopt.formats.conll_reader import ASCII_SPACE, no_sentences, whole_token_lines
from structopt.formats.text_files import plain, read_verbatim, write_text


def write(
    source: str | Path,
    target: str | Path,
    added: Sequence[Sequence[Sequence[str]]],
    encoding: str = "utf8",
    separator: str | None = None,
    comment: str | None = None,
) -> None:
    """Copy a column file line by line and append cells to each token line; `target` is replaced at
    once.

    Parameters
    ----------
    source, target : str or Path
        The files; each plain or gzip (the target by its name).
    added : sequence over sentences, over tokens, over cells
        What to append, in the order of the source.
    encoding, separator, comment : str
        As in `structopt.formats.conll_reader.read`; without a separator, lines with a tab get
        a tab, and others a space.

    Raises
    ------
    DataError
        As in `structopt.formats.conll_reader.read`; `added` does not match the source; the target
        cannot be written.
    """
    text = read_verbatim(source, encoding)
    tokens = whole_token_lines(source, plain(text), None, separator, comment)
    if not tokens.lines:
        raise no_sentences(source)
    check_counts(source, tokens.offsets, tokens.lines, added)
    lines = text.split("\n")
    cells = (token for sentence in added for token in sentence)
    for number, extra in zip(tokens.lines, cells, strict=True):
        lines[number - 1] = _append(lines[number - 1], extra, separator)
    write_text(target, "\n".join(lines), encoding)


def check_counts(
    source: str | Path,
    offsets: Sequence[int],
    lines: Sequence[int],
    added: Sequence[Sequence[Sequence[str]]],
) -> None:
    """Raise DataError unless `added` has one entry for each sentence and each token of the
    source.
    """
    changed = "has the file changed since it was read, or was only a part of it read?"
    if len(added) != len(offsets) - 1:
        raise DataError(
            source,
            None,
            f"the file has {len(offsets) - 1} sentences, but the predictions {len(added)}: "
            f"{changed}",
        )
    for number, sentence in enumerate(added):
        tokens = offsets[number + 1] - offsets[number]
        if len(sentence) != tokens:
            message = (
                f"the sentence that begins here has {tokens} tokens, but its prediction "
                f"{len(sentence)}: {changed}"
            )
            raise DataError(source, lines[offsets[number]], message)


def _append(line: str, cells: Sequence[str], separator: str | None) -> str:
    end = "\r" if line.endswith("\r") else ""
    line = line.removesuffix("\r") if separator is not None else line.rstrip(ASCII_SPACE)
    between = separator if separator is not None else "\t" if "\t" in line else " "
    return between.join((line, *cells)) + end
