"""What ``structopt --help`` and ``structopt --version`` print; nothing heavy is imported for
them.
"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from structopt.config import registry
from structopt.config.search_path import conf_folders, groups

DISTRIBUTION = "structopt-trainer"
LIBRARIES = ("numba", "numpy", "scipy", "cvxpy", "mlflow", "hydra-core")
"""Those whose versions can change results or files."""
PAGE = """\
structopt trains linear structured predictors: CRFs, structured SVMs, and what lies between them.

usage: structopt KEY=VALUE ...             train, evaluate, record
       structopt --multirun KEY=A,B ...    the same for every value
       structopt COMMAND ...

commands:
  train        the same as no command
  predict      write a file again with what a model predicts
  evaluate     score a model on a file
  explain      what a model has learnt, and what decided a prediction
  compare      tables and learning curves of several runs
  experiments  reports of finished experiments, as pages
  components   what is installed, with parameters: structopt components optimizer=dca
structopt COMMAND --help says more of each.

examples:
  structopt task=ner                                        on the small corpus that is shipped
  structopt task=ner task.train=train.txt task.dev=dev.txt optimizer=dca loss.beta=inf
  structopt --multirun task=ner optimizer.C=0.01,0.1,1 seed=0,1,2
  structopt resume=RUN_FOLDER                               goes on with an interrupted run
  structopt predict model=RUN_FOLDER input=test.txt output=predicted.txt

groups, of which one choice each is typed as group=choice:
{choices}

All keys with their values: structopt --cfg job. Flags of Hydra, which reads them: structopt --hydra-help.
Documentation: README.md and the folder docs of the source distribution; structopt components says what parameters mean.
"""


def page() -> str:
    """The help page: usage, commands, examples, groups and their choices."""
    choices = [f"  {group}: {', '.join(_choices(group))}" for group in groups()]
    return PAGE.format(choices="\n".join(choices)).rstrip()


def _choices(group: str) -> list[str]:
    """The components of a kind, or of another group its config files."""
    if group in registry.KINDS:
        return list(registry.installed(group))
    return sorted(
        {path.stem for folder in conf_folders() for path in folder.glob(f"{group}/*.yaml")}
    )


def versions() -> str:
    """Name, version, Python and libraries, in two lines."""
    libraries = ", ".join(f"{name} {_version(name)}" for name in LIBRARIES)
    return f"structopt {_version(DISTRIBUTION)}, Python {platform.python_version()}\n{libraries}"


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "(not installed)"
