"""The output of ``structopt --help`` and ``structopt --version``; both import nothing heavy."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from structopt.config import registry
from structopt.config.search_path import groups

DISTRIBUTION = "structopt-trainer"
LIBRARIES = ("numba", "numpy", "scipy", "cvxpy", "mlflow", "hydra-core")
"""Dependencies whose versions can change results or files."""
CHOICES = ("task", "factor_graph", "inference", "loss", "optimizer")
"""Groups whose choices the page lists; it names the other groups only."""
PAGE = """\
structopt trains linear structured predictors: CRFs, structured SVMs and the losses between them.

Usage: structopt COMMAND KEY=VALUE ...                  without a command: train

Commands:
  train        train, evaluate and record a model
  predict      label a file with a trained model
  evaluate     score a model on a labelled file
  explain      list the weights of a model, or the reasons for one prediction
  components   list the components, or describe one: structopt components optimizer=dca
Further commands: compare (runs), experiments (their pages), compile (kernels, for images), export and
import (model files of CRFsuite), new (writes a plugin: structopt new loss NAME).
structopt COMMAND --help describes a command.

Examples:
  structopt task=ner                                    train on the included corpus
  structopt task=ner task.train=train.txt task.dev=dev.txt optimizer=sdca
  structopt predict model=RUN_FOLDER input=new.txt output=labelled.txt
  structopt --multirun task=ner optimizer.C=0.1,1       train once per value
  structopt resume=RUN_FOLDER                           continue an interrupted run

Choices, set by KEY=VALUE:
{choices}
Further groups: {others}.

structopt --cfg job prints all keys with their values, structopt --hydra-help the flags of Hydra.
"""


def page() -> str:
    """Return the help page: usage, commands, examples, groups and their choices."""
    choices = [f"  {group}: {', '.join(registry.installed(group))}" for group in CHOICES]
    others = [group for group in groups() if group not in CHOICES]
    return PAGE.format(choices="\n".join(choices), others=", ".join(others)).rstrip()


def versions() -> str:
    """Return name, version, Python and libraries, in two lines."""
    libraries = ", ".join(f"{name} {_version(name)}" for name in LIBRARIES)
    return f"structopt {_version(DISTRIBUTION)}, Python {platform.python_version()}\n{libraries}"


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "(not installed)"
