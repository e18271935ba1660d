"""Which optimizer learns by which loss with which inference: the verdict of every combination that
is installed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from structopt.config import compatibility, registry
from structopt.config.composition import compose
from structopt.config.fit_settings import FitSettings
from structopt.config.search_path import conf_folders
from structopt.config.validation import validate
from structopt.config.wording import keyed
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.needs import Goal
from structopt.core.optimizer import Optimizer
from structopt.errors import CompatibilityError, ConfigError
from structopt.formats import tables

Verdicts = dict[tuple[str, str, str], str]


def preset(kind: str, name: str) -> Any:
    """Create a component with the presets of its config file."""
    config = _config(kind, name)
    return registry.create(kind, config[kind], seed=config["seed"], threads=config["threads"])


@cache
def _config(kind: str, name: str) -> dict[str, Any]:
    """The default config with this component; not to be changed. It is kept, since composing takes
    longer than a verdict.
    """
    return validate(compose([f"{kind}={name}"]))


def verdicts(factor_graph: str = "linear_chain") -> Verdicts:
    """Ask for every (optimizer, loss, inference), each as its config file sets it, on one kind of
    factor graph.

    Inferences that know nothing of that graph are left out; variants with a config file of their
    own (kept/mplp) are not.

    Returns
    -------
    dict
        The empty string where the three work together, else the message that a user would get.
    """
    graph = preset("factor_graph", factor_graph)
    optimizers, losses, inferences = (
        {name: preset(kind, name) for name in [*registry.importable(kind), *_variants(kind)]}
        for kind in ("optimizer", "loss", "inference")
    )
    inferences = {
        name: inference for name, inference in inferences.items() if _solves(inference, graph)
    }
    return {
        (o, name, i): _verdict(graph, inference, loss, optimizer, fit_of(o, optimizer).goal)
        for o, optimizer in optimizers.items()
        for name, loss in losses.items()
        for i, inference in inferences.items()
    }


def table(pairs: Verdicts) -> str:
    """Optimizers against losses as Markdown: yes, no, or the inferences that do where not all of
    them do.
    """
    losses = list(dict.fromkeys(loss for _, loss, _ in pairs))
    inferences = list(dict.fromkeys(inference for _, _, inference in pairs))
    lines = [["optimizer", *losses]]
    for optimizer in dict.fromkeys(optimizer for optimizer, _, _ in pairs):
        cells = []
        for loss in losses:
            able = [name for name in inferences if not pairs[optimizer, loss, name]]
            cells.append("yes" if able == inferences else ", ".join(able) or "no")
        lines.append([optimizer, *cells])
    return tables.markdown(lines, rule="---")


def _variants(kind: str) -> list[str]:
    """Config files of a kind that stand in a folder of their own: components with other presets."""
    folders = [folder / kind for folder in conf_folders()]
    paths = [
        path.relative_to(folder).with_suffix("")
        for folder in folders
        for path in folder.glob("*/*.yaml")
    ]
    return sorted(path.as_posix() for path in paths)


def _solves(inference: Inference, graph: FactorGraph) -> bool:
    """Whether an inference can do anything with the structures of a graph."""
    try:
        compatibility.check_solves(inference, graph)
    except CompatibilityError:
        return False
    return True


def fit_of(name: str, optimizer: Optimizer) -> FitSettings:
    """Return the settings of a fit that the config file of an optimizer sets."""
    return FitSettings.of(_config("optimizer", name)["optimizer"], optimizer)


def _verdict(
    graph: FactorGraph, inference: Inference, loss: Loss, optimizer: Optimizer, goal: Goal
) -> str:
    try:
        compatibility.check(graph, inference, loss, optimizer, goal=goal)
        with keyed():
            loss.check_variant(optimizer.plan.variant)
    except (CompatibilityError, ConfigError) as error:
        return str(error)
    return ""
