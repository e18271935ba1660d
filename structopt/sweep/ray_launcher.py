"""The jobs of a sweep as tasks of a Ray cluster, on as many machines as it has:
``hydra/launcher=ray``.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

from structopt.errors import ConfigError
from structopt.sweep.job_sweeper import MODULE

PATIENCE = 5.0
"""Seconds in which a cluster's address must answer."""


class RayLauncher(Launcher):
    """Runs every job in a process of its own that Ray starts where CPUs are free.

    The sweep's folder must be on a file system that all machines see. A job whose process or
    machine is lost is run again.

    Parameters
    ----------
    address : str or None
        Of a running cluster, such as ``auto``; None starts Ray on this machine, and shuts it down.
    cpus : float
        CPUs that a job takes.
    retries : int
        How often a job is run again whose process was lost.
    """

    __module__ = MODULE

    def __init__(self, address: str | None = None, cpus: float = 1.0, retries: int = 3) -> None:
        self.address, self.cpus, self.retries = address, cpus, retries

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Keep what the jobs are made of."""
        self.hydra_context, self.task_function, self.config = hydra_context, task_function, config

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Run the jobs, numbered from `initial_job_idx`; their results in this order."""
        setup_globals()
        ray = self._started()
        try:
            run = ray.remote(num_cpus=self.cpus, max_retries=self.retries, max_calls=1)(_run)
            shared = [
                ray.put(one)
                for one in (
                    self.hydra_context,
                    self.config,
                    self.task_function,
                    Singleton.get_state(),
                )
            ]
            jobs = enumerate(map(list, job_overrides), initial_job_idx)
            results: Sequence[JobReturn] = ray.get(
                [run.remote(number, words, *shared) for number, words in jobs]
            )
            return results
        finally:
            ray.shutdown()

    def _started(self) -> Any:
        """Join the cluster, or start one here; return the module."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
        try:
            import ray
        except ImportError:
            raise ConfigError(
                "hydra/launcher=ray needs Ray.",
                remedy="Run: pip install 'structopt-trainer[ray]'.",
            ) from None
        alone: dict[str, Any] = {} if self.address else {"include_dashboard": False}
        try:
            _knock(self.address or "")
            ray.init(
                self.address or "local", log_to_driver=False, logging_level=logging.ERROR, **alone
            )
        except (OSError, RuntimeError, ValueError) as error:
            where = (
                f"reached at hydra.launcher.address={self.address}"
                if self.address
                else "started on this machine"
            )
            raise ConfigError(f"hydra/launcher=ray: Ray could not be {where}: {error}") from error
        return ray


def _knock(address: str) -> None:
    """Raise `OSError` where nobody answers at HOST:PORT, for which Ray itself would wait many
    minutes.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdigit():
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()


def _run(
    number: int,
    words: list[str],
    context: HydraContext,
    config: DictConfig,
    task: TaskFunction,
    state: dict[Any, Any],
) -> JobReturn:
    """Run a job in this process."""
    setup_globals()
    Singleton.set_state(state)
    composed = context.config_loader.load_sweep_config(config, words)
    with open_dict(composed):
        composed.hydra.job.id, composed.hydra.job.num = (
            f"{composed.hydra.job.name}_{number}",
            number,
        )
    HydraConfig.instance().set_config(composed)
    return run_job(
        hydra_context=context,
        config=composed,
        task_function=task,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
    )
