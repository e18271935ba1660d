"""MUC, B3 and CEAFe against hand counts, and against scorch on random clusterings."""

from statistics import StatisticsError

import numpy as np
import pytest
from scorch import scores as scorch

from structopt.metrics import coreference
from structopt.metrics.coreference import METRICS

THEIRS = {"muc": scorch.muc, "b3": scorch.b_cubed, "ceafe": scorch.ceaf_e}


def scores(key, response):
    return coreference.outcomes([key], [response]).scores()


def of(found, metric, version=""):
    return tuple(found[f"{metric}_{part}{version}"] for part in ("recall", "precision", "f1"))


def theirs(metric, key, response):
    """Scores by scorch, whose harmonic mean refuses a recall and a precision of 0."""
    try:
        return tuple(THEIRS[metric](key, response))
    except StatisticsError:
        return 0.0, 0.0, 0.0


def random_clustering(generator, mentions):
    """Clusters of random sizes over a random subset of the mentions."""
    kept = [m for m in mentions if generator.random() < 0.8]
    numbers = generator.integers(0, generator.integers(1, len(mentions) + 1), len(kept))
    return [
        {m for m, number in zip(kept, numbers, strict=True) if number == k}
        for k in np.unique(numbers)
    ]


def test_the_case_a_2_of_the_reference_scorer():
    """Key {a}, {b, c}, {d, e, f}; response {a}, {d, e}: mentions and links are missing, none is
    wrong.

    MUC: one link of three. B3: recall (1 + 0 + 4/3) / 6. CEAFe: 1 for {a}, 4/5 for {d, e}; over
    three and two clusters.
    """
    found = scores([["a"], ["b", "c"], ["d", "e", "f"]], [["a"], ["d", "e"]])
    assert of(found, "muc") == pytest.approx((1 / 3, 1.0, 0.5))
    assert of(found, "b3") == pytest.approx((7 / 18, 1.0, 14 / 25))
    assert of(found, "ceafe") == pytest.approx((0.6, 0.9, 0.72))
    assert found["conll"] == pytest.approx((0.5 + 0.56 + 0.72) / 3)


def test_without_singletons():
    """The same without {a} on both sides: B3 recall (4/3) / 5; CEAFe 4/5 over two clusters and
    one.
    """
    found = scores([["a"], ["b", "c"], ["d", "e", "f"]], [["a"], ["d", "e"]])
    assert of(found, "muc", "_no_singletons") == pytest.approx((1 / 3, 1.0, 0.5))
    assert of(found, "b3", "_no_singletons") == pytest.approx((4 / 15, 1.0, 8 / 19))
    assert of(found, "ceafe", "_no_singletons") == pytest.approx((0.4, 0.8, 1.6 / 3))


def test_mentions_of_the_response_alone_cost_precision():
    found = scores([["a", "b"]], [["a", "b", "x"], ["y"]])
    assert of(found, "muc") == pytest.approx((1.0, 0.5, 2 / 3))
    assert of(found, "b3") == pytest.approx((1.0, (4 / 3) / 4, 0.5))
    assert of(found, "ceafe") == pytest.approx((0.8, 0.4, 1.6 / 3))


def test_perfect_and_empty():
    key = [["a"], ["b", "c"], ["d", "e", "f"]]
    assert set(scores(key, key).values()) == {1.0}
    assert set(scores([], []).values()) == {0.0}
    assert scores([["a"], ["b"]], [["a"], ["b"]])["muc_f1"] == 0.0  # there are no links
    assert scores([["a"], ["b"]], [["a"], ["b"]])["b3_f1"] == 1.0
    assert scores(key, [])["conll"] == 0.0


def test_sums_over_documents():
    """Numerators and denominators are summed; a document may occur several times."""
    keys, responses = [[["a", "b"]], [["a", "b", "c"]]], [[["a", "b"]], [["a"], ["b"], ["c"]]]
    counts = coreference.outcomes(keys, responses)
    assert counts.scores()["muc_recall"] == pytest.approx(1 / 3)
    assert counts.scores(np.array([3, 1]))["muc_recall"] == pytest.approx(3 / 5)


# of scorch, where nothing is shared
@pytest.mark.nightly("rest")
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_two_thousand_random_pairs_agree_with_scorch():
    """Clusterings of up to 14 mentions, some of them on one side only; F1 of nothing on both sides
    is a matter of taste.
    """
    generator = np.random.default_rng(0)
    for _ in range(2000):
        mentions = range(int(generator.integers(1, 15)))
        key, response = (
            random_clustering(generator, mentions),
            random_clustering(generator, mentions),
        )
        if not key or not response:
            continue
        found = scores(key, response)
        for metric in METRICS:
            linked = metric != "muc" or (
                any(len(c) > 1 for c in key) and any(len(c) > 1 for c in response)
            )
            if linked:
                assert of(found, metric) == pytest.approx(theirs(metric, key, response), abs=1e-9)
            else:
                assert of(found, metric)[2] == 0.0


def test_a_corpus_is_one_document_whose_mentions_bear_their_documents_name():
    generator = np.random.default_rng(1)
    keys, responses = (
        [random_clustering(generator, range(12)) for _ in range(20)] for _ in range(2)
    )
    found = coreference.outcomes(keys, responses).scores()
    key, response = (
        [{(i, m) for m in c} for i, one in enumerate(side) for c in one]
        for side in (keys, responses)
    )
    for metric in METRICS:
        assert of(found, metric) == pytest.approx(theirs(metric, key, response), abs=1e-9)


@pytest.mark.parametrize("key", [[["a", "a"]], [["a"], ["a", "b"]]])
def test_a_mention_is_in_one_cluster_once(key):
    with pytest.raises(
        ValueError, match="the mention a occurs twice: a mention is in one cluster, once"
    ):
        scores(key, [["b"]])


def test_table():
    key, response = [["a"], ["b", "c"], ["d", "e", "f"]], [["a"], ["d", "e"]]
    lines = coreference.table(["first; part 000", ""], [key, key], [response, key]).splitlines()
    assert lines[0].split() == [
        "MUC",
        "R",
        "MUC",
        "P",
        "MUC",
        "F1",
        "B3",
        "R",
        "B3",
        "P",
        "B3",
        "F1",
        "CEAFe",
        "R",
        "CEAFe",
        "P",
        "CEAFe",
        "F1",
        "mean",
        "F1",
    ]
    assert lines[1].startswith("all clusters") and lines[2].startswith("without singletons")
    assert lines[5].split() == [
        "first;",
        "part",
        "000",
        "50.00",
        "56.00",
        "72.00",
        "59.33",
        "48.48",
    ]
    assert lines[6].split()[:2] == ["2", "100.00"]
