"""The report of a search: its counts, its best trial as ``best.yaml``, and a picture of the
scores.
"""

from __future__ import annotations

import shlex
from math import isfinite
from pathlib import Path
from typing import Any

from structopt.run import plots
from structopt.sweep.search_space import Space
from structopt.sweep.search_trials import experimental, optuna, shown

ENDS = {"COMPLETE": "finished", "PRUNED": "pruned", "FAIL": "failed", "RUNNING": "interrupted"}
"""Names of optuna's states in the report."""
BEST, PICTURE = "best.yaml", "search.png"
LEAST_TRIALS = 4  # that came to an end, for the importance of parameters to mean something


def best_trial(study: Any) -> Any:
    """Return the best trial that came to an end, None where none did."""
    complete = study.get_trials(deepcopy=False, states=(optuna().trial.TrialState.COMPLETE,))
    known = [trial for trial in complete if isfinite(trial.value)]
    sign = 1.0 if study.direction.name == "MAXIMIZE" else -1.0
    return max(known, key=lambda trial: sign * trial.value, default=None)


def importance(study: Any) -> dict[str, float]:
    """Return each parameter's share of what distinguishes the best tenth of the trials (PED-ANOVA,
    Watanabe et al. 2023).
    """
    complete = study.get_trials(deepcopy=False, states=(optuna().trial.TrialState.COMPLETE,))
    if len(complete) < LEAST_TRIALS or len({trial.value for trial in complete}) == 1:
        return {}
    with experimental():
        module = optuna().importance
        shares = module.get_param_importances(study, evaluator=module.PedAnovaImportanceEvaluator())
    return {key: round(float(share), 3) for key, share in shares.items()}


def report(study: Any, space: Space, folder: Path, metric: str) -> None:
    """Print the counts and the best trial, and write ``best.yaml`` and ``search.png`` into the
    sweep's folder.
    """
    states = [trial.state.name for trial in study.get_trials(deepcopy=False)]
    counts = ", ".join(
        f"{states.count(state)} {word}" for state, word in ENDS.items() if state in states
    )
    print(f"search: {len(states)} trials, {counts}")
    best = best_trial(study)
    if best is None:
        print("No trial came to an end, so there is no best one.", flush=True)
        return
    overrides, shares = space.overrides(best.params), importance(study)
    print(
        f"best: {shown(metric, best.value)} in trial {best.number}: "
        f"{' '.join(overrides[len(space.fixed) :])}"
    )
    if shares:
        print("importance: " + ", ".join(f"{key} {share:.0%}" for key, share in shares.items()))
    _write(folder / BEST, best, overrides, metric, shares)
    _draw(study, best, folder / PICTURE, metric)
    print(f"search: {folder / BEST}", flush=True)


def _write(
    path: Path, best: Any, overrides: list[str], metric: str, shares: dict[str, float]
) -> None:
    from omegaconf import OmegaConf

    values = {
        "trial": best.number,
        "metric": metric,
        "score": float(best.value),
        "overrides": overrides,
        "command": shlex.join(["structopt", *overrides]),
        "importance": shares,
    }
    OmegaConf.save(OmegaConf.create(values), path)


def _draw(study: Any, best: Any, path: Path, metric: str) -> None:
    """Draw the scores of the trials in their order and the best so far; pruned ones are crosses at
    their last pass.
    """
    from matplotlib.ticker import MaxNLocator

    ended = study.get_trials(deepcopy=False)
    done: dict[int, float] = {
        trial.number: trial.value for trial in ended if trial.state.name == "COMPLETE"
    }
    cut: dict[int, float] = {
        trial.number: trial.value for trial in ended if trial.state.name == "PRUNED"
    }
    better = max if study.direction.name == "MAXIMIZE" else min
    best_so_far = [
        better(value for number, value in done.items() if number <= last) for last in done
    ]
    figure = plots.new_figure(6.5, 3.8)
    axes = figure.subplots()
    axes.step(
        list(done), best_so_far, where="post", color="#00795A", linewidth=1.6, label="best so far"
    )
    axes.plot(list(done), list(done.values()), "o", color="#0072B2", markersize=4, label="finished")
    if cut:
        axes.plot(
            list(cut),
            list(cut.values()),
            "x",
            color="#7F7F7F",
            markersize=5,
            label="pruned, last pass",
        )
    axes.set(xlabel="trial", ylabel=metric)
    axes.set_title(
        f"best {best.value:.4f}, trial {best.number}", loc="right", fontsize=9, color="#00795A"
    )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    plots.draw_grid(axes)
    plots.legend_below(axes)
    plots.save(figure, path)
