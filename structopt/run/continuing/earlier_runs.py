"""A run that goes on from the state of an earlier one: found, compared with the config, and made
ready for the optimizer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from structopt.config import registry
from structopt.config.fit_settings import FitSettings
from structopt.config.wording import as_typed
from structopt.core.data.config_keys import Purpose, dotted, relevant
from structopt.core.optimizer import Earlier, Optimizer
from structopt.core.optimizer_state import values_of
from structopt.errors import ConfigError, ModelError
from structopt.kernels.waist.record import Array
from structopt.learning.convex_start import DONE
from structopt.learning.mixing import MEAN
from structopt.model.folder import MANIFEST
from structopt.model.model import Model
from structopt.model.trained import Trained
from structopt.model.warm_start import WarmStart
from structopt.objective.part_matches import OTHER_PARTS, part_matches
from structopt.objective.problem import Problem
from structopt.run.checkpoint import SEEN, Checkpoint
from structopt.run.resumable import BEST

log = logging.getLogger(__name__)

CHECKPOINT = Path("checkpoint") / "state.safetensors"
"""Where a run folder has the state after the last pass."""
KINDS = ("optimizer", "task", "factor_graph", "features", "loss")
"""The components that must be those of the state."""
WEIGHTS_ONLY = "warm_start.state=none starts from its weights"


class EarlierRun:
    """A run whose training another one goes on with.

    Parameters
    ----------
    model : Model
        Of that run, with what it left (`Model.trained`).
    address : str
        What the user calls it.
    which : str
        ``new``: the training data are none that it has seen; ``all``: they are all that it has
        seen, and perhaps more.
    """

    def __init__(self, model: Model, address: str, which: str) -> None:
        assert model.trained is not None
        self.model, self.trained, self.address, self.which = model, model.trained, address, which

    @property
    def before(self) -> int:
        """How many instances that are not among the training data it has seen."""
        return self.trained.seen if self.which == "new" else 0

    def check(self, config: Mapping[str, Any], optimizer: Optimizer, fit: FitSettings) -> None:
        """Refuse a config that cannot go on from the state.

        Raises
        ------
        ConfigError
            If a component is another one than the state is of, or has another parameter that
            matters; if the optimizer cannot go on with other data; if the vocabulary is not to be
            kept; if a tolerance asks for a certificate that new instances alone cannot have.
        ModelError
            If the state is not one that this optimizer makes.
        """
        if optimizer.plan.bound:
            raise ConfigError(
                f"{self._key}: optimizer={config['optimizer']['name']} cannot go on with "
                f"other data: {optimizer.plan.bound}.",
                remedy="Set warm_start.state=none to start from the weights alone, or "
                f"take an optimizer that can: {_that_can()}.",
            )
        if config["warm_start"]["vocabulary"] != "union":
            raise ConfigError(
                f"{self._key} keeps all that the earlier model knows.",
                remedy="Leave warm_start.vocabulary=union.",
            )
        self._compare(config)
        self._check_entries(optimizer)
        alone = self.which == "new" and optimizer.plan.additive
        if alone and fit.tolerance > 0 and not fit.certificate:
            raise ConfigError(
                "needs a certified gap, which new instances alone do not have: theta has "
                "a share of earlier ones.",
                parameter="optimizer.tolerance",
                remedy="Set it to 0; or give the earlier instances and the new ones, with "
                "warm_start.state=all.",
            )

    def check_size(self, m: int) -> None:
        """Refuse training data that are fewer than all instances seen, where they are to be all of
        them.
        """
        if self.which == "all" and m < self.trained.seen:
            raise ConfigError(
                f"{self._key}: {self.address} has seen {self.trained.seen} instances, and "
                f"the training data have {m}.",
                remedy="Give all that it has seen, and new ones after them; or the new "
                "ones alone, with warm_start.state=new.",
            )
        seen = m + self.before
        log.warning(
            "going on from the state of %s: %d instances seen before, %d now; lambda = 1/(C m) "
            "with m = %d",
            self.address,
            self.trained.seen,
            m,
            seen,
        )

    def state(
        self, problem: Problem, optimizer: Optimizer, start: WarmStart, positional: bool
    ) -> Earlier:
        """What the optimizer goes on from: the state, over the weights of the new problem.

        Raises
        ------
        ConfigError
            If the new problem lacks weights that the state has.
        """
        state, kept = dict(self.trained.state), 0
        for name in (*optimizer.names("weights"), MEAN):
            if len(state.get(name, ())):
                state[name] = self._carried(start, state[name])
        if self.which == "all" and self.trained.seen == self.trained.instances:
            kept = self.trained.instances
            self._restore_messages(problem)
        return Earlier(state, kept, partial(self._parts, problem, start, positional))

    def _carried(self, start: WarmStart, array: Array) -> Array:
        """An array over the weights, of which nothing may be lost."""
        carried = start.carried(array)
        lost = int(np.count_nonzero(array)) - int(np.count_nonzero(carried))
        if lost:
            raise ConfigError(
                f"{self._key}: {lost} weights of {self.address} have no place among those "
                "of this run, so that its state cannot go on: the features, or what the "
                "factor graph learnt of these data, have none of their names.",
                remedy=f"Give the earlier training data too; {WEIGHTS_ONLY} alone.",
            )
        return carried

    def _restore_messages(self, problem: Problem) -> None:
        """Give the first instances the messages that they had, where they have as many numbers."""
        end = int(problem.structure.memory[self.trained.instances])
        if end == len(self.trained.messages):
            problem.messages[:end] = self.trained.messages

    def _parts(self, problem: Problem, start: WarmStart, positional: bool) -> Array:
        """See `Earlier.parts`."""
        model, structure, kept = self.model, problem.structure, self.trained.instances
        if structure.parts[kept] == self.trained.parts:
            return np.arange(self.trained.parts)
        first = problem.examples.encoded.subset(0, kept)
        indices = part_matches(
            model.graph, first, structure, tuple(model.task.labels), start.matches, positional
        )
        if len(indices) != self.trained.parts:
            raise ConfigError(OTHER_PARTS)
        return indices

    def _compare(self, config: Mapping[str, Any]) -> None:
        """Refuse components and parameters that are not those of the state."""
        for kind in KINDS:
            before, now = (_that_matter(one, kind) for one in (self.trained.config, config))
            for key in dict.fromkeys((*before, *now)):
                if before.get(key) != now.get(key):
                    shown = kind if key == "name" else f"{kind}.{key}"
                    was, this = (as_typed(one.get(key)) for one in (before, now))
                    raise ConfigError(
                        f"{self._key}: the state of {self.address} is of {shown}={was}, "
                        f"and this run has {shown}={this}.",
                        remedy=f"Set {shown}={was}, or warm_start.state=none to start from "
                        "its weights alone.",
                    )

    def _check_entries(self, optimizer: Optimizer) -> None:
        """Refuse a state without the entries that the optimizer goes on from, or of a convex loss
        that training began with.
        """
        state, dimension = self.trained.state, self.model.scorer.dimension
        weights = optimizer.names("weights")
        for name in (*weights, *optimizer.names("numbers")):
            value = state.get(name)
            shapes = ((0,), (dimension,)) if name in weights else ((),)
            if value is None or np.shape(value) not in shapes:
                raise ModelError(
                    f"{self._key}: the state of {self.address} is of another version of "
                    f"the optimizer: its entry '{name}' is not as this one makes it.",
                    remedy=f"Train that run again; {WEIGHTS_ONLY} alone.",
                )
        beginning = registry.create("loss", self.trained.config["loss"]).begins_with(False)
        if beginning and DONE in state and state[DONE] <= beginning.passes:
            raise ConfigError(
                f"{self._key}: {self.address} had not finished the passes with the convex loss "
                "that training begins with. Go on "
                f"with it first: resume={self.address}; or start from its weights alone: "
                "warm_start.state=none."
            )

    @property
    def _key(self) -> str:
        return f"warm_start.state={self.which}"


def earlier_run(node: Mapping[str, Any] | None, model: Model | None = None) -> EarlierRun | None:
    """The run that the config's node ``warm_start`` asks to go on from; None where it asks for
    none.

    Parameters
    ----------
    node : mapping or None
    model : Model or None
        The model of that run, where it is in memory.

    Raises
    ------
    ConfigError, ModelError
        If there is no such run, or it left no state.
    """
    if not node or node["state"] == "none":
        return None
    address, which = node["model"], node["state"]
    if model is None:
        model = _loaded(Path(address), which)
    if model.trained is None:
        raise ConfigError(
            f"warm_start.state={which}: this model has weights only.",
            remedy="Give the folder of the run that trained it, or the model that "
            f"structopt.train returned; {WEIGHTS_ONLY} alone.",
        )
    return EarlierRun(model, address, which)


def _loaded(folder: Path, which: str) -> Model:
    """The model of a run folder, with the state of its checkpoint."""
    file = folder / CHECKPOINT
    if not (folder / "model" / MANIFEST).is_file() or not file.is_file():
        alone = (folder / MANIFEST).is_file() or str(folder).startswith(("runs:", "models:"))
        what = "a model, which has weights only" if alone else "no folder of a run that was trained"
        raise ConfigError(
            f"warm_start.state={which}: {folder} is {what}.",
            remedy="Give a run folder, with model/ and checkpoint/; a model starts others "
            "by its weights: warm_start.state=none.",
        )
    from structopt.config import saved_config

    model, config = Model.load(folder / "model"), saved_config.read(folder, f"warm_start={folder}")
    if FitSettings.of(config["optimizer"], _optimizer(config)).regulariser.sparse:
        raise ConfigError(
            f"warm_start.state={which}: the model of {folder} was saved without the weights that "
            "its penalty has set to 0, and "
            "the state beside it has no names without them. Go on from the model that "
            "structopt.train returned; "
            f"{WEIGHTS_ONLY} alone."
        )
    checkpoint = Checkpoint(file, model.scorer)
    arrays, notes = checkpoint.read()
    try:
        layout = notes["data"]["layout"]
        instances, parts = int(layout["instances"]), int(layout["parts"])
        messages = arrays.pop("inference.messages", np.zeros(0))
        state = {name: array for name, array in arrays.items() if "." not in name} | notes[
            "scalars"
        ]
        last = _last_weights(_optimizer(config), state)
        model.trained = Trained(
            config, folder, state, instances, parts, int(notes.get(SEEN, instances)), messages
        )
        _check_weights(model, checkpoint, last, arrays.get(BEST))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise checkpoint.refusal("it is of another version") from error
    return model


def _optimizer(config: Mapping[str, Any]) -> Optimizer:
    """The optimizer of a run's config."""
    optimizer: Optimizer = registry.create(
        "optimizer", config["optimizer"], seed=config["seed"], threads=config["threads"]
    )
    return optimizer


def _last_weights(optimizer: Optimizer, state: dict[str, Any]) -> Array | None:
    """Return the weights of a saved state, and change its values to the form of this version.

    None if it lacks values, which `EarlierRun.check` names.
    """
    try:
        restored = optimizer.restored(state)
    except TypeError:
        return None
    state |= values_of(restored)
    mean: Array | None = state.get(MEAN)  # of passes over shards
    return optimizer.weights(restored) if mean is None else mean


def _check_weights(
    model: Model, checkpoint: Checkpoint, last: Array | None, best: Array | None
) -> None:
    """Refuse a checkpoint whose last weights and whose best ones both differ from the model's."""
    found = [one for one in (last, best) if one is not None]
    if last is not None and not any(np.array_equal(one, model.weights) for one in found):
        raise checkpoint.refusal("its weights are not those of the model beside it")


def _that_matter(config: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The keys of a component that a state depends on, with their values."""
    node = relevant(config[kind], Purpose.GOING_ON, kind)
    late = registry.load(kind, node["name"]).late if kind == "task" else ()
    return {key: value for key, value in dotted(node).items() if key not in late}


def _that_can() -> str:
    """The names of the optimizers that can go on with other data."""
    names = registry.installed("optimizer")
    return ", ".join(
        name for name in names if not registry.create("optimizer", {"name": name}).plan.bound
    )
