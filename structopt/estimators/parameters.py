"""Parameters of estimators by their names, in scikit-learn's manner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

from structopt.core.component import Component, parameters_of
from structopt.errors import ArgumentError, did_you_mean
from structopt.estimators.bases import BaseEstimator, NotFittedError, Tags


class Parameters(BaseEstimator):
    """Base of the estimators, which are dataclasses: their fields are the parameters.

    A fitted estimator has the attribute ``model_``.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep` also the parameters of the chosen components,
        as ``optimizer__eta``.
        """
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        params = {name: getattr(self, name) for name in names}
        return {**params, **self._component_parameters()} if deep else params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``optimizer__eta=0.1`` sets a parameter of a component.

        Raises
        ------
        ArgumentError
            If a name is not a parameter.
        """
        known = {field.name for field in fields(self)}  # type: ignore[arg-type]
        for name, value in params.items():
            kind, divided, key = name.partition("__")
            chosen = getattr(self, kind, None) if divided and key else None
            if name in known:
                setattr(self, name, value)
            elif isinstance(chosen, Component):
                setattr(self, kind, chosen.replace(**{key: value}))
            elif not (divided and key and self._set_setting(kind, key, value)):
                raise ArgumentError(
                    f"is not a parameter of {type(self).__name__}.{did_you_mean(name, known)}",
                    parameter=name,
                    value=value,
                    remedy=f"Choose one of {', '.join(sorted(known))}, or COMPONENT__PARAMETER, "
                    "such as optimizer__eta.",
                )
        return self

    def _component_parameters(self) -> Mapping[str, Any]:
        """Return the parameters of the components that are objects."""
        chosen = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {
            f"{name}__{key}": value
            for name, component in chosen.items()
            if isinstance(component, Component)
            for key, value in parameters_of(component).items()
        }

    def _set_setting(self, kind: str, key: str, value: Any) -> bool:
        """Set a parameter of a component that is not an object; return whether this is possible."""
        return False

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a model."""
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn asks about an estimator: this one needs y, and takes lists of
        instances.
        """
        tags = super().__sklearn_tags__()
        tags.target_tags.required, tags.input_tags.two_d_array = True, False
        return tags

    def _check_fitted(self) -> None:
        if "model_" not in vars(self):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first."
            )
