"""Predictions that notebooks show: labels below their tokens, trees as pictures; and the summary of
a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from structopt.model.predictor import Predictor

SHOWN = 5
"""The most instances of a list that are drawn."""
COLOURS = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#BBBBBB")
CELL = (
    "display:inline-block;text-align:center;margin:2px 3px;padding:1px 4px;border-bottom:3px solid "
)


class Outputs(list[Any]):
    """Predicted outputs, one an instance: a list, which notebooks show with the instances; to NumPy
    an array of objects.

    Parameters
    ----------
    outputs : sequence
    model : Predictor
        That predicted them.
    instances : sequence
        Of which they are.
    drawn : sequence or None
        The outputs as the task decodes them, where `outputs` have another form.
    """

    def __init__(
        self,
        outputs: Sequence[Any],
        model: Predictor,
        instances: Any,
        drawn: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(outputs)
        self._shown = model, instances, outputs if drawn is None else drawn

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """An array of objects, shape (instances,): lists of different lengths are no matrix."""
        array = np.empty(len(self), object)
        array[:] = list(self)
        return array

    def __reduce__(self) -> Any:
        """Pickle the outputs alone, as a list."""
        return list, (list(self),)

    def _repr_html_(self) -> str:
        """The first outputs, with the tokens or as pictures."""
        model, instances, drawn = self._shown
        rest = f"<p>{len(self) - SHOWN} more</p>" if len(self) > SHOWN else ""
        first = range(min(SHOWN, len(self)))
        return (
            "".join(f"<div>{one}</div>" for one in _drawings(model, instances, drawn, first)) + rest
        )


def _drawings(
    model: Predictor, instances: Any, outputs: Sequence[Any], indices: range
) -> list[str]:
    """An HTML text for every instance."""
    task = model.task
    some = [instances[index] for index in indices]
    own = [outputs[index] for index in indices]
    corpus = task.corpus(some)
    if not task.pictures:
        return [
            tokens_html(task.shown_tokens(corpus, index), output)
            if task.view == "labels" and isinstance(output, list)
            else f"<pre>{escape(str(output))}</pre>"
            for index, output in enumerate(own)
        ]
    with TemporaryDirectory(prefix="structopt-") as folder:
        target = Path(folder) / "picture.svg"
        pictures = []
        for number in range(1, len(own) + 1):
            task.write_picture(corpus, number, target, own, None)
            pictures.append(target.read_text(encoding="utf8"))
        return pictures


def tokens_html(tokens: Sequence[str], labels: Sequence[Any]) -> str:
    """Labels below their tokens, a colour a label; O is grey."""
    kinds = sorted({str(label) for label in labels} - {"O"})
    colour = {"O": "#DDDDDD"} | {
        label: COLOURS[number % len(COLOURS)] for number, label in enumerate(kinds)
    }
    names = tokens if len(tokens) == len(labels) else [""] * len(labels)
    return "".join(
        "<span "
        f'style="{CELL}{colour[str(label)]}">{escape(str(token))}<br><small>{escape(str(label))}</small></span>'
        for token, label in zip(names, labels, strict=True)
    )


def model_html(model: Predictor) -> str:
    """A table of the components of a model, its labels and the number of its weights."""
    rows: Mapping[str, Any] = {
        **{
            kind: model.config[kind]["name"]
            for kind in ("task", "factor_graph", "inference", "loss")
        },
        "labels": ", ".join(model.labels[:20]) + (", ..." if len(model.labels) > 20 else ""),
        "weights": model.scorer.count,
    }
    cells = "".join(
        f"<tr><th>{escape(kind)}</th><td>{escape(str(value))}</td></tr>"
        for kind, value in rows.items()
    )
    return f"<table>{cells}</table>"
