"""``structopt explain``: a model is loaded, its run's training file found, and the explanation
written.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structopt.config import registry, saved_config
from structopt.core.scorer import SparseFeatures
from structopt.errors import StructoptError
from structopt.formats.text_files import write_text
from structopt.model.explanation.naming import shared_weights
from structopt.model.model import Model
from structopt.model.prediction import executor_of, loaded
from structopt.progress import phases


def explain(options: Mapping[str, Any]) -> str:
    """Return the explanation that options ask for, in their format; with ``output`` it is written
    to that file.

    Parameters
    ----------
    options : mapping
        ``model``, ``input``, ``sentence``, ``top``, ``against``, ``names``, ``format``, ``output``,
        and those of all commands that apply a model (`structopt.model.prediction`); empty texts
        where there is none.

    Raises
    ------
    StructoptError
        See `structopt.model.model.Model.explain`.
    """
    model, executor = loaded(options), executor_of(options["threads"])
    names = options["names"] or ("" if options["input"] else training_file(model, options["model"]))
    with phases.phase("explaining", Path(options["input"] or options["model"]).name):
        explanation = model.explain(
            options["input"] or None,
            sentence=options["sentence"],
            top=options["top"],
            against=options["against"],
            names=names or None,
            executor=executor,
        )
        text = explanation.written(options["format"])
    if options["output"]:
        write_text(options["output"], text)
    return text


def training_file(model: Model, address: str) -> str:
    """The file that a run folder was trained on, where weights have no names but those of its
    features; else nothing.
    """
    folder = Path(address)
    if not isinstance(model.scorer, SparseFeatures) or not shared_weights(model.scorer):
        return ""
    try:
        task = registry.create("task", saved_config.read(folder)["task"])
        path = task.files["train"]
        return str(path) if Path(str(path)).is_file() else ""
    except (StructoptError, LookupError):  # a model that stands alone: its weights stay unnamed
        return ""
