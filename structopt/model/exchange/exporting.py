"""Models written for other programs, by the name of the format."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from structopt.errors import ArgumentError, did_you_mean
from structopt.model.predictor import Inputs, Predictor

Format = Literal["crfsuite", "json", "attributes"]
FORMATS: tuple[str, ...] = get_args(Format)
ATTRIBUTES = "attributes"


def export(
    model: Predictor,
    output: str | Path,
    format: Format,
    instances: Inputs | None = None,
    encoding: str = "utf8",
) -> str:
    """Write a file for other programs, and return its content in words: see
    `structopt.model.model.Model.export`.
    """
    if format not in FORMATS:
        raise ArgumentError(
            f"must be one of {', '.join(FORMATS)}.{did_you_mean(str(format), FORMATS)}",
            parameter="format",
            value=format,
        )
    if (format == ATTRIBUTES) != (instances is not None):
        problem = "are needed" if instances is None else "have no effect"
        raise ArgumentError(f"{problem} with format={format!r}.", parameter="instances")
    if format == "json":
        from structopt.model.exchange.named_weights import write_weights

        return write_weights(model, output)
    if instances is None:
        from structopt.model.exchange.chain_models import write_chain

        return write_chain(model, output, encoding)
    from structopt.model.exchange.attribute_files import write_attributes

    return write_attributes(model, instances, output, encoding)
