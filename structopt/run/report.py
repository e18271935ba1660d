"""The stage that reports: the closing text of a run, and its picture."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structopt.core.loss import Beginning
from structopt.errors import StructoptError
from structopt.formats import tables
from structopt.formats.durable_files import naming
from structopt.learning.training import Progress, Training

SHOWN = (
    "f1",
    "precision",
    "recall",
    "accuracy",
    "micro_f1",
    "macro_f1",
    "hamming_loss",
    "subset_accuracy",
    "uas",
    "las",
    "las_universal",
    "uas_nopunct",
    "las_nopunct",
    "las_universal_nopunct",
    "bracket_f1",
    "bracket_precision",
    "bracket_recall",
    "bracket_f1_40",
    "complete_match",
    "tag_accuracy",
    "oracle_bracket_f1",
    "reachable",
    "conll",
    "muc_f1",
    "b3_f1",
    "ceafe_f1",
    "conll_no_singletons",
    "rouge1_recall",
    "rouge2_recall",
    "rougeL_recall",
    "rouge1_f1",
    "rouge2_f1",
    "rougeL_f1",
    "oracle_rouge2_recall",
)
"""The scores of the closing table, and those that a tracker gets after every pass."""

_LONGEST_TRACEBACK = 4000


def draw(folder: Path, metric: str, remark: str = "") -> None:
    """Draw the learning curve of a run into its folder, with a remark on the objective, if it has
    finished an epoch.
    """
    from structopt.run.history import read
    from structopt.run.plots import learning_curve

    rows = read(folder / "history.csv")
    if rows:
        target = folder / "plots" / "learning_curve.png"
        target.parent.mkdir(exist_ok=True)
        with naming(target):
            learning_curve(rows, target, f"dev.{metric}", remark)


def ending_note(folder: Path, cause: str, of_sweep: bool) -> str:
    """Why a run came to no end, where its log is, and how to go on with it, in Markdown.

    Parameters
    ----------
    folder : Path
        Of the run.
    cause : str
        Why it failed; empty where it was interrupted.
    of_sweep : bool
        Whether it is a job of a sweep.
    """
    again = (
        "the command of the sweep, with `sweep.resume=true`"
        if of_sweep
        else f"`structopt resume={folder}`"
    )
    logs = ", ".join(f"`{path}`" for path in sorted(folder.glob("*.log")))
    # only what stands within a line is wrapped
    code = f"```text\n{cause}\n```" if "\n" in cause else f"`` {cause} ``"
    lines = ["**Failed**", code] if cause else ["**Interrupted.**"]
    lines += [f"Log: {logs}"] if logs else []
    if not cause or (folder / "checkpoint").is_dir():
        lines.append(f"To go on after the last finished pass: {again}")
    return "\n\n".join(lines)


def cause_of(error: Exception | None) -> str:
    """The message of an error that the user can mend; of any other the end of its traceback; empty
    where there is none.
    """
    if error is None:
        return ""
    if isinstance(error, StructoptError):
        return str(error)
    return "".join(traceback.format_exception(error))[-_LONGEST_TRACEBACK:]


def unfinished(training: Training) -> str:
    """Say that training did not converge, why, and how to fix it; empty if it did."""
    reason = training.unfinished
    return reason and (
        f"Training did not converge: {reason}. Set a larger optimizer.epochs, or scale numeric "
        "features to about 1."
    )


def closing_text(
    label: str,
    member: str,
    metrics: Mapping[str, Mapping[str, Any]],
    progress: Progress,
    beginning: Beginning | None,
    pruner: str,
    main: str,
) -> str:
    """Return the text that a run prints at its end.

    Parameters
    ----------
    label, member : str
        Names of the run and of its loss.
    metrics : mapping
        By split, then by name.
    progress : Progress
    beginning : Beginning or None
        The convex loss that training began with.
    pruner : str
        What the pruner left, in words; empty where there is none.
    main : str
        The main metric of the task, the first of the table unless it is one of `SHOWN`.
    """
    train = metrics["train"]
    table = closing_table(metrics, SHOWN if main in SHOWN else (main, *SHOWN))
    lines = [
        f"{label}: {train['instances']} instances, {train['features']} weights, {member}",
        _passes(train, progress),
    ]
    lines += _remarks(train, progress, beginning, pruner)
    return "\n".join([*lines, *([table] if table else [])])


def _passes(train: Mapping[str, Any], progress: Progress) -> str:
    each = f" ({train['seconds_per_epoch']:.3f} s per epoch)" if progress.passes else ""
    objective = "not evaluated" if train["objective"] is None else f"{train['objective']:.6g}"
    return (
        f"{progress.epoch} epochs in {progress.seconds:.2f} s{each}; objective "
        f"{objective}{_certified(train)}"
    )


def _kept(train: Mapping[str, Any], progress: Progress) -> list[str]:
    """Say which epoch is kept, with its dev score and that of the last epoch."""
    if "kept_epoch" not in train or progress.latest is None:
        return []
    best, latest = f"{100 * progress.best:.2f}", f"{100 * progress.latest:.2f}"
    return [
        f"kept: epoch {train['kept_epoch']}, the best on the dev split ({best}; epoch "
        f"{progress.epoch}: {latest})"
    ]


def _certified(train: Mapping[str, Any]) -> str:
    """What is known of the minimum of the objective, in words."""
    if train["gap"] is not None:
        return f", at most {train['gap']:.2g} above the minimum{_rate(train)}"
    if "impossible_duals" in train:
        return (
            f"; no bound of its minimum: in {train['impossible_duals']} epochs the dual was "
            "above the objective, a numerical failure"
        )
    return ""


def _rate(train: Mapping[str, Any]) -> str:
    """Describe the bound by a proved rate of convergence."""
    if "rate_bound" not in train:
        return ""
    return f"; by its rate, the dual is at most {train['rate_bound']:.2g} below its maximum"


def _remarks(
    train: Mapping[str, Any], progress: Progress, beginning: Beginning | None, pruner: str
) -> list[str]:
    """Say what else happened in training, one line each."""
    lines = _kept(train, progress)
    if progress.evaluations:
        lines.append(
            f"{len(progress.evaluations)} evaluations of loss and gradient, "
            f"{train['seconds_per_evaluation']:.3f} s each; all else takes "
            f"{train['overhead_per_epoch']:.4f} s per epoch"
        )
    if "mixed_shards" in train:
        lines.append(
            f"the weights of {train['mixed_shards']} shards are averaged after every epoch but the "
            "first (McDonald et al., 2010)"
        )
    if "dual_shards" in train:
        lines.append(
            f"the dual steps of {train['dual_shards']} shards are added after every epoch, with "
            "momentum (CoCoA+)"
        )
    if pruner:
        lines.append(f"pruner: {pruner}")
    if "unconverged" in train:
        lines.append(
            "inference did not converge in the last epoch on "
            f"{train['unconverged']:.1%} of the instances"
        )
    if progress.negative_losses:
        lines.append(f"steps skipped because the loss was negative: {progress.negative_losses}")
    if beginning:
        lines.append(
            f"the first {train['convex_passes']} epochs minimised the convex loss "
            f"{beginning.loss.member}"
        )
    if progress.repeated:
        lines.append(
            "epochs that raised the objective and were repeated with shorter steps: "
            f"{progress.repeated}"
        )
    if progress.stopped:
        lines.append(f"stopped: {progress.stopped}")
    return lines


def closing_table(metrics: Mapping[str, Mapping[str, Any]], names: tuple[str, ...]) -> str:
    """Scores of the dev and test splits side by side, fractions as percentages."""
    splits = [split for split in ("dev", "test") if metrics.get(split)]
    if not splits:
        return ""
    rows = [(name, [metrics[split].get(name) for split in splits]) for name in names]
    shown = [(name, values) for name, values in rows if any(value is not None for value in values)]
    if not shown:
        return ""
    cells = [
        [name, *("-" if value is None else f"{100 * value:.2f}" for value in values)]
        for name, values in shown
    ]
    first = max(len(name) for name, _ in shown) + 2
    return tables.columns([["", *splits], *cells], "<>", [first, *(7 for _ in splits)])
