"""Scores of sets of labels, from indicators of shape (instances, labels)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structopt.kernels.waist.record import Array
from structopt.metrics.outcomes import FOUND, GOLD, RIGHT, Outcomes, classes_of, macro_f1


def score(gold: Array, predicted: Array) -> dict[str, float]:
    r"""Scores as fractions, where 0/0 is 0; O(instances x labels).

    Parameters
    ----------
    gold, predicted : bool, shape (instances, labels)

    Returns
    -------
    dict
        ``hamming_loss``, the share of (instance, label) pairs that are wrong; ``accuracy``, that of the right ones;
        ``subset_accuracy``, the share of instances whose labels are all right; ``micro_f1``,

            F1 = 2 * right / (found + gold)

        over all pairs; and ``macro_f1``, its mean over the labels that are gold or predicted somewhere. Others have no F1:
        scikit-learn counts them as 0 (or leaves them out, too: ``zero_division=nan``), Mulan as 1.

    Notes
    -----
    Tsoumakas, Katakis and Vlahavas, *Mining multi-label data* (2010).
    """
    return outcomes(gold, predicted).scores()


def outcomes(gold: Array, predicted: Array) -> Outcomes:
    """Counts of every instance: itself, whether a label is wrong, how many are; of each label right, found and gold."""
    wrong = (gold != predicted).sum(axis=1)
    pairs = [np.nonzero(gold & predicted), np.nonzero(predicted), np.nonzero(gold)]
    rows, labels = (np.concatenate(numbers) for numbers in zip(*pairs, strict=True))
    which = np.repeat([RIGHT, FOUND, GOLD], [len(rows) for rows, _ in pairs])
    table = np.stack([np.ones(len(gold)), wrong > 0, wrong], axis=1)
    return Outcomes.of_classes(table, (rows, labels, which), gold.shape[1], _scores)


def _scores(totals: Array) -> dict[str, float]:
    instances, not_whole, wrong = totals[:3].tolist()
    classes = classes_of(totals, 3)
    right, found, wanted = classes.sum(axis=0).tolist()
    loss = wrong / (instances * len(classes))
    return {
        "micro_f1": 2.0 * right / max(found + wanted, 1.0),
        "macro_f1": macro_f1(classes),
        "subset_accuracy": 1.0 - not_whole / instances,
        "hamming_loss": loss,
        "accuracy": 1.0 - loss,
    }


def table(names: Sequence[str], gold: Array, predicted: Array) -> str:
    """Scores to read, in per cent: a line for all, then one a label that is gold or predicted somewhere."""
    all_of_them = {name: 100.0 * value for name, value in score(gold, predicted).items()}
    lines = [
        f"{len(gold)} instances; Hamming loss: {all_of_them['hamming_loss']:.2f}%; "
        f"subset accuracy: {all_of_them['subset_accuracy']:.2f}%; "
        f"micro F1: {all_of_them['micro_f1']:.2f}; macro F1: {all_of_them['macro_f1']:.2f}"
    ]
    counts = np.stack([(gold & predicted).sum(axis=0), predicted.sum(axis=0), gold.sum(axis=0)], axis=1)
    there = int((counts[:, 1:].sum(axis=1) > 0).sum())
    if there < len(names):
        lines[0] += f" over {there} of {len(names)} labels, which are gold or predicted here"
    width = max(map(len, ["label", *names]))
    lines.append(f"{'label':>{width}}  precision  recall      F1   found    gold")
    for name, (right, found, wanted) in zip(names, counts.tolist(), strict=True):
        if found + wanted:
            precision, recall, f1 = right / max(found, 1), right / max(wanted, 1), 2 * right / (found + wanted)
            lines.append(f"{name:>{width}}  {100 * precision:9.2f}  {100 * recall:6.2f}  {100 * f1:6.2f}  {found:6}  {wanted:6}")
    return "\n".join(lines) + "\n"
