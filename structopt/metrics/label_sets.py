"""Scores of sets of labels, from indicators of shape (instances, labels)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structopt.kernels.waist.record import Array
from structopt.metrics.f1 import class_counts, class_table, macro_f1
from structopt.metrics.instance_counts import GOLD, PREDICTED, RIGHT, InstanceCounts


def score(gold: Array, predicted: Array) -> dict[str, float]:
    r"""Scores as fractions, where 0/0 is 0; O(instances x labels).

    Parameters
    ----------
    gold, predicted : bool, shape (instances, labels)

    Returns
    -------
    dict
        ``hamming_loss``, the share of (instance, label) pairs that are wrong; ``accuracy``, that of
        the right ones; ``subset_accuracy``, the share of instances whose labels are all right;
        ``micro_f1``,

            F1 = 2 * right / (predicted + gold)

        over all pairs; and ``macro_f1``, its mean over the labels that are gold or predicted
        somewhere. Others have no F1: scikit-learn counts them as 0 (or leaves them out too:
        ``zero_division=nan``), Mulan as 1.

    Notes
    -----
    Tsoumakas, Katakis and Vlahavas, *Mining multi-label data* (2010).
    """
    return outcomes(gold, predicted).scores()


def outcomes(gold: Array, predicted: Array) -> InstanceCounts:
    """Return the counts of every instance: 1, whether a label is wrong, how many are; right,
    predicted and gold of each label.
    """
    wrong = (gold != predicted).sum(axis=1)
    pairs = [np.nonzero(gold & predicted), np.nonzero(predicted), np.nonzero(gold)]
    rows, labels = (np.concatenate(numbers) for numbers in zip(*pairs, strict=True))
    which = np.repeat([RIGHT, PREDICTED, GOLD], [len(rows) for rows, _ in pairs])
    table = np.stack([np.ones(len(gold)), wrong > 0, wrong], axis=1)
    return InstanceCounts.of_classes(table, (rows, labels, which), gold.shape[1], _scores)


def _scores(totals: Array) -> dict[str, float]:
    instances, with_errors, wrong = totals[:3].tolist()
    classes = class_table(totals, 3)
    right, labels_predicted, labels_gold = classes.sum(axis=0).tolist()
    loss = wrong / (instances * len(classes))
    return {
        "micro_f1": 2.0 * right / max(labels_predicted + labels_gold, 1.0),
        "macro_f1": macro_f1(classes),
        "subset_accuracy": 1.0 - with_errors / instances,
        "hamming_loss": loss,
        "accuracy": 1.0 - loss,
    }


def table(names: Sequence[str], gold: Array, predicted: Array) -> str:
    """Return the scores as text, in per cent: a line for all, then one for each label that is gold
    or predicted somewhere.
    """
    scores = {name: 100.0 * value for name, value in score(gold, predicted).items()}
    lines = [
        f"{len(gold)} instances; Hamming loss: {scores['hamming_loss']:.2f}%; "
        f"subset accuracy: {scores['subset_accuracy']:.2f}%; "
        f"micro F1: {scores['micro_f1']:.2f}; macro F1: {scores['macro_f1']:.2f}"
    ]
    counts = np.stack(
        [(gold & predicted).sum(axis=0), predicted.sum(axis=0), gold.sum(axis=0)], axis=1
    )
    known = int((counts[:, 1:].sum(axis=1) > 0).sum())
    if known < len(names):
        lines[0] += f" over {known} of {len(names)} labels, which are gold or predicted here"
    width = max(map(len, ["label", *names]))
    lines.append(f"{'label':>{width}}  precision  recall      F1   found    gold")
    for name, label in zip(names, class_counts(counts), strict=True):
        if label.predicted + label.gold:
            lines.append(
                f"{name:>{width}}  {label.percentages()}  {label.predicted:6}  {label.gold:6}"
            )
    return "\n".join(lines) + "\n"
