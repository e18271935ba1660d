"""The base of the estimators: parameters, the run underneath, predictions and scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from structopt.core import convergence
from structopt.core.component import Component
from structopt.core.cost import Cost
from structopt.core.data.in_memory import InMemory, read_once
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.optimizer import Optimizer
from structopt.errors import ArgumentError, ConfigError, DataError, StructoptError
from structopt.estimators.application import (
    Overrides,
    Settings,
    bound_to_data,
    component_parameters,
    composed,
    fitted,
    further_settings,
    is_kind,
    of_component,
)
from structopt.estimators.bases import available_if
from structopt.estimators.matrices import weights_of
from structopt.estimators.packed_model import packed, unpacked
from structopt.estimators.parameters import Parameters
from structopt.kernels.waist.record import Array
from structopt.model.explanation.explanation import Explanation
from structopt.model.explanation.rivals import Against
from structopt.model.model import Model
from structopt.model.ranking import Scored
from structopt.model.showing import Outputs

COMMON = {
    "optimizer": "optimizer",
    "loss": "loss",
    "inference": "inference",
    "C": "optimizer.C",
    "epochs": "optimizer.epochs",
    "beta": "loss.beta",
    "gamma": "loss.gamma",
    "cost": "loss.cost",
    "cost_weights": "loss.cost_weights",
    "seed": "seed",
    "threads": "threads",
}
"""The parameters that all estimators have, and the keys of the config that they set."""


def goes_on(estimator: Estimator) -> bool:
    """Whether the optimizer can go on with other data; True for settings that are wrong, of which
    the run tells.

    Raises
    ------
    ConfigError
        If it cannot, with the reason.
    """
    try:
        config = estimator.config
        bound = bound_to_data(config)
    except StructoptError:
        return True
    if bound:
        raise ConfigError(
            f"cannot go on with other data: {bound}.",
            parameter="optimizer",
            value=config["optimizer"]["name"],
            remedy="Take another for partial_fit.",
        )
    return True


@dataclass(kw_only=True, eq=False, repr=False)
class Estimator(Parameters):
    """Base of the estimators. None leaves a setting to the configuration: the optimizer, the task
    or the default chooses.

    Parameters
    ----------
    optimizer, loss, inference : str, component or None
        Components by their names (``structopt components`` lists them), or objects such as
        ``SDCA()``.
    C : float or None
        1/(lambda m): P(theta) = lambda/2 ||theta||^2 + (1/m) sum_i w_i L_i(theta), w_i the weight
        of an instance.
    epochs : int or None
        Passes over the training data; of lbfgs, iterations.
    beta, gamma : float or None
        The loss: inverse temperature (``float("inf")`` for a maximum), and the weight of the cost.
    cost : str, Cost or None
        The cost of a wrong output.
    cost_weights : mapping or None
        Of ``cost="weighted"``: what a token or cell costs whose gold label this is: ``{"O": 0.5}``.
    seed : int
        Of the order of instances, and of everything else that is random.
    threads : int
        Of batch work: objectives, gradients, predictions.
    overrides : mapping or sequence of str or None
        Every other setting: ``{"optimizer.eta": 0.1}`` or ``["optimizer.eta=0.1"]``.
        ``set_params(optimizer__eta=0.1)`` adds one.
    verbose : bool
        Whether the run shows its progress and its summary.
    folder : str or Path or None
        The run folder. None: no file is written, and there is none to resume; if `overrides`
        chooses a tracker, its run has a temporary folder.

    Attributes
    ----------
    model_ : Model
    metrics_ : dict
        The numbers of the run by split: those of its ``metrics.json``.
    classes_ : array
        The labels.
    n_iter_ : int
        Passes of the last call.
    n_samples_seen_ : int
        Instances of `fit`, and of all calls of `partial_fit` since.
    """

    keys: ClassVar[Mapping[str, str]] = COMMON

    optimizer: str | Optimizer | None = None
    loss: str | Loss | None = None
    inference: str | Inference | None = None
    C: float | None = None
    epochs: int | None = None
    beta: float | None = None
    gamma: float | None = None
    cost: str | Cost | None = None
    cost_weights: Mapping[str, float] | None = None
    seed: int = 0
    threads: int = 1
    overrides: Overrides = None
    verbose: bool = False
    folder: str | Path | None = None

    @property
    def task_name(self) -> str:
        """The task of the run."""
        raise NotImplementedError

    @property
    def settings(self) -> dict[str, Any]:
        """The keys of the config that parameters set."""
        chosen = {key: getattr(self, name) for name, key in self.keys.items()}
        settings: dict[str, Any] = {}
        for key, value in chosen.items():
            settings |= of_component(key, value) if isinstance(value, Component) else {}
        rest = {key: one for key, one in chosen.items() if not isinstance(one, Component)}
        return settings | {key: one for key, one in rest.items() if one is not None}

    @property
    def words(self) -> list[str]:
        """The overrides of the run as the command line takes them, without the files."""
        return self._chosen_settings({}).words

    @property
    def config(self) -> dict[str, Any]:
        """The config of the run, composed and checked; errors as of `structopt.train`."""
        return composed(self._chosen_settings({}))

    def _component_parameters(self) -> Mapping[str, Any]:
        try:
            return component_parameters(self.config)
        except StructoptError:
            # an estimator with wrong settings is shown, copied and corrected all the same
            return {}

    def _set_setting(self, kind: str, key: str, value: Any) -> bool:
        """Set a parameter of a component in `overrides`."""
        if not is_kind(kind):
            return False
        self.overrides = self._overrides() | {f"{kind}.{key}": value}
        return True

    def _chosen_settings(self, chosen: Mapping[str, Any]) -> Settings:
        """Return the settings of a run, `chosen` by y among them."""
        self._check_once()
        silent = {"tracker": "none", "quiet": None if self.verbose else True}
        settings = {"task": self.task_name, **self.settings, **chosen, **silent}
        return Settings.of(settings, self.overrides)

    def _check_once(self) -> None:
        """Refuse a parameter if `overrides` has another value for its key."""
        presets = {field.name: field.default for field in fields(self)}
        further = further_settings(self.overrides)
        by_name = [
            (name, key, getattr(self, name))
            for name, key in self.keys.items()
            if getattr(self, name) != presets[name]
        ]
        for name, key, value in (*by_name, *self._computed_settings()):
            if key in further and value != further[key]:
                raise ArgumentError(
                    f"sets {key}, and so does overrides={{{key!r}: {further[key]!r}}}.",
                    parameter=name,
                    value=value,
                    remedy="Leave one of them out.",
                )

    def _computed_settings(self) -> list[tuple[str, str, Any]]:
        """Settings that are computed from parameters: parameter, key and value."""
        return []

    def _overrides(self) -> dict[str, Any]:
        """The overrides as a mapping."""
        if isinstance(self.overrides, Mapping) or self.overrides is None:
            return dict(self.overrides or {})
        raise ArgumentError(
            "must be a mapping if COMPONENT__PARAMETER is set.",
            parameter="overrides",
            value=self.overrides,
            remedy="Write {'optimizer.eta': 0.1} for ['optimizer.eta=0.1'].",
        )

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        sample_weight: Any = None,
        *,
        X_dev: Any = None,
        y_dev: Any = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X, y : sequence
            Instances and their outputs, in the forms that the class describes.
        sample_weight : sequence of float or None
            w_i, by which the loss of each instance counts.
        X_dev, y_dev : sequence or None
            A dev split, whose scores ``patience`` and the history look at.

        Raises
        ------
        StructoptError
            For whatever the user can mend.
        """
        X, y = read_once("X", X), read_once("y", y)
        splits = {"train": self._split(X, y, sample_weight)}
        if X_dev is not None:
            X_dev, y_dev = read_once("X_dev", X_dev), read_once("y_dev", y_dev)
            splits["dev"] = self._split(X_dev, y_dev)
        self._chosen = self._typed(y)
        self._trained(splits, None)
        self._note(X, y)
        return self

    def __getattr__(self, name: str) -> Any:
        """Give the reason if `partial_fit` is missing."""
        if name == "partial_fit":
            try:
                goes_on(self)
            except ConfigError as error:
                kind = type(self).__name__
                raise AttributeError(f"This '{kind}' has no attribute '{name}': {error}") from None
        return object.__getattribute__(self, name)  # raises the error of a property again

    @available_if(goes_on)
    def partial_fit(
        self, X: Sequence[Any], y: Sequence[Any], classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train on with more instances, from the state in which the last call ended: see
        `structopt.partial_fit`.

        The first call is `fit`. Every call makes `epochs` passes over its own instances; labels and
        attributes that it is the first to show append to the others, and lambda = 1/(C m) with the
        number m of all instances so far, `n_samples_seen_`. Where the optimizer cannot go on with
        other data, there is no such method.

        Parameters
        ----------
        X, y, sample_weight
            As of `fit`.
        classes : ignored
            Labels append when they are first seen, and need not be announced.

        Raises
        ------
        StructoptError
            For settings that have changed since; where the model was loaded or unpickled, which has
            weights only.
        """
        if "model_" not in vars(self):
            return self.fit(X, y, sample_weight)
        X, y = read_once("X", X), read_once("y", y)
        self._check_more(y)
        self._trained({"train": self._split(X, y, sample_weight)}, self.model_)
        self._note_more(X, y)
        return self

    def _trained(self, splits: Mapping[str, InMemory], earlier: Model | None) -> None:
        """Make the run, and set the attributes that tell of it."""
        try:
            self.model_, self.metrics_ = fitted(
                self._chosen_settings(self._chosen), splits, self.folder, earlier
            )
        except StructoptError as error:
            # searches of scikit-learn print the traceback of each fit, with all causes
            raise error.with_traceback(None) from None
        if self.model_.trained is not None and self.model_.trained.unfinished:
            convergence.warn(self.model_.trained.unfinished)
        train = self.metrics_["train"]
        self.n_iter_, self.n_samples_seen_ = (
            train["epochs"],
            train.get("instances_seen", train["instances"]),
        )

    def _check_more(self, y: Any) -> None:
        """Refuse outputs of another kind than in the first call; by default none."""

    def _note_more(self, X: Any, y: Any) -> None:
        """Set the attributes that tell of the training data, after more of them."""
        self._note(X, y)

    def predict(self, X: Sequence[Any], *, allowed: Any = None) -> Any:
        """Return the best output of every instance.

        Parameters
        ----------
        X : sequence
        allowed : sequence or None
            What is known of the outputs, as `structopt.model.predictor.Predictor.predict` takes
            what is ``given``.
        """
        instances = self._instances_of_fitted(X)
        outputs = self._called(self.model_.predict, instances, allowed=allowed)
        return Outputs(self._returned(outputs), self.model_, instances, outputs)

    def predict_marginals(self, X: Sequence[Any], *, allowed: Any = None) -> Any:
        """Return the probabilities of the choices that outputs are made of, an array an instance:
        `Model.marginals`.
        """
        instances = self._instances_of_fitted(X)
        return self._called(self.model_.marginals, instances, allowed=allowed)

    def predict_k_best(
        self, X: Sequence[Any], k: int = 5, *, allowed: Any = None
    ) -> list[list[Scored]]:
        """Return the k best outputs of every instance, the best first, as tuples (score, output,
        probability).
        """
        instances = self._instances_of_fitted(X)
        method = self.model_.predict_k_best
        lists: list[list[Scored]] = self._called(method, instances, k, allowed=allowed)
        outputs = [scored.output for one in lists for scored in one]
        returned = self._returned(outputs)
        if returned is outputs:
            return lists
        rest = iter(returned)
        return [[scored._replace(output=next(rest)) for scored in one] for one in lists]

    def decision_function(self, X: Sequence[Any]) -> Array:
        """Return the score of the predicted output of every instance, s(y) = theta^T f(x, y),
        float64, shape (instances,).
        """
        return self.model_.scores(self._instances_of_fitted(X))

    def explain(
        self,
        X: Sequence[Any] | None = None,
        sentence: int = 1,
        *,
        top: int = 20,
        against: Against = "auto",
    ) -> Explanation:
        """Return what the model has learnt; or, given X, what decided the prediction for one
        instance of it.

        Parameters
        ----------
        X : sequence or None
            None: the highest and the lowest weights.
        sentence : int
            Which instance of X, from 1.
        top, against
            See `structopt.model.model.Model.explain`.
        """
        self._check_fitted()
        instances = None if X is None else self._instances(read_once("X", X))
        return self.model_.explain(instances, sentence=sentence, top=top, against=against)

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Any = None) -> float:
        """Return the task's main metric of the predictions, a fraction in [0, 1].

        The metric does not depend on the training data, so that the scores of folds can be
        compared. For labels of tokens it is the F1 of entities; a plain label other than ``O``
        counts as an entity of one token, so without ``O`` the F1 is the accuracy. With
        ``overrides={"task.scheme": "none"}`` the metric is the accuracy of tokens.
        """
        self._check_fitted()
        split = self._split(read_once("X", X), read_once("y", y), sample_weight)
        return self.model_.score(split.instances, split.outputs, split.weights)

    def __getstate__(self) -> dict[str, Any]:
        """The state to be pickled: the model as the files of its folder."""
        state = dict(vars(self))
        if "model_" in state:
            state["model_"] = packed(state["model_"])
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Undo `__getstate__`."""
        self.__dict__.update(state)
        if "model_" in state:
            self.model_ = unpacked(state["model_"])

    def _instances(self, X: Any) -> Any:
        """The instances as the task takes them."""
        return X

    def _split(self, X: Any, y: Any, sample_weight: Any = None) -> InMemory:
        """Instances and outputs as the task takes them, which checks their form."""
        instances, outputs = self._instances(X), self._outputs(y, X)
        return InMemory(
            instances,
            outputs,
            weights_of(sample_weight, len(outputs) if isinstance(outputs, Sized) else 0),
        )

    def _instances_of_fitted(self, X: Any) -> Any:
        """The instances as the task takes them; NotFittedError where there is no model yet."""
        self._check_fitted()
        return self._instances(read_once("X", X))

    def _typed(self, y: Any) -> dict[str, Any]:
        """Settings that y chooses where nobody types them; by default none."""
        return {}

    def _outputs(self, y: Any, X: Any) -> Any:
        """The outputs as the task takes them."""
        return y

    def _returned(self, outputs: list[Any]) -> list[Any]:
        """Predicted outputs in the form of y."""
        return outputs

    def _called(self, method: Callable[..., Any], *arguments: Any, allowed: Any) -> Any:
        """Call a method of the model. In errors about the model's argument `given`, name the
        estimator's argument `allowed`.
        """
        if allowed is None:
            return method(*arguments)
        try:
            return method(*arguments, given=self._allowed(read_once("allowed", allowed)))
        except StructoptError as error:
            if error.parameter == "given":
                error.parameter = "allowed"
            if isinstance(error, DataError) and error.path == "<given>" and error.where:
                error.path = "<allowed>"
                error.where = error.where.replace("<given>", "<allowed>", 1)
            raise

    def _allowed(self, allowed: Any) -> Any:
        """What is known of outputs, as `Model.predict` takes it."""
        return allowed

    def _note(self, X: Any, y: Any) -> None:
        """Set the attributes that tell of the training data."""
        self.classes_ = np.array(self.model_.labels, dtype=object)
