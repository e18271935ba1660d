"""Coreference: MUC, B3 and CEAFe of clusters of mentions, and the mean of their F1, with and
without singleton clusters.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence

import numpy as np

from structopt.formats.tables import columns
from structopt.kernels.waist.record import Array
from structopt.metrics.instance_counts import InstanceCounts

Clusters = Sequence[Collection[Hashable]]
"""The entities of a document: of each its mentions."""
METRICS = ("muc", "b3", "ceafe")
TITLES = {"muc": "MUC", "b3": "B3", "ceafe": "CEAFe"}
COUNTS = 4
"""Numbers of a metric: numerator and denominator of the recall, and those of the precision."""
VERSIONS = ("", "_no_singletons")
"""What follows the names of scores: of all clusters, and of those with several mentions."""


def counts_of(key: Clusters, response: Clusters) -> Array:
    r"""Return the counts of a document of which scores are made, float64, shape (2 versions, 3
    metrics, `COUNTS`).

    With clusters K of the key and R of the response, and m_KR mentions in both:

        MUC    sum_K (|K| - parts(K)) / sum_K (|K| - 1),   parts(K): clusters R that share mentions
        with K, and its other mentions B3     sum_K sum_R m_KR^2 / |K|  /  sum_K |K| CEAFe  max over
        one-to-one alignments of sum 2 m_KR / (|K| + |R|)  /  the number of clusters K

    are recalls; precisions exchange K and R. The second version leaves out the clusters with one
    mention, of both sides. O(mentions + clusters^3).

    Raises
    ------
    ValueError
        A mention that is in two clusters of one side, or twice in one.
    """
    several = [[cluster for cluster in side if len(cluster) > 1] for side in (key, response)]
    return np.stack([_version(key, response), _version(*several)])


def outcomes(keys: Sequence[Clusters], responses: Sequence[Clusters]) -> InstanceCounts:
    """Return the counts of every document, whose sums over documents the scores are made of."""
    table = [
        counts_of(key, response).ravel() for key, response in zip(keys, responses, strict=True)
    ]
    return InstanceCounts.of_table(
        np.reshape(table, (-1, len(VERSIONS) * len(METRICS) * COUNTS)), scores_of
    )


def scores_of(totals: Array) -> dict[str, float]:
    """Return recall, precision and F1 of each metric, and ``conll``, the mean of the F1; fractions,
    0 where nothing counts.
    """
    scores = {}
    for version, own in zip(
        VERSIONS, totals.reshape(len(VERSIONS), len(METRICS), COUNTS), strict=True
    ):
        for metric, (found, gold, right, predicted) in zip(METRICS, own.tolist(), strict=True):
            recall, precision = _share(found, gold), _share(right, predicted)
            scores[f"{metric}_recall{version}"], scores[f"{metric}_precision{version}"] = (
                recall,
                precision,
            )
            scores[f"{metric}_f1{version}"] = _share(2 * recall * precision, recall + precision)
        scores[f"conll{version}"] = sum(
            scores[f"{metric}_f1{version}"] for metric in METRICS
        ) / len(METRICS)
    return scores


def table(names: Sequence[str], keys: Sequence[Clusters], responses: Sequence[Clusters]) -> str:
    """Return the scores as text, in per cent: of all documents, with and without singleton
    clusters; then of each document.
    """
    counts = outcomes(keys, responses)
    whole = counts.scores()
    header = [
        "",
        *(f"{TITLES[metric]} {part}" for metric in METRICS for part in ("R", "P", "F1")),
        "mean F1",
    ]
    lines = [header]
    for title, version in zip(("all clusters", "without singletons"), VERSIONS, strict=True):
        cells = [
            whole[f"{metric}_{part}{version}"]
            for metric in METRICS
            for part in ("recall", "precision", "f1")
        ]
        lines.append([title, *_percentages([*cells, whole[f"conll{version}"]])])
    documents = [
        [
            "document",
            *(f"{TITLES[metric]} F1" for metric in METRICS),
            "mean F1",
            "without singletons",
        ]
    ]
    for i, name in enumerate(names):
        own = counts.scores(np.arange(len(names)) == i)
        shown = [
            *(own[f"{metric}_f1"] for metric in METRICS),
            *(own[f"conll{version}"] for version in VERSIONS),
        ]
        documents.append([name or str(i + 1), *_percentages(shown)])
    return f"{columns(lines, '<>')}\n\n{columns(documents, '<>')}\n"


def _version(key: Clusters, response: Clusters) -> Array:
    """The counts of one version, shape (3 metrics, `COUNTS`)."""
    shared = _shared(key, response)
    sizes, others = (
        np.array([len(cluster) for cluster in side], np.float64) for side in (key, response)
    )
    recall, precision = _of_one_side(shared, sizes), _of_one_side(shared.T, others)
    aligned = _aligned(shared, sizes, others)
    muc, b3 = (
        [*of_key, *of_response] for of_key, of_response in zip(recall, precision, strict=True)
    )
    return np.array([muc, b3, [aligned, len(key), aligned, len(response)]], np.float64)


def _shared(key: Clusters, response: Clusters) -> Array:
    """How many mentions each pair of clusters shares, shape (clusters of the key, clusters of the
    response).
    """
    of_key, of_response = _cluster_of(key), _cluster_of(response)
    shared = np.zeros((len(key), len(response)))
    for mention, number in of_key.items():
        if mention in of_response:
            shared[number, of_response[mention]] += 1.0
    return shared


def _cluster_of(clusters: Clusters) -> dict[Hashable, int]:
    """The number of every mention's cluster."""
    numbers: dict[Hashable, int] = {}
    for number, cluster in enumerate(clusters):
        for mention in cluster:
            if mention in numbers:
                raise ValueError(
                    f"the mention {mention} occurs twice: a mention is in one cluster, once"
                )
            numbers[mention] = number
    return numbers


def _of_one_side(shared: Array, sizes: Array) -> tuple[tuple[float, float], tuple[float, float]]:
    """Numerators and denominators of MUC and of B3, for the clusters along the first axis."""
    parts = (shared > 0).sum(axis=1) + sizes - shared.sum(axis=1)
    muc = float((sizes - parts).sum()), float((sizes - 1).sum())
    return muc, (float(((shared**2).sum(axis=1) / np.maximum(sizes, 1)).sum()), float(sizes.sum()))


def _aligned(shared: Array, sizes: Array, others: Array) -> float:
    """The largest sum of 2 |K and R| / (|K| + |R|) over alignments that are one to one."""
    from scipy.optimize import linear_sum_assignment

    similarity = 2 * shared / (sizes[:, None] + others)
    return float(similarity[linear_sum_assignment(similarity, maximize=True)].sum())


def _share(count: float, total: float) -> float:
    """The fraction count / total; 0 of none."""
    return count / total if total else 0.0


def _percentages(shares: Iterable[float]) -> list[str]:
    return [f"{100 * share:.2f}" for share in shares]
