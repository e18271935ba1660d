"""The words typed for the jobs of a sweep: overrides that all jobs have in common, and keys with
several values.
"""

from __future__ import annotations

from dataclasses import dataclass

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from structopt.config.overrides import key_of


@dataclass(frozen=True)
class TypedWords:
    """The overrides of a sweep, divided into common ones and swept ones.

    Attributes
    ----------
    common : list of str
        Overrides of every job, written as Hydra hands them to the jobs.
    swept : mapping of key to overrides
        The values of every key that is swept.
    """

    common: list[str]
    swept: dict[str, list[str]]

    @classmethod
    def parse(cls, config: DictConfig) -> TypedWords:
        """Read the overrides of a sweep's config, those of ``hydra.sweeper.params`` first."""
        params = OmegaConf.select(config, "hydra.sweeper.params") or {}
        words = [
            f"{key}={value}"
            for key, value in params.items()
            if isinstance(value, str | int | float)
        ]
        words += [str(word) for word in config.hydra.overrides.task]
        loader = GlobalHydra.instance().config_loader()
        common: dict[str, str] = {}
        swept: dict[str, list[str]] = {}
        for override in OverridesParser.create(config_loader=loader).parse_overrides(words):
            key = override.get_key_element()
            common.pop(key, None)  # the last one of a key counts
            swept.pop(key, None)
            if override.is_discrete_sweep():
                swept[key] = [f"{key}={value}" for value in override.sweep_string_iterator()]
            elif override.is_sweep_override():
                swept[key] = []
            else:
                common[key] = f"{key}={override.get_value_element_as_str()}"
        return cls(list(common.values()), swept)

    def check(self, config: DictConfig) -> None:
        """Compose every typed choice once, so that a misspelt key or choice ends the command before
        anything is made.
        """
        if (
            str(OmegaConf.select(config, "hydra.sweeper._target_")).rpartition(".")[2]
            != "BasicSweeper"
        ):
            return
        loader = GlobalHydra.instance().config_loader()
        groups = [key for key in self.swept if loader.get_group_options(key)]
        first = [values[0] for values in self.swept.values() if values]
        trials = [first, *([*first, value] for key in groups for value in self.swept[key][1:])]
        for trial in trials:
            latest = {key_of(word): word for word in [*self.common, *trial]}
            loader.load_sweep_config(config, list(latest.values()))

    def label(self, config: DictConfig) -> str:
        """Return the sweep's name: its label, its experiment, or what is swept."""
        named = config.get("label") or OmegaConf.select(config, "hydra.runtime.choices.experiment")
        return str(named) if named else f"sweep of {', '.join(self.swept) or 'one job'}"
